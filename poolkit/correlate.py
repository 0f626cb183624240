"""Human against judge: are systems, and documents, put in the same order."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy  # which loads scipy.stats, slow to import, at its first use
from ir_measures import Measure

from poolkit.compare import kendall, spearman, tau_ap
from poolkit.orders import Ceiling, aligned, ceiling, correlation_draws, pair_table, rank_draws, rank_p_values
from poolkit.plain import named
from poolkit.resample import Interval, check_level, interval, mean_draws, query_draws
from poolkit.score import Scores, one_epoch
from poolkit.score import measure as measure_of

SHUFFLES = 9_999  # permutations behind tau-AP's p-value


@dataclass(frozen=True)
class Coefficient(Interval):
    """An interval with the p-value of no correlation; NaN where there is none."""

    p_value: float = float("nan")


@dataclass(frozen=True)
class Calibration:
    """How much higher the judge scores than people, in percent of the human mean.

    Attributes
    ----------
    percent : Series by system
        100 * (judge - human) / human; NaN where the human mean is 0.
    mean, sd, low, high : float
        Over systems; sd divides by n - 1.
    """

    percent: pd.Series
    mean: float
    sd: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """Highest less lowest, in points: a small spread is why orderings survive a large shift."""
        return self.high - self.low


@dataclass(frozen=True)
class Correlation:
    """Two orderings of the same systems, by human labels and by a judge's.

    Attributes
    ----------
    measure, human, judge : str
        The measure's name; titles of the two sides.
    means : DataFrame by system
        Columns human, judge; best under human first, and that is the order everywhere below.
    rho, tau, tau_ap : Coefficient
        Spearman's rho, Kendall's tau-b, tau-AP with the human ordering as truth.
    n_queries : int
        Common queries, all that is counted here.
    dropped_human, dropped_judge : tuple of str
        Queries that only that side scores.
    agree, differ, tied : int
        Pairs of systems in the same order, in opposite orders, tied on either side.
    near_ties : DataFrame
        Pairs closer than the near-tie gap under either side: a, b, human and judge (differences), order.
    ranks : DataFrame by system
        human, human_low, human_high, and the same for judge; ties share their mean rank.
        Intervals are NaN for a single query.
    calibration : Calibration
    ceiling : Ceiling
    human_draws, judge_draws : ndarray, shape (n_resamples, systems)
        Means in every resample.
    notes : tuple of str
        What cannot be known, or weakens the rest.
    """

    measure: str
    human: str
    judge: str
    means: pd.DataFrame
    rho: Coefficient
    tau: Coefficient
    tau_ap: Coefficient
    n_queries: int
    dropped_human: tuple[str, ...]
    dropped_judge: tuple[str, ...]
    agree: int
    differ: int
    tied: int
    near_ties: pd.DataFrame
    ranks: pd.DataFrame
    calibration: Calibration
    ceiling: Ceiling
    human_draws: np.ndarray
    judge_draws: np.ndarray
    notes: tuple[str, ...]

    @property
    def pairs(self) -> int:
        """Pairs of systems, S (S - 1) / 2."""
        return self.agree + self.differ + self.tied

    @property
    def pair_agreement(self) -> float:
        """Share of all pairs in the same order; tied pairs count as not; NaN without a pair."""
        return self.agree / self.pairs if self.pairs else float("nan")


def correlate(
    human: Scores, judge: Scores, measure: str | Measure, *, rng: np.random.Generator,
    draws: np.ndarray | int = 10_000, level: float = 0.95, near_tie: float = 0.001,
) -> Correlation:  # fmt: skip
    """Whether a judge's labels order the systems as human labels do.

    Parameters
    ----------
    human, judge : Scores
        Of the same systems. Only queries that both score count.
    measure : str or Measure
    rng : Generator
        For the resamples, unless given, the halvings and tau-AP's p-value.
    draws : ndarray or int
        Resamples of the common queries from `query_draws`, to share them with other analyses, or how many.
    level : float
    near_tie : float
        Pairs of means closer than this under either side are listed apart.

    Raises
    ------
    DataError
        When the two sides have no query or no system in common.

    Notes
    -----
    METHOD 5. p-values of rho and tau-b are scipy's; tau-AP's is two-sided by permutation of the systems.
    All three take systems for independent, which variants of one pipeline are not; the intervals do not.
    """
    check_level(level)
    one_epoch(human, judge)
    name = str(measure_of(measure))
    left, right = aligned(human.table(name), judge.table(name))
    means = pd.DataFrame({"human": left.mean(axis=1), "judge": right.mean(axis=1)}).rename_axis("system")
    table = pair_table(means["human"], means["judge"], near_tie=near_tie)
    order = np.lexsort((-means["judge"].round(12), -means["human"].round(12)))
    means, left, right = means.iloc[order], left.iloc[order], right.iloc[order]
    for_draws, for_halves, for_p = rng.spawn(3)
    n = left.shape[1]
    if isinstance(draws, int | np.integer):
        draws = query_draws(n, n_resamples=int(draws), rng=for_draws)
    h, j = (mean_draws(side.to_numpy(), draws) for side in (left, right))
    drawn = (
        correlation_draws(h, j) if n > 1 else dict.fromkeys(("rho", "tau", "tau_ap"), np.full(len(h), np.nan))
    )
    x, y = means["human"].to_numpy(), means["judge"].to_numpy()
    p = dict(zip(("rho", "tau"), rank_p_values(x, y), strict=True)) | {"tau_ap": _tau_ap_p(x, y, rng=for_p)}
    rho, tau, top = (
        Coefficient(**vars(interval(f(x, y), drawn[k], level=level)), p_value=p[k])
        for k, f in (("rho", spearman), ("tau", kendall), ("tau_ap", tau_ap))
    )
    count = {k: int((table["order"] == k).sum()) for k in ("same", "different", "tied")}
    near = table[table["near_tie"]].drop(columns="near_tie").reset_index(drop=True)
    calibration, halves = _calibration(means), ceiling(left.to_numpy(), rng=for_halves)
    common = set(left.columns)
    only_human, only_judge = (tuple(q for q in x.queries if q not in common) for x in (human, judge))
    return Correlation(
        name, human.title, judge.title, means, rho, tau, top, n, only_human, only_judge,
        agree=count["same"], differ=count["different"], tied=count["tied"],
        near_ties=near.rename(columns={"left": "human", "right": "judge"}),
        ranks=_ranks(means, h, j, n, level=level), calibration=calibration,
        ceiling=halves, human_draws=h, judge_draws=j,
        notes=_notes(human, judge, means, calibration, {"rho": rho, "tau-b": tau, "tau-AP": top}, n, halves),
    )  # fmt: skip


def _tau_ap_p(truth: np.ndarray, estimate: np.ndarray, *, rng: np.random.Generator) -> float:
    """Two-sided permutation p-value of tau-AP, exact for few systems."""
    if len(truth) < 3 or np.isnan(tau_ap(truth, estimate)):
        return float("nan")

    def statistic(shuffled: np.ndarray, axis: int = -1) -> np.ndarray:
        rows = np.atleast_2d(shuffled)
        found = correlation_draws(np.broadcast_to(truth, rows.shape), rows)["tau_ap"]
        return found if shuffled.ndim > 1 else found[0]

    test = scipy.stats.permutation_test(
        (estimate,), statistic, permutation_type="pairings", n_resamples=SHUFFLES, vectorized=True, rng=rng
    )
    return float(test.pvalue)


def _ranks(means: pd.DataFrame, h: np.ndarray, j: np.ndarray, n: int, *, level: float) -> pd.DataFrame:
    """Rank of every system under both sides, with its percentile interval."""
    columns = {}
    for side, draws in (("human", h), ("judge", j)):
        columns[side] = rank_draws(means[[side]].to_numpy().T)[0]
        ends = np.quantile(rank_draws(draws), [(1 - level) / 2, (1 + level) / 2], axis=0)
        columns[f"{side}_low"], columns[f"{side}_high"] = ends if n > 1 else np.full(ends.shape, np.nan)
    return pd.DataFrame(columns, index=means.index)


def _calibration(means: pd.DataFrame) -> Calibration:
    """Percent by which the judge's mean exceeds the human one."""
    base = means["human"].where(means["human"] != 0)
    percent = (100 * (means["judge"] - base) / base).rename("percent")
    return Calibration(percent, percent.mean(), percent.std(), percent.min(), percent.max())


