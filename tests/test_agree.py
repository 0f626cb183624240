"""Label agreement with intervals, and the relevance threshold: by hand and on TREC DL 2021."""

import numpy as np
import pandas as pd
import pytest
import toy
from sklearn.metrics import cohen_kappa_score

from poolkit.agree import label_agreement, threshold_sensitivity
from poolkit.compare import agreement, kendall, spearman
from poolkit.labels import grades_on, labels_from
from poolkit.resample import query_draws
from poolkit.score import scores

JUDGE = {"q1": {"d1": 1, "d2": 1, "d3": 2}, "q2": {"d4": 0, "d5": 2, "d3": 1}}


def agreed(left, right, **options):
    return label_agreement(left, right, **{"rng": np.random.default_rng(5), "n_resamples": 100} | options)


def random_labels(rng, name):
    rows = [(f"q{q}", f"d{d}", int(rng.integers(0, 3))) for q in range(6) for d in range(5 + q)]
    return labels_from(pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]), name)


@pytest.mark.parametrize("threshold", [1, 2])
def test_draws_equal_agreement_of_resampled_pairs(threshold):
    rng = np.random.default_rng(2)
    left, right = random_labels(rng, "left"), random_labels(rng, "right")
    found = agreed(left, right, threshold=threshold, level=0.8)
    pairs = dict(list(found.agreement.pairs.groupby("query_id", sort=False)))
    draws = query_draws(6, n_resamples=100, rng=np.random.default_rng(5))
    for i, counts in enumerate(draws[:25]):
        again = pd.concat(
            [rows for (q, rows), c in zip(pairs.items(), counts, strict=True) for _ in range(int(c))]
        )
        a, b = again["left"], again["right"]
        assert found.exact.draws[i] == pytest.approx((a == b).mean())
        assert found.within_one.draws[i] == pytest.approx((abs(a - b) <= 1).mean())
        assert found.binary.draws[i] == pytest.approx(((a >= threshold) == (b >= threshold)).mean())
        assert found.kappa.draws[i] == pytest.approx(cohen_kappa_score(a, b))
        assert found.kappa_quadratic.draws[i] == pytest.approx(cohen_kappa_score(a, b, weights="quadratic"))
        assert found.kappa_binary.draws[i] == pytest.approx(cohen_kappa_score(a >= threshold, b >= threshold))
    assert (found.kappa.low, found.kappa.high) == pytest.approx(
        tuple(np.quantile(found.kappa.draws, [0.1, 0.9]))
    )
    assert found.kappa.value == agreement(left, right).kappa
    assert (found.n_queries, found.notes) == (6, ())


def test_grades_below_zero_have_their_place():
    left = toy.labels({"q1": {"d1": -1, "d2": 2}, "q2": {"d1": 0}})
    found = agreed(left, left)
    assert list(found.agreement.confusion.index) == [-1, 0, 1, 2]
    assert (found.kappa.value, found.kappa.high, found.exact.low) == (1, 1, 1)


def test_labels_without_a_common_pair():
    found = agreed(toy.labels({"q1": {"d1": 1}}), toy.labels({"q1": {"d2": 1}}, name="gpt"))
    assert np.isnan([found.exact.value, found.exact.low, found.kappa.value]).all()
    assert found.notes == ("author and gpt graded no pair in common: there is no agreement to measure.",)


def test_one_query_has_no_interval():
    found = agreed(toy.labels({"q1": toy.GRADES["q1"]}), toy.labels(JUDGE))
    assert found.exact.value == 0.5
    assert np.isnan([found.exact.low, found.kappa.high]).all()
    assert found.notes[0].startswith("One query with pairs that both graded")


def test_one_grade_has_no_kappa():
    same = toy.labels({"q1": {"d1": 1}, "q2": {"d1": 1}})
    found = agreed(same, same)
    assert (found.exact.value, np.isnan(found.kappa.value), found.kappa.undefined) == (1, True, 100)
    assert found.notes == ("Both sides give one and the same grade to all pairs: kappa is not defined.",)
    graded = toy.labels({"q1": {"d1": 1}, "q2": {"d1": 2}})
    assert agreed(graded, graded).notes == (
        "Both sides find all pairs, or none, relevant: binary kappa is not defined.",
    )


def test_published_kappa(dl21):
    _, labels, _ = dl21
    found = agreed(labels["human"], labels["gpt4o.umbrela"], threshold=2)
    assert round(found.kappa_binary.value, 3) == 0.5
    assert found.kappa_binary.low < 0.5 < found.kappa_binary.high
    assert found.n_queries == 53


def test_threshold_sensitivity_by_hand():
    judge = grades_on(toy.runs(), toy.labels(JUDGE, name="gpt"))
    found = threshold_sensitivity(toy.runs(), toy.grades(), judge, ["nDCG@10", "P(rel=2)@2"])
    assert found[["measure", "human_rel", "judge_rel"]].to_numpy().tolist() == [
        ["P@2", 1, 1], ["P@2", 1, 2], ["P@2", 2, 1], ["P@2", 2, 2],
    ]  # fmt: skip
    # P@2 by author from grade 1: .75 .75 .5; from 2: bm25 d1, d5 .5, dense d5 .25, hybrid d1 .25
    # by judge from 1: bm25 1 (d1 d2; d3 d5), dense .5 (d2; d5), hybrid .5 (d2 d1); from 2: .25 .25 0
    sides = {
        ("h", 1): [0.75, 0.75, 0.5],
        ("h", 2): [0.5, 0.25, 0.25],
        ("j", 1): [1, 0.5, 0.5],
        ("j", 2): [0.25, 0.25, 0],
    }
    for row in found.itertuples():
        a, b = sides["h", row.human_rel], sides["j", row.judge_rel]
        assert (row.rho, row.tau) == (pytest.approx(spearman(a, b)), pytest.approx(kendall(a, b)))
    assert found[["human_barren", "judge_barren"]].to_numpy().tolist() == [[0, 0]] * 4


def test_a_threshold_nobody_reaches():
    judge = grades_on(toy.runs(), toy.labels({"q1": {"d1": 1}, "q2": {"d5": 1}}))
    found = threshold_sensitivity(toy.runs(), toy.grades(), judge, ["AP@3"], thresholds=(2,))
    assert np.isnan(found.loc[0, ["rho", "tau"]].to_numpy(dtype=float)).all()
    assert found.loc[0, ["human_barren", "judge_barren"]].to_list() == [0, 2]


def test_measures_without_a_threshold_are_refused():
    with pytest.raises(
        ValueError, match="none of nDCG@10, DCG@5 has a relevance threshold; P@10 or AP@100 has"
    ):
        threshold_sensitivity(toy.runs(), toy.grades(), toy.grades(), ["nDCG@10", "DCG@5"])


def test_thresholds_on_real_labels(dl21):
    runs, labels, _ = dl21
    human, judge = (grades_on(runs, labels[name]) for name in ("human", "gpt4o.umbrela"))
    found = threshold_sensitivity(runs, human, judge, ["P@10"]).set_index(["human_rel", "judge_rel"])
    for t in (1, 2):
        means = [scores(runs, side, [f"P(rel={t})@10"]).means().iloc[:, 0] for side in (human, judge)]
        assert found.loc[(t, t), "rho"] == pytest.approx(spearman(*means))
