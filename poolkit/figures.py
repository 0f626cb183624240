"""Results as figures: each function takes a result and returns the Axes it drew on."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from poolkit import drawing
from poolkit.bias import LeftOut
from poolkit.choose import BestSet
from poolkit.correlate import Correlation
from poolkit.disagree import Disagreements
from poolkit.drawing import GREY, JUDGE, RESULT, axes, tall
from poolkit.growth import Growth, GrowthOrders
from poolkit.noise import SimulatedNoise


def plot_pool_growth(arrivals: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Judgments needed with and without reuse, as systems arrive; `arrivals` from `pool.arrival`."""
    ax = axes(ax, 7, 3.6)
    at = np.arange(1, len(arrivals) + 1)
    ax.plot(at, arrivals["independent"], ".:", color="0.35", ms=4, label="each system judged by itself")
    ax.plot(at, arrivals["unique"], ".-", color=RESULT, ms=4, label="pooled: each document judged once")
    ax.fill_between(at, arrivals["unique"], arrivals["independent"], alpha=0.08, color=RESULT)
    ax.set(xlabel="systems arrived", ylabel="judgments", ylim=(0, None), xlim=(1, max(2, len(at))))
    drawing.ticks(ax.xaxis, whole=True)
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    drawing.legend_above(ax)
    return ax


def plot_marginal(arrivals: pd.DataFrame, families: Mapping[str, str], *, ax: Axes | None = None) -> Axes:
    """New documents of each system on arrival, first arrival on top."""
    ax = axes(ax, 7, tall(len(arrivals)))
    styles = drawing.family_styles(families)
    for row, (system, new) in enumerate(arrivals["new"].items()):
        colour, marker = styles[families[str(system)]]
        ax.hlines(row, 0, new, color=colour, alpha=0.5)
        ax.plot(new, row, marker, color=colour, ms=6)
    drawing.name_rows(ax, arrivals.index)
    drawing.family_legend(ax, families)
    ax.set(xlabel="new documents to judge on arrival", xlim=(0, None))
    return ax


def plot_overlap(matrix: pd.DataFrame, *, label: str, ax: Axes | None = None) -> Axes:
    """Overlap of every two systems as a map, likely neighbours side by side."""
    order = drawing.neighbours(matrix)
    shown = matrix.iloc[order, order]
    few = len(shown) <= drawing.MOST_LABELS
    side = float(np.clip(0.26 * len(shown) + 2.5, 4, 12))
    ax = axes(ax, side, side * 0.9)
    sns.heatmap(
        shown, vmin=0, vmax=1, cmap="cividis", square=True, ax=ax, cbar_kws={"label": label, "shrink": 0.6},
        xticklabels=few, yticklabels=few,
    )  # fmt: skip
    ax.tick_params(labelsize=8 if len(shown) <= 35 else 6.5 if len(shown) <= 80 else 4)
    ax.tick_params(axis="x", rotation=90)
    ax.tick_params(axis="y", rotation=0)
    if not few:
        ax.set(xlabel=f"{len(shown):,} systems, neighbours side by side")
    return ax


def plot_confusion(confusion: pd.DataFrame, *, left: str, right: str, ax: Axes | None = None) -> Axes:
    """Pairs by grade of either side: counts, shaded by their share of the row."""
    ax = axes(ax, 1.0 * len(confusion.columns) + 2.2, 0.8 * len(confusion) + 1.4)
    total = confusion.sum(axis=1)
    share = confusion.div(total.where(total > 0), axis=0).fillna(0.0)
    labels = confusion.map(lambda n: f"{n:,}")
    sns.heatmap(
        share, annot=labels, fmt="", vmin=0, vmax=1, cmap="Blues", ax=ax, cbar_kws={"label": "share of row"}
    )
    ax.tick_params(axis="y", rotation=0)
    ax.set(xlabel=f"grade, {right}", ylabel=f"grade, {left}")
    return ax


