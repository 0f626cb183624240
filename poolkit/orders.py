"""Two systems-by-queries tables of one measure: every pair of systems, and rank correlations in draws."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy  # which loads scipy.stats, slow to import, at its first use

from poolkit.tables import DataError, listed

SPLITS = 1_000  # random halvings of the queries behind the ceiling


def _settled(means: np.ndarray) -> np.ndarray:
    """Means without float noise, so that equal systems are tied. For ordering only."""
    return np.round(np.asarray(means, dtype=float), 12)


def aligned(left: pd.DataFrame, right: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two score tables on the systems and queries that both have, in the left one's order.

    Parameters
    ----------
    left, right : DataFrame, systems by queries
        As `Scores.table` gives them.

    Raises
    ------
    DataError
        When no query, or no system, is on both sides.
    """
    queries, systems = (
        [name for name in one if name in other]
        for one, other in ((left.columns, set(right.columns)), (left.index, set(right.index)))
    )
    for what, found, sides in (
        ("query", queries, (left.columns, right.columns)),
        ("system", systems, (left.index, right.index)),
    ):
        if not found:
            raise DataError(
                f"no {what} is scored on both sides: one has {listed(sides[0])}, the other "
                f"{listed(sides[1])}. Check that both use the same ids."
            )
    return left.loc[systems, queries], right.loc[systems, queries]


def pair_table(left: pd.Series, right: pd.Series, *, near_tie: float = 0.001) -> pd.DataFrame:
    """Every pair of systems, how far apart both sides put it, and whether in the same order.

    Parameters
    ----------
    left, right : Series by system
        Means under either side, on the same systems.
    near_tie : float
        Pairs closer than this under either side are near-ties.

    Returns
    -------
    DataFrame
        Columns a, b (a is ahead under the left side, else under the right, else first), left and right
        (mean of a less mean of b), order ("same", "different"; "tied" where either side ties
        them), near_tie. Best pairs first.
    """
    right = right.reindex(left.index)
    best = np.lexsort((-_settled(right.to_numpy()), -_settled(left.to_numpy())))
    systems, x, y = left.index.to_numpy()[best], left.to_numpy()[best], right.to_numpy()[best]
    a, b = np.triu_indices(len(best), k=1)
    x, y = x[a] - x[b], y[a] - y[b]
    turn = (np.sign(_settled(x)) * np.sign(_settled(y))).astype(int)
    order = np.array(["different", "tied", "same"], dtype=object)[turn + 1]
    close = _settled(np.minimum(abs(x), abs(y))) < near_tie
    return pd.DataFrame(
        {"a": systems[a], "b": systems[b], "left": x, "right": y, "order": order, "near_tie": close}
    )


def rank_p_values(left: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Two-sided p-values of Spearman's rho and Kendall's tau-b, by scipy; NaN as the coefficients are.

    scipy's are for independent systems, which systems of one family are not: read them as a floor.
    """
    left, right = _settled(left), _settled(right)
    if len(left) < 3 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return float("nan"), float("nan")
    return (
        float(scipy.stats.spearmanr(left, right).pvalue),
        float(scipy.stats.kendalltau(left, right, variant="b").pvalue),
    )


def rank_draws(draws: np.ndarray) -> np.ndarray:
    """Rank of every system in every resample, 1 for the highest; ties share their mean rank.

    `draws` has the shape (n_resamples, systems), and so has the result.
    """
    return np.asarray(scipy.stats.rankdata(-_settled(draws), axis=1))


def correlation_draws(left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
    """Rank correlations of two sides' system means in every resample.

    Parameters
    ----------
    left, right : ndarray, shape (n_resamples, systems)
        Means, from the same `query_draws`. Left is the truth of tau-AP.

    Returns
    -------
    dict of str to ndarray, shape (n_resamples,)
        `rho` (Spearman), `tau` (Kendall's tau-b) and `tau_ap`, equal to those of `compare`, ties and
        float noise included. NaN where a side is constant.
    """
    truth, estimate = rank_draws(left), rank_draws(right)
    defined = (np.ptp(truth, axis=1) > 0) & (np.ptp(estimate, axis=1) > 0)
    # Twice the mean rank is whole; 16 bits hold it and make the pairwise passes four times cheaper.
    t, e = (np.ascontiguousarray((2 * ranks[defined]).T).astype(np.int16) for ranks in (truth, estimate))
    found = {"rho": _spearman(t, e), "tau": _kendall(t, e), "tau_ap": _tau_ap(t, e)}
    every = {name: np.full(len(defined), np.nan) for name in found}
    for name, values in found.items():
        every[name][defined] = values
    return every


def _spearman(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Correlation of ranks in each column."""
    a, b = (x - x.mean(axis=0) for x in (left.astype(float), right.astype(float)))
    return np.asarray((a * b).sum(axis=0) / np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0)))


