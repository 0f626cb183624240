"""Noise or conflict: by hand, against one bootstrap a pair, and on TREC DL 2021."""

import numpy as np
import pandas as pd
import pytest
import toy
from statsmodels.stats.multitest import multipletests

from poolkit.disagree import CONFLICT, NOISE, STRONG, UNKNOWN, disagree, evidence
from poolkit.labels import grades_on
from poolkit.resample import query_draws
from poolkit.score import Scores, scores
from poolkit.tables import DataError


def scored(values, title="human", *, systems=None, queries=None, epoch="e0"):
    """Scores of P@10 from a plain table, systems by queries."""
    values = np.array(values, dtype=float)
    systems = systems or [f"s{i:02}" for i in range(len(values))]
    queries = queries or [f"q{i}" for i in range(values.shape[1])]
    return Scores(
        tuple(systems), tuple(queries), ("P@10",), {"P@10": values}, {}, {}, title, title, epoch, (), (), ()
    )  # fmt: skip


def drawn(n, n_resamples=10_000, seed=3):
    return query_draws(n, n_resamples=n_resamples, rng=np.random.default_rng(seed))


# Four queries. Under human, a beats b on every query, and c beats d on the mean only.
HUMAN = scored([[0.9] * 4, [0.8] * 4, [0.9, 0.1, 0.1, 0.1], [0.0, 0.2, 0.2, 0.2]], systems=list("abcd"))


def verdicts(found):
    return {
        f"{a}{b}": v
        for a, b, v in zip(found.pairs["a"], found.pairs["b"], found.pairs["verdict"], strict=True)
    }


def test_a_certain_pair_turned_certainly_is_a_strong_conflict():
    judge = scored([[0.8] * 4, [0.9] * 4, *HUMAN.values["P@10"][2:]], systems=list("abcd"))
    found = disagree(HUMAN, judge, "P@10", draws=drawn(4))
    assert verdicts(found) == {"ab": STRONG} | dict.fromkeys(("ac", "ad", "bc", "bd", "cd"), "")
    pair = found.pairs.iloc[0]
    assert (pair["human_p"], pair["judge_p"], pair["order"]) == (1, 0, "different")
    assert (pair["human"], pair["human_low"], pair["judge_high"]) == pytest.approx((0.1, 0.1, -0.1))
    assert (found.noise_share, found.preserved) == (0, 1 - 1 / 6)


def test_a_certain_pair_turned_by_chance_is_a_conflict():
    judge = scored(
        [[0.0, 0.9, 0.9, 0.0], [0.9, 0.1, 0.1, 0.9], *HUMAN.values["P@10"][2:]], systems=list("abcd")
    )
    found = disagree(HUMAN, judge, "P@10", draws=drawn(4))
    assert verdicts(found)["ab"] == CONFLICT
    assert found.counts[[CONFLICT, STRONG]].to_list() == [1, 0]


def test_an_uncertain_pair_is_within_noise_whatever_the_judge_is_sure_of():
    # c above d: q0 is drawn at least once in 1 - (3/4)^4 = .684 of draws: once gives .9 - .3 > 0
    judge = scored([*HUMAN.values["P@10"][:2], [0.1] * 4, [0.2] * 4], systems=list("abcd"))
    found = disagree(HUMAN, judge, "P@10", draws=drawn(4))
    assert verdicts(found)["cd"] == NOISE
    pair = found.pairs.set_index(["a", "b"]).loc[("c", "d")]
    assert pair["human_p"] == pytest.approx(1 - 0.75**4, abs=0.02)
    assert pair["judge_p"] == 0
    assert (found.noise_share, found.preserved) == (1, 1)
    counts = {"pairs": 6, "same": 5, "different": 1, "tied": 0, "near_ties": 0}
    assert found.counts.to_dict() == counts | {NOISE: 1, CONFLICT: 0, STRONG: 0, UNKNOWN: 0}


