"""What unjudged documents could do to a score: all of them at grade 0, all of them at the top grade."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from poolkit.labels import Grades
from poolkit.pool import Pool
from poolkit.score import Scores, cutoff_of, is_native, measure, scores


@dataclass(frozen=True)
class Bounds:
    """Scores beside those with every failed and unjudged document at grade 0, and at the top grade.

    Attributes
    ----------
    given, all_0, all_top : Scores
        Same systems, queries and measures.
    judged : Scores
        Judged@k for each k that a measure reads; the pool's depth where a measure has no cutoff.
    judged_at : dict of str to str
        By measure: the name of its Judged@k.
    unjudged : dict of str to int
        By measure: the documents that were given a grade.
    top : int
        The top grade.

    Notes
    -----
    P, DCG, RR and Success divide by a constant: whatever grades those documents would get, the score
    lies between all_0 and all_top. R, AP and nDCG also divide by what the documents of the query are
    worth, so a document that only others rank lowers a score when it turns relevant: all_top may lie
    below the score, and a mixture of grades may lie outside both.
    """

    given: Scores
    all_0: Scores
    all_top: Scores
    judged: Scores
    judged_at: dict[str, str]
    unjudged: dict[str, int]
    top: int

    def table(self) -> pd.DataFrame:
        """Means, one row a system and measure: mean, all_0, all_top, judged."""
        rows = []
        for m in self.given.measures:
            sides = (*(s.mean(m) for s in (self.given, self.all_0, self.all_top)),
                     self.judged.mean(self.judged_at[m]))  # fmt: skip
            rows += [(system, m, *(side[system] for side in sides)) for system in self.given.systems]
        return pd.DataFrame(rows, columns=["system", "measure", "mean", "all_0", "all_top", "judged"])

    def wide(self, *, per_query: bool = False) -> pd.DataFrame:
        """Each measure with its bounds, then Judged@k and the epoch: by system, or system and query_id."""
        columns = {f"{m}{end}": (side, m) for m in self.given.measures
                   for side, end in ((self.given, ""), (self.all_0, " all 0"), (self.all_top, " all top"))}  # fmt: skip
        columns |= {m: (self.judged, m) for m in self.judged.measures}
        table = pd.DataFrame(
            {k: s.table(m).stack() if per_query else s.mean(m) for k, (s, m) in columns.items()}
        )
        return table.assign(epoch=self.given.epoch).rename_axis(["system", "query_id"][: 1 + per_query])


def bounds(pool: Pool, grades: Grades, found: Scores, *, top: int) -> Bounds:
    """Bounds of scores.

    Parameters
    ----------
    pool : Pool
    grades : Grades
        Labels behind the scores, on the pool's runs.
    found : Scores
    top : int
        The scale's top grade.

    Notes
    -----
    Those graded are the documents without a grade, failed or never judged, that any system ranks within
    the pool's depth or within the measure's cutoff, on queries with labels. A measure without a
    cutoff reads, and so fills, whole runs.
    """
    cutoffs = {name: cutoff_of(measure(name)) for name in found.measures}
    judged_at = {name: f"Judged@{k or pool.depth}" for name, k in cutoffs.items()}
    low, high, unjudged = {}, {}, {}
    for name, reads in cutoffs.items():
        at, given, m = _unjudged(pool, grades, reads), found.values[name], measure(name)
        unjudged[name] = len(at)
        # A measure of poolkit's own reads an unjudged document as grade 0 already; Judged@k is no grade.
        same = not len(at) or m.NAME == "Judged"
        low[name] = given if same or is_native(m) else _filled(pool, grades, at, 0, name)
        high[name] = given if same else _filled(pool, grades, at, top, name)
    return Bounds(
        found, replace(found, values=low), replace(found, values=high),
        scores(pool.runs, grades, list(judged_at.values())), judged_at, unjudged, top,
    )  # fmt: skip


def _unjudged(pool: Pool, grades: Grades, reads: int | None) -> np.ndarray:
    """Documents without a grade within the pool's depth or these ranks, on queries with labels."""
    runs = pool.runs
    read = runs.item[:, grades.has, : None if reads is None else max(reads, pool.depth)]
    here = np.zeros(runs.n_items + 1, dtype=bool)
    here[read] = True
    return np.flatnonzero((here & ~grades.judged)[:-1])


def _filled(pool: Pool, grades: Grades, at: np.ndarray, grade: int, name: str) -> np.ndarray:
    """Scores, systems by queries, with this grade for these documents."""
    relevance, judged = grades.relevance.copy(), grades.judged.copy()
    relevance[at], judged[at] = grade, True
    return scores(pool.runs, replace(grades, relevance=relevance, judged=judged), [name]).values[name]
