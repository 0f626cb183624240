"""Results as maps: a cell for every pair of grades or of systems."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch

from poolkit import drawing
from poolkit.certify import Certificates
from poolkit.disagree import CONFLICT, STRONG, Disagreements
from poolkit.drawing import axes
from poolkit.plain import labelled

MANY = 1_000  # cells beyond which a map is a picture inside the SVG: shapes would take seconds and megabytes
TURNS = (1, 2, 4, 8, 16)  # further relevant documents per query, from which a band of the map begins
BANDS = (
    "#ffffcc",
    "#c7e9b4",
    "#7fcdbb",
    "#41b6c4",
    "#2c7fb8",
    "#253494",
)  # light: easily turned; dark: certified


def plot_overlap(
    matrix: pd.DataFrame, *, label: str, like: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Overlap of every two systems as a map: likely ones side by side, by the overlap `like` where it is given.

    Shades reach to the largest overlap of two.
    """
    by = matrix if like is None else like
    names = by.index[drawing.neighbours(by)]
    shown = matrix.reindex(index=names, columns=names)
    values = shown.to_numpy(dtype=float, copy=True)
    np.fill_diagonal(values, np.nan)
    most = 1.0 if np.isnan(values).all() else max(float(np.nanmax(values)), 0.1)
    ax = _square(ax, len(shown))
    bar = {"label": label, "shrink": 0.6}
    cells = pd.DataFrame(values, index=shown.index, columns=shown.columns)
    _heatmap(cells, vmin=0, vmax=most, cmap="cividis", square=True, ax=ax, cbar_kws=bar)
    ax.grid(visible=False)
    ax.set_facecolor("white")  # the diagonal: grey is one of the shades
    _named_sides(ax, shown.index)
    return ax


def plot_confusion(confusion: pd.DataFrame, *, left: str, right: str, ax: Axes | None = None) -> Axes:
    """Pairs by grade of either side: counts, shaded by their share of the row."""
    ax = axes(ax, 1.0 * len(confusion.columns) + 2.2, 0.8 * len(confusion) + 1.4)
    total = confusion.sum(axis=1)
    share = confusion.div(total.where(total > 0), axis=0).fillna(0.0)
    labels = confusion.map(lambda n: f"{n:,}")
    bar = {"label": "share of row"}
    _heatmap(share, annot=labels, fmt="", vmin=0, vmax=1, cmap="Blues", ax=ax, cbar_kws=bar)
    ax.tick_params(axis="y", rotation=0)
    ax.set(xlabel=f"grade, {labelled(right)}", ylabel=f"grade, {labelled(left)}")
    return ax


def swaps(found: Disagreements, order: Sequence[str]) -> pd.DataFrame:
    """Chance that two systems stand the other way round on other queries of this kind.

    Returns
    -------
    DataFrame, systems by systems
        Above the diagonal: share of resamples in which the human side puts the lower system of the two, by its
        own means, ahead. Below: the same share under the judge, for the same order. NaN on the diagonal.
    """
    place = {s: i for i, s in enumerate(order)}
    matrix = np.full((len(order), len(order)), np.nan)
    for a, b, human, judge in found.pairs[["a", "b", "human_p", "judge_p"]].itertuples(index=False):
        one, two = sorted((place[a], place[b]))
        matrix[one, two], matrix[two, one] = 1 - human, 1 - judge
    return pd.DataFrame(matrix, index=list(order), columns=list(order))


