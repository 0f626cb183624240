"""Is the judge stable: the same pairs again, other judges and prompts, a changed snapshot."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from poolkit.compare import Agreement, agreement, confusion, kappa, kappas
from poolkit.labels import Labels
from poolkit.resample import Interval, check_level, interval, query_draws
from poolkit.tables import DataError, listed

PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class Consistency:
    """How grades given twice agree.

    Attributes
    ----------
    n : int
        Pairs graded on both sides; each counts once, however often it was repeated.
    exact, within_one, binary : Interval
        Shares: same grade; at most 1 apart; same side of `threshold`. Wilson intervals, so without draws.
    kappa, kappa_quadratic, kappa_binary, drift : Interval
        Bootstrap over queries, without an interval where no grade moved. Drift is the mean of second grade minus first.
    flips : DataFrame of int
        Comparisons by first grade (rows) and second grade (columns).
    flip_matrix : DataFrame
        Probability of the second grade given the first; NaN rows for first grades that never occur.
    moves : Series of int
        Comparisons by second grade minus first.
    pairs : DataFrame
        query_id, doc_id, left, right, weight: every comparison.
    notes : tuple of str
        What could not be known, and why.
    """

    n: int
    exact: Interval
    within_one: Interval
    binary: Interval
    kappa: Interval
    kappa_quadratic: Interval
    kappa_binary: Interval
    drift: Interval
    flips: pd.DataFrame
    flip_matrix: pd.DataFrame
    moves: pd.Series
    threshold: int
    pairs: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def unseen(self) -> float:
        """Largest rate of different grades that the comparisons do not exclude: Clopper and Pearson's upper end."""
        from statsmodels.stats.proportion import proportion_confint  # slow to import, and seldom needed

        moved = self.n * (1 - self.exact.value)
        return float(proportion_confint(moved, self.n, alpha=1 - self.exact.level, method="beta")[1])


@dataclass(frozen=True)
class Repeats(Consistency):
    """One judge, the same pairs again.

    `failed` counts replies without a grade by status, `excluded` the pairs lost to them.
    """

    failed: pd.Series
    excluded: int


@dataclass(frozen=True)
class Judges(Consistency):
    """Two judges, or two prompts, on the same pairs; `labels` has the counts of either side."""

    labels: Agreement


def repeats(
    records: pd.DataFrame, *, threshold: int = 1, level: float = 0.95, n_resamples: int = 10_000,
    rng: np.random.Generator,
) -> Repeats:  # fmt: skip
    """Agreement of a judge with itself, from judgments with replicates.

    Parameters
    ----------
    records : DataFrame
        query_id, doc_id, replicate, relevance, status ("ok" or a kind of failure). Pairs judged
        once play no part.
    threshold : int
        Grade from which a document counts as relevant.
    level : float
    n_resamples : int
    rng : Generator

    Returns
    -------
    Repeats

    Notes
    -----
    METHOD 8. A pair's first readable judgment is compared with each later one; several repeats of
    one pair share the weight of one, for they are no independent evidence. Wilson's interval takes
    pairs as independent.
    """
    lacking = [c for c in (*PAIR, "replicate", "relevance", "status") if c not in records]
    if lacking:
        raise ValueError(f"records lack the column {lacking[0]!r}; found {listed(records.columns, first=12)}")
    twice = records.duplicated([*PAIR, "replicate"])
    if twice.any():
        worst = records[twice].iloc[0]
        raise DataError(
            f"judgments: query {worst.query_id}, document {worst.doc_id} has replicate {worst.replicate} "
            f"twice ({int(twice.sum())} such rows). Keep one."
        )
    tried = records[records.duplicated(PAIR, keep=False)].sort_values("replicate", kind="stable")
    good = tried["status"].eq("ok") & tried["relevance"].notna()
    readable = tried.loc[good, [*PAIR, "relevance"]].astype({"relevance": int})
    first = readable.drop_duplicates(PAIR)
    again = readable[readable.duplicated(PAIR)]
    pairs = first.merge(again, on=PAIR, suffixes=("_first", "_again"))
    pairs = pairs.rename(columns={"relevance_first": "left", "relevance_again": "right"})
    pairs["weight"] = 1 / pairs.groupby(PAIR)["left"].transform("size")
    failed = tried.loc[~good, "status"].value_counts().rename("replies")
    excluded = len(tried.drop_duplicates(PAIR)) - len(pairs.drop_duplicates(PAIR))
    found = _consistency(pairs, threshold=threshold, level=level, n_resamples=n_resamples, rng=rng)
    return Repeats(**found, failed=failed, excluded=excluded)


def judges(
    left: Labels, right: Labels, *, threshold: int = 1, level: float = 0.95, n_resamples: int = 10_000,
    rng: np.random.Generator,
) -> Judges:  # fmt: skip
    """Agreement of two judges, prompts or snapshots on the pairs that both graded.

    Parameters are those of `repeats`.
    """
    labels = agreement(left, right, threshold=threshold)
    pairs = labels.pairs.assign(weight=1.0)
    found = _consistency(pairs, threshold=threshold, level=level, n_resamples=n_resamples, rng=rng)
    return Judges(**found, labels=labels)