def test_exactly_the_level_is_certain():
    # "uncertain if min(p, 1 - p) > level": one of twenty draws, hand-made, is against
    draws = np.array([[2.0, 0.0]] * 19 + [[0.0, 2.0]])
    human, judge = scored([[0.9, 0.0], [0.5, 0.3]]), scored([[0.1, 0.1], [0.2, 0.2]])
    found = disagree(human, judge, "P@10", draws=draws, level=0.05)
    assert found.pairs["human_p"].item() == 0.95
    assert found.pairs["verdict"].item() == STRONG
    assert disagree(human, judge, "P@10", draws=draws, level=0.049).pairs["verdict"].item() == NOISE


def test_ties_in_draws_count_half_and_tied_pairs_are_no_disagreement():
    same = scored([[0.5, 0.1], [0.5, 0.1], [0.1, 0.5]])
    found = disagree(same, scored([[0.5, 0.1], [0.1, 0.3], [0.1, 0.1]]), "P@10", draws=drawn(2))
    assert found.counts[["same", "different", "tied"]].to_list() == [0, 0, 3]
    assert found.pairs["human_p"].iloc[0] == 0.5
    assert np.isnan(found.noise_share)
    assert found.preserved == 1


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(8)
    human = rng.random((12, 1)) * 0.2 + rng.random((12, 30))
    judge = human + 0.8 * rng.random((12, 30))
    return scored(human), scored(judge, "gpt")


@pytest.mark.parametrize(("level", "correction"), [(0.05, None), (0.2, None), (0.05, "holm"), (0.3, "holm")])
def test_every_pair_equals_its_own_bootstrap(world, level, correction):
    draws = drawn(30, 400)
    found = disagree(*world, "P@10", draws=draws, level=level, correction=correction)
    tables = [side.table("P@10") for side in world]
    rows = []
    for a, b in zip(found.pairs["a"], found.pairs["b"], strict=True):
        row = []
        for table in tables:
            difference = (table.loc[a] - table.loc[b]).to_numpy()
            again = np.array([difference.repeat(counts.astype(int)).mean() for counts in draws])
            p = np.mean(again > 1e-12) + np.mean(abs(again) <= 1e-12) / 2
            row += [difference.mean(), *np.quantile(again, [level, 1 - level]), p]
        rows.append(row)
    wanted = np.array(rows)
    columns = ["human", "human_low", "human_high", "human_p", "judge", "judge_low", "judge_high", "judge_p"]
    np.testing.assert_allclose(found.pairs[columns].to_numpy(), wanted, atol=1e-9)
    tails = [np.minimum(wanted[:, i], 1 - wanted[:, i]) for i in (3, 7)]
    if correction:
        tails = [multipletests(t, method="holm")[1] for t in tails]
    for i, verdict in enumerate(found.pairs["verdict"]):
        if wanted[i, 0] * wanted[i, 4] > 0:
            assert verdict == ""
        elif tails[0][i] > level:
            assert verdict == NOISE
        else:
            assert verdict == (STRONG if tails[1][i] <= level and wanted[i, 7] < 0.5 else CONFLICT)
    assert (found.family, found.correction, found.level) == (66, correction, level)


def test_the_interval_says_what_the_verdict_says(world):
    found = disagree(*world, "P@10", draws=drawn(30, 2000))
    assert found.interval_level == pytest.approx(0.9)
    differing = found.verdict(NOISE, CONFLICT, STRONG)
    assert len(differing) == found.counts["different"] > 0
    around = (differing["human_low"] < 0) & (differing["human_high"] > 0)
    assert (around == (differing["verdict"] == NOISE)).all()


def test_a_is_ahead_under_human_and_the_draws_are_kept(world):
    found = disagree(*world, "P@10", draws=drawn(30, 100))
    assert (found.pairs["human"] >= 0).all()
    assert found.human_draws.shape == found.judge_draws.shape == (100, 12)
    pair = found.pairs.iloc[5]
    assert pair["judge_p"] == (found.judge_draws[pair["a"]] > found.judge_draws[pair["b"]]).mean()


def test_holm_is_never_more_certain(world):
    plain, holm = (disagree(*world, "P@10", draws=drawn(30), correction=c) for c in (None, "holm"))
    assert set(holm.verdict(CONFLICT, STRONG).index) <= set(plain.verdict(CONFLICT, STRONG).index)
    assert plain.notes == ()