def _notes(
    human: Scores, judge: Scores, means: pd.DataFrame, calibration: Calibration,
    coefficients: Mapping[str, Interval], n: int, halves: Ceiling,
) -> tuple[str, ...]:  # fmt: skip
    """Say what cannot be known, or weakens the rest."""
    notes = []
    if len(means) < 3:
        few = "One system has" if len(means) == 1 else "Two systems have"
        notes.append(f"{few} no ordering to correlate beyond right or wrong; there is no p-value.")
    if n == 1:
        notes.append("One common query: resampling says nothing, so there is no interval and no ceiling.")
    for side, scored in (("human", human), ("judge", judge)):
        if len(means) > 1 and np.ptp(means[side].round(12)) == 0:
            notes.append(
                f"Every system has the same mean under {named(scored.title)}: no correlation is defined."
            )
    zero = int(calibration.percent.isna().sum())
    if zero:
        who = "1 system scores" if zero == 1 else f"{zero} systems score"
        notes.append(f"{who} 0 under {named(human.title)}: no bias in percent is defined there.")
    if halves.rho < 0:
        notes.append(
            f"Halves of the queries rank the systems against each other under {named(human.title)} (mean rho "
            f"{halves.rho:.2f}): Spearman-Brown's formula has no meaning for a negative rho, so it is left out."
        )
    above = [name for name, found in coefficients.items() if found.value > found.high + 1e-9]
    if above:
        notes.append(
            f"{' and '.join(above)} {'lies' if len(above) == 1 else 'lie'} above the interval: resampling "
            "adds noise to both orders, which lowers a correlation near 1. The interval says how low it may be."
        )
    return tuple(notes)
