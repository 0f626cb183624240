"""What an unstable judge does to the order of systems: another judge's ranking, and simulated noise."""

from dataclasses import dataclass

import joblib
import numpy as np
import pandas as pd

from poolkit.compare import kendall, order_signs, settled, spearman
from poolkit.labels import Grades
from poolkit.orders import aligned, correlation_draws, pair_table
from poolkit.redraw import Judged, redrawn
from poolkit.resample import Interval, check_level, interval, mean_draws, query_draws, share_above
from poolkit.score import Scores, cutoff_of, is_native, one_epoch
from poolkit.score import measure as measure_of
from poolkit.tables import DataError, Runs, listed

NEAR_TIE = 0.001  # systems closer than this are marked as near-ties


@dataclass(frozen=True)
class Rankings:
    """Two judges' rankings of the same systems.

    Attributes
    ----------
    measure, left, right : str
    rho, tau, same : Interval
        Spearman, Kendall's tau-b, share of pairs in the same order; bootstrap over queries.
    n_queries : int
        Queries that both scored; others are left out.
    pairs : DataFrame
        As `orders.pair_table`: a, b, left, right, order, near_tie.
    notes : tuple of str
    """

    measure: str
    left: str
    right: str
    rho: Interval
    tau: Interval
    same: Interval
    n_queries: int
    pairs: pd.DataFrame
    notes: tuple[str, ...]


def rankings(
    left: Scores, right: Scores, measure: str, *, level: float = 0.95, n_resamples: int = 10_000,
    rng: np.random.Generator,
) -> Rankings:  # fmt: skip
    """Correlation and pairwise order of two judges' rankings, on the systems and queries of both."""
    check_level(level)
    one_epoch(left, right)
    one, two = aligned(left.table(measure), right.table(measure))
    means = one.mean(axis=1), two.mean(axis=1)
    pairs = pair_table(*means, near_tie=NEAR_TIE)
    notes, n, (systems, queries) = [], n_resamples, one.shape
    rho = tau = same = np.full(n if queries > 1 else 0, np.nan)
    if queries < 2:
        notes.append("one query alone cannot be resampled, so there are no intervals")
    if systems < 2:
        notes.append("one system alone has no order")
    elif any(np.ptp(settled(m.to_numpy())) == 0 for m in means):
        notes.append("all systems score alike under one judge, so correlation is undefined")
    if queries > 1 and systems > 1:
        weights = query_draws(queries, n_resamples=n, rng=rng)
        drawn = [mean_draws(t.to_numpy(), weights) for t in (one, two)]
        correlation = correlation_draws(*drawn)
        rho, tau, same = correlation["rho"], correlation["tau"], _same_order(*map(settled, drawn))
    share = float((pairs["order"] == "same").mean()) if len(pairs) else np.nan
    values = spearman(*(m.to_numpy() for m in means)), kendall(*(m.to_numpy() for m in means)), share
    a, b, c = (interval(v, d, level=level) for v, d in zip(values, (rho, tau, same), strict=True))
    key = str(measure_of(measure))
    return Rankings(key, left.title, right.title, a, b, c, queries, pairs, tuple(notes))


