"""Orders tallied: the same however they are shared out."""

import numpy as np
import pytest
from worlds import dense

from poolkit import replay
from poolkit.compare import NOISE
from poolkit.growth import growth_orders
from poolkit.labels import grades_on
from poolkit.pool import pool
from poolkit.replay import tally


def test_a_tally_of_all_orders_is_that_of_its_parts():
    from poolkit.growth import _world
    from poolkit.score import measure

    runs, labels = dense(11, systems=5, queries=4, documents=12, ranks=4, labelled=1)
    world, _ = _world(pool(runs, depth=4), grades_on(runs, labels), measure("nDCG@3"))
    orders = np.array([np.random.default_rng(s).permutation(5) for s in range(12)])
    whole, parts = tally(world, orders), [tally(world, part) for part in np.array_split(orders, 5)]
    assert whole.hits.tolist() == sum(p.hits for p in parts).tolist()
    assert whole.widest.tolist() == np.min([p.widest for p in parts], axis=0).tolist()
    assert whole.reversals.tolist() == [n for p in parts for n in p.reversals]
    assert whole.taus.tolist() == [t for p in parts for t in p.taus]
    assert (whole.checked, whole.violations) == (sum(p.checked for p in parts), 0)


def test_two_jobs_find_what_one_finds():
    runs, labels = dense(11, systems=5, queries=4, documents=12, ranks=4, labelled=1)
    made, grades = pool(runs, depth=4), grades_on(runs, labels)
    one, two = (
        growth_orders(made, grades, "nDCG@3", n_orders=9, rng=np.random.default_rng(2), n_jobs=n)
        for n in (1, 2)
    )
    assert one.fragile.equals(two.fragile)
    assert one.taus == pytest.approx(two.taus, abs=0, nan_ok=True)


def plain_reversals(world, means):
    """Every pair in every state: which are reversed, by how much, and tau-b of each state."""
    gap = means[world.better] - means[world.worse]
    up, down, truth = gap > NOISE, gap < -NOISE, (world.gap > NOISE)[:, None]
    turned = down & truth
    agree = (up & truth).sum(axis=0) - turned.sum(axis=0)
    untied = (up | down).sum(axis=0) * (~np.isnan(gap) & truth).sum(axis=0)
    tau = np.divide(agree, np.sqrt(untied), out=np.full(len(untied), np.nan), where=untied > 0)
    return {(p, t): gap[p, t] for p, t in np.argwhere(turned).tolist()}, tau


@pytest.mark.parametrize("block", [1 << 22, 16])
@pytest.mark.parametrize("twins", [0, 2])
def test_reversals_equal_those_of_every_pair_in_every_state(monkeypatch, block, twins):
    from poolkit.growth import _world
    from poolkit.score import measure

    monkeypatch.setattr(replay, "BLOCK", block)
    found = 0
    for seed in range(20):
        runs, labels = dense(seed, systems=7, queries=3, documents=12, ranks=4, labelled=1)
        runs.item[:twins] = runs.item[-1]  # finally tied
        world, _ = _world(pool(runs, depth=4), grades_on(runs, labels), measure("AP@4"))
        assert (world.gap <= NOISE).any() or not twins
        for order in np.random.default_rng(seed).permuted(np.tile(np.arange(7), (6, 1)), axis=1):
            got = world.replay(order)
            reversals, tau = plain_reversals(world, got.means)
            rows = zip(got.pair.tolist(), got.state.tolist(), got.gap.tolist(), strict=True)
            assert {(p, t): gap for p, t, gap in rows} == reversals
            assert np.array_equal(got.tau, tau, equal_nan=True)
            found += len(reversals)
    assert found > 9
