"""The pool after each arrival: what is judged by then, and whether any query's order changed.

A state is the pool after one more system arrived. Grades never change and N[s, q] is final once s
is present, so a state is nothing but counts of graded documents per query.
"""

from dataclasses import dataclass

import numpy as np

from poolkit.labels import Grades
from poolkit.pool import Pool


@dataclass(frozen=True)
class Sources:
    """Pooled documents with a positive grade, and who brought them.

    Attributes
    ----------
    query, grade : ndarray of int, shape (n,)
        Query position and grade of each.
    brought : list of ndarray
        By system: which of the n it brought to the pool.
    read, reader : ndarray of int
        Which of the n a system ranks within `reads`, and the system.
    n_queries, top : int
        Queries on the axis; the highest grade.
    """

    query: np.ndarray
    grade: np.ndarray
    brought: list[np.ndarray]
    read: np.ndarray
    reader: np.ndarray
    n_queries: int
    top: int


def sources(pool: Pool, grades: Grades, *, reads: int) -> Sources:
    """Pooled documents with a positive grade; `reads` is the last rank that a measure reads."""
    at = np.flatnonzero(grades.relevance[pool.item] > 0)
    number = np.full(pool.runs.n_items + 1, -1)
    number[pool.item[at]] = np.arange(len(at))
    ranked = number[pool.runs.item[:, :, :reads]]
    member = np.take(pool.member, at, axis=1)
    return Sources(
        pool.query[at], grades.relevance[pool.item[at]], [np.flatnonzero(m) for m in member],
        ranked[ranked >= 0], np.nonzero(ranked >= 0)[0], len(pool.runs.queries), grades.top,
    )  # fmt: skip


def arrived(sources: Sources, order: np.ndarray) -> np.ndarray:
    """State in which each document entered the pool, as systems arrive in this order."""
    state = np.full(len(sources.query), len(order))
    for turn in range(len(order) - 1, -1, -1):  # the first to bring it writes last
        state[sources.brought[order[turn]]] = turn
    return state


def counts(sources: Sources, state: np.ndarray, *, n_states: int) -> np.ndarray:
    """Documents of grade 1..top per query in each state: int, shape (queries, states, top)."""
    code = (sources.query * n_states + state) * sources.top + sources.grade - 1
    shape = (sources.n_queries, n_states, sources.top)
    return np.bincount(code, minlength=int(np.prod(shape))).reshape(shape).cumsum(axis=1)


def means(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Means over queries of each system in each state, shape (systems, states).

    `above` are numerators, shape (systems, queries); `below` denominators, shape (queries, states).
    """
    # Plain sums, not BLAS: equal rows give equal means, and small tables need no threads.
    return np.einsum("sq,qt->st", above, _weight(below)) / max(1, len(below))


def _weight(below: np.ndarray) -> np.ndarray:
    """1 / D, and 0 where D is 0: such a query scores 0 for everybody."""
    return np.divide(1.0, below, out=np.zeros(below.shape), where=below > 0)


def unseen(sources: Sources, order: np.ndarray, state: np.ndarray) -> int:
    """Relevant documents that a system ranks, but that were not in the pool when it arrived.

    0 means that every numerator is final from its system's arrival on.
    """
    return int((state[sources.read] > np.argsort(order)[sources.reader]).sum())


def contradictions(above: np.ndarray, below: np.ndarray, order: np.ndarray, *, noise: float) -> int:
    """Scores that fall, in some state, below that of a system which is finally no better.

    Parameters
    ----------
    above : ndarray, shape (systems, queries)
        Numerators.
    below : ndarray, shape (queries, states)
        Denominators by state; the last state is the final one.
    order : ndarray of int, shape (systems,)
        Systems by arrival.
    noise : float
        Differences of scores up to this are rounding.

    Returns
    -------
    int
        Of (system, query, state) with the system present; 0 by arithmetic, counted all the same.
    """
    weight = _weight(below)
    rising = np.argsort(above * weight[:, -1], axis=0, kind="stable")
    rows = np.arange(len(below))
    if noise >= 0 and (weight >= 0).all():
        # Rounding keeps order: where the finally better have the larger N, no weight turns them round.
        turned = np.diff(np.take_along_axis(above, rising, axis=0), axis=0) < 0
        rows = np.flatnonzero(turned.any(axis=0))
    if not len(rows):
        return 0
    above, below, weight, rising = above[:, rows], below[rows], weight[rows], rising[:, rows]
    present = np.argsort(order)[:, None] <= np.arange(len(order))
    best, found = np.zeros(below.shape), 0
    for at in rising:  # in each query, from the system that is finally last to the first
        here = present[at]
        value = above[at, np.arange(len(below)), None] * weight
        found += int(np.count_nonzero(here & (value < best - noise)))
        np.maximum(best, value, out=best, where=here)
    return found
