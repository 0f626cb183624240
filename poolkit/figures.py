"""Results as figures: each function takes a result and returns the Axes it drew on."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from poolkit import drawing
from poolkit.bias import LeftOut
from poolkit.choose import BestSet
from poolkit.correlate import Correlation
from poolkit.disagree import Disagreements
from poolkit.drawing import GREY, JUDGE, RESULT, axes, short, tall
from poolkit.noise import SimulatedNoise
from poolkit.plain import labelled


def means_with_intervals(found: Correlation) -> pd.DataFrame:
    """Mean of each system under both sides, with its percentile interval."""
    table = found.means.copy()
    for side, draws in (("human", found.human_draws), ("judge", found.judge_draws)):
        table[f"{side}_low"], table[f"{side}_high"] = drawing.bounds(draws, found.rho.level)
    return table


def plot_correlation(found: Correlation, families: Mapping[str, str], *, ax: Axes | None = None) -> Axes:
    """Means under human and judge, a point a system, lines the intervals over queries."""
    ax = axes(ax, 6.6, 5.2)
    styles = drawing.family_styles(families)
    table = means_with_intervals(found)
    many = len(table) > 30
    for system, row in _rows(table):
        colour, marker = styles[families[str(system)]]
        thin: dict[str, Any] = {"color": colour, "alpha": 0.15 if many else 0.35, "lw": 1}
        ax.hlines(row["judge"], row["human_low"], row["human_high"], **thin)
        ax.vlines(row["human"], row["judge_low"], row["judge_high"], **thin)
        ax.plot(row["human"], row["judge"], marker, color=colour, ms=5 if many else 6.5, mec="white", mew=0.5)
    least, most = np.nanmin(table.to_numpy()), np.nanmax(table.to_numpy())
    margin = 0.04 * max(most - least, 0.02)
    limits = (least - margin, most + margin)
    ax.axline((0, 0), slope=1, color=GREY, lw=1, ls=":")
    ax.set(xlim=limits, ylim=limits, xlabel=f"mean {found.measure}, {labelled(found.human)}")
    ax.set(ylabel=f"mean {found.measure}, {labelled(found.judge)}")
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
    ax.set(
        xlabel=f"rank by mean {found.measure} (1 = best; ties share the mean rank)",
        xlim=(0.3, len(found.ranks) + 0.7),
    )
    drawing.ticks(ax.xaxis, whole=True)
    return ax


def calibration_with_intervals(found: Correlation) -> pd.DataFrame:
    """How much higher the judge scores each system, in percent, with its percentile interval."""
    percent = found.calibration.percent
    known = np.flatnonzero(percent.notna())
    human, judge = found.human_draws[:, known], found.judge_draws[:, known]
    low, high = drawing.bounds(100 * (judge / np.where(human > 0, human, np.nan) - 1), found.rho.level)
    table = percent.to_frame("percent").assign(percent_low=np.nan, percent_high=np.nan)
    table.iloc[known, 1], table.iloc[known, 2] = low, high
    return table


def plot_calibration(found: Correlation, families: Mapping[str, str], *, ax: Axes | None = None) -> Axes:
    """How much higher the judge scores each system than the other side does, in percent, with intervals."""
    table = calibration_with_intervals(found)
    ax = axes(ax, 7, tall(len(table)))
    styles = drawing.family_styles(families)
    for at, (system, row) in enumerate(_rows(table)):
        if np.isnan(row["percent"]):
            continue
        colour, marker = styles[families[str(system)]]
        ax.hlines(at, row["percent_low"], row["percent_high"], color=colour, alpha=0.5, lw=1.2)
        ax.plot(row["percent"], at, marker, color=colour, ms=6)
    ax.axvline(0, color=GREY, lw=1)
    if table["percent"].notna().any():
        ax.axvline(found.calibration.mean, color=JUDGE["color"], lw=1, ls="--")
    drawing.name_rows(ax, table.index)
    drawing.family_legend(ax, families)
    above = f"{labelled(found.judge)} above {labelled(found.human)}"
    ax.set(xlabel=f"{above},\n% of mean {found.measure} (dashed: mean of systems)")
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
    told = " (* conflict, ** strong conflict)" if pairs["verdict"].isin(list(marks)).any() else ""
    drawing.name_rows(
        ax, [f"{short(p.a)} > {short(p.b)}{marks.get(str(p.verdict), '')}" for p in pairs.itertuples()]
    )
    ax.set(xlabel=f"difference of mean {found.measure}{told}")
    if len(pairs) < len(every):
        ax.set_ylabel(f"{len(pairs)} of {len(every):,} pairs, widest by {labelled(found.human)} first")
    return ax


def plot_penalties(
    found: LeftOut, measure: str, families: Mapping[str, str], *, ax: Axes | None = None
) -> Axes:
    """Loss of each system's mean when its own family is left out of the pool, and the flips that makes."""
    shown = found.penalties[found.penalties["measure"] == measure]
    styles, groups = drawing.family_styles(families), list(dict.fromkeys(shown["group"]))
    flips = found.effects[found.effects["measure"] == measure].set_index("group")["flips"]
    ax = axes(ax, 7, tall(len(groups)))
    if not groups:
        return drawing.nothing(ax, f"no {found.by} can be left out under {measure}")
    for row, group in enumerate(groups):
        values = shown.loc[shown["group"] == group, "penalty"]
        colour, marker = styles.get(str(group), (RESULT, "o"))
        ax.hlines(row, values.min(), values.max(), color=colour, alpha=0.5)
        ax.plot(values, np.full(len(values), row), marker, color=colour, alpha=0.8, mec="white", mew=0.5)
        turned = int(flips.get(group, 0))
        said = f"{turned} flip{'' if turned == 1 else 's'}" if turned else "\u2013"
        ax.annotate(said, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=8.5)
    ax.axvline(0, color=GREY, lw=1)
    drawing.name_rows(ax, groups)
    ax.set(xlabel=f"loss in mean {measure} with its own {found.by} left out (one point per system)")
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
    ax.set(
        xlabel=f"mean {found.measure}, {labelled(found.title)} (line: {100 * found.level:g} % of simulated worlds)"
    )
    drawing.legend_above(ax)
    return ax


def plot_best(
    found: BestSet, families: Mapping[str, str], *, order: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Lead of the best system over each other, filled where the two cannot be told apart."""
    table = found.table.loc[drawing.ordered(found.table.index, order)]
    ax = axes(ax, 7, tall(len(table)))
    styles = drawing.family_styles(families)
    for at, (system, row) in enumerate(_rows(table)):
        colour, marker = styles[families[str(system)]]
        ax.hlines(at, row["low"], row["high"], color=colour, lw=1.3 if row["in_set"] else 0.9)
        ax.plot(row["difference"], at, marker, color=colour, mfc=colour if row["in_set"] else "white", ms=5.5)
    ax.axvline(0, color=GREY, lw=1)
    drawing.name_rows(ax, table.index)
    drawing.family_legend(ax, families)
    ax.set(xlabel=f"mean {found.measure} of {labelled(found.best)} less that of each system\n"
           "(filled: cannot be told from it; hollow: worse)")  # fmt: skip
    return ax


def _rows(table: pd.DataFrame) -> Any:
    """Rows of a table with a column of every type, by index."""
    return table.to_dict("index").items()
