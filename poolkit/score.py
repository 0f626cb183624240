"""Scores of every system and query under one set of labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import ir_measures
import joblib
import numpy as np
import pandas as pd
from ir_measures import Measure

from poolkit.labels import Grades
from poolkit.measures import (
    cutoff_of,
    denominators,
    grade_counts,
    is_native,
    measure,
    numerators,
    query_blocks,
    ratio,
)
from poolkit.tables import DataError, Runs, listed

DEFAULT_MEASURES = ("nDCG@10", "P@10", "R@100", "AP@100")

__all__ = [
    "DEFAULT_MEASURES",
    "Scores",
    "as_qrels",
    "cutoff_of",
    "denominators",
    "grade_counts",
    "is_native",
    "label_counts",
    "measure",
    "numerators",
    "one_epoch",
    "ratio",
    "scores",
]


@dataclass(frozen=True)
class Scores:
    """Scores of every system and query under one set of labels.

    Attributes
    ----------
    systems, queries : tuple of str
        Queries that have labels, in the collection's order; the others are in `dropped`.
    measures : tuple of str
        Canonical names, the first one leading.
    values : dict of str to ndarray, shape (systems, queries)
    numerators, denominators : dict of str to ndarray
        For native measures only.
    labels, title : str
        Whose grades these are.
    epoch : str
        Short hash of the judged pairs.
    dropped, barren, missing : tuple
        Queries without labels; queries without a relevant document; (system, query) pairs of
        judged queries that a system did not answer. Both of the latter score 0.
    """

    systems: tuple[str, ...]
    queries: tuple[str, ...]
    measures: tuple[str, ...]
    values: dict[str, np.ndarray]
    numerators: dict[str, np.ndarray]
    denominators: dict[str, np.ndarray]
    labels: str
    title: str
    epoch: str
    dropped: tuple[str, ...]
    barren: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]

    def table(self, name: str) -> pd.DataFrame:
        """Scores of one measure, systems by queries."""
        return pd.DataFrame(
            self.values[self._key(name)], index=list(self.systems), columns=list(self.queries)
        )

    def mean(self, name: str) -> pd.Series:
        """Mean over queries of one measure, by system."""
        index = pd.Index(self.systems, name="system")
        return pd.Series(self.values[self._key(name)].mean(axis=1), index=index, name=self._key(name))

    def means(self) -> pd.DataFrame:
        """Means over queries, systems by measures."""
        return pd.concat([self.mean(m) for m in self.measures], axis=1)

    def _key(self, name: str) -> str:
        key = str(measure(name))
        if key not in self.values:
            raise ValueError(f"measure {key} was not scored; scored: {listed(self.measures, first=12)}")
        return key

    def on(self, queries: Sequence[str]) -> "Scores":
        """Return the same scores on these queries only."""
        at = pd.Index(self.queries).get_indexer(pd.Index(list(queries)))
        if (at < 0).any():
            raise ValueError(f"queries without {self.title} cannot be selected")
        kept = set(queries)
        return Scores(
            self.systems, tuple(queries), self.measures,
            {m: v[:, at] for m, v in self.values.items()},
            {m: v[:, at] for m, v in self.numerators.items()},
            {m: v[at] for m, v in self.denominators.items()},
            self.labels, self.title, self.epoch, self.dropped,
            tuple(q for q in self.barren if q in kept), tuple(p for p in self.missing if p[1] in kept),
        )  # fmt: skip


def one_epoch(*found: Scores) -> None:
    """Refuse scores under one set of labels that come from two states of its pool.

    Human labels and a judge's are two sets, and each may have an epoch of its own.

    Raises
    ------
    DataError
    """
    epochs = dict[str, str]()
    for one in found:
        other = epochs.setdefault(one.labels, one.epoch)
        if other != one.epoch:
            raise DataError(
                f"{one.title}: scores of two pool epochs ({other} and {one.epoch}) do not belong in one table, for "
                "other pairs were judged. Score all systems again under the present labels."
            )


def label_counts(runs: Runs, grades: Grades) -> np.ndarray:
    """Labelled documents of each positive grade per query, pooled or not: int, shape (queries, top)."""
    size = {"n_queries": len(runs.queries), "top": grades.top}
    pooled = grade_counts(runs.query_of, grades.relevance[:-1], **size)
    return pooled + grade_counts(grades.beyond_query, grades.beyond_relevance, **size)


def scores(
    runs: Runs, grades: Grades, measures: Sequence[str | Measure] = DEFAULT_MEASURES, *,
    n_jobs: int | None = None,
) -> Scores:  # fmt: skip
    """Scores of every system, query and measure.

    Parameters
    ----------
    runs : Runs
    grades : Grades
        Labels on these runs.
    measures : sequence of str or Measure
        As ir_measures names them.
    n_jobs : int, optional
        Blocks of queries are shared among so many jobs; joblib's `parallel_config` says where they run.

    Returns
    -------
    Scores

    Raises
    ------
    DataError
        When no query has a label.

    Notes
    -----
    trec_eval's definitions (METHOD 4): nDCG's gain is linear, AP and R divide by all relevant
    documents, unjudged documents gain nothing, a query that a run misses scores 0.

    Examples
    --------
    >>> from toy import grades, runs
    >>> scores(runs(), grades(), ["P@2"]).mean("P@2").to_dict()
    {'bm25': 0.75, 'dense': 0.75, 'hybrid': 0.5}
    """
    if not grades.has.any():
        raise DataError(f"{grades.title}: no query has a label, so nothing can be scored")
    wanted = list({str(m): m for m in map(measure, measures)}.values())
    native = [m for m in wanted if is_native(m)]
    has = grades.has
    ranks = max((cutoff_of(m) or runs.item.shape[2] for m in native), default=0)
    least = joblib.effective_n_jobs(n_jobs)
    blocks = query_blocks(
        runs.item[:, :, :ranks], runs.query_of, grades.relevance, grades.judged, has, least=least
    )
    found = joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(numerators)(*b, native) for b in blocks)
    above = {m: np.concatenate([block[m] for block in found], axis=1) for m in found[0]}
    counts = label_counts(runs, grades)[has]
    below = denominators(counts, native)
    values = {m: ratio(above[m], below[m]) for m in above}
    queries = np.asarray(runs.queries, dtype=object)
    judged = tuple(queries[has])
    others = [m for m in wanted if not is_native(m)]
    if others:
        values |= _by_ir_measures(runs, grades, judged, others)
    s, q = np.nonzero(runs.item[:, has, 0] == runs.n_items)
    return Scores(
        runs.systems, judged, tuple(str(m) for m in wanted), values, above, below, grades.name, grades.title,
        grades.epoch, tuple(queries[~has]), tuple(np.asarray(judged, dtype=object)[counts.sum(axis=1) == 0]),
        tuple((runs.systems[i], judged[j]) for i, j in zip(s, q, strict=True)),
    )  # fmt: skip


def as_qrels(runs: Runs, grades: Grades) -> pd.DataFrame:
    """Grades as qrels for other tools: query_id, doc_id, relevance; unnamed documents get made-up ids.

    Raises
    ------
    DataError
        For a negative grade: tools read it as they please, as unjudged or as not relevant.
    """
    if min(grades.relevance.min(), grades.beyond_relevance.min(initial=0)) < 0:
        raise DataError(
            f"{grades.title}: negative grades mean different things to different measures. Map them in "
            "collection.toml, such as [grade_maps.NAME] with -1 = 0, or use nDCG, P, R, AP, RR or Success."
        )
    at = np.flatnonzero(grades.judged[:-1])
    on = runs.pairs(at).assign(relevance=grades.relevance[at])
    queries = np.asarray(runs.queries, dtype=object)[grades.beyond_query]
    beyond = pd.DataFrame(
        {"query_id": queries, "doc_id": [f"\x01beyond-{i}" for i in range(len(queries))],
         "relevance": grades.beyond_relevance}
    )  # fmt: skip
    return pd.concat([on, beyond], ignore_index=True)


def _by_ir_measures(
    runs: Runs, grades: Grades, judged: tuple[str, ...], measures: list[Measure]
) -> dict[str, np.ndarray]:
    """Scores that ir_measures computes itself, on the one order that poolkit fixed."""
    qrels, most = as_qrels(runs, grades), runs.item.shape[2] + 1
    at = {q: i for i, q in enumerate(judged)}
    values = {str(m): np.zeros((len(runs.systems), len(judged))) for m in measures}
    try:
        evaluator = ir_measures.evaluator(measures, qrels)
        for s, system in enumerate(runs.systems):
            ranked = runs.select([system]).frame()
            ranked = ranked.assign(
                score=most - ranked["rank"]
            )  # above 0, where some tools put what is missing
            for metric in evaluator.iter_calc(ranked[["query_id", "doc_id", "score"]]):
                if metric.query_id in at:
                    values[str(metric.measure)][s, at[metric.query_id]] = metric.value
    except Exception as error:  # its providers raise what they like, perl's failures included
        names = listed(str(m) for m in measures)
        raise DataError(f"ir_measures cannot compute {names} here ({type(error).__name__})") from None
    return values
