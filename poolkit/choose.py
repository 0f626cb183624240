"""Which systems are best, which of them is worth its cost, and how sure that is."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from poolkit.compare import holm, settled
from poolkit.resample import ONE_QUERY, Interval, check_level, draw_bounds, drawn_means
from poolkit.score import Scores
from poolkit.score import measure as measure_of
from poolkit.tables import listed

NEAR_TIE = 0.001  # systems closer than this are near-ties


@dataclass(frozen=True)
class BestSet:
    """The best system and those that cannot be told from it.

    Attributes
    ----------
    measure, best : str
    systems : tuple of str
        The set, best mean first.
    table : DataFrame
        By system, best first: mean, difference (best less this one), low, high, p, p_holm, in_set,
        near_tie (closer than 0.001 to the best;
        missing for the best itself).
    alpha : float
    n_tests : int
        Comparisons that Holm's correction allows for.
    draws : ndarray, shape (n_resamples, systems)
        Differences, in the table's order.
    notes : tuple of str
    """

    measure: str
    best: str
    systems: tuple[str, ...]
    table: pd.DataFrame
    alpha: float
    n_tests: int
    draws: np.ndarray
    notes: tuple[str, ...]

    @property
    def lead(self) -> Interval:
        """Difference of the best and the next system."""
        second = self.table.iloc[1]
        drawn = self.draws[:, 1] if len(self.draws) else np.empty(0)
        return Interval(second["difference"], second["low"], second["high"], 1 - self.alpha, drawn)


def best_set(scores: Scores, measure: str, *, draws: np.ndarray, alpha: float = 0.05) -> BestSet:
    """Best system by mean, and the set that the queries cannot tell from it.

    Parameters
    ----------
    scores : Scores
    measure : str
    draws : ndarray
        From `query_draws`, over the queries of `scores`.
    alpha : float
        A system leaves the set where its p-value, corrected by Holm, is at most this.

    Returns
    -------
    BestSet

    Notes
    -----
    METHOD 10. Paired bootstrap: p = 2 (c + 1) / (B + 1), at most 1, where c of B resamples put the
    system at or above the best, ties counting half; Holm over all systems but the best. Intervals are
    not corrected. The best is picked on these same queries: in simulations a truly best system stays
    in the set in at least 1 - alpha of cases, but of many equal systems one or other is often lost.
    """
    check_level(alpha)
    table = scores.table(measure)
    order = np.argsort(-settled(table.mean(axis=1).to_numpy()), kind="stable")
    table = table.iloc[order]
    values, mean = table.to_numpy(), table.mean(axis=1)
    behind = values[0] - values
    drawn = drawn_means(behind, draws)
    low, high = draw_bounds(drawn, 1 - alpha)
    p, corrected, n = np.full(len(values), np.nan), np.full(len(values), np.nan), len(values) - 1
    notes = []
    if not n:
        notes.append("one system alone has nothing to be told from")
    elif not len(drawn):
        notes.append(ONE_QUERY)
    else:
        least = settled(drawn[:, 1:])
        count = (least < 0).sum(axis=0) + (least == 0).sum(axis=0) / 2
        p[1:] = np.minimum(1, 2 * (count + 1) / (len(drawn) + 1))
        corrected[1:] = holm(p[1:])
        if 2 * n / (len(drawn) + 1) > alpha:
            notes.append(f"{len(drawn)} resamples are too few to tell any of {n} systems from the best")
    found = pd.DataFrame(
        {"mean": mean, "difference": mean.iloc[0] - mean, "low": low, "high": high, "p": p},
        index=pd.Index(table.index, name="system"),
    )
    found["p_holm"] = corrected
    found["in_set"] = ~(corrected <= alpha)
    near = pd.array(settled(found["difference"].to_numpy()) < NEAR_TIE, dtype="boolean")
    near[0] = pd.NA  # the best is no rival of its own
    found["near_tie"] = near
    kept = tuple(found.index[found["in_set"]])
    return BestSet(str(measure_of(measure)), str(found.index[0]), kept, found, alpha, n, drawn, tuple(notes))


@dataclass(frozen=True)
class Tradeoff:
    """What the best set costs.

    Attributes
    ----------
    cost, pick : str
        The cost column, and the cheapest system of the best set (None where no cost is known).
    table : DataFrame
        By system, cheapest first: mean, cost, in_set, pareto (no other is at least as good and as
        cheap, and better in one).
    notes : tuple of str
    """

    cost: str
    pick: str | None
    table: pd.DataFrame
    notes: tuple[str, ...]


def tradeoff(best: BestSet, catalogue: pd.DataFrame, cost: str) -> Tradeoff:
    """Means against a cost column of the catalogue (less is better), with the Pareto points."""
    if cost not in catalogue:
        raise ValueError(f"unknown cost {cost!r}; the catalogue has {listed(catalogue.columns, first=12)}")
    price = pd.to_numeric(catalogue[cost].replace("", None), errors="coerce").reindex(best.table.index)
    table = best.table[["mean", "in_set"]].assign(cost=price.astype(float))[["mean", "cost", "in_set"]]
    notes = []
    if unknown := list(table.index[table["cost"].isna()]):
        notes.append(f"no number in {cost} for {listed(unknown)}")
    table = table.dropna(subset="cost").sort_values(["cost", "mean"], ascending=[True, False], kind="stable")
    mean, costs = settled(table["mean"].to_numpy()), table["cost"].to_numpy()
    no_worse = (mean[:, None] >= mean) & (costs[:, None] <= costs)
    better = (mean[:, None] > mean) | (costs[:, None] < costs)
    table["pareto"] = ~np.asarray((no_worse & better).any(axis=0))
    kept = table.index[table["in_set"]]
    if not len(kept):
        notes.append(f"no system of the best set has a {cost}, so none can be picked")
    return Tradeoff(cost, str(kept[0]) if len(kept) else None, table, tuple(notes))
