"""Orderings by human and judge: by hand, against slow forms, and on TREC DL 2021."""

from itertools import permutations

import numpy as np
import pytest
import scipy.stats
import toy

from poolkit.compare import kendall, spearman, tau_ap
from poolkit.correlate import correlate
from poolkit.labels import grades_on
from poolkit.resample import query_draws
from poolkit.score import Scores, scores
from poolkit.tables import DataError


def scored(values, title="human", *, systems="abcdefgh", queries=None, epoch="e0"):
    """Scores of P@10 from a plain table, systems by queries."""
    values = np.array(values, dtype=float)
    queries = queries or [f"q{i}" for i in range(values.shape[1])]
    return Scores(
        tuple(systems[: len(values)]), tuple(queries), ("P@10",), {"P@10": values}, {}, {},
        title, title, epoch, (), (), (),
    )  # fmt: skip


def correlated(human, judge, **options):
    return correlate(human, judge, "P@10", **{"rng": np.random.default_rng(6), "draws": 200} | options)


HUMAN = [[0.2, 0.4], [0.8, 0.8], [0.5, 0.5], [0.1, 0.1]]  # means .3 .8 .5 .1: b c a d
JUDGE = [[0.6, 0.6], [0.9, 0.9], [0.5, 0.6], [0.2, 0.2]]  # means .6 .9 .55 .2: b a c d


def test_means_and_coefficients_by_hand():
    found = correlated(scored(HUMAN), scored(JUDGE, "gpt"))
    assert (found.measure, found.human, found.judge, found.n_queries) == ("P@10", "human", "gpt", 2)
    assert found.means.index.to_list() == ["b", "c", "a", "d"]
    assert found.means.to_numpy() == pytest.approx(
        np.array([[0.8, 0.9], [0.5, 0.55], [0.3, 0.6], [0.1, 0.2]])
    )
    assert found.rho.value == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert found.tau.value == pytest.approx(4 / 6)
    # judge's order b a c d: 1 of 1, 1 of 2, 3 of 3: 2 / 3 * 2.5 - 1
    assert found.tau_ap.value == pytest.approx(2 / 3)
    assert (found.agree, found.differ, found.tied, found.pairs) == (5, 1, 0, 6)
    assert found.pair_agreement == 5 / 6
    assert found.notes == ()


def test_p_values_are_scipys_and_exact_permutation():
    found = correlated(scored(HUMAN), scored(JUDGE))
    x, y = found.means["human"], found.means["judge"]
    assert found.rho.p_value == scipy.stats.spearmanr(x, y).pvalue
    assert found.tau.p_value == scipy.stats.kendalltau(x, y).pvalue
    # All 24 orders of the judge's means, counted one by one; two-sided is twice the smaller tail.
    every = np.array([tau_ap(x.to_numpy(), np.array(p)) for p in permutations(y)])
    wanted = min(1, 2 * min(np.mean(every >= 2 / 3 - 1e-9), np.mean(every <= 2 / 3 + 1e-9)))
    assert found.tau_ap.p_value == pytest.approx(wanted)


def test_draws_are_the_plain_statistics_of_resampled_queries():
    rng = np.random.default_rng(1)
    human = rng.random((6, 9))
    judge = human + rng.random((6, 9))
    draws = query_draws(9, n_resamples=30, rng=rng)
    found = correlated(scored(human), scored(judge), draws=draws, level=0.9)
    order = ["abcdef".index(s) for s in found.means.index]
    for i, counts in enumerate(draws):
        again = np.repeat(np.arange(9), counts.astype(int))
        x, y = (side[order][:, again].mean(axis=1) for side in (human, judge))
        np.testing.assert_allclose(found.human_draws[i], x)
        np.testing.assert_allclose(found.judge_draws[i], y)
        assert found.rho.draws[i] == pytest.approx(spearman(x, y))
        assert found.tau.draws[i] == pytest.approx(kendall(x, y))
        assert found.tau_ap.draws[i] == pytest.approx(tau_ap(x, y))
    assert (found.rho.low, found.rho.high) == pytest.approx(tuple(np.quantile(found.rho.draws, [0.05, 0.95])))
    ranks = np.array([scipy.stats.rankdata(-d) for d in found.judge_draws])
    np.testing.assert_allclose(found.ranks["judge_low"], np.quantile(ranks, 0.05, axis=0))
    np.testing.assert_allclose(found.ranks["judge_high"], np.quantile(ranks, 0.95, axis=0))