def test_holm_says_when_draws_are_too_few(world):
    found = disagree(*world, "P@10", draws=drawn(30, 1000), correction="holm")
    # 66 / 0.05 = 1320
    assert found.notes == (
        "1000 resamples; verdicts should rest on at least 10000.",
        "Holm over 66 pairs asks for tails finer than one draw in 1000: only a pair "
        "without a contrary draw can pass its first step. 1320 resamples would resolve it.",
    )


def test_only_common_queries_count():
    human = scored([[0.9, 0.0, 0.3], [0.1, 0.9, 0.2]], queries=["q1", "q2", "q3"])
    judge = scored([[0.1, 0.5], [0.2, 0.7]], queries=["q3", "q1"])
    found = disagree(human, judge, "P@10", draws=drawn(2))
    assert found.n_queries == 2
    assert found.pairs[["human", "judge"]].to_numpy() == pytest.approx(np.array([[0.45, -0.15]]))


def test_one_query_settles_nothing():
    found = disagree(scored([[0.9], [0.1]]), scored([[0.1], [0.9]]), "P@10", draws=drawn(1))
    assert found.pairs["verdict"].to_list() == [UNKNOWN]
    assert found.pairs[["human_p", "judge_p", "human_low"]].isna().all(axis=None)
    assert np.isnan([found.noise_share, found.preserved]).all()
    assert "One common query: resampling says nothing" in found.notes[0]


@pytest.mark.parametrize("correction", [None, "holm"])
def test_one_system_has_no_pair(correction):
    found = disagree(
        scored([[0.9, 0.1]]), scored([[0.1, 0.2]]), "P@10", draws=drawn(2), correction=correction
    )
    assert found.pairs.empty
    assert "verdict" in found.pairs
    assert np.isnan([found.noise_share, found.preserved]).all()
    assert found.notes == ("One system: there is no pair to disagree on.",)


def test_constant_scores_disagree_on_nothing():
    found = disagree(
        scored(np.ones((3, 4))), scored(np.ones((3, 4)), "gpt", epoch="e1"), "P@10", draws=drawn(4)
    )
    assert found.counts["tied"] == 3


def test_two_epochs_of_one_judge_are_refused():
    with pytest.raises(
        DataError, match=r"human: scores of two pool epochs \(e0 and e1\) do not belong in one"
    ):
        disagree(
            HUMAN, scored(HUMAN.values["P@10"], systems=list("abcd"), epoch="e1"), "P@10", draws=drawn(4)
        )


def test_arguments_are_checked(world):
    with pytest.raises(ValueError, match=r"level is the share of one tail and must lie below 0.5; got 0.95"):
        disagree(*world, "P@10", draws=drawn(30, 10), level=0.95)
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1; got 0"):
        disagree(*world, "P@10", draws=drawn(30, 10), level=0)
    with pytest.raises(ValueError, match=r"correction must be None or 'holm'; got 'bonferroni'"):
        disagree(*world, "P@10", draws=drawn(30, 10), correction="bonferroni")
    with pytest.raises(ValueError, match=r"draws are over 29 queries, scores over 30"):
        disagree(*world, "P@10", draws=drawn(29, 10))
    with pytest.raises(DataError, match="no query is scored on both sides"):
        disagree(scored([[1.0]]), scored([[1.0]], queries=["x"]), "P@10", draws=drawn(1))


def test_1891_pairs():
    rng = np.random.default_rng(0)
    human, judge = (scored(rng.random((62, 303))) for _ in range(2))
    found = disagree(human, judge, "P@10", draws=drawn(303))
    assert len(found.pairs) == 1891


JUDGE = {"q1": {"d1": 0, "d2": 2, "d3": 1}, "q2": {"d4": 0, "d5": 2, "d1": 1, "d3": 2}}


def toy_evidence(measure="P@2", **options):
    judge = grades_on(toy.runs(), toy.labels(JUDGE, name="gpt"))
    return evidence(toy.runs(), toy.grades(), judge, measure, **{"a": "dense", "b": "bm25"} | options)


