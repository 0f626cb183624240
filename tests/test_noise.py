"""Other judges' rankings and simulated noise: by hand, against a plain slow version, and on real runs."""

import math

import ir_measures
import numpy as np
import pandas as pd
import pytest
import toy

from poolkit.compare import kendall, spearman
from poolkit.formats import read_qrels
from poolkit.labels import grades_on, labels_from
from poolkit.noise import noise_through, rankings
from poolkit.resample import mean_draws, query_draws
from poolkit.score import as_qrels, scores
from poolkit.stability import judges
from poolkit.tables import DataError

SHAKY = pd.DataFrame(
    [[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.0, 0.25, 0.75]], index=[0, 1, 2], columns=[0, 1, 2]
)
FIRM = pd.DataFrame(np.eye(3), index=[0, 1, 2], columns=[0, 1, 2])
OTHER = {"q1": {"d1": 0, "d2": 2, "d4": 2}, "q2": {"d4": 2, "d5": 1, "d1": 1, "d3": 1}}


def rng():
    return np.random.default_rng(8)


def scored(grades=toy.GRADES, measures=("nDCG@10", "P@2"), name="author"):
    return scores(toy.runs(), grades_on(toy.runs(), toy.labels(grades, name)), list(measures))


def test_rankings_by_hand():
    found = rankings(scored(), scored(OTHER), "P@2", n_resamples=50, rng=rng())
    # Author: bm25 (1 + .5) / 2, dense (.5 + 1) / 2, hybrid (1 + 0) / 2 = .75, .75, .5.
    # Other: bm25 (.5 + 1) / 2, dense (1 + 1) / 2, hybrid (.5 + 0) / 2 = .75, 1, .25.
    pairs = found.pairs.set_index(["a", "b"])["order"].to_dict()
    assert pairs == {("dense", "bm25"): "tied", ("dense", "hybrid"): "same", ("bm25", "hybrid"): "same"}
    assert found.same.value == pytest.approx(2 / 3)
    assert found.tau.value == pytest.approx(2 / math.sqrt(2 * 3))  # 2 concordant, 1 tied left
    assert (found.left, found.measure, found.n_queries, found.notes) == ("author", "P@2", 2, ())


def test_ranking_draws_equal_the_plain_statistics():
    left, right = scored(), scored(OTHER)
    found = rankings(left, right, "nDCG@10", n_resamples=30, rng=rng())
    draws = query_draws(2, n_resamples=30, rng=rng())
    one, two = (mean_draws(s.values["nDCG@10"], draws) for s in (left, right))
    for b in range(30):
        assert found.rho.draws[b] == pytest.approx(spearman(one[b], two[b]), nan_ok=True)
        assert found.tau.draws[b] == pytest.approx(kendall(one[b], two[b]), nan_ok=True)
        ahead = [np.sign(np.round(m[[0, 0, 1]] - m[[1, 2, 2]], 12)) for m in (one[b], two[b])]
        assert found.same.draws[b] == pytest.approx((ahead[0] * ahead[1] > 0).mean())


def test_rankings_keep_to_what_both_scored():
    only = {"q2": toy.GRADES["q2"]}
    found = rankings(scored(), scored(only, name="other"), "P@2", n_resamples=20, rng=rng())
    assert found.n_queries == 1
    assert found.notes == ("one query alone cannot be resampled, so there are no intervals",)
    assert (found.tau.value, math.isnan(found.tau.low)) == (1, True)
    with pytest.raises(DataError, match="no query is scored on both sides"):
        rankings(scored({"q1": toy.GRADES["q1"]}), scored(only, name="other"), "P@2", rng=rng())
    with pytest.raises(DataError, match="author: scores of two pool epochs"):
        rankings(scored(), scored(only), "P@2", rng=rng())


def test_rankings_that_cannot_be_compared_say_so():
    alone = toy.runs({"bm25": toy.RANKINGS["bm25"]})
    one = scores(alone, grades_on(alone, toy.labels()), ["P@2"])
    found = rankings(one, one, "P@2", n_resamples=20, rng=rng())
    assert found.notes == ("one system alone has no order",)
    assert math.isnan(found.same.value)
    flat = scored({"q1": {"d1": 0}, "q2": {"d4": 0}}, name="other")
    found = rankings(scored(), flat, "P@2", n_resamples=20, rng=rng())
    assert found.notes == ("all systems score alike under one judge, so correlation is undefined",)
    assert math.isnan(found.rho.value)


def test_a_firm_judge_turns_nothing():
    found = noise_through(toy.runs(), toy.grades(), FIRM, "nDCG@10", n_worlds=1000, rng=rng())
    assert found.notes == ()
    assert (found.pairs["turned"] == 0).all()
    assert found.systems["shift"].abs().max() < 1e-12
    assert np.ptp(found.means, axis=0).max() == 0
    assert (found.tau.value, found.tau.low) == (pytest.approx(1), pytest.approx(1))


