"""Human against judge, document by document: agreement with intervals, and what the threshold does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from ir_measures import Measure

from poolkit.compare import Agreement, agreement, kappas, kendall, spearman
from poolkit.labels import Grades, Labels
from poolkit.orders import aligned
from poolkit.resample import Interval, interval, query_draws
from poolkit.score import measure as measure_of
from poolkit.score import scores
from poolkit.tables import Runs


@dataclass(frozen=True)
class LabelAgreement:
    """Agreement of two sets of labels, with intervals over queries.

    Attributes
    ----------
    agreement : Agreement
        Counts, confusion, shares, recall per grade, relevant documents per query.
    exact, within_one, binary, kappa, kappa_quadratic, kappa_binary : Interval
    n_queries : int
        Queries with pairs that both sides graded: the units of resampling.
    notes : tuple of str
    """

    agreement: Agreement
    exact: Interval
    within_one: Interval
    binary: Interval
    kappa: Interval
    kappa_quadratic: Interval
    kappa_binary: Interval
    n_queries: int
    notes: tuple[str, ...]


def label_agreement(
    human: Labels, judge: Labels, *, rng: np.random.Generator, n_resamples: int = 10_000,
    level: float = 0.95, threshold: int = 1,
) -> LabelAgreement:  # fmt: skip
    """How far a judge gives documents the grades that people gave them.

    Parameters
    ----------
    human, judge : Labels
    rng : Generator
    n_resamples : int
        Resamples of queries; the pairs of a query stay together, for they are not independent.
    level : float
    threshold : int
        Grade from which a document counts as relevant.
    """
    found = agreement(human, judge, threshold=threshold)
    tables = _tables(found)
    n = len(tables)
    if n > 1:
        draws = _shares((query_draws(n, n_resamples=n_resamples, rng=rng) @ tables.reshape(n, -1)), found)
    else:
        draws = dict.fromkeys(_MEASURED, np.full(n_resamples, np.nan))
    notes = []
    if not found.n:
        notes.append(
            f"{found.left} and {found.right} graded no pair in common: there is no agreement to measure."
        )
    elif n == 1:
        notes.append(
            "One query with pairs that both graded: resampling says nothing, so there is no interval."
        )
    if found.n and np.isnan(found.kappa):
        notes.append("Both sides give one and the same grade to all pairs: kappa is not defined.")
    elif found.n and np.isnan(found.kappa_binary):
        notes.append("Both sides find all pairs, or none, relevant: binary kappa is not defined.")
    intervals = {k: interval(getattr(found, k), draws[k], level=level) for k in _MEASURED}
    return LabelAgreement(found, **intervals, n_queries=n, notes=tuple(notes))


_MEASURED = ("exact", "within_one", "binary", "kappa", "kappa_quadratic", "kappa_binary")


def _tables(found: Agreement) -> np.ndarray:
    """Confusion table of every query, shape (queries, grades, grades)."""
    query, queries = pd.factorize(found.pairs["query_id"])
    lowest, g = found.confusion.index[0], len(found.confusion)
    left, right = (found.pairs[side].to_numpy() - lowest for side in ("left", "right"))
    code = (query * g + left) * g + right
    return np.bincount(code.astype(int), minlength=len(queries) * g * g).reshape(-1, g, g).astype(float)


def _shares(drawn: np.ndarray, found: Agreement) -> dict[str, np.ndarray]:
    """Shares and kappas of resampled confusion tables, given as rows."""
    grades = found.confusion.index.to_numpy()
    tables = drawn.reshape(-1, len(grades), len(grades))
    apart = abs(grades[:, None] - grades[None, :])
    relevant = (grades >= found.threshold).astype(float)
    fold = np.stack([1 - relevant, relevant])
    binary = fold @ tables @ fold.T
    n = tables.sum(axis=(1, 2))
    return {
        "exact": tables[:, apart == 0].sum(axis=1) / n,
        "within_one": tables[:, apart <= 1].sum(axis=1) / n,
        "binary": np.trace(binary, axis1=1, axis2=2) / n,
        "kappa": kappas(tables),
        "kappa_quadratic": kappas(tables, weights="quadratic"),
        "kappa_binary": kappas(binary),
    }


def threshold_sensitivity(
    runs: Runs,
    human: Grades,
    judge: Grades,
    measures: Sequence[str | Measure],
    *,
    thresholds: Sequence[int] = (1, 2),
) -> pd.DataFrame:
    """Rank correlations when `relevant` begins at another grade, on either side.

    Parameters
    ----------
    runs : Runs
    human, judge : Grades
        On these runs.
    measures : sequence of str or Measure
        Those without a threshold, such as nDCG, are left out.
    thresholds : sequence of int
        Grades from which a document counts as relevant.

    Returns
    -------
    DataFrame
        One row for each measure and pair of thresholds: measure (without its threshold), human_rel,
        judge_rel, rho, tau, and human_barren, judge_barren: common queries where no document is
        relevant. A correlation is NaN where a side scores all systems alike.
    """
    binary = [m for m in map(measure_of, measures) if "rel" in m.SUPPORTED_PARAMS]
    if not binary:
        raise ValueError(
            f"none of {', '.join(map(str, measures))} has a relevance threshold; P@10 or AP@100 has"
        )
    rows = []
    for m in binary:
        at = {t: m(rel=t) for t in thresholds}
        h, j = (scores(runs, side, list(at.values())) for side in (human, judge))
        for x in thresholds:
            for y in thresholds:
                left, right = aligned(h.table(str(at[x])), j.table(str(at[y])))
                a, b = left.mean(axis=1).to_numpy(), right.mean(axis=1).to_numpy()
                common = [runs.queries.index(q) for q in left.columns]
                rows.append((
                    _plain(m), x, y, spearman(a, b), kendall(a, b),
                    int((_relevant(runs, human, x)[common] == 0).sum()),
                    int((_relevant(runs, judge, y)[common] == 0).sum()),
                ))  # fmt: skip
    columns = ["measure", "human_rel", "judge_rel", "rho", "tau", "human_barren", "judge_barren"]
    return pd.DataFrame(rows, columns=columns)


def _plain(m: Measure) -> str:
    """Name of a measure without its threshold."""
    return str(type(m)(**{k: v for k, v in m.params.items() if k != "rel"}))


def _relevant(runs: Runs, grades: Grades, threshold: int) -> np.ndarray:
    """Labelled documents at or above a grade, per query."""
    query = np.concatenate([runs.query_of, grades.beyond_query])
    relevance = np.concatenate([grades.relevance[:-1], grades.beyond_relevance])
    judged = np.concatenate([grades.judged[:-1], np.ones(len(grades.beyond_query), dtype=bool)])
    return np.bincount(query[judged & (relevance >= threshold)], minlength=len(runs.queries))
