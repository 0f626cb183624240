"""The pool grows: each state against scoring it anew, reversals by hand, refusals."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import grades, labels, runs
from worlds import dense, worlds

from poolkit.compare import kendall
from poolkit.growth import grow, growth_orders
from poolkit.labels import grades_on, labels_from
from poolkit.pool import arrival, pool
from poolkit.score import scores

# R@1: a finds the one known relevant document of q1, b one of two in q2; then c brings two more to q1.
TURNING = {"a": {"q1": ["x"]}, "b": {"q2": ["y", "z"]}, "c": {"q1": ["u", "v"]}}
TURNING_GRADES = {"q1": {"x": 1, "u": 1, "v": 1}, "q2": {"y": 1, "z": 1}}


def turning():
    return pool(runs(TURNING), depth=2), grades(TURNING_GRADES, TURNING)


def plain_means(found, given_labels, depth, present, name, n_queries):
    """Means of the systems present on the pool of those systems alone."""
    rows = found.frame(depth)
    rows = rows[rows["system"].isin(present)]
    pooled = set(zip(rows["query_id"], rows["doc_id"], strict=True))
    labelled = given_labels.relevance
    kept = [p in pooled for p in zip(labelled["query_id"], labelled["doc_id"], strict=True)]
    on = grades_on(found, labels_from(labelled[kept], "pooled"))
    if not on.has.any():
        return pd.Series(0.0, index=present)
    return scores(found.select(present), on, [name]).table(name).sum(axis=1) / n_queries


@pytest.mark.parametrize("name", ["nDCG@3", "AP@3", "R@2", "P@3", "AP(rel=2)@3"])
@pytest.mark.parametrize("seed", range(3))
def test_every_state_equals_scoring_it_anew_in_dense_worlds(seed, name):
    found, given_labels = dense(seed, systems=6)
    assert_equals_scoring_anew(
        found, given_labels, name, np.random.default_rng(seed).permutation(found.systems)
    )


@given(worlds(systems=5), st.sampled_from(["nDCG@3", "AP@3"]), st.data())
@settings(max_examples=15, deadline=None)
def test_every_state_equals_scoring_it_anew_in_odd_worlds(world, name, data):
    found, given_labels, _ = world
    assert_equals_scoring_anew(found, given_labels, name, data.draw(st.permutations(found.systems)))


def assert_equals_scoring_anew(found, given_labels, name, order):
    order = [str(s) for s in order]
    on, p = grades_on(found, given_labels), pool(found, depth=3)
    got = grow(p, on, name, order=order)
    n_queries = int(on.has.sum())
    final = plain_means(found, given_labels, 3, list(found.systems), name, n_queries).round(12)
    turned = set()
    for t, system in enumerate(order):
        present = list(order[: t + 1])
        means = plain_means(found, given_labels, 3, present, name, n_queries)
        assert got.means.loc[system, present].tolist() == pytest.approx(means.tolist())
        assert got.means.loc[system].drop(present).isna().all()
        now = means.round(12)
        here = {(a, b) for a in present for b in present if final[a] > final[b] and now[a] < now[b]}
        assert got.arrivals["reversed"].iloc[t] == len(here)
        tau = kendall(now[present].to_numpy(), final[present].to_numpy())
        assert got.arrivals["tau"].iloc[t] == pytest.approx(tau, nan_ok=True)
        turned |= here
    assert set(zip(got.reversals["better"], got.reversals["worse"], strict=True)) == turned
    assert (got.reversals["final_gap"] > 0).all()
    assert (got.reversals["widest"] < 0).all()
    assert got.violations == 0
    assert got.checked == n_queries * len(order) * (len(order) + 1) / 2


def test_a_reversal_by_hand():
    p, on = turning()
    got = grow(p, on, "R@1", order=["a", "b", "c"])
    # a b: R(q1) = 1, R(q2) = 2: a = (1 + 0) / 2, b = (0 + 1/2) / 2. With c R(q1) = 3: a = 1/6, b = 1/4.
    assert got.means.loc["b", ["a", "b"]].tolist() == [1 / 2, 1 / 4]
    assert got.means.loc["c", ["a", "b"]].tolist() == pytest.approx([1 / 6, 1 / 4])
    row = got.reversals.iloc[0]
    assert len(got.reversals) == 1
    assert row[["better", "worse", "states", "until"]].tolist() == ["b", "a", 1, "b"]
    assert row[["final_gap", "widest"]].tolist() == pytest.approx([1 / 12, -1 / 4])
    assert got.arrivals["new"].tolist() == [1, 2, 2]
    assert got.arrivals["reversed"].tolist() == [0, 1, 0]
    assert got.arrivals["tau"].tolist()[1:] == pytest.approx([-1.0, 1.0])
    pd.testing.assert_series_equal(got.arrivals["reuse"], arrival(p, order=["a", "b", "c"])["reuse"])


def test_random_orders_count_what_each_order_shows():
    p, on = turning()
    got = growth_orders(p, on, "R@1", n_orders=300, rng=np.random.default_rng(3))
    # The pair turns exactly where c comes last: a third of all orders.
    last = got.orders[:, -1] == 2
    assert np.array_equal(got.reversals > 0, last)
    assert got.share == last.mean() == pytest.approx(1 / 3, abs=0.1)
    assert got.low < got.share < got.high
    assert got.fragile[["better", "worse", "orders"]].to_numpy().tolist() == [["b", "a", last.sum()]]
    assert got.fragile["share"].tolist() == [got.share]
    assert got.fragile["widest"].tolist() == pytest.approx([-1 / 4])
    assert got.violations == 0
    assert got.checked == 300 * 2 * (1 + 2 + 3)


@given(worlds(systems=4))
@settings(max_examples=15, deadline=None)
def test_orders_equal_grow_one_by_one(world):
    found, given_labels, _ = world
    on, p = grades_on(found, given_labels), pool(found, depth=3)
    got = growth_orders(p, on, "nDCG@3", n_orders=5, rng=np.random.default_rng(0))
    seen = {}
    for order, reversals, tau in zip(got.orders, got.reversals, got.taus, strict=True):
        one = grow(p, on, "nDCG@3", order=[found.systems[s] for s in order])
        assert len(one.reversals) == reversals
        states_of_three = one.arrivals["tau"].iloc[2:]
        assert tau == pytest.approx(states_of_three.min(), nan_ok=True)
        for pair in zip(one.reversals["better"], one.reversals["worse"], strict=True):
            seen[pair] = seen.get(pair, 0) + 1
    mine = {(r.better, r.worse): r.orders for r in got.fragile.itertuples()}
    assert mine == seen


def test_a_fixed_denominator_never_reverses():
    p, on = turning()
    for order in permutations("abc"):
        assert grow(p, on, "P@1", order=order).reversals.empty


def test_the_same_seed_gives_the_same_orders():
    p, on = turning()
    one, two = (growth_orders(p, on, "R@1", n_orders=9, rng=np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(one.orders, two.orders)


def test_labels_outside_the_pool_are_left_out_and_said():
    on = grades({"q1": TURNING_GRADES["q1"] | {"far": 1}, "q2": TURNING_GRADES["q2"]}, TURNING)
    got = grow(pool(runs(TURNING), depth=2), on, "R@1")
    assert got.means.loc["c", "a"] == pytest.approx(1 / 6)
    # With it R(q1) = 4: a = 1/8, 1/6 - 1/8 = 0.0417 away.
    assert got.notes == (
        "1 labels of documents outside the pool (depth 2) are left out here; with them, final means of "
        "R@1 would differ by up to 0.0417.",
    )


def test_pooled_documents_without_a_label_are_said():
    on = grades({"q1": {"x": 1}, "q2": {"y": 1, "z": 1}}, TURNING)
    assert grow(pool(runs(TURNING), depth=2), on, "R@1").notes == (
        "2 of 5 pooled query-document pairs (40.0 %) have no grade under author; scores count them as not relevant.",
    )


def test_one_system_and_no_labels_are_said():
    alone = {"a": {"q1": ["x"]}}
    got = growth_orders(pool(runs(alone), depth=1), grades({"q1": {"x": 1}}, alone), "P@1", n_orders=2,
                        rng=np.random.default_rng(0))  # fmt: skip
    assert got.notes == ("There is one system only, so no pair can turn round.",)
    assert got.share == 0
    assert got.fragile.empty
    assert np.isnan(got.worst_tau)
    none = grades_on(runs(), labels_from(labels().relevance[:0], "none"))
    assert (
        grow(pool(runs(), depth=2), none, "P@1").notes[0]
        == "none: no query has a label, so no pair can turn round."
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p, on: grow(p, on, "P@3"), r"P@3 reads 3 ranks, but the pool is 2 deep.*cut the measure off at 2\."),
        (lambda p, on: grow(p, on, "AP"), r"AP reads 3 ranks, but the pool is 2 deep"),
        (lambda p, on: grow(p, on, "Bpref"), r"Bpref is not a numerator over a denominator\. Try nDCG@10 or AP@100\."),
        (lambda p, on: grow(p, on, "P@1", order=["bm25"]), r"the order names 1 of 3 systems\. Name each once\."),
        (lambda p, on: grow(p, on, "P@1", order=["x"]), "unknown system: x"),
        (
            lambda p, on: growth_orders(p, on, "P@1", n_orders=0, rng=np.random.default_rng(0)),
            "n_orders must be at least 1; got 0",
        ),
    ],
)  # fmt: skip
def test_refusals(call, said):
    with pytest.raises(ValueError, match=said):
        call(pool(runs(), depth=2), grades())


def test_a_cutoff_beyond_short_runs_is_no_cutoff_beyond_the_depth():
    # No run is longer than 3, so nDCG@10 reads 3 ranks, and a pool of depth 3 holds them.
    assert grow(pool(runs(), depth=3), grades(), "nDCG@10").violations == 0


def test_dl21_reverses_in_almost_every_order(dl21):
    found, by_name, _ = dl21
    p, on = pool(found, depth=10), grades_on(found, by_name["human"])
    got = growth_orders(p, on, n_orders=60, rng=np.random.default_rng(1))
    assert got.share > 0.9
    assert got.violations == 0
    assert got.fragile["final_gap"].max() > 0.001  # the paper's "no pair above .001" is not a law
    assert got.checked == 60 * 53 * 63 * 64 / 2
