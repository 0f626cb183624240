"""Any two systems: win, tie or inconclusive, and how many queries would tell them apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy  # which loads scipy.stats, slow to import, at its first use

from poolkit.compare import settled
from poolkit.resample import ONE_QUERY, difference_bounds, drawn_means
from poolkit.score import Scores
from poolkit.score import measure as measure_of

NEAR_TIE = 0.001  # systems closer than this are near-ties
LEVEL, ALPHA, POWER = 0.95, 0.05, 0.8  # of intervals; of the test that queries are planned for
WIN, TIE, INCONCLUSIVE = "win", "tie", "inconclusive"


@dataclass(frozen=True)
class Versus:
    """Every two systems against each other.

    Attributes
    ----------
    measure : str
    pairs : DataFrame
        One row a pair, a ahead of b: a, b, difference, low, high, verdict ("win" of a, "tie",
        "inconclusive"), deviation (of the difference, over queries), queries (how many would tell the
        two apart; missing where no number would, or it cannot be known). Best pairs first.
    n_queries : int
        Queries that there are.
    margin, level, power, alpha : float
    draws : ndarray, shape (n_resamples, systems)
        Means in every resample, in the order of the scores' systems.
    notes : tuple of str
    """

    measure: str
    pairs: pd.DataFrame
    n_queries: int
    margin: float
    level: float
    power: float
    alpha: float
    draws: np.ndarray
    notes: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Pairs by verdict."""
        return {v: int((self.pairs["verdict"] == v).sum()) for v in (WIN, TIE, INCONCLUSIVE)}

    def closest(self, system: str, others: Sequence[str]) -> tuple[str, int] | None:
        """Of these others, the one that the fewest queries would tell from a system, and how many."""
        rows = self.pairs.dropna(subset="queries")
        ends = zip(rows["a"].astype(str), rows["b"].astype(str), rows["queries"].astype(int), strict=True)
        found = [(n, b if a == system else a) for a, b, n in ends if system in (a, b)]
        inside = [(n, rival) for n, rival in found if rival in others]
        return min(inside)[::-1] if inside else None


def versus(
    scores: Scores, measure: str, *, draws: np.ndarray, margin: float = NEAR_TIE, n_jobs: int | None = None
) -> Versus:
    """Win, tie or inconclusive for every two systems, and the queries that would tell them apart.

    Parameters
    ----------
    scores : Scores
    measure : str
    draws : ndarray
        From `query_draws`, over the queries of `scores`.
    margin : float
        Differences up to this are near-ties.
    n_jobs : int, optional
        Pairs are shared among so many jobs; joblib's `parallel_config` says where they run.

    Notes
    -----
    With the paired 95 % bootstrap interval of the difference of means: a *win* where it lies wholly
    beyond the margin, a *tie* where it lies within the margin on both sides, else *inconclusive*.
    Intervals are not corrected for the number of pairs. Queries: the least number at which a two-sided
    paired t-test at 0.05 has a power of 0.8 for the mean and deviation of the difference seen here, which
    are themselves uncertain.
    """
    if margin < 0:
        raise ValueError(f"margin must be at least 0; got {margin}")
    values = scores.table(measure).to_numpy()
    means = settled(values.mean(axis=1))
    order = np.argsort(-means, kind="stable")
    first, second = np.triu_indices(len(order), 1)
    a, b = order[first], order[second]
    drawn, nothing = drawn_means(values, draws), np.full(len(a), np.nan)
    low = high = deviation = nothing
    if len(drawn):
        low, high = (settled(x[a, b]) for x in difference_bounds(drawn, level=LEVEL, n_jobs=n_jobs))
        deviation = np.concatenate(
            [np.empty(0), *((values[i] - values[order[n + 1 :]]).std(axis=1, ddof=1)
                            for n, i in enumerate(order[:-1]))]
        )  # fmt: skip
    within = (low >= -margin) & (high <= margin)
    names = np.asarray(scores.systems, dtype=object)
    difference = means[a] - means[b]
    queries, notes = _queries(difference, deviation)
    if not len(a):
        notes = ["one system alone has nothing to be told from"]
    elif not len(drawn):
        notes = [ONE_QUERY]
    pairs = pd.DataFrame({
        "a": names[a], "b": names[b], "difference": difference, "low": low, "high": high,
        "verdict": np.where(low > margin, WIN, np.where(within, TIE, INCONCLUSIVE)),
        "deviation": deviation, "queries": pd.array(queries, dtype="Int64"),
    })  # fmt: skip
    key = str(measure_of(measure))
    return Versus(key, pairs, values.shape[1], margin, LEVEL, POWER, ALPHA, drawn, tuple(notes))


def _queries(difference: np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Queries for each pair, NaN where there is no number, and why."""
    notes, same, steady = [], difference < 1e-12, deviation < 1e-12
    if same.any():
        notes.append(f"{int(same.sum())} pairs do not differ, so no number of queries would tell them apart")
    if (steady & ~same).any():
        n = int((steady & ~same).sum())
        notes.append(f"{n} pairs differ by the same on every query, so no test is needed")
    known = ~(same | steady | np.isnan(deviation))
    needed = np.full(len(difference), np.nan)
    needed[known] = queries_needed(difference[known] / deviation[known])
    return needed, notes


def queries_needed(effect: np.ndarray) -> np.ndarray:
    """Queries at which a two-sided paired t-test at 0.05 first reaches a power of 0.8.

    Parameters
    ----------
    effect : ndarray
        Differences of means over the standard deviation of the difference; not 0.

    Returns
    -------
    ndarray of float
        Whole numbers, 2 at least.
    """
    from statsmodels.stats.power import TTestPower  # slow to import, and seldom needed

    effect = np.minimum(abs(np.asarray(effect, dtype=float)), 5.0)  # beyond, three queries do
    z = scipy.stats.norm.ppf([1 - ALPHA / 2, POWER]).sum()
    needed = np.maximum(2, np.floor((z / effect) ** 2))  # of a test that knows the variance: a floor
    rest = np.arange(len(effect))
    while len(rest):
        reached = TTestPower().power(effect[rest], needed[rest], ALPHA) >= POWER
        rest = rest[~reached]
        needed[rest] += 1
    return needed
