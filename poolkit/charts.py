"""Figures of choosing: what factors do, any two systems, and what quality costs."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from poolkit import drawing
from poolkit.choose import Tradeoff
from poolkit.display import level
from poolkit.drawing import GREY, RESULT, axes, tall
from poolkit.factors import Matched
from poolkit.versus import INCONCLUSIVE, TIE, WIN, Versus


def plot_factors(effects: Mapping[str, Matched], *, ax: Axes | None = None) -> Axes:
    """Effect of every factor, contrast by contrast, with paired intervals over queries."""
    found = [e for e in effects.values() if len(e.contrasts)]
    table = pd.concat([e.contrasts.assign(factor=e.factor) for e in found]) if found else pd.DataFrame()
    ax = axes(ax, 7, tall(len(table)))
    if table.empty:
        return drawing.nothing(ax, "no two systems differ in one factor alone")
    row = np.arange(len(table))
    ax.hlines(row, table["low"], table["high"], color=RESULT)
    ax.plot(table["difference"], row, "o", color=RESULT, ms=5)
    ax.axvline(0, color=GREY, lw=1)
    ends = [f"{level(c.from_level)} to {level(c.to_level)} ({c.n_pairs})" for c in table.itertuples()]
    drawing.name_rows(ax, [f"{f}: {e}" for f, e in zip(table["factor"], ends, strict=True)])
    for end in np.cumsum([len(e.contrasts) for e in found])[:-1]:
        ax.axhline(end - 0.5, color="0.85", lw=1)
    ax.set(xlabel=f"difference of mean {found[0].measure} (matched pairs in brackets)")
    return ax


def plot_versus(found: Versus, *, ax: Axes | None = None) -> Axes:
    """Verdict on every two systems as a map, best system first: row against column."""
    names = list(dict.fromkeys([*found.pairs["a"], *found.pairs["b"]]))
    place = {name: i for i, name in enumerate(names)}
    if not names:
        return drawing.nothing(axes(ax, 5, 2), "there is one system only")
    code = {INCONCLUSIVE: 1, TIE: 2, WIN: 3}
    shown = np.full((len(names), len(names)), np.nan)
    for pair in found.pairs.itertuples():
        a, b = place[str(pair.a)], place[str(pair.b)]
        shown[a, b] = code[str(pair.verdict)]
        shown[b, a] = 0 if pair.verdict == WIN else shown[a, b]
    colours = {"loses": "#d9a08b", INCONCLUSIVE: "0.93", TIE: "#f2d98b", "wins": RESULT}
    side = float(np.clip(0.24 * len(names) + 2.5, 4, 12))
    ax = axes(ax, side, side)
    ax.imshow(shown, cmap=ListedColormap(list(colours.values())), vmin=-0.5, vmax=3.5)
    drawing.name_rows(ax, names)
    ax.grid(visible=False)
    few = len(names) <= drawing.MOST_LABELS
    ax.set_xticks(np.arange(len(names)) if few else [], names if few else [], rotation=90)
    ax.tick_params(axis="x", labelsize=9 if len(names) <= 30 else 7.5 if len(names) <= 80 else 5.5)
    ax.set(xlabel="against", xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5))
    marks = [Patch(color=c, label=name) for name, c in colours.items()]
    ax.legend(handles=marks, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, frameon=False)
    return ax


def plot_tradeoff(
    found: Tradeoff, *, measure: str = "", families: Mapping[str, str] | None = None, ax: Axes | None = None
) -> Axes:
    """Means against a cost: filled in the best set, the line joins what nothing beats in both."""
    ax = axes(ax, 7, 4)
    table = found.table
    if table.empty:
        return drawing.nothing(ax, f"no system has a number in {drawing.named(found.cost)}")
    front = table[table["pareto"]]
    ax.plot(front["cost"], front["mean"], "-", color=GREY, lw=1, label="nothing is as good and cheaper")
    for inside, face, name in ((True, RESULT, "in the best set"), (False, "white", "worse")):
        some = table[table["in_set"] == inside]
        if len(some):
            seen = some.head(0) if families else some  # families draw their own marks below
            ax.plot(seen["cost"], seen["mean"], "o", color=RESULT, mfc=face, ms=6, label=name, ls="")
    styles = drawing.family_styles(families or {})
    for system, row in table.iterrows() if families else ():
        colour, marker = styles[(families or {})[str(system)]]
        face = colour if row["in_set"] else "white"
        ax.plot(row["cost"], row["mean"], marker, color=colour, mfc=face, ms=6, label="_")
    for system, point in front.iterrows():
        at = (point["cost"], point["mean"])
        ax.annotate(drawing.short(system), at, (4, 4), textcoords="offset points", fontsize=8)
    ax.set(xlabel=f"{drawing.named(found.cost)} (less is better)", ylabel=f"mean {measure}".rstrip())
    drawing.ticks(ax.xaxis)
    drawing.ticks(ax.yaxis)
    drawing.legend_above(ax)
    return ax