def _kendall(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Concordant less discordant pairs over the geometric mean of the pairs untied on each side."""
    balance, untied_left, untied_right = np.zeros((3, left.shape[1]))
    for s in range(len(left) - 1):
        a, b = np.sign(left[s] - left[s + 1 :]), np.sign(right[s] - right[s + 1 :])
        balance += (a * b).sum(axis=0)
        untied_left += (a != 0).sum(axis=0)
        untied_right += (b != 0).sum(axis=0)
    return balance / np.sqrt(untied_left * untied_right)


def _tau_ap(truth: np.ndarray, estimate: np.ndarray) -> np.ndarray:
    """tau-AP in each column of ranks (1 is best), blocks of tied estimates averaged over their orders.

    A system with `above` systems over its block of size t takes each rank above + 1 .. above + t
    equally often, so 1 / (rank - 1) is a difference of harmonic numbers, and half its mates above agree.
    """
    n = len(truth)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
    total = np.zeros(truth.shape[1])
    for s in range(n):
        over = estimate < estimate[s]
        agree = (over & (truth < truth[s])).sum(axis=0) + (over & (truth == truth[s])).sum(axis=0) / 2
        above, block = over.sum(axis=0), (estimate == estimate[s]).sum(axis=0)
        inverse = harmonic[above + block - 1] - harmonic[np.maximum(above - 1, 0)]
        mates = block - (above == 0) - above * inverse
        total += (agree * inverse + mates / 2) / block
    return 2 * total / (n - 1) - 1


@dataclass(frozen=True)
class Ceiling:
    """How well one side's ranking predicts itself.

    Attributes
    ----------
    rho : float
        Mean Spearman's rho between the rankings by two random halves of the queries.
    spearman_brown : float
        2 rho / (1 + rho): what two sets of queries of full size would give. NaN for a negative rho,
        where the formula has no meaning: at -1/2 it gives -2.
    draws : ndarray
        rho of each halving.
    """

    rho: float
    spearman_brown: float
    draws: np.ndarray


def ceiling(values: np.ndarray, *, rng: np.random.Generator) -> Ceiling:
    """Rankings by random halves of the queries against each other.

    Parameters
    ----------
    values : ndarray, shape (systems, queries)
    rng : Generator

    Returns
    -------
    Ceiling
        NaN for a single query or system. An odd query goes to the second half.
    """
    n = values.shape[1]
    if n < 2:
        return Ceiling(float("nan"), float("nan"), np.full(SPLITS, np.nan))
    first = rng.permuted(np.broadcast_to(np.arange(n) < n // 2, (SPLITS, n)), axis=1).astype(float)
    left, right = (half @ values.T / half.sum(axis=1, keepdims=True) for half in (first, 1 - first))
    draws = correlation_draws(left, right)["rho"]
    rho = float("nan") if np.isnan(draws).all() else float(np.nanmean(draws))
    return Ceiling(rho, 2 * rho / (1 + rho) if rho >= 0 else float("nan"), draws)
