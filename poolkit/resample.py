"""A statistic over resampled queries: draws, and intervals that keep them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import joblib
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


def share_above(draws: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
    """Share of resamples in which one system is above another; ties count half.

    Parameters
    ----------
    draws : ndarray, shape (n_resamples, systems)
    n_jobs : int, optional
        Pairs are shared among so many jobs; joblib's `parallel_config` says where they run.

    Returns
    -------
    ndarray, shape (systems, systems)
        Row above column; 0.5 on the diagonal, and p[a, b] + p[b, a] = 1.

    Notes
    -----
    Float noise (beyond 12 decimals) is removed first: equal systems are tied in every draw.
    """
    by_system = np.ascontiguousarray(np.round(draws, 12).T)
    share = np.full((len(by_system), len(by_system)), 0.5)
    for a, above in _with_later(by_system, _above, n_jobs):
        share[a, a + 1 :], share[a + 1 :, a] = above, 1 - above
    return share


def _above(one: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Share of resamples in which one system is above each of others."""
    higher, tied = (one > rest).sum(axis=1), (one == rest).sum(axis=1)
    return np.asarray((higher + tied / 2) / len(one))


def difference_bounds(
    draws: np.ndarray, *, level: float = 0.95, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval of every difference of two systems' means, row minus column.

    Parameters
    ----------
    draws : ndarray, shape (n_resamples, systems)
    level : float
    n_jobs : int, optional
        As in `share_above`.

    Returns
    -------
    low, high : ndarray, shape (systems, systems)
        0 on the diagonal; low[a, b] = -high[b, a]. Equal to `interval` of each pair's difference.
    """
    check_level(level)
    by_system = np.ascontiguousarray(draws.T)
    low, high = np.zeros((2, len(by_system), len(by_system)))
    for a, ends in _with_later(by_system, _ends, n_jobs, level):
        low[a, a + 1 :], high[a, a + 1 :] = ends.T
        low[a + 1 :, a], high[a + 1 :, a] = -ends.T[::-1]
    return low, high


def _ends(one: np.ndarray, rest: np.ndarray, level: float) -> np.ndarray:
    """Interval's ends of the difference of one system and each of others, shape (others, 2)."""
    place = (len(one) - 1) * np.array([(1 - level) / 2, (1 + level) / 2])
    under = np.floor(place).astype(int)
    over, part = np.minimum(under + 1, len(one) - 1), place - under
    ordered = np.sort(one - rest, axis=1)  # a full sort beats four partitions
    return np.asarray(ordered[:, under] + part * (ordered[:, over] - ordered[:, under]))


def _with_later(
    by_system: np.ndarray, compare: Callable[..., np.ndarray], n_jobs: int | None, *options: Any
) -> Iterator[tuple[int, np.ndarray]]:
    """Position of each system but the last, and its comparison with those after it."""
    rows, jobs = range(len(by_system) - 1), joblib.effective_n_jobs(n_jobs)
    shares = [rows[k::jobs] for k in range(min(jobs, len(rows)))]  # in turn, as later rows have fewer pairs
    done = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_compared)(by_system, share, compare, options) for share in shares
    )
    for share, found in zip(shares, done, strict=True):
        yield from zip(share, found, strict=True)


def _compared(
    by_system: np.ndarray, share: range, compare: Callable[..., np.ndarray], options: tuple[Any, ...]
) -> list[np.ndarray]:
    return [compare(by_system[a], by_system[a + 1 :], *options) for a in share]