def _same_order(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Share of pairs of systems that both sides order alike, in every resample; a tie is no order."""
    n, count = left.shape[1], np.zeros(len(left))
    x, y = np.ascontiguousarray(left.T), np.ascontiguousarray(right.T)
    for s in range(n - 1):
        a, b = x[s + 1 :], y[s + 1 :]
        count += ((x[s] > a) & (y[s] > b) | (x[s] < a) & (y[s] < b)).sum(axis=0)
    return count / (n * (n - 1) / 2)


@dataclass(frozen=True)
class SimulatedNoise:
    """Systems over simulated worlds in which the judge graded every pair once more.

    Attributes
    ----------
    measure, title : str
        What was measured, and whose grades were redrawn.
    systems : DataFrame
        By system: observed (mean over queries), simulated (mean over worlds), low, high, shift
        (simulated - observed).
    turned : DataFrame
        Systems by systems: share of worlds that order the two against what was observed, ties half;
        NaN where the two are observed equal.
    pairs : DataFrame
        ahead, behind, gap, turned, near_tie; most often turned first.
    tau : Interval
        Kendall's tau-b of each world with the observed order; the value is their mean.
    means : ndarray, shape (worlds, systems)
    level : float
    notes : tuple of str
    """

    measure: str
    title: str
    systems: pd.DataFrame
    turned: pd.DataFrame
    pairs: pd.DataFrame
    tau: Interval
    means: np.ndarray
    level: float
    notes: tuple[str, ...]


def noise_through(
    runs: Runs, grades: Grades, flip_matrix: pd.DataFrame, measure: str, *, n_worlds: int = 1000,
    level: float = 0.95, rng: np.random.Generator, n_jobs: int | None = None,
) -> SimulatedNoise:  # fmt: skip
    """Simulated share of worlds in which judge noise alone turns the order of two systems.

    Parameters
    ----------
    runs : Runs
    grades : Grades
    flip_matrix : DataFrame
        Probability of a grade on a second judging (columns) given the grade that stands (rows), as
        `stability.repeats` gives it. A row of NaN was never observed: such grades stay as they are.
    measure : str
        One with a numerator and a denominator of poolkit's own.
    n_worlds : int
        METHOD 8 asks for at least 1,000.
    level : float
    rng : Generator
        Each world gets one of its own from it.
    n_jobs : int, optional
        Worlds are shared among so many jobs; joblib's `parallel_config` says where they run.

    Returns
    -------
    SimulatedNoise

    Notes
    -----
    In each world every judged pair, pooled or beyond the runs, draws a new grade from the row of its
    grade, independently of all others; unjudged pairs stay unjudged. Numerators and denominators are
    computed anew, the queries stay the same. So this is a model: pairs of one grade are taken as
    equally firm, errors as unrelated within a query, the grade that stands as the one to move from,
    and the matrix as exact. The matrix of another judge, instead of repeats, adds that judge's bias.
    """
    check_level(level)
    m = measure_of(measure)
    if not is_native(m):
        raise ValueError(
            f"measure {m} has no numerator and denominator here; take one such as nDCG@10, AP@100"
        )
    if n_worlds < 1:
        raise ValueError(f"n_worlds must be at least 1; got {n_worlds}")
    on = np.flatnonzero(grades.judged)
    query = np.concatenate([runs.query_of[on], grades.beyond_query])
    given = np.concatenate([grades.relevance[on], grades.beyond_relevance])
    if not len(given):
        raise DataError(f"{grades.title}: no query has a label, so there is no noise to simulate")
    at, reached, outcome, notes = _chances(flip_matrix, given, grades.title)
    top = max(1, int(given.max()), int(outcome.max()))
    item = runs.item[:, grades.has, : cutoff_of(m)]
    judged = Judged(item, on, query, given, grades.judged, grades.has, top, m)
    rngs, n = rng.spawn(n_worlds), min(n_worlds, joblib.effective_n_jobs(n_jobs))
    shares = (joblib.delayed(redrawn)(judged, rngs[job::n], at, reached, outcome) for job in range(n))
    means = np.empty((n_worlds, len(runs.systems)))
    for job, share in enumerate(joblib.Parallel(n_jobs=n_jobs)(shares)):
        means[job::n] = share
    observed = judged.means(given)
    if n_worlds < 1000:
        notes.append(f"{n_worlds} worlds are few; METHOD asks for 1,000")
    if len(runs.systems) < 2:
        notes.append("one system alone has no order to turn")
    return _simulated(runs.systems, str(m), grades.title, observed, means, level, notes)


def _chances(
    flip_matrix: pd.DataFrame, given: np.ndarray, title: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Row of each grade, cumulative chances by row, the grades they lead to, and notes."""
    chance, outcome = flip_matrix.to_numpy(dtype=float).copy(), flip_matrix.columns.to_numpy(dtype=int)
    at = pd.Index(flip_matrix.index).get_indexer(pd.Index(given))
    if (at < 0).any():
        unknown = listed(np.unique(given[at < 0]))
        raise DataError(
            f"flip matrix: no row for grade {unknown} of {title}; rows are "
            f"{listed(flip_matrix.index, first=9)}. Take it from repeats of the same judge."
        )
    notes, unseen = [], np.isnan(chance).all(axis=1)
    for row in np.flatnonzero(unseen).tolist():
        grade = flip_matrix.index[row]
        if grade not in outcome:
            raise DataError(f"flip matrix: row {grade} is empty and there is no column {grade} to stay in")
        chance[row] = outcome == grade
        if (at == row).any():
            notes.append(
                f"no pair of grade {grade} was repeated, so those {int((at == row).sum())} stay as they are"
            )
    bad = ~(np.isclose(chance.sum(axis=1), 1) & (chance >= 0).all(axis=1))
    if bad.any():
        raise DataError(
            f"flip matrix: row {flip_matrix.index[bad][0]} is not a set of chances that add up to 1"
        )
    return at, chance.cumsum(axis=1)[:, :-1], outcome, notes


def _simulated(
    systems: tuple[str, ...], measure: str, title: str, observed: np.ndarray, means: np.ndarray, level: float,
    notes: list[str],
) -> SimulatedNoise:  # fmt: skip
    """Tables from the means of every world."""
    names = pd.Index(systems, name="system")
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    simulated = means.mean(axis=0)
    table = pd.DataFrame(
        {
            "observed": observed,
            "simulated": simulated,
            "low": low,
            "high": high,
            "shift": simulated - observed,
        },
        index=names,
    )
    sign, above = order_signs(observed), share_above(settled(means))
    turned = np.where(sign > 0, 1 - above, np.where(sign < 0, above, np.nan))
    a, b = np.nonzero(sign > 0)
    label = np.asarray(systems, dtype=object)
    pairs = pd.DataFrame(
        {"ahead": label[a], "behind": label[b], "gap": observed[a] - observed[b], "turned": turned[a, b]}
    )
    pairs["near_tie"] = pairs["gap"] < NEAR_TIE
    pairs = pairs.sort_values(["turned", "gap"], ascending=[False, True], ignore_index=True)
    taus = np.array([kendall(observed, world) for world in means])
    tau = interval(float(np.nanmean(taus)) if (~np.isnan(taus)).any() else np.nan, taus, level=level)
    frame = pd.DataFrame(turned, index=names, columns=list(systems))
    return SimulatedNoise(measure, title, table, frame, pairs, tau, means, level, tuple(notes))