def test_ranks_share_their_mean_on_ties():
    found = correlated(
        scored([[0.5, 0.5], [0.9, 0.9], [0.5, 0.5]]), scored([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])
    )
    assert found.ranks["human"].to_dict() == {"b": 1, "c": 2.5, "a": 2.5}
    assert found.ranks["judge"].to_dict() == {"b": 2, "c": 1, "a": 3}
    assert found.ranks[["human_low", "human_high"]].loc["a"].to_list() == [2.5, 2.5]
    # c before a is tied under human; b against c differs, b against a agrees
    assert (found.agree, found.differ, found.tied, found.pair_agreement) == (1, 1, 1, 1 / 3)


def test_near_ties_are_listed_apart():
    found = correlated(scored([[0.5], [0.5004], [0.9]]), scored([[0.3], [0.2], [0.9995]]))
    assert found.near_ties.to_dict("records") == [
        {
            "a": "b",
            "b": "a",
            "human": pytest.approx(0.0004),
            "judge": pytest.approx(-0.1),
            "order": "different",
        }
    ]
    assert len(correlated(scored(HUMAN), scored(JUDGE), near_tie=0.06).near_ties) == 1  # a and c under judge


def test_calibration_by_hand():
    # b: 12.5 %, c: 10 %, a: 100 %, d: 100 %; mean 55.625
    found = correlated(scored(HUMAN), scored(JUDGE)).calibration
    assert found.percent.to_dict() == pytest.approx({"b": 12.5, "c": 10, "a": 100, "d": 100})
    assert (found.mean, found.low, found.high, found.spread) == pytest.approx((55.625, 10, 100, 90))
    # deviations -43.125, -45.625, 44.375, 44.375: squares sum to 7879.6875, over 3
    assert found.sd == pytest.approx((7879.6875 / 3) ** 0.5)


def test_only_common_queries_count():
    human = scored([[0.9, 0.1, 0.5], [0.2, 0.2, 0.5]], queries=["q1", "q2", "q3"])
    judge = scored([[0.0, 0.8], [0.1, 0.2]], queries=["q4", "q1"])
    found = correlated(human, judge)
    assert (found.n_queries, found.dropped_human, found.dropped_judge) == (1, ("q2", "q3"), ("q4",))
    assert found.means.to_numpy().tolist() == [[0.9, 0.8], [0.2, 0.2]]


def test_the_same_seed_gives_the_same_result_with_draws_given_or_not():
    rng = np.random.default_rng(6)
    draws = query_draws(2, n_resamples=200, rng=rng.spawn(3)[0])
    one, two = correlated(scored(HUMAN), scored(JUDGE)), correlated(scored(HUMAN), scored(JUDGE), draws=draws)
    np.testing.assert_array_equal(one.rho.draws, two.rho.draws)
    np.testing.assert_array_equal(one.ceiling.draws, two.ceiling.draws)


def test_a_judge_that_is_human_agrees_in_everything():
    found = correlated(scored(HUMAN), scored(HUMAN))
    assert [c.value for c in (found.rho, found.tau, found.tau_ap)] == pytest.approx([1, 1, 1])
    assert [c.low for c in (found.rho, found.tau, found.tau_ap)] == pytest.approx([1, 1, 1])
    assert (found.pair_agreement, found.calibration.mean) == (1, 0)


def test_two_systems():
    found = correlated(scored(HUMAN[:2]), scored(JUDGE[:2]))
    assert (found.rho.value, found.agree) == (pytest.approx(1), 1)
    assert np.isnan([found.rho.p_value, found.tau.p_value, found.tau_ap.p_value]).all()
    assert found.notes == (
        "Two systems have no ordering to correlate beyond right or wrong; there is no p-value.",
    )


def test_one_system():
    found = correlated(scored(HUMAN[:1]), scored(JUDGE[:1]))
    assert np.isnan([found.rho.value, found.rho.low, found.pair_agreement, found.calibration.sd]).all()
    assert found.near_ties.empty
    assert found.notes[0].startswith("One system has no ordering to correlate")