def plot_swaps(found: Disagreements, order: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """Swap probability of every two systems: human above the diagonal, judge below; conflicts marked."""
    if found.pairs.empty:
        return drawing.nothing(axes(ax, 5, 2), "there is one system only")
    shown = swaps(found, order)
    ax = _square(ax, len(shown))
    bar = {"label": "chance that the pair stands the other way round", "shrink": 0.6}
    _heatmap(shown, vmin=0, vmax=1, cmap="YlGnBu", square=True, ax=ax, cbar_kws=bar, linewidths=0.2)
    ax.grid(visible=False)
    place = {s: i for i, s in enumerate(shown.index)}
    conflicts = found.pairs[found.pairs["verdict"].isin([CONFLICT, STRONG])]
    ends = np.array([[place[a], place[b]] for a, b in zip(conflicts["a"], conflicts["b"], strict=True)])
    one, two = np.sort(ends.reshape(-1, 2), axis=1).T + 0.5
    ax.plot([*two, *one], [*one, *two], "x", color=drawing.WARNING, ms=5)
    _named_sides(ax, shown.index)
    crosses = "; crosses: conflicts" if len(conflicts) else ""
    ax.set(xlabel=f"above the diagonal: {labelled(found.human)}; below: {labelled(found.judge)}{crosses}")
    return ax


def plot_certificates(found: Certificates, order: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """How firm the order of every two systems is: dark where no later system can turn it."""
    if found.pairs.empty:
        return drawing.nothing(axes(ax, 5, 2), "there is one system only")
    place = {s: i for i, s in enumerate(order)}
    matrix = np.full((len(order), len(order)), np.nan)
    bands = np.searchsorted(TURNS, found.pairs["smallest"].fillna(0).to_numpy(float), side="right") - 1
    for (a, b, status), band in zip(
        found.pairs[["better", "worse", "status"]].itertuples(index=False), bands, strict=True
    ):
        level = {"certified": len(TURNS), "tied": len(BANDS)}.get(status, band)
        matrix[place[a], place[b]] = matrix[place[b], place[a]] = level
    ax = _square(ax, len(order))
    colours = (*BANDS, "0.75")  # grey: tied
    frame = pd.DataFrame(matrix, index=list(order), columns=list(order))
    norm = BoundaryNorm(np.arange(-0.5, len(colours)), len(colours))
    shades = ListedColormap(colours)
    _heatmap(frame, cmap=shades, norm=norm, square=True, ax=ax, cbar=False, linewidths=0.2)
    ax.grid(visible=False)
    _named_sides(ax, order)
    ends = [f"{low}" if low + 1 == high else f"{low} to {high - 1}" for low, high in pairwise(TURNS)]
    names = [*ends, f"{TURNS[-1]} or more", "certified: none can", "tied now"]
    used = set(matrix[~np.isnan(matrix)].astype(int))
    marks = [Patch(color=colours[level], label=names[level]) for level in sorted(used)]
    ax.legend(
        handles=marks, title="further relevant documents\nper query that could\nturn the pair", fontsize=8,
        title_fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False, alignment="left",
    )  # fmt: skip
    return ax


def _heatmap(cells: pd.DataFrame, **how: Any) -> None:
    """Shades of seaborn, which is imported here because only maps need it, and it brings scipy.stats."""
    import seaborn

    if how.get("square"):  # whose sides are named by us: seaborn would draw all names to see if they overlap
        how |= {"xticklabels": False, "yticklabels": False}
        how["ax"].set_facecolor(drawing.DIAGONAL)
    seaborn.heatmap(cells, rasterized=cells.size > MANY, **how)


def _square(ax: Axes | None, n: int) -> Axes:
    """Axes for a map of n systems, large enough to read their names."""
    side = float(np.clip(0.26 * n + 2.5, 4, 12))
    return axes(ax, side, side * 0.9)


def _named_sides(ax: Axes, systems: Sequence[object] | pd.Index) -> None:
    """Names of systems on both sides of a map; none where they would overlap."""
    few, n = len(systems) <= drawing.MOST_LABELS, len(systems)
    names = [drawing.short(s) for s in systems] if few else []
    at = np.arange(len(names)) + 0.5
    size = 8 if n <= 35 else 6.5 if n <= 80 else 4
    ax.set_xticks(at, names, rotation=90, fontsize=size)
    ax.set_yticks(at, names, rotation=0, fontsize=size)
    if not few:
        ax.set(ylabel=f"{n:,} systems")
