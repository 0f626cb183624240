"""Any two systems: verdicts by hand, against one bootstrap a pair, queries needed by scipy, and on dl21."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower
from test_choose import VALUES, draws, world

from poolkit.labels import grades_on
from poolkit.resample import query_draws
from poolkit.score import scores
from poolkit.versus import queries_needed, versus


def said(found):
    return {f"{p.a}{p.b}": p.verdict for p in found.pairs.itertuples()}


def test_verdicts_by_hand():
    found = versus(world(), "P@1", draws=draws())
    # b and d equal on every query; both lead a by .1 on every query; c swings by .2 round a and .1 below b.
    assert said(found) == {
        "bd": "tie", "ba": "win", "bc": "inconclusive", "da": "win", "dc": "inconclusive", "ac": "inconclusive",
    }  # fmt: skip
    assert found.counts == {"win": 2, "tie": 1, "inconclusive": 3}
    assert found.pairs["difference"].tolist() == pytest.approx([0, 0.1, 0.1, 0.1, 0.1, 0])
    assert (found.measure, found.n_queries, found.margin, found.level) == ("P@1", 4, 0.001, 0.95)
    # .1 is the margin itself: no further apart than near-tied.
    assert said(versus(world(), "P@1", draws=draws(), margin=0.1))["ba"] == "tie"
    assert said(versus(world(), "P@1", draws=draws(), margin=0.2))["ba"] == "tie"
    assert said(versus(world(), "P@1", draws=draws(), margin=0))["bd"] == "tie"


def test_every_pair_equals_its_own_bootstrap():
    random = np.random.default_rng(7)
    table = {f"s{i}": random.random(9) for i in range(5)}
    weights = draws(9)
    found = versus(world(table), "P@1", draws=weights, margin=0.02)
    assert len(found.pairs) == 10
    for p in found.pairs.itertuples():
        gap = table[p.a] - table[p.b]
        assert p.difference == pytest.approx(gap.mean())
        assert p.difference >= 0
        assert (p.low, p.high) == pytest.approx(np.quantile(weights @ gap / 9, [0.025, 0.975]))
        assert p.deviation == pytest.approx(gap.std(ddof=1))
        expected = "win" if p.low > 0.02 else "tie" if p.low >= -0.02 and p.high <= 0.02 else "inconclusive"
        assert p.verdict == expected
        wanted = TTestPower().solve_power(gap.mean() / gap.std(ddof=1), alpha=0.05, power=0.8)
        assert p.queries == math.ceil(abs(wanted))
    assert found.draws == pytest.approx(weights @ np.array(list(table.values())).T / 9)


def test_the_closest_rival():
    random = np.random.default_rng(7)
    table = {f"s{i}": random.random(9) for i in range(5)}
    found = versus(world(table), "P@1", draws=draws(9))
    best = found.pairs["a"].iloc[0]
    mine = found.pairs[found.pairs["a"] == best].set_index("b")["queries"]
    assert found.closest(best, list(mine.index)) == (mine.idxmin(), mine.min())
    assert found.closest(best, mine.index[:1]) == (mine.index[0], mine.iloc[0])
    last = found.pairs["b"].iloc[-1]
    assert found.closest(last, [best]) == (best, mine[last])
    assert versus(world(), "P@1", draws=draws()).closest("b", ["d"]) is None  # no number tells equals apart


def test_what_no_number_of_queries_tells_is_said():
    found = versus(world(), "P@1", draws=draws())
    queries = found.pairs.set_index(["a", "b"])["queries"]
    assert pd.isna(queries["b", "d"])
    assert pd.isna(queries["b", "a"])
    assert pd.isna(queries["a", "c"])
    assert queries["b", "c"] == queries["d", "c"] > 4
    assert found.notes == (
        "2 pairs do not differ, so no number of queries would tell them apart",
        "2 pairs differ by the same on every query, so no test is needed",
    )


def test_one_query_and_one_system_settle_nothing():
    one = versus(world({"a": [0.1], "b": [0.9]}), "P@1", draws=draws(1))
    assert said(one) == {"ba": "inconclusive"}
    assert one.pairs[["low", "high", "deviation", "queries"]].isna().all(axis=None)
    assert one.notes == ("one query alone cannot be resampled, so there are no intervals",)
    alone = versus(world({"a": [0.1, 0.2]}), "P@1", draws=draws(2))
    assert alone.pairs.empty
    assert alone.notes == ("one system alone has nothing to be told from",)


def test_constant_scores_are_ties():
    found = versus(world({s: [0.3] * 4 for s in "xyz"}), "P@1", draws=draws())
    assert set(found.pairs["verdict"]) == {"tie"}


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="margin must be at least 0; got -1"):
        versus(world(), "P@1", draws=draws(), margin=-1)
    with pytest.raises(ValueError, match="draws are over 5 queries, scores over 4"):
        versus(world(VALUES), "P@1", draws=draws(5))


def test_queries_needed_is_the_first_number_with_power():
    effects = np.array([3.0, 1.2, 0.5, 0.1, 0.01, -0.5])

    def reached(effect, n):  # power of the two-sided paired t-test, from scipy's noncentral t
        limit, away = stats.t.ppf(0.975, n - 1), effect * math.sqrt(n)
        return stats.nct.sf(limit, n - 1, away) + stats.nct.cdf(-limit, n - 1, away)

    needed = queries_needed(effects)
    for effect, n in zip(abs(effects), needed, strict=True):
        assert n == round(n) >= 2
        if n > 2:
            assert reached(effect, n) >= 0.8 > reached(effect, n - 1)
    assert needed[2] == needed[5]


def test_queries_needed_at_the_edges():
    assert queries_needed(np.array([1e4, 5.0])).tolist() == [3, 3]
    assert queries_needed(np.empty(0)).tolist() == []


def test_real_pairs(dl21):
    runs, labels, _ = dl21
    given = scores(runs, grades_on(runs, labels["human"]), ["nDCG@10"])
    weights = query_draws(53, n_resamples=2_000, rng=np.random.default_rng(0))
    found = versus(given, "nDCG@10", draws=weights)
    assert len(found.pairs) == 1953
    pairs = found.pairs.set_index(["a", "b"])
    assert pairs.loc[("pash_f1", "pash_f2"), "verdict"] == "tie"  # the same top ten
    assert pairs.loc[("pash_f1", "NLE_P_v1"), "verdict"] == "inconclusive"
    assert pairs.loc[("pash_f1", "NLE_P_v1"), "queries"] > 100
    assert pairs.loc[("pash_f1", "p_bm25"), "verdict"] == "win"
    # A pair that is decided on 53 queries needs fewer than a few times as many, one that is not needs more.
    assert pairs.loc[pairs["verdict"] == "win", "queries"].median() < 53
    assert pairs.loc[pairs["verdict"] == "inconclusive", "queries"].median() > 53