def plot_correlation(found: Correlation, families: Mapping[str, str], *, ax: Axes | None = None) -> Axes:
    """Means under human and judge, a point a system, lines the intervals over queries."""
    ax = axes(ax, 6.6, 5.2)
    styles = drawing.family_styles(families)
    level = found.rho.level
    (h_low, h_high), (j_low, j_high) = (
        drawing.bounds(d, level) for d in (found.human_draws, found.judge_draws)
    )
    many = len(found.means) > 30
    for i, (system, mean) in enumerate(found.means.iterrows()):
        colour, marker = styles[families[str(system)]]
        ax.hlines(mean["judge"], h_low[i], h_high[i], color=colour, alpha=0.15 if many else 0.35, lw=1)
        ax.vlines(mean["human"], j_low[i], j_high[i], color=colour, alpha=0.15 if many else 0.35, lw=1)
        ax.plot(
            mean["human"], mean["judge"], marker, color=colour, ms=5 if many else 6.5, mec="white", mew=0.5
        )
    values = np.concatenate([found.means.to_numpy().ravel(), h_low, h_high, j_low, j_high])
    margin = 0.04 * max(np.nanmax(values) - np.nanmin(values), 0.02)
    limits = (np.nanmin(values) - margin, np.nanmax(values) + margin)
    ax.axline((0, 0), slope=1, color=GREY, lw=1, ls=":")
    ax.set(xlim=limits, ylim=limits, xlabel=f"mean {found.measure}, {found.human}")
    ax.set(ylabel=f"mean {found.measure}, judge {found.judge}")
    ax.set_aspect("equal")
    drawing.ticks(ax.xaxis)
    drawing.ticks(ax.yaxis)
    drawing.family_legend(ax, families)
    return ax


def plot_ranks(found: Correlation, *, ax: Axes | None = None) -> Axes:
    """Rank of each system with its interval under both sides, best by human score on top."""
    ax = axes(ax, 7, tall(len(found.ranks)))
    drawing.two_sides(ax, found.ranks, found.human, found.judge)
    drawing.name_rows(ax, found.ranks.index)
    ax.set(xlabel=f"rank by mean {found.measure} (1 = best)", xlim=(0.3, len(found.ranks) + 0.7))
    drawing.ticks(ax.xaxis, whole=True)
    return ax


def plot_calibration(found: Correlation, families: Mapping[str, str], *, ax: Axes | None = None) -> Axes:
    """How much higher the judge scores each system than people do, in percent, with intervals."""
    percent = found.calibration.percent
    ax = axes(ax, 7, tall(len(percent)))
    styles = drawing.family_styles(families)
    known = np.flatnonzero(percent.notna())
    human, judge = found.human_draws[:, known], found.judge_draws[:, known]
    low, high = drawing.bounds(100 * (judge / np.where(human > 0, human, np.nan) - 1), found.rho.level)
    for i, row in enumerate(known.tolist()):
        colour, marker = styles[families[str(percent.index[row])]]
        ax.hlines(row, low[i], high[i], color=colour, alpha=0.5, lw=1.2)
        ax.plot(percent.iloc[row], row, marker, color=colour, ms=6)
    ax.axvline(0, color=GREY, lw=1)
    if len(known):
        ax.axvline(found.calibration.mean, color=JUDGE["color"], lw=1, ls="--")
    drawing.name_rows(ax, percent.index)
    drawing.family_legend(ax, families)
    ax.set(xlabel=f"judge above human, % of mean {found.measure} (dashed: mean of systems)")
    return ax


def plot_disagreements(found: Disagreements, *, rows: int = 30, ax: Axes | None = None) -> Axes:
    """Difference of each pair that the sides order differently, with intervals under both."""
    every = found.pairs[found.pairs["order"] == "different"]
    pairs = every.sort_values("human", ascending=False, kind="stable").head(rows)
    ax = axes(ax, 7.5, tall(len(pairs)))
    if pairs.empty:
        return drawing.nothing(ax, "no pair of systems is ordered differently")
    drawing.two_sides(ax, pairs, found.human, found.judge)
    ax.axvline(0, color=GREY, lw=1)
    marks = {"conflict": " *", "strong conflict": " **"}
    drawing.name_rows(ax, [f"{p.a} > {p.b}{marks.get(str(p.verdict), '')}" for p in pairs.itertuples()])
    ax.set(xlabel=f"difference of mean {found.measure} (* conflict, ** strong conflict)")
    if len(pairs) < len(every):
        ax.set_ylabel(f"{len(pairs)} of {len(every):,} pairs, widest by {found.human} first")
    return ax


