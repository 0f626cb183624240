"""Scores of all systems as labels are taken away and given back: only what that can change is scored again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from ir_measures import Measure

from poolkit.labels import Grades
from poolkit.pool import Pool
from poolkit.score import cutoff_of, denominators, grade_counts, label_counts, numerators, ratio


@dataclass(frozen=True)
class State:
    """Scores of all systems under some of the labels, and what is needed to change them.

    Attributes
    ----------
    depth : int
        Of the pool.
    query_of : ndarray, shape (n_items,)
        Query position of each item.
    grades : Grades
        All labels.
    measures : sequence of Measure
        Native ones.
    item : ndarray, shape (systems, labelled queries, ranks that the measures read)
    relevance, judged : ndarray, shape (n_items + 1,)
        Labels of this state, as in `Grades`.
    counts : ndarray of int, shape (labelled queries, top)
        Labelled documents of each positive grade.
    above : dict of str to ndarray, shape (systems, labelled queries)
        Numerators by measure.
    there, holes : ndarray of int, shape (systems, ranks)
        Documents in the top 1, 2, .. ranks over all queries, and those without a label.
    """

    depth: int
    query_of: np.ndarray
    grades: Grades
    measures: Sequence[Measure]
    item: np.ndarray
    relevance: np.ndarray
    judged: np.ndarray
    counts: np.ndarray
    above: dict[str, np.ndarray]
    there: np.ndarray
    holes: np.ndarray

    def means(self) -> dict[str, np.ndarray]:
        """Mean over labelled queries of every system, by measure."""
        below = denominators(self.counts, self.measures)
        return {m: ratio(above, below[m]).mean(axis=1) for m, above in self.above.items()}

    def regraded(self, items: np.ndarray, *, keep: bool, own: np.ndarray) -> "State":
        """These items labelled (`keep`) or not, and scored again where that can change a numerator.

        `own` is a mask over systems: within the pool's depth only they rank the items; beyond it anyone may.
        """
        relevance, judged = self.relevance.copy(), self.judged.copy()
        grade = self.grades.relevance[items]
        relevance[items], judged[items] = (grade, self.grades.judged[items]) if keep else (0, False)
        query = self.query_of[items]
        moved = grade_counts(query, grade, n_queries=len(self.grades.has), top=self.grades.top)
        moved = moved[self.grades.has]
        again = own if self.item.shape[2] <= self.depth else np.ones_like(own)
        above, holes = {m: v.copy() for m, v in self.above.items()}, self.holes.copy()
        item = self.item[again]
        for m, new in numerators(item, relevance, judged, self.measures).items():
            above[m][again] = new
        holes[again] = _holes(item, judged)
        counts = self.counts + moved if keep else self.counts - moved
        return replace(self, relevance=relevance, judged=judged, counts=counts, above=above, holes=holes)

    def unjudged(self, m: Measure) -> np.ndarray:
        """Share of the documents a measure reads that have no label, by system."""
        last = min(cutoff_of(m) or self.item.shape[2], self.item.shape[2]) - 1
        return ratio(self.holes[:, last], self.there[:, last])


def all_labels(pool: Pool, grades: Grades, measures: Sequence[Measure]) -> State:
    """State in which every label counts."""
    reads = max(cutoff_of(m) or pool.runs.item.shape[2] for m in measures)
    item = pool.runs.item if grades.has.all() else pool.runs.item[:, grades.has]
    item = item[:, :, :reads]
    relevance = grades.relevance.astype(np.int16)  # copied for each change, so kept narrow
    above = numerators(item, relevance, grades.judged, measures)
    there = np.count_nonzero(item < pool.runs.n_items, axis=1).cumsum(axis=1)
    counts = label_counts(pool.runs, grades)[grades.has]
    holes = _holes(item, grades.judged)
    return State(
        pool.depth,
        pool.runs.query_of,
        grades,
        measures,
        item,
        relevance,
        grades.judged,
        counts,
        above,
        there,
        holes,
    )


def _holes(item: np.ndarray, judged: np.ndarray) -> np.ndarray:
    """Documents without a label in the top 1, 2, .. ranks, over all queries."""
    known = judged.copy()
    known[-1] = True  # no document there, so no hole
    return (item.shape[1] - np.count_nonzero(known[item], axis=1)).cumsum(axis=1)
