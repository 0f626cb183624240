"""The pool as figures: how it grows, what it costs, and what turns while it grows."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from poolkit import drawing
from poolkit.drawing import GREY, JUDGE, RESULT, axes, short, tall
from poolkit.growth import Growth, GrowthOrders


def plot_pool_growth(arrivals: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Judgments needed with and without reuse, as systems arrive; `arrivals` from `pool.arrival`."""
    ax = axes(ax, 7, 3.6)
    at = np.arange(1, len(arrivals) + 1)
    ax.plot(at, arrivals["independent"], ".:", color="0.35", ms=4, label="each system judged by itself")
    ax.plot(at, arrivals["unique"], ".-", color=RESULT, ms=4, label="pooled: each document judged once")
    ax.fill_between(at, arrivals["unique"], arrivals["independent"], alpha=0.08, color=RESULT)
    ax.set(xlabel="systems arrived", ylabel="judgments", ylim=(0, None), xlim=(0.5, len(at) + 0.5))
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
        ax.plot(new, row, marker, color=colour, ms=6, clip_on=False)
    drawing.name_rows(ax, arrivals.index)
    drawing.family_legend(ax, families)
    ax.set(xlabel="new documents to judge on arrival", xlim=(0, None))
    return ax


def plot_tau_growth(found: Growth, *, ax: Axes | None = None) -> Axes:
    """Tau-b of the systems present against the final pool after each arrival, and the pairs reversed then."""
    ax = axes(ax, 7, 3)
    tau, turned = found.arrivals["tau"], found.arrivals["reversed"].to_numpy()
    at = np.arange(1, len(tau) + 1)
    ax.plot(at, tau, "-o", ms=3, color=RESULT, label="tau-b with the final order")
    now = turned > 0
    if now.any():
        said = "pairs that stand the other way round (how many)"
        ax.plot(at[now], tau[now], "v", ms=6, color=drawing.WARNING, ls="", label=said)
        for x, y, n in zip(at[now], tau[now], turned[now], strict=True):
            ax.annotate(
                f"{n}", (x, y), (0, -6), textcoords="offset points", ha="center", va="top", fontsize=7.5
            )
    drawing.legend_above(ax)
    ax.axhline(1, color=GREY, lw=1)
    low = tau.min() if tau.notna().any() else 1.0
    ax.set(xlabel="systems arrived", ylabel="tau-b with the final pool", xlim=(0.5, len(tau) + 0.5))
    ax.set_ylim(min(0.9, low - 0.15 * (1 - low)), 1 + 0.05 * max(1 - low, 0.1))
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


def plot_ledger(spent: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """What judging cost by model and day: dollars where a price is known, else calls, else judgments."""
    known = [u for u in ("usd", "calls") if spent[u].notna().all() and spent[u].sum() > 0]
    unit = known[0] if known else "judgments"
    ax = axes(ax, 7, tall(len(spent)))
    row = np.arange(len(spent))
    ax.hlines(row, 0, spent[unit], color=JUDGE["color"], alpha=0.5)
    ax.plot(spent[unit], row, JUDGE["marker"], color=JUDGE["color"], ms=6, clip_on=False, ls="")
    drawing.name_rows(ax, [f"{short(m)}, {d}" for m, d in zip(spent["model"], spent["day"], strict=True)])
    ax.set(xlabel={"usd": "dollars"}.get(unit, unit), xlim=(0, None))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    return ax
