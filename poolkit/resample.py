"""A statistic over resampled queries: draws, and intervals that keep them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Interval:
    """A value with its percentile interval and the draws behind it.

    Attributes
    ----------
    value, low, high : float
    level : float
        Confidence level, such as 0.95.
    draws : ndarray, shape (n_resamples,)
        NaN draws (an undefined statistic) are left out of the interval and counted in `undefined`.
    undefined : int
    """

    value: float
    low: float
    high: float
    level: float
    draws: np.ndarray
    undefined: int = 0


def interval(value: float, draws: np.ndarray, *, level: float = 0.95) -> Interval:
    """Percentile interval of a value from its draws."""
    check_level(level)
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return Interval(value, np.nan, np.nan, level, draws, len(draws))
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), level, draws, len(draws) - len(defined))


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1)."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1; got {level}")


def query_draws(n_queries: int, *, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """How often each query is drawn in each resample with replacement.

    Parameters
    ----------
    n_queries, n_resamples : int
    rng : Generator

    Returns
    -------
    ndarray of float, shape (n_resamples, n_queries)
        Rows sum to n_queries. One draw serves every system and both sides: that is what pairs them.
    """
    if n_queries < 1 or n_resamples < 1:
        raise ValueError(f"at least one query and one resample; got {n_queries} and {n_resamples}")
    return rng.multinomial(n_queries, np.full(n_queries, 1 / n_queries), size=n_resamples).astype(float)


def mean_draws(values: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Mean over queries of every system in every resample.

    Parameters
    ----------
    values : ndarray, shape (systems, queries)
    draws : ndarray, shape (n_resamples, queries)
        From `query_draws`.

    Returns
    -------
    ndarray, shape (n_resamples, systems)
    """
    if draws.shape[1] != values.shape[1]:
        raise ValueError(
            f"draws are over {draws.shape[1]} queries, scores over {values.shape[1]}. "
            f"Draw with query_draws({values.shape[1]}, ...)."
        )
    return np.asarray(draws @ values.T / values.shape[1])


ONE_QUERY = "one query alone cannot be resampled, so there are no intervals"


def drawn_means(per_query: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Mean of every row in every resample, shape (n_resamples, rows); none where there is one query."""
    drawn = mean_draws(per_query, draws)
    return drawn if per_query.shape[1] > 1 else drawn[:0]


def draw_bounds(drawn: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Percentile bounds of every column of draws, NaN where there are no draws."""
    if not drawn.size:
        return np.full(drawn.shape[1], np.nan), np.full(drawn.shape[1], np.nan)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def share_above(draws: np.ndarray) -> np.ndarray:
    """Share of resamples in which one system is above another; ties count half.

    Parameters
    ----------
    draws : ndarray, shape (n_resamples, systems)

    Returns
    -------
    ndarray, shape (systems, systems)
        Row above column; 0.5 on the diagonal, and p[a, b] + p[b, a] = 1.

    Notes
    -----
    Float noise (beyond 12 decimals) is removed first: equal systems are tied in every draw.
    """
    by_system = np.ascontiguousarray(np.round(draws, 12).T)
    n, resamples = by_system.shape
    share = np.full((n, n), 0.5)
    for a in range(n - 1):
        rest = by_system[a + 1 :]
        above = (by_system[a] > rest).sum(axis=1)
        tied = (by_system[a] == rest).sum(axis=1)
        share[a, a + 1 :] = (above + tied / 2) / resamples
        share[a + 1 :, a] = 1 - share[a, a + 1 :]
    return share


def difference_bounds(draws: np.ndarray, *, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval of every difference of two systems' means, row minus column.

    Parameters
    ----------
    draws : ndarray, shape (n_resamples, systems)
    level : float

    Returns
    -------
    low, high : ndarray, shape (systems, systems)
        0 on the diagonal; low[a, b] = -high[b, a]. Equal to `interval` of each pair's difference.
    """
    check_level(level)
    by_system = np.ascontiguousarray(draws.T)
    n, resamples = by_system.shape
    place = (resamples - 1) * np.array([(1 - level) / 2, (1 + level) / 2])
    under = np.floor(place).astype(int)
    over, part = np.minimum(under + 1, resamples - 1), place - under
    low, high = np.zeros((2, n, n))
    for a in range(n - 1):
        ordered = np.sort(by_system[a] - by_system[a + 1 :], axis=1)  # a full sort beats four partitions
        ends = ordered[:, under] + part * (ordered[:, over] - ordered[:, under])
        low[a, a + 1 :], high[a, a + 1 :] = ends.T
        low[a + 1 :, a], high[a + 1 :, a] = -ends.T[::-1]
    return low, high