def _consistency(
    pairs: pd.DataFrame, *, threshold: int, level: float, n_resamples: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Fields of Consistency from comparisons with their weights."""
    check_level(level)
    left, right = pairs["left"].to_numpy(dtype=int), pairs["right"].to_numpy(dtype=int)
    weight = pairs["weight"].to_numpy(dtype=float)
    both = np.concatenate([left, right])
    grades = range(int(both.min(initial=0)), int(both.max(initial=1)) + 1)
    flips = confusion(left, right, grades)
    query, queries = pd.factorize(pairs["query_id"])
    tables = np.zeros((len(queries), len(grades), len(grades)))
    np.add.at(tables, (query, left - grades.start, right - grades.start), weight)
    steps = np.subtract.outer(grades, grades).T  # second grade minus first
    fold = np.array([[g < threshold for g in grades], [g >= threshold for g in grades]], dtype=float)
    total = tables.sum(axis=0)
    n, notes = round(float(total.sum())), []
    if len(queries) > 1:
        weights = query_draws(len(queries), n_resamples=n_resamples, rng=rng)
        drawn = np.tensordot(weights, tables, axes=1)
    else:
        drawn = np.zeros((0, len(grades), len(grades)))
        notes.append("fewer than two queries have pairs graded twice, so nothing can be resampled")

    def share(mask: np.ndarray) -> Interval:
        if not n:
            return Interval(np.nan, np.nan, np.nan, level, np.empty(0))
        value = float((total * mask).sum() / n)
        from statsmodels.stats.proportion import proportion_confint  # slow to import, and seldom needed

        low, high = proportion_confint(value * n, n, alpha=1 - level, method="wilson")
        return Interval(value, float(low), float(high), level, np.empty(0))

    alike = n and not (total * (steps != 0)).any()  # no grade moved, so every resample says the same

    def resampled(value: float, draws: np.ndarray) -> Interval:
        return Interval(value, np.nan, np.nan, level, draws) if alike else interval(value, draws, level=level)

    def agreed(table: np.ndarray, draws: np.ndarray, weights: str | None = None) -> Interval:
        return resampled(kappa(table, weights=weights), kappas(draws, weights=weights))

    drift = resampled(
        float((total * steps).sum() / n) if n else np.nan,
        (drawn * steps).sum(axis=(1, 2)) / drawn.sum(axis=(1, 2)),
    )
    rows = total.sum(axis=1, keepdims=True)
    matrix = np.divide(total, rows, out=np.full(total.shape, np.nan), where=rows > 0)
    chance = agreed(total, drawn)
    result = {
        "n": n, "exact": share(steps == 0), "within_one": share(abs(steps) <= 1),
        "binary": share(fold.T @ fold > 0), "kappa": chance,
        "kappa_quadratic": agreed(total, drawn, "quadratic"),
        "kappa_binary": agreed(fold @ total @ fold.T, fold @ drawn @ fold.T), "drift": drift, "flips": flips,
        "flip_matrix": pd.DataFrame(matrix, index=flips.index, columns=flips.columns),
        "moves": pd.Series(right - left, name="comparisons", dtype=int).value_counts().sort_index(),
        "threshold": threshold, "pairs": pairs,
    }  # fmt: skip
    if not n:
        notes = ["no pair was graded twice, so agreement cannot be known"]
    elif np.isnan(chance.value):
        notes.append("only one grade was ever given, so kappa is undefined")
    if alike:
        notes.append(
            "no grade moved, so kappa and drift have no interval: resampling what never moved says nothing"
        )
    return result | {"notes": tuple(notes)}


@dataclass(frozen=True)
class Snapshot:
    """Whether old judgments may stay beside those of a changed judge; None where it cannot be known.

    `loss` is exact agreement of repeats minus that of new with old (Newcombe's interval).
    """

    stay: bool | None
    changed: Interval
    repeats: Interval
    loss: Interval
    notes: tuple[str, ...]


def snapshot(changed: Consistency, repeats: Consistency) -> Snapshot:
    """Verdict on old judgments after a judge changed.

    Parameters
    ----------
    changed : Consistency
        Old judgments (left) against new ones (right), from `judges`.
    repeats : Consistency
        The old judge against itself.

    Notes
    -----
    The rule: old judgments stay if the interval of exact agreement of new with old overlaps or
    exceeds that of the repeats. Small samples overlap easily: the upper end of `loss` is what may
    have gone unseen.
    """
    a, b, level = repeats.exact, changed.exact, changed.exact.level
    if not (repeats.n and changed.n):
        why = "repeats" if not repeats.n else "pairs graded by both snapshots"
        nothing = Interval(np.nan, np.nan, np.nan, level, np.empty(0))
        return Snapshot(None, b, a, nothing, (f"there are no {why}, so it cannot be decided",))
    from statsmodels.stats.proportion import confint_proportions_2indep  # slow to import, and seldom needed

    low, high = confint_proportions_2indep(
        a.value * repeats.n, repeats.n, b.value * changed.n, changed.n, method="newcomb", alpha=1 - level
    )
    loss = Interval(a.value - b.value, float(low), float(high), level, np.empty(0))
    notes = []
    if changed.drift.low > 0 or changed.drift.high < 0:
        notes.append("grades moved one way, so a pool of old and new would favour one side of its growth")
    return Snapshot(bool(b.high >= a.low), b, a, loss, tuple(notes))