def test_observed_and_pairs():
    found = noise_through(toy.runs(), toy.grades(), SHAKY, "nDCG@10", n_worlds=200, rng=rng())
    expected = scored().mean("nDCG@10")
    assert found.systems["observed"].tolist() == pytest.approx(expected.tolist())
    for row in found.pairs.itertuples():
        assert row.gap == pytest.approx(expected[row.ahead] - expected[row.behind])
        at = [list(found.systems.index).index(s) for s in (row.ahead, row.behind)]
        ahead, behind = np.round(found.means[:, at].T, 12)
        assert row.turned == pytest.approx((ahead < behind).mean() + (ahead == behind).mean() / 2)
        assert (
            found.turned.loc[row.ahead, row.behind] == row.turned == found.turned.loc[row.behind, row.ahead]
        )
    assert "200 worlds are few" in found.notes[0]


def test_systems_observed_equal_have_no_turn():
    found = noise_through(toy.runs(), toy.grades(), SHAKY, "P@2", n_worlds=50, rng=rng())
    assert math.isnan(found.turned.loc["bm25", "dense"])  # both .75
    assert len(found.pairs) == 2


@pytest.mark.parametrize("measure", ["nDCG@2", "AP@10", "R@10", "P@2", "RR@10"])
def test_worlds_equal_a_plain_simulation(measure):
    runs, grades = toy.runs(), toy.grades()
    found = noise_through(runs, grades, SHAKY, measure, n_worlds=6, rng=rng())
    # The plain way: redraw every label of the table one by one, and let ir_measures score each world.
    qrels = as_qrels(runs, grades)
    for world, random in enumerate(rng().spawn(6)):
        chance = random.random(len(qrels))
        drawn = [
            int(np.searchsorted(SHAKY.loc[g].cumsum().to_numpy(), u, side="right"))
            for g, u in zip(qrels.relevance, chance, strict=True)
        ]
        for s, system in enumerate(runs.systems):
            table = runs.select([system]).frame()[["query_id", "doc_id", "score"]]
            values = ir_measures.iter_calc(
                [ir_measures.parse_measure(measure)], qrels.assign(relevance=drawn), table
            )
            assert found.means[world, s] == pytest.approx(sum(v.value for v in values) / 2)


def test_chances_are_those_of_the_matrix():
    # One system, one query, one document of grade 1: P@1 is 1 where the new grade is 1 or 2, chance .7.
    runs = toy.runs({"a": {"q1": ["d1"]}}, ("q1",))
    grades = grades_on(runs, toy.labels({"q1": {"d1": 1}}))
    found = noise_through(runs, grades, SHAKY, "P@1", n_worlds=4000, rng=rng())
    assert found.systems["simulated"].iloc[0] == pytest.approx(0.7, abs=4 * math.sqrt(0.21 / 4000))
    assert (found.systems["low"].iloc[0], found.systems["high"].iloc[0]) == (0, 1)
    assert found.notes == ("one system alone has no order to turn",)
    assert math.isnan(found.tau.value)


def test_documents_beyond_the_runs_move_the_denominator():
    runs = toy.runs({"a": {"q1": ["d1"]}}, ("q1",))
    grades = grades_on(runs, toy.labels({"q1": {"d1": 2, "d7": 0}}))
    moves = pd.DataFrame([[0, 1.0], [0, 1.0]], index=[0, 2], columns=[0, 2])
    found = noise_through(runs, grades, moves, "R@1", n_worlds=3, rng=rng())
    assert found.systems["observed"].iloc[0] == 1
    assert found.means[:, 0].tolist() == [0.5, 0.5, 0.5]  # d7 became relevant


def test_the_seed_fixes_the_worlds():
    one, two, three = (
        noise_through(
            toy.runs(), toy.grades(), SHAKY, "nDCG@10", n_worlds=20, rng=np.random.default_rng(s)
        ).means
        for s in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, three)


def test_grades_never_repeated_stay():
    unseen = SHAKY.copy()
    unseen.loc[2] = np.nan
    found = noise_through(toy.runs(), toy.grades(), unseen, "nDCG@10", n_worlds=10, rng=rng())
    assert found.notes[0] == "no pair of grade 2 was repeated, so those 2 stay as they are"
    only = toy.grades({"q1": {"d1": 1}, "q2": {"d4": 1}})
    found = noise_through(toy.runs(), only, unseen, "nDCG@10", n_worlds=10, rng=rng())
    assert found.notes == ("10 worlds are few; METHOD asks for 1,000",)  # no grade 2 here to stay


