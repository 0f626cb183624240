"""Certificates: pairs of systems whose order no system added later can reverse."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from ir_measures import Measure

from poolkit.compare import NOISE
from poolkit.labels import Grades
from poolkit.score import cutoff_of, denominators, is_native, label_counts, measure, numerators, ratio
from poolkit.tables import Runs

MANY = 2**53  # further documents: as good as any number, and still exact as a float


@dataclass(frozen=True)
class Certificates:
    """What may still happen to the order of every two systems.

    Attributes
    ----------
    measure, labels : str
    further : int or None
        Further relevant documents that each query may gain; None for any number.
    top : int
        The highest grade that one of them may have.
    pairs : DataFrame
        One row a pair: `better` and `worse` now, their `gap`, its `least` and `greatest` value
        over all futures, `status` ("certified", "open", or "tied": equal now, so without an order),
        and `smallest`, the least number of further relevant documents per query at which the order
        can be reversed, whatever `further` is (missing: at no number).
    notes : tuple of str
    """

    measure: str
    labels: str
    further: int | None
    top: int
    pairs: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def certified(self) -> int:
        """Pairs whose order is final."""
        return int((self.pairs["status"] == "certified").sum())


def certificates(
    runs: Runs, grades: Grades, name: str | Measure = "nDCG@10", *,
    further: int | None = None, top: int | None = None,
) -> Certificates:  # fmt: skip
    """Which pairs of systems keep their order whatever is added to the pool.

    Parameters
    ----------
    runs : Runs
    grades : Grades
        Labels on these runs.
    name : str or Measure
    further : int, optional
        At most so many further relevant documents per query; any number if absent.
    top : int, optional
        The scale's highest grade; the highest in use if absent.

    Returns
    -------
    Certificates

    Raises
    ------
    ValueError
        For a measure that is not a numerator over a denominator, a negative `further`, or a `top`
        below the grades in use.

    Notes
    -----
    N[s, q] is fixed once what s ranks within the cutoff is judged, and D[q] can only grow, from its
    value now to `most`: for AP and R to R(q) + m; for nDCG@k to the ideal DCG of the judged documents
    and m more of the highest grade, which from m = k on is a list of k highest grades. Queries grow
    independently, so the mean of (N[A, q] - N[B, q]) / D[q] is least where each term is least: D at
    `most` in queries where A is ahead, as now where it is behind. Greatest: the other way round. With
    any number of documents the bounds of AP and R, where terms vanish, are approached, not reached. A
    query without a relevant document stays at 0 for these systems. Measures whose D is fixed keep every
    order. An order is certified if it cannot be strictly reversed: a tie may still come. Differences of
    means up to 1e-12 count as ties.

    Examples
    --------
    >>> from toy import grades, runs
    >>> found = certificates(runs(), grades(), "nDCG@2")
    >>> list(found.pairs[["better", "worse", "status"]].iloc[0]), int(found.pairs["smallest"][0])
    (['bm25', 'dense', 'open'], 1)
    """
    m = measure(name)
    if not is_native(m):
        raise ValueError(f"{m} is not a numerator over a denominator. Try nDCG@10 or AP@100.")
    if further is not None and further < 0:
        raise ValueError(f"further must be 0 or more documents, or None for any number; got {further}")
    top = grades.top if top is None else top
    if top < grades.top:
        raise ValueError(f"top is {top}, but {grades.title} go up to {grades.top}. Give the scale's top.")
    item = runs.item[:, grades.has, : cutoff_of(m)]
    above = numerators(item, grades.relevance, grades.judged, [m])[str(m)]
    futures = _futures(m, label_counts(runs, grades)[grades.has], top)
    rest = range(len(above) - 1)  # one system against all later ones at a time keeps arrays small
    found = [_bounds(above[a] - above[a + 1 :], futures, further) for a in rest]
    gap, least, greatest, smallest = np.concatenate([np.zeros((4, 0)), *found], axis=1)
    first, second = np.triu_indices(len(above), 1)
    systems = np.asarray(runs.systems, dtype=object)
    tied, kept = abs(gap) <= NOISE, smallest > (MANY if further is None else further)
    pairs = pd.DataFrame(
        {
            "better": systems[np.where(gap < 0, second, first)],
            "worse": systems[np.where(gap < 0, first, second)],
            "gap": abs(gap), "least": least, "greatest": greatest,
            "status": np.where(tied, "tied", np.where(kept, "certified", "open")),
            "smallest": pd.array(np.where(tied | np.isinf(smallest), np.nan, smallest), dtype="Int64"),
        }
    )  # fmt: skip
    notes = []
    if not len(pairs) or not grades.has.any():
        few = "There is one system only" if grades.has.any() else f"{grades.title}: no query has a label"
        notes.append(f"{few}, so there is no order to certify.")
    holes = len(np.unique(item[(item < runs.n_items) & ~grades.judged[item]]))
    if holes:
        notes.append(
            f"{holes:,} documents that {m} reads have no label; certificates hold while they count as "
            "non-relevant. Judge them first."
        )
    return Certificates(str(m), grades.title, further, top, pairs, tuple(notes))


@dataclass(frozen=True)
class _Futures:
    """Weights 1 / D of each labelled query; 0 where D is 0, now and for ever."""

    now: np.ndarray
    table: np.ndarray | None  # rows: after 0, 1, .. further documents, the last row for good

    def after(self, further: np.ndarray) -> np.ndarray:
        """Weights once every query gained so many relevant documents."""
        if self.table is not None:
            return np.asarray(self.table[np.minimum(further, len(self.table) - 1)])
        return np.asarray(self.now / (1 + further[..., None] * self.now))  # 1 / (R + m)

    @property
    def limit(self) -> np.ndarray:
        """Weights that ever more documents lead to."""
        return np.zeros_like(self.now) if self.table is None else self.table[-1]


def _futures(m: Measure, counts: np.ndarray, top: int) -> _Futures:
    """How D of a measure can grow from the grades that are counted."""
    key, cutoff = str(m), cutoff_of(m)
    below = denominators(counts, [m])[key]
    now = ratio(np.ones_like(below), below)
    if m.NAME in ("AP", "R") and int(m.params.get("rel", 1)) <= top:
        return _Futures(now, None)
    if m.NAME != "nDCG":
        return _Futures(now, now[None])
    if cutoff is None:
        raise ValueError(f"{m} has no cutoff, so nothing bounds its ideal list. Write nDCG@10.")
    grown = np.pad(counts, ((0, 0), (0, top - counts.shape[1]))) + np.zeros((cutoff + 1, 1, 1), dtype=int)
    grown[:, :, -1] += np.arange(cutoff + 1)[:, None]
    below = denominators(grown, [m])[key]
    return _Futures(now, np.where(now > 0, ratio(np.ones_like(below), below), 0))


def _bounds(apart: np.ndarray, futures: _Futures, further: int | None) -> np.ndarray:
    """Gap of one system to others now, its least and greatest value, and the smallest m: four rows.

    `apart` is N of the one less N of the others, shape (others, queries). Least and greatest are of
    the better less the worse; the smallest m is infinite where none reverses them.
    """
    n_queries = max(1, apart.shape[1])
    gap = apart @ futures.now / n_queries
    apart = np.where(gap < 0, -1, 1)[:, None] * apart
    ahead, behind = np.maximum(apart, 0) / n_queries, np.maximum(-apart, 0) / n_queries
    weight = futures.limit if further is None else futures.after(np.array(further))
    gained, lost = ahead @ futures.now, behind @ futures.now
    least, greatest = ahead @ weight - lost, gained - behind @ weight
    if futures.table is not None:
        high = np.full(len(gap), len(futures.table) - 1)
    else:  # the sum of ahead / (R + m) is below that of ahead / m: at this m it is less than what is lost
        bound = ratio(ahead.sum(axis=1), np.maximum(lost - NOISE, 0))
        high = np.minimum(np.ceil(bound) + 1, MANY).astype(int)

    def reversed_at(m: np.ndarray) -> np.ndarray:
        return np.asarray((ahead * futures.after(m)).sum(axis=1) - lost < -NOISE)

    ever, low = reversed_at(high), np.zeros_like(high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        turned = reversed_at(middle)
        low, high = np.where(turned, low, middle), np.where(turned, middle, high)
    return np.array([gap, least, greatest, np.where(ever, high, np.inf)])
