"""Grades drawn anew in many worlds, and the mean of every system in each."""

from dataclasses import dataclass

import numpy as np
from ir_measures import Measure

from poolkit.progress import watched
from poolkit.score import denominators, grade_counts, numerators, ratio


@dataclass(frozen=True)
class Judged:
    """Judged pairs, pooled ones first, and the rankings that read them."""

    item: np.ndarray  # shape (systems, labelled queries, ranks)
    on: np.ndarray  # items of the pooled ones
    query: np.ndarray
    given: np.ndarray
    judged: np.ndarray
    has: np.ndarray
    top: int
    measure: Measure

    def means(self, grade: np.ndarray) -> np.ndarray:
        """Mean over labelled queries of every system, had the pairs these grades."""
        relevance = np.zeros(len(self.judged), dtype=np.int16)
        relevance[self.on] = grade[: len(self.on)]
        counts = grade_counts(self.query, grade, n_queries=len(self.has), top=self.top)[self.has]
        below = denominators(counts, [self.measure])[str(self.measure)]
        above = numerators(self.item, relevance, self.judged, [self.measure])[str(self.measure)]
        return np.asarray(ratio(above, below).mean(axis=1))


def redrawn(
    judged: Judged, rngs: list[np.random.Generator], at: np.ndarray, reached: np.ndarray, outcome: np.ndarray
) -> np.ndarray:
    """Means of every system in a world for each generator, shape (worlds, systems)."""
    limits, outcome = [column[at] for column in reached.T], outcome.astype(np.int16)
    means = np.empty((len(rngs), len(judged.item)))
    for world, rng in enumerate(watched(rngs, "worlds of judge noise")):
        drawn = rng.random(len(at))
        place = np.zeros(len(at), dtype=np.int16)
        for limit in limits:
            np.add(place, drawn >= limit, out=place)
        means[world] = judged.means(outcome[place])
    return means