def plot_penalties(
    found: LeftOut, measure: str, *, order: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Loss of each system's mean when its own group is left out of the pool."""
    shown = found.penalties[found.penalties["measure"] == measure]
    groups = drawing.ordered(dict.fromkeys(shown["group"]), order)
    ax = axes(ax, 7, tall(len(groups)))
    if not groups:
        return drawing.nothing(ax, f"no {found.by} can be left out under {measure}")
    for row, group in enumerate(groups):
        values = shown.loc[shown["group"] == group, "penalty"]
        ax.hlines(row, values.min(), values.max(), color="0.7")
        ax.plot(values, np.full(len(values), row), "o", color=RESULT, alpha=0.7, mec="white", mew=0.5)
    ax.axvline(0, color=GREY, lw=1)
    drawing.name_rows(ax, groups)
    ax.set(xlabel=f"loss in mean {measure} with the own {found.by} left out (a point a system)")
    return ax


def plot_tau_growth(found: Growth, *, ax: Axes | None = None) -> Axes:
    """Tau-b of the systems present against the final pool, after each arrival."""
    ax = axes(ax, 7, 3)
    tau = found.arrivals["tau"]
    ax.plot(np.arange(1, len(tau) + 1), tau, "-o", ms=3, color=RESULT)
    ax.axhline(1, color=GREY, lw=1)
    low = tau.min() if tau.notna().any() else 1.0
    ax.set(xlabel="systems arrived", ylabel="tau-b with the final pool", xlim=(0.5, len(tau) + 0.5))
    ax.set_ylim(min(0.9, low - 0.05 * (1 - low)), 1 + 0.05 * max(1 - low, 0.1))
    drawing.ticks(ax.xaxis, whole=True)
    return ax


def plot_fragile(found: GrowthOrders, *, near_tie: float = 0.001, ax: Axes | None = None) -> Axes:
    """Pairs that reversed in some order of arrival: final gap against how often."""
    ax = axes(ax, 7, 3.6)
    if found.fragile.empty:
        return drawing.nothing(ax, f"no pair reversed in any of {len(found.orders):,} orders")
    ax.axvline(near_tie, color=GREY, ls=":", lw=1)
    ax.plot(
        found.fragile["final_gap"], 100 * found.fragile["share"], "o", color=RESULT, alpha=0.7, clip_on=False
    )
    ax.set(xlabel=f"gap in mean {found.measure} in the final pool (dotted: near-tie)")
    ax.set(ylabel=f"orders that reverse it, % of {len(found.orders):,}", ylim=(0, None), xlim=(0, None))
    drawing.ticks(ax.xaxis)
    return ax


def plot_noise(found: SimulatedNoise, *, order: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Observed means with the spread that simulated judge noise gives them."""
    best = found.systems.sort_values("observed", ascending=False, kind="stable")
    systems = best.loc[drawing.ordered(best.index, order)]
    ax = axes(ax, 7, tall(len(systems)))
    row = np.arange(len(systems))
    ax.hlines(row, systems["low"], systems["high"], color=JUDGE["color"])
    ax.plot(systems["simulated"], row, "|", color=JUDGE["color"], ms=8, label="mean of simulated worlds")
    ax.plot(systems["observed"], row, "D", color=JUDGE["color"], ms=4, label="observed", mfc="white")
    drawing.name_rows(ax, systems.index)
    ax.set(xlabel=f"mean {found.measure}, {found.title} (line: {100 * found.level:g} % of simulated worlds)")
    drawing.legend_above(ax)
    return ax


def plot_best(found: BestSet, *, order: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Lead of the best system over each other, filled where the two cannot be told apart."""
    table = found.table.loc[drawing.ordered(found.table.index, order)]
    ax = axes(ax, 7, tall(len(table)))
    row = np.arange(len(table))
    ax.hlines(row, table["low"], table["high"], color=RESULT)
    for inside, face, name in ((True, RESULT, "cannot be told from the best"), (False, "white", "worse")):
        at = table["in_set"].to_numpy(dtype=bool) == inside
        if at.any():
            ax.plot(table["difference"][at], row[at], "o", color=RESULT, mfc=face, ms=5, label=name, ls="")
    ax.axvline(0, color=GREY, lw=1)
    drawing.name_rows(ax, table.index)
    ax.set(xlabel=f"mean {found.measure} of {found.best} less that of each system")
    drawing.legend_above(ax)
    return ax
