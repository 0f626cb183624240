"""The heavy steps on several processes, and on a Dask cluster of two workers: the same numbers."""

import joblib
import numpy as np
import pandas as pd
import pytest
from worlds import dense

from poolkit.bias import leave_out
from poolkit.disagree import disagree
from poolkit.growth import growth_orders
from poolkit.labels import grades_on
from poolkit.noise import noise_through
from poolkit.pool import pool
from poolkit.resample import query_draws
from poolkit.score import query_blocks, scores
from poolkit.versus import versus

MEASURES = ["nDCG@5", "AP@4", "P@3", "R@5", "RR", "Judged@5"]
SHAKY = pd.DataFrame([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])


@pytest.fixture(scope="module")
def world():
    runs, labels = dense(5, systems=6, queries=9, documents=40, ranks=12)
    return runs, grades_on(runs, labels)


def heavy(runs, grades, n_jobs):
    """Every step that takes n_jobs."""
    found = scores(runs, grades, MEASURES, n_jobs=n_jobs)
    rng = np.random.default_rng(4)
    orders = growth_orders(pool(runs, depth=12), grades, "AP@4", n_orders=7, rng=rng, n_jobs=n_jobs)
    noise = noise_through(runs, grades, SHAKY, "nDCG@5", n_worlds=9, rng=rng, n_jobs=n_jobs)
    families = {s: s[-1] in "135" for s in runs.systems}
    left = [
        leave_out(pool(runs, depth=12), grades, families, MEASURES[:4], by=by, n_jobs=n_jobs)
        for by in ("family", "system")
    ]
    draws = query_draws(len(found.queries), n_resamples=50, rng=rng)
    pairs = versus(found, "AP@4", draws=draws, n_jobs=n_jobs).pairs
    both = disagree(found, found, "nDCG@5", draws=draws, n_jobs=n_jobs).pairs
    tables = [
        orders.fragile,
        *(t for x in left for t in (x.groups, x.effects, x.flips, x.penalties)),
        pairs,
        both,
    ]
    return [*(found.values[m] for m in found.measures), orders.taus, noise.means, *tables]


def same(left, right):
    for one, two in zip(left, right, strict=True):
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, two, check_exact=True)
        else:
            assert np.array_equal(one, two, equal_nan=True)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_jobs_change_no_number(world, n_jobs):
    with joblib.parallel_config(backend="threading"):
        same(heavy(*world, 1), heavy(*world, n_jobs))


def test_blocks_of_queries_hold_every_cell_once(world, monkeypatch):
    runs, grades = world
    whole = scores(runs, grades, MEASURES)
    for cells in (1, 200, 10**9):
        monkeypatch.setattr("poolkit.measures.BLOCK", cells)
        labels = (grades.relevance, grades.judged, grades.has)
        blocks = list(query_blocks(runs.item, runs.query_of, *labels))
        assert sum(item.shape[1] for item, _, _ in blocks) == grades.has.sum()
        for m in MEASURES:
            assert np.array_equal(scores(runs, grades, MEASURES).table(m), whole.table(m))


def test_a_dask_cluster_changes_no_number(world):
    distributed = pytest.importorskip(
        "distributed", reason='dask.distributed is not installed: pip install "poolkit[dask]"'
    )
    two = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, processes=True
    )
    alone = heavy(*world, 1)
    with two as cluster, distributed.Client(cluster) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        with joblib.parallel_config(backend="dask"):
            same(alone, heavy(*world, None))
