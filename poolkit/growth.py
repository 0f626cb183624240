"""Growth of the pool: what the ranking says after each arrival, and which pairs turn round."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import joblib
import numpy as np
import pandas as pd
from ir_measures import Measure

from poolkit import states
from poolkit.labels import Grades
from poolkit.pool import Pool, arrival
from poolkit.replay import World, tally
from poolkit.score import cutoff_of, denominators, is_native, label_counts, measure, numerators
from poolkit.tables import positions


@dataclass(frozen=True)
class Growth:
    """One order of arrival, state by state.

    Attributes
    ----------
    measure, labels : str
    arrivals : DataFrame
        By system in arrival order: `new` judgments, `unique` ones so far, `reuse` so far, `tau`
        (tau-b of the systems present, on the pool so far, against the final pool), and `reversed`
        (pairs that stand the other way round than finally).
    reversals : DataFrame
        Pairs that ever did: `better` and `worse` in the final pool, `final_gap`, in how many
        `states`, the `widest` gap then (negative), the last arrival after which they did (`until`).
    means : DataFrame
        Means of the systems (columns) after each arrival (rows); NaN before they are present.
    checked, violations : int
        The per-query invariant: (query, state, system) compared, and how many contradict it.
    notes : tuple of str
    """

    measure: str
    labels: str
    arrivals: pd.DataFrame
    reversals: pd.DataFrame
    means: pd.DataFrame
    checked: int
    violations: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class GrowthOrders:
    """Many random orders of arrival.

    Attributes
    ----------
    measure, labels, checked, violations, notes
        As in `Growth`, over all orders.
    share, low, high : float
        Share of orders with at least one reversal, and its Wilson 95 % interval.
    fragile : DataFrame
        As `Growth.reversals`, with the number of `orders` and their `share` in place of states.
    worst_tau : float
        Lowest tau-b against the final pool, of any order's state of three or more systems.
    orders : ndarray of int, shape (n_orders, systems)
    reversals, taus : ndarray, shape (n_orders,)
        Pairs that reversed in each order, and its lowest tau-b.
    """

    measure: str
    labels: str
    share: float
    low: float
    high: float
    fragile: pd.DataFrame
    worst_tau: float
    orders: np.ndarray
    reversals: np.ndarray
    taus: np.ndarray
    checked: int
    violations: int
    notes: tuple[str, ...]


def grow(
    pool: Pool, grades: Grades, name: str | Measure = "nDCG@10", *, order: Sequence[str] | None = None
) -> Growth:
    """Judgments, ranking and reversals after each arrival, in one order.

    Parameters
    ----------
    pool : Pool
    grades : Grades
        Labels on the pool's runs.
    name : str or Measure
        Within the pool's depth.
    order : sequence of str, optional
        All systems by arrival; the runs' own order if absent.

    Returns
    -------
    Growth

    Notes
    -----
    Systems present are ranked by their means over all labelled queries on the pool so far: N[s, q]
    is final, D[q] grows. A reversal is a pair, both present, whose order of means is strictly the other
    one than finally; differences below 1e-12 are ties. Labels outside the pool are left out, so that D
    is the pool's; `notes` says how far that moves a mean. The invariant (no two systems change order
    inside a query) is checked: each score against those of finally lower systems, and each
    relevant document that a system ranks against the pool at its arrival.

    Examples
    --------
    >>> from toy import grades, runs
    >>> from poolkit.pool import pool
    >>> grow(pool(runs(), depth=2), grades(), "P@2").arrivals["new"].to_dict()
    {'bm25': 4, 'dense': 2, 'hybrid': 0}
    """
    world, notes = _world(pool, grades, measure(name))
    costs, systems = arrival(pool, order=order), pool.runs.systems
    if len(costs) < len(systems):
        raise ValueError(f"the order names {len(costs)} of {len(systems)} systems. Name each once.")
    replay = world.replay(positions(list(costs.index), systems, what="system"))
    turned = np.bincount(replay.state, minlength=len(systems))
    arrivals = costs[["new", "unique", "reuse"]].assign(tau=replay.tau, reversed=turned)
    times = np.bincount(replay.pair, minlength=len(world.gap))
    last, widest = np.zeros_like(times), np.zeros(len(times))
    np.maximum.at(last, replay.pair, replay.state)
    np.minimum.at(widest, replay.pair, replay.gap)
    until = costs.index.to_numpy()[last]
    reversals = _fragile(world, times, states=times, widest=widest, until=until)
    means = pd.DataFrame(replay.means.T, index=costs.index, columns=list(systems))[list(costs.index)]
    counts = (replay.checked, replay.violations)
    return Growth(str(world.measure), grades.title, arrivals, reversals, means, *counts, notes)


def growth_orders(
    pool: Pool, grades: Grades, name: str | Measure = "nDCG@10", *, n_orders: int = 500,
    rng: np.random.Generator, n_jobs: int | None = None,
) -> GrowthOrders:  # fmt: skip
    """Reversals when systems arrive in random orders, each replayed as in `grow`, which defines them.

    Parameters
    ----------
    n_orders : int
    rng : Generator
    n_jobs : int, optional
        Orders are shared among so many jobs; joblib's `parallel_config` says where they run.
    """
    from statsmodels.stats.proportion import proportion_confint  # slow to import, and seldom needed

    if n_orders < 1:
        raise ValueError(f"n_orders must be at least 1; got {n_orders}")
    world, notes = _world(pool, grades, measure(name))
    orders = np.array([rng.permutation(len(pool.runs.systems)) for _ in range(n_orders)])
    shares = np.array_split(orders, min(n_orders, joblib.effective_n_jobs(n_jobs)))
    tallies = joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(tally)(world, share) for share in shares)
    hits, widest = sum(t.hits for t in tallies), np.min([t.widest for t in tallies], axis=0)
    reversals, taus = (np.concatenate([getattr(t, k) for t in tallies]) for k in ("reversals", "taus"))
    checked, violations = sum(t.checked for t in tallies), sum(t.violations for t in tallies)
    with_any = int((reversals > 0).sum())
    low, high = proportion_confint(with_any, n_orders, method="wilson")
    fragile = _fragile(world, hits, orders=hits, share=hits / n_orders, widest=widest)
    return GrowthOrders(
        str(world.measure), grades.title, with_any / n_orders, float(low), float(high), fragile,
        float(np.fmin.reduce(taus)), orders, reversals, taus, checked, violations, notes,
    )  # fmt: skip


def _fragile(world: World, times: np.ndarray, **columns: np.ndarray) -> pd.DataFrame:
    """Pairs that reversed at any of the times, the widest final gap first."""
    systems = np.asarray(world.systems, dtype=object)
    names = {"better": systems[world.better], "worse": systems[world.worse], "final_gap": world.gap}
    some = pd.DataFrame(names | columns)[times > 0]
    return some.sort_values("final_gap", ascending=False, kind="stable", ignore_index=True)


def _world(pool: Pool, grades: Grades, m: Measure) -> tuple[World, tuple[str, ...]]:
    """The final pool under these labels, and what a reader must know of it."""
    runs, key = pool.runs, str(m)
    reads = min(cutoff_of(m) or runs.item.shape[2], runs.item.shape[2])
    if not is_native(m):
        raise ValueError(f"{m} is not a numerator over a denominator. Try nDCG@10 or AP@100.")
    if reads > pool.depth:
        raise ValueError(
            f"{m} reads {reads} ranks, but the pool is {pool.depth} deep, so numerators would not be final. "
            f"Pool deeper, or cut the measure off at {pool.depth}."
        )
    found = states.sources(pool, grades, reads=reads)
    item = runs.item[:, grades.has, :reads]
    above = numerators(item, grades.relevance, grades.judged, [m])[key]
    first, second = np.triu_indices(len(item), 1)
    world = World(runs.systems, grades.has, m, found, above, first, second, np.zeros(len(first)))
    final = states.means(above, world.below(np.zeros_like(found.query), 1))[:, 0]
    swap = final[first] < final[second]
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    world = replace(world, better=first, worse=second, gap=final[first] - final[second])

    notes = []
    if len(item) < 2 or not grades.has.any():
        few = "There is one system only" if len(item) < 2 else f"{grades.title}: no query has a label"
        notes.append(f"{few}, so no pair can turn round.")
    holes = int((~grades.judged[pool.item]).sum())
    if holes:
        notes.append(f"{holes} of {pool.unique} pooled documents have no label and count as non-relevant.")
    beyond = int(grades.judged.sum()) + len(grades.beyond_query) - (pool.unique - holes)
    if beyond:
        below = denominators(label_counts(runs, grades)[grades.has], [m])[key]
        moved = abs(states.means(above, below[:, None])[:, 0] - final).max()
        notes.append(
            f"{beyond} labels of documents outside the pool (depth {pool.depth}) are left out here; "
            f"with them, final means of {m} would differ by up to {moved:.4f}."
        )
    return world, tuple(notes)
