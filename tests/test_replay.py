"""Orders tallied: the same however they are shared out."""

import numpy as np
import pytest
from worlds import dense

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