def test_one_query():
    found = correlated(scored([r[:1] for r in HUMAN]), scored([r[:1] for r in JUDGE]))
    assert found.rho.value == pytest.approx(spearman([0.2, 0.8, 0.5, 0.1], [0.6, 0.9, 0.5, 0.2]))
    assert np.isnan([found.rho.low, found.rho.high, found.ceiling.rho]).all()
    assert found.ranks[["human_low", "judge_high"]].isna().all(axis=None)
    assert "One common query: resampling says nothing" in found.notes[0]


def test_constant_scores():
    found = correlated(scored(HUMAN), scored(np.full((4, 2), 0.5), "gpt"))
    assert np.isnan(
        [found.rho.value, found.tau.value, found.tau_ap.value, found.rho.p_value, found.rho.low]
    ).all()
    assert found.rho.undefined == 200
    assert (found.agree, found.tied) == (0, 6)
    assert found.notes == ("Every system has the same mean under gpt: no correlation is defined.",)


def test_bias_against_nothing_is_not_defined():
    found = correlated(
        scored([[0.0, 0.0], [0.1, 0.1], [0.2, 0.2]]), scored([[0.1, 0.1], [0.2, 0.2], [0.4, 0.4]])
    )
    assert np.isnan(found.calibration.percent["a"])
    assert found.calibration.mean == pytest.approx(100)
    assert found.notes == ("1 system scores 0 under human: no bias in percent is defined there.",)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="level must lie between 0 and 1; got 95"):
        correlated(scored(HUMAN), scored(JUDGE), level=95)
    with pytest.raises(ValueError, match="draws are over 3 queries, scores over 2"):
        correlated(scored(HUMAN), scored(JUDGE), draws=np.ones((5, 3)))
    with pytest.raises(ValueError, match="measure AP was not scored"):
        correlate(scored(HUMAN), scored(JUDGE), "AP", rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="no query is scored on both sides"):
        correlated(scored(HUMAN), scored(JUDGE, queries=["x", "y"]))


def test_the_toy_world():
    # P@2: author bm25 .75, dense .75, hybrid .5 -> the first two tied
    judge = grades_on(toy.runs(), toy.labels({"q1": {"d2": 2, "d4": 1}, "q2": {"d5": 2}}, name="gpt"))
    sides = [scores(toy.runs(), g, ["P@2"]) for g in (toy.grades(), judge)]
    found = correlate(*sides, "P@2", rng=np.random.default_rng(0), draws=50)
    # judge: bm25 (1/2 + 1/2) / 2, dense (1 + 1/2) / 2, hybrid (1/2 + 0) / 2
    assert found.means.to_dict("list") == {"human": [0.75, 0.75, 0.5], "judge": [0.75, 0.5, 0.25]}
    assert found.means.index.to_list() == ["dense", "bm25", "hybrid"]
    assert (found.agree, found.tied) == (2, 1)


@pytest.fixture(scope="module")
def dl21_scores(dl21):
    runs, labels, _ = dl21
    return {name: scores(runs, grades_on(runs, given), ["nDCG@10"]) for name, given in labels.items()}


@pytest.mark.parametrize(
    ("judge", "rho", "tau", "counts"),
    [
        ("gpt4o.umbrela", 0.993, 0.939, (1891, 59, 3)),
        ("gpt4.umbrela", 0.990, 0.924, (1876, 74, 3)),
        ("gpt4o.binary", 0.986, 0.906, (1858, 92, 3)),
        ("llama32.binary", 0.933, 0.783, (1738, 212, 3)),
    ],
)
def test_published_figures(dl21_scores, judge, rho, tau, counts):
    found = correlate(
        dl21_scores["human"], dl21_scores[judge], "nDCG@10", rng=np.random.default_rng(7), draws=500
    )
    assert (round(found.rho.value, 3), round(found.tau.value, 3)) == (rho, tau)
    assert (found.agree, found.differ, found.tied) == counts
    assert found.pairs == 63 * 62 // 2
    assert found.rho.low < 0.98
    assert max(found.rho.p_value, found.tau.p_value) < 1e-15
    assert found.tau_ap.p_value < 0.001
    assert found.ceiling.rho == pytest.approx(0.944, abs=0.004)