def test_evidence_by_hand():
    found = toy_evidence()
    # P@2 author: q1 dense .5 (d2), bm25 1 (d1 d2); q2 dense 1 (d5 d4), bm25 .5 (d5)
    # P@2 judge: q1 dense .5, bm25 .5 (d2); q2 dense .5 (d5), bm25 1 (d3 d5)
    assert found.queries.to_dict("index") == {
        "q2": {"human": 0.5, "judge": -0.5, "contribution": -1, "share": 2},
        "q1": {"human": -0.5, "judge": 0, "contribution": 0.5, "share": -1},
    }
    # q2: d3 (author 0, judge 2) is bm25's first, d4 (1, 0) dense's second. q1: d1 (2, 0) bm25's first,
    # d2 (1, 2) dense's first and bm25's second, d4 (0, unjudged) dense's second; d3 lies beyond the cutoff.
    shown = found.documents.astype(object).where(found.documents.notna(), None)
    assert [tuple(row) for row in shown.to_numpy()] == [
        ("q2", "d3", None, 1, 0, 2),
        ("q2", "d4", 2, None, 1, 0),
        ("q1", "d1", None, 1, 2, 0),
        ("q1", "d2", 1, 2, 1, 2),
        ("q1", "d4", 2, None, 0, None),
    ]
    assert list(found.documents.columns) == ["query_id", "doc_id", "rank_a", "rank_b", "human", "judge"]


def test_evidence_adds_up_to_the_disagreement(dl21):
    runs, labels, _ = dl21
    human, judge = (grades_on(runs, labels[name]) for name in ("human", "llama32.binary"))
    a, b = runs.systems[3], runs.systems[40]
    found = evidence(runs, human, judge, "nDCG@10", a=a, b=b)
    means = [scores(runs, side, ["nDCG@10"]).mean("nDCG@10") for side in (human, judge)]
    wanted = (means[1][a] - means[1][b]) - (means[0][a] - means[0][b])
    assert found.queries["contribution"].mean() == pytest.approx(wanted)
    assert found.queries["share"].sum() == pytest.approx(1)
    assert found.queries["share"].is_monotonic_decreasing
    assert (found.documents["human"].fillna(-1) != found.documents["judge"].fillna(-1)).all()
    assert found.documents[["rank_a", "rank_b"]].max(axis=None) <= 10


def test_evidence_of_a_measure_without_cutoff_reads_every_rank():
    assert toy_evidence("AP").documents["doc_id"].to_list().count("d3") == 2


def test_evidence_where_nothing_differs():
    found = evidence(toy.runs(), toy.grades(), toy.grades(), "P@2", a="dense", b="bm25")
    assert found.documents.empty
    assert found.queries["contribution"].to_list() == [0, 0]
    assert found.queries["share"].isna().all()


def test_evidence_refuses_one_system_and_unknown_ones():
    with pytest.raises(ValueError, match="two different systems are needed; got dense twice"):
        toy_evidence(b="dense")
    with pytest.raises(ValueError, match=r"unknown system: splade. Known: bm25, dense, hybrid"):
        toy_evidence(b="splade")


@pytest.mark.parametrize(
    ("judge", "noise", "conflict", "strong"),
    [("gpt4o.umbrela", 59, 0, 0), ("gpt4.umbrela", 74, 0, 0), ("llama32.binary", 147, 65, 4)],
)
def test_dl21(dl21, judge, noise, conflict, strong):
    runs, labels, _ = dl21
    sides = [scores(runs, grades_on(runs, labels[name]), ["nDCG@10"]) for name in ("human", judge)]
    found = disagree(*sides, "nDCG@10", draws=drawn(53, seed=7))
    counts = found.counts
    assert counts["pairs"] == 1953
    assert counts[NOISE] + counts[CONFLICT] == counts["different"] == noise + conflict
    assert counts[[NOISE, CONFLICT, STRONG]].to_list() == pytest.approx([noise, conflict, strong], abs=4)
    assert isinstance(found.pairs, pd.DataFrame)
