"""Figures of choosing: what factors do, any two systems, and what quality costs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from poolkit import drawing
from poolkit.choose import BestSet, Tradeoff
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
    ax.set(xlabel=f"difference of mean {found[0].measure}\n(matched pairs in brackets)")
    return ax


def plot_versus(
    found: Versus, best: BestSet | None = None, *, order: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Verdict on every two systems, each pair by itself, as a map: row against column.

    Rings mark pairs of the best system that Holm's correction, which the best set has and this map has not,
    leaves undecided.
    """
    names = drawing.ordered(dict.fromkeys([*found.pairs["a"], *found.pairs["b"]]), order)
    place = {name: i for i, name in enumerate(names)}
    if not names:
        return drawing.nothing(axes(ax, 5, 2), "there is one system only")
    code = {INCONCLUSIVE: 1, TIE: 2, WIN: 3}
    shown = np.full((len(names), len(names)), np.nan)
    for pair in found.pairs.itertuples():
        a, b = place[str(pair.a)], place[str(pair.b)]
        shown[a, b] = code[str(pair.verdict)]
        shown[b, a] = 0 if pair.verdict == WIN else shown[a, b]
    colours = {
        "row behind column": "#d9a08b",
        "inconclusive": "0.93",
        "tie": "#f2d98b",
        "row ahead of column": RESULT,
    }
    side = float(np.clip(0.24 * len(names) + 2.5, 4, 12))
    ax = axes(ax, side, side)
    ax.set_facecolor(drawing.DIAGONAL)
    ax.imshow(shown, cmap=ListedColormap(list(colours.values())), vmin=-0.5, vmax=3.5)
    drawing.name_rows(ax, names)
    ax.grid(visible=False)
    few = len(names) <= drawing.MOST_LABELS
    ax.set_xticks(
        np.arange(len(names)) if few else [], [drawing.short(n) for n in names] if few else [], rotation=90
    )
    ax.tick_params(axis="x", labelsize=9 if len(names) <= 30 else 7.5 if len(names) <= 80 else 5.5)
    ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5))
    used = set(shown[~np.isnan(shown)].astype(int))
    marks: list[Artist] = [Patch(color=c, label=n) for i, (n, c) in enumerate(colours.items()) if i in used]
    if best is not None and (rings := _undecided(found, best)):
        ring: dict[str, Any] = {"ls": "", "marker": "o", "mfc": "none", "mec": "black", "ms": 4.5}
        at = np.array([(place[b], place[a]) for a, b in rings])
        ax.plot(np.r_[at[:, 0], at[:, 1]], np.r_[at[:, 1], at[:, 0]], **ring)
        marks.append(Line2D([], [], **ring, label="not after Holm's correction: in the best set"))
    said = f"each pair by itself, not corrected for {len(found.pairs):,} pairs"
    ax.legend(
        handles=marks, title=said, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, alignment="left",
    )  # fmt: skip
    return ax


def _undecided(found: Versus, best: BestSet) -> list[tuple[str, str]]:
    """Pairs of the best system that are decided by themselves, but not after the best set's correction."""
    ends = found.pairs.loc[found.pairs["verdict"] == WIN, ["a", "b"]].itertuples(index=False)
    return [(str(a), str(b)) for a, b in ends if a == best.best and b in best.systems]


def plot_tradeoff(
    found: Tradeoff, *, measure: str = "", families: Mapping[str, str] | None = None, ax: Axes | None = None
) -> Axes:
    """Means against a cost: filled in the best set, the line joins what nothing beats in both."""
    ax = axes(ax, 7, 4)
    table = found.table
    if table.empty:
        return drawing.nothing(ax, f"no system has a number in {drawing.labelled(found.cost)}")
    front = table[table["pareto"]]
    ax.plot(front["cost"], front["mean"], "-", color=GREY, lw=1, label="nothing is as good and cheaper")
    for inside, face, name in ((True, GREY, "in the best set"), (False, "white", "worse")):
        some = table[table["in_set"] == inside]
        if len(some):
            seen = some.head(0) if families else some  # families draw their own marks below
            ax.plot(seen["cost"], seen["mean"], "o", color=GREY, mfc=face, ms=6, label=name, ls="")
    styles = drawing.family_styles(families or {})
    for system, row in table.iterrows() if families else ():
        colour, marker = styles[(families or {})[str(system)]]
        face = colour if row["in_set"] else "white"
        ax.plot(row["cost"], row["mean"], marker, color=colour, mfc=face, ms=6, label="_")
    for system, point in front.iterrows():
        at = (point["cost"], point["mean"])
        behind = {"fc": "white", "ec": "none", "alpha": 0.8, "pad": 0.5}
        ax.annotate(
            drawing.short(system), at, (5, -11), textcoords="offset points", fontsize=8, bbox=behind, zorder=1
        )
    ax.set(xlabel=f"{drawing.labelled(found.cost)} (less is better)", ylabel=f"mean {measure}".rstrip())
    drawing.ticks(ax.xaxis)
    drawing.ticks(ax.yaxis)
    drawing.legend_above(ax)
    if families and (lines := ax.get_legend()) is not None:
        ax.add_artist(lines)
        lines.set_clip_on(False)  # it stands above the axes
        drawing.family_legend(ax, families)
    return ax
