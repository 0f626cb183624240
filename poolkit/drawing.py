"""What all figures share: style, colours of families, rows with names, legends, order of a map."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from poolkit.plain import labelled, shortened

HUMAN = {"color": "#1d2430", "marker": "o", "ls": "-"}
JUDGE = {"color": "#0b5cad", "marker": "D", "ls": "--"}
RESULT = "#0e7c66"  # colour of what is neither human nor judge
GREY = "0.55"
DIAGONAL = "0.45"  # of a map, where a system meets itself
WARNING = "#d55e00"  # reversals and conflicts
COLOURS = (
    "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#8c564b", "#56b4e9", "#882255", "#949494",
)  # fmt: skip
WHITEGRID = {  # seaborn's style of this name, which is slow to import for pages without a map; a test compares
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans", "sans-serif"],
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), ".15"),
    **dict.fromkeys(("axes.edgecolor", "grid.color"), ".8"), "axes.grid": True, "axes.axisbelow": True,
    "axes.linewidth": 1.25, "grid.linewidth": 1, "axes.titlesize": 12, "legend.title_fontsize": 12,
    "lines.solid_capstyle": "round", "patch.edgecolor": "w", "patch.force_edgecolor": True,
    "xtick.bottom": False, "ytick.left": False,
    **{f"{a}tick.{k}": v for a in "xy" for k, v in
       {"major.size": 6, "major.width": 1.25, "minor.size": 4, "minor.width": 1}.items()},
}  # fmt: skip
MARKERS = "osD^vPXhp<>d8*"  # with nine colours: 126 families before a pair comes again
MOST_LABELS = 150  # rows beyond this make names unreadable; tables have them all
MOST_FAMILIES = 72  # a longer legend would leave no room for the axes


def set_style() -> None:
    """Set the look that all notebooks share: quiet grid, names as they are, reproducible SVG ids."""
    plt.rcParams.update(style())


def style() -> Any:
    """Settings of matplotlib behind every figure; `$` and `_` in names stay what they are."""
    return {
        **WHITEGRID,
        "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 110, "font.size": 10,
        "axes.labelsize": 10, "xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 8.5,
        "svg.hashsalt": "poolkit", "figure.constrained_layout.use": True, "text.parse_math": False,
    }  # fmt: skip


def family_styles(families: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each family, colour-blind safe, in order of first appearance."""
    found = list(dict.fromkeys(families.values()))
    return {f: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, f in enumerate(found)}


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Axes given, or new ones of this size in inches."""
    if ax is not None:
        return ax
    _, made = plt.subplots(figsize=(width, height))
    return made


def tall(rows: int) -> float:
    """Height of a figure with one row a system: beyond 30 they move closer."""
    return float(np.clip(0.24 * min(rows, 30) + 0.16 * max(rows - 30, 0) + 1.2, 2, 18))


def short(name: object) -> str:
    """Name of a system where many stand side by side."""
    return shortened(labelled(name), 40)


def ticks(axis: Axis, *, whole: bool = False) -> None:
    """Put few round ticks on an axis, whole numbers only where it counts things."""
    axis.set_major_locator(MaxNLocator(10 if whole else 6, integer=whole, steps=[1, 2, 2.5, 5, 10]))


def name_rows(ax: Axes, names: Iterable[object]) -> None:
    """Names on the left, first on top; left out where they would overlap."""
    shown = [labelled(n) for n in names]
    ax.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    few = len(shown) <= MOST_LABELS
    size = 9 if len(shown) <= 30 else 7.5 if len(shown) <= 80 else 5.5
    ax.set_yticks(np.arange(len(shown)) if few else [], shown if few else [], fontsize=size)
    if not few:
        ax.set_ylabel(f"{len(shown):,} rows, in the order of the table")
    ticks(ax.xaxis)
    ax.grid(axis="y", alpha=0.3)


def legend_above(ax: Axes) -> None:
    """Legend of what is labelled, over the axes, where it hides no data."""
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, borderaxespad=0.2)


def family_legend(ax: Axes, families: Mapping[str, str]) -> None:
    """Legend of the families' colours and markers, right of the axes; none where it would crowd them out."""
    styles = family_styles(families)
    if len(styles) > MOST_FAMILIES:
        return
    marks = [Line2D([], [], ls="", marker=m, color=c) for c, m in styles.values()]
    ax.legend(
        marks, [labelled(f) for f in styles], title="family", fontsize=8, title_fontsize=8, loc="upper left",
        bbox_to_anchor=(1.01, 1), borderaxespad=0, ncols=1 + (len(styles) - 1) // 24, frameon=False,
    )  # fmt: skip


def two_sides(ax: Axes, table: pd.DataFrame, human: str, judge: str) -> None:
    """Dots with intervals of human and judge, one row a line, human above; columns as `human_low`."""
    row = np.arange(len(table))
    for side, name, how, shift in (
        ("human", human, HUMAN, -0.17),
        ("judge", judge, JUDGE, 0.17),
    ):
        colour, line, marker = how["color"], how["ls"], how["marker"]
        ends = table[f"{side}_low"], table[f"{side}_high"]
        ax.hlines(row + shift, *ends, color=colour, ls=line, lw=1.2)
        ax.plot(table[side], row + shift, marker, color=colour, ms=4)
        ax.plot([], [], color=colour, ls=line, marker=marker, ms=4, lw=1.2, label=labelled(name))
    legend_above(ax)


def bounds(draws: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of every column's percentile interval, undefined draws left out."""
    tail = (1 - level) / 2
    low, high = np.array([np.quantile(d[~np.isnan(d)], [tail, 1 - tail]) for d in draws.T]).reshape(-1, 2).T
    return low, high


def nothing(ax: Axes, text: str) -> Axes:
    """Axes that say why they are empty."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color="0.35")
    ax.set(xticks=[], yticks=[])
    return ax


def ordered(found: Iterable[object], order: Sequence[str] | None) -> list[str]:
    """Rows in a given order, those it does not name last; as they are where there is none."""
    names = [str(x) for x in found]
    place = {name: i for i, name in enumerate(order or ())}
    return sorted(names, key=lambda name: place.get(name, len(place)))


def neighbours(matrix: pd.DataFrame) -> np.ndarray:
    """Order that puts systems with like overlap together."""
    from scipy.cluster.hierarchy import leaves_list, linkage  # slow to import, and seldom needed
    from scipy.spatial.distance import squareform

    if len(matrix) < 3:
        return np.arange(len(matrix))
    distance = np.clip(1 - (matrix.to_numpy() + matrix.to_numpy().T) / 2, 0, None)
    np.fill_diagonal(distance, 0)
    return np.asarray(
        leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True))
    )
