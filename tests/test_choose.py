"""The best set and what it costs: by hand, by statsmodels, and on dl21."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from poolkit.choose import best_set, tradeoff
from poolkit.labels import grades_on
from poolkit.resample import query_draws
from poolkit.score import Scores, scores

VALUES = {  # b leads a by .1 on every query, c by .2 on half of them; d equals b
    "a": [0.4, 0.4, 0.4, 0.4],
    "b": [0.5, 0.5, 0.5, 0.5],
    "c": [0.2, 0.6, 0.2, 0.6],
    "d": [0.5, 0.5, 0.5, 0.5],
}


def world(values=VALUES):
    """Scores with P@1 as given."""
    table = np.array(list(values.values()), dtype=float)
    queries = tuple(f"q{i}" for i in range(table.shape[1]))
    return Scores(tuple(values), queries, ("P@1",), {"P@1": table}, {}, {}, "human", "human", "e", (), (), ())


def draws(n=4, b=999):
    return query_draws(n, n_resamples=b, rng=np.random.default_rng(3))


def test_best_set_by_hand():
    weights = draws()
    found = best_set(world(), "P@1", draws=weights)
    assert (found.best, found.n_tests, found.notes) == ("b", 3, ())
    assert list(found.table.index) == ["b", "d", "a", "c"]  # .5, .5, .4, .4
    assert found.table["difference"].tolist() == pytest.approx([0, 0, 0.1, 0.1])
    # d ties in every draw: c = B / 2, so p is 1. a never leads: p = 2 / 1000. c leads b by .1 on the two
    # queries where it has .6 and trails by .3 on the others: it needs over three quarters of a draw there.
    lead = 0.1 * weights[:, [1, 3]].sum(axis=1) - 0.3 * weights[:, [0, 2]].sum(axis=1)
    count = (lead > 1e-12).sum() + (abs(lead) <= 1e-12).sum() / 2
    expected = [1, 2 / 1000, 2 * (count + 1) / 1000]
    assert found.table["p"].tolist()[1:] == pytest.approx(expected)
    assert found.table["p_holm"].tolist()[1:] == pytest.approx(multipletests(expected, method="holm")[1])
    assert found.systems == ("b", "d", "c")
    assert found.table["near_tie"].tolist()[1:] == [True, False, False]
    assert found.table["near_tie"].isna().tolist() == [
        True,
        False,
        False,
        False,
    ]  # the best is no rival of its own
    assert found.draws.shape == (999, 4)
    assert (found.table.loc["a", "low"], found.table.loc["a", "high"]) == pytest.approx((0.1, 0.1))


def test_best_set_needs_enough_resamples():
    found = best_set(world(), "P@1", draws=draws(b=50))  # 2 * 3 / 51 > .05
    assert found.notes == ("50 resamples are too few to tell any of 3 systems from the best",)
    assert found.systems == ("b", "d", "a", "c")


@pytest.mark.parametrize(
    ("values", "b", "note"),
    [({"a": [0.2, 0.4]}, 2, "one system alone"), ({"a": [0.2], "b": [0.4]}, 1, "one query alone")],
)
def test_best_set_degrades_with_words(values, b, note):
    found = best_set(world(values), "P@1", draws=draws(b))
    assert note in found.notes[0]
    assert len(found.systems) == len(values)
    assert found.table["p_holm"].isna().all()


def test_constant_scores_are_all_best():
    found = best_set(world({s: [0.3] * 4 for s in "xyz"}), "P@1", draws=draws())
    assert found.systems == ("x", "y", "z")
    assert (found.table["p"].iloc[1:] == 1).all()


def test_the_true_best_stays_in_the_set():
    random, kept = np.random.default_rng(0), 0
    for _ in range(15):
        quality = random.normal(size=60)  # of queries; systems share it
        table = {f"s{i}": quality + random.normal(0.02 * (i == 0), 1, 60) for i in range(6)}
        kept += "s0" in best_set(world(table), "P@1", draws=draws(60)).systems
    assert kept >= 13


def test_best_set_refuses_a_bad_level():
    with pytest.raises(ValueError, match="level must lie between 0 and 1; got 0"):
        best_set(world(), "P@1", draws=draws(), alpha=0)


def test_tradeoff_by_hand():
    best = best_set(world(), "P@1", draws=draws())
    catalogue = pd.DataFrame({"family": "f", "price": [1.0, 3.0, 1.0, 2.0]}, index=["a", "b", "c", "d"])
    found = tradeoff(best, catalogue, "price")
    # Cost and mean: a 1 .4, c 1 .4, d 2 .5, b 3 .5. d beats b; a and c are equal, so neither beats the other.
    assert list(found.table.index) == ["a", "c", "d", "b"]
    assert found.table["pareto"].to_dict() == {"a": True, "c": True, "d": True, "b": False}
    assert (found.pick, found.notes) == ("c", ())  # the cheapest of b, d, c; a is not in the set
    assert found.table.columns.tolist() == ["mean", "cost", "in_set", "pareto"]


def test_tradeoff_without_a_cost():
    best = best_set(world(), "P@1", draws=draws())
    catalogue = pd.DataFrame({"family": "f", "price": ["2", "", "dear", ""]}, index=["a", "b", "c", "d"])
    found = tradeoff(best, catalogue, "price")
    assert list(found.table.index) == ["a"]
    assert found.pick is None
    assert found.notes == (
        "no number in price for b, d, c",
        "no system of the best set has a price, so none can be picked",
    )
    with pytest.raises(ValueError, match="unknown cost 'latency'; the catalogue has family, price"):
        tradeoff(best, catalogue, "latency")


def test_real_best_sets(dl21):
    runs, labels, _ = dl21
    weights = query_draws(53, n_resamples=10_000, rng=np.random.default_rng(0))
    for name in ("human", "gpt4o.umbrela"):
        given = scores(runs, grades_on(runs, labels[name]), ["nDCG@10"])
        found = best_set(given, "nDCG@10", draws=weights)
        assert found.n_tests == 62
        # Three runs of one system return the same top ten, and NLE_P_v1 cannot be told from them.
        assert set(found.systems) >= {"pash_f1", "pash_f2", "pash_f3", "NLE_P_v1"}
        assert len(found.systems) < 8