def test_bad_matrices_are_refused():
    def refused(matrix, says):
        with pytest.raises(DataError, match=f"flip matrix: {says}"):
            noise_through(toy.runs(), toy.grades(), matrix, "nDCG@10", rng=rng())

    refused(SHAKY.drop(index=2), "no row for grade 2 of author; rows are 0, 1. Take it from repeats")
    refused(SHAKY * 0.9, "row 0 is not a set of chances that add up to 1")
    refused(SHAKY.replace({0.1: -0.1, 0.7: 0.9}), "row 0 is not a set")  # sums to 1
    unseen = SHAKY.copy()
    unseen.loc[2] = np.nan
    refused(unseen[[0, 1]], "row 2 is empty and there is no column 2 to stay in")


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="measure Bpref has no numerator and denominator here"):
        noise_through(toy.runs(), toy.grades(), SHAKY, "Bpref", rng=rng())
    with pytest.raises(ValueError, match="n_worlds must be at least 1; got 0"):
        noise_through(toy.runs(), toy.grades(), SHAKY, "P@2", n_worlds=0, rng=rng())
    empty = grades_on(toy.runs(), toy.labels({}))
    with pytest.raises(DataError, match="no query has a label, so there is no noise to simulate"):
        noise_through(toy.runs(), empty, SHAKY, "P@2", rng=rng())


def test_real_judges_rank_alike(dl21):
    runs, given, _ = dl21
    left, right = (scores(runs, grades_on(runs, given[n]), ["nDCG@10"]) for n in ("human", "gpt4o.umbrela"))
    found = rankings(left, right, "nDCG@10", n_resamples=500, rng=rng())
    assert len(found.pairs) == 1953
    assert round(found.rho.value, 3) == 0.993  # cases/README.md
    assert round(found.tau.value, 3) == 0.939
    assert found.same.value == pytest.approx((found.pairs["order"] == "same").mean())


def test_real_noise(dl21):
    runs, given, _ = dl21
    matrix = judges(given["gpt4o.umbrela"], given["gpt4.umbrela"], n_resamples=10, rng=rng()).flip_matrix
    grades = grades_on(runs, given["gpt4o.umbrela"])
    found = noise_through(runs, grades, matrix, "nDCG@10", rng=rng())
    assert found.means.shape == (1000, 63)
    expected = scores(runs, grades, ["nDCG@10"]).mean("nDCG@10")
    assert found.systems["observed"].tolist() == pytest.approx(expected.tolist())
    close, far = found.pairs[found.pairs["gap"] < 0.005], found.pairs[found.pairs["gap"] > 0.05]
    assert close["turned"].mean() > 0.2
    assert far["turned"].max() < 0.01


# cases/README.md: Spearman and Kendall of nDCG@10 under people and under each of these.
@pytest.mark.parametrize(
    ("name", "rho", "tau"),
    [
        ("gpt4o.umbrela", 0.993, 0.939),
        ("gpt4.umbrela", 0.990, 0.924),
        ("gpt4o.binary", 0.986, 0.906),
        ("gpt4.binary", None, None),  # no figure there: only that it is a ranking like the others
        ("llama32.binary", 0.933, 0.783),
    ],
)
def test_five_real_label_sets(dl21, name, rho, tau):
    runs, given, _ = dl21
    left, right = (scores(runs, grades_on(runs, given[n]), ["nDCG@10"]) for n in ("human", name))
    found = rankings(left, right, "nDCG@10", n_resamples=200, rng=rng())
    assert len(found.pairs) == 1953
    if rho is None:
        assert 0.9 < found.rho.value < 0.993
    else:
        assert (round(found.rho.value, 3), round(found.tau.value, 3)) == (rho, tau)
    # Each set of labels as a judge's second reading, over the whole pool.
    matrix = judges(given["gpt4o.umbrela"], given[name], n_resamples=10, rng=rng()).flip_matrix
    grades = grades_on(runs, given["gpt4o.umbrela"])
    worlds = noise_through(runs, grades, matrix, "nDCG@10", n_worlds=50, rng=rng())
    if name == "gpt4o.umbrela":
        assert worlds.pairs["turned"].max() == 0  # it repeats itself without a flip
    else:
        assert worlds.pairs["turned"].max() > 0.25
        assert 0.5 < worlds.tau.value < 1


def test_real_prompts_pushed_through_the_whole_pool(cases, dl21):
    runs, given, _ = dl21
    files = (cases / "judge-noise" / f"gpt-4o.prompt{n}.qrels.gz" for n in (0, 12))
    one, two = (labels_from(read_qrels(f).strict(), f.name, human=False) for f in files)
    matrix = judges(one, two, n_resamples=10, rng=rng()).flip_matrix
    grades = grades_on(runs, given["gpt4o.umbrela"])
    found = noise_through(runs, grades, matrix, "nDCG@10", n_worlds=1_000, rng=rng())
    assert found.means.shape == (1_000, 63)
    assert found.notes == ()
    # Another prompt turns close pairs about as often as a coin, and wide ones never.
    pairs = found.pairs
    assert pairs.loc[pairs["gap"] < 0.005, "turned"].mean() > 0.25
    assert pairs.loc[pairs["gap"] > 0.1, "turned"].max() < 0.01
    assert 0.8 < found.tau.value < 0.99
