"""Figures of choosing draw the numbers of their results. That each draws on odd worlds is in test_figures."""

from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.legend import Legend
from test_choose import draws, world
from test_figures import intervals, legend, points, rows

from poolkit import charts, drawing
from poolkit.choose import best_set, tradeoff
from poolkit.factors import matched
from poolkit.versus import versus

CATALOGUE = pd.DataFrame(
    {"family": ["f"] * 4, "mode": ["sparse", "dense", "sparse", "dense"], "size": [1.0, 1.0, 2.0, 2.0],
     "price": [1.0, 3.0, 1.0, 2.0]}, index=["a", "b", "c", "d"],
)  # fmt: skip


@pytest.fixture(autouse=True)
def style():
    with plt.rc_context():
        mpl.use("agg")
        drawing.set_style()
        yield
        plt.close("all")


def test_all_factors_are_drawn_and_levels_named_as_people_write_them():
    effects = {
        f: matched(world(), CATALOGUE, "P@1", factor=f, draws=draws(), factors=["mode", "size"])
        for f in ("mode", "size")
    }
    ax = charts.plot_factors(effects)
    assert rows(ax) == ["mode: sparse to dense (2)", "size: 1 to 2 (2)"]
    table = pd.concat([e.contrasts for e in effects.values()])
    assert [x for x, _ in points(ax)] == list(table["difference"])
    assert intervals(ax) == list(zip(table["low"], table["high"], strict=True))
    assert ax.get_xlabel() == "difference of mean P@1\n(matched pairs in brackets)"
    nothing = matched(world(), CATALOGUE, "P@1", factor="mode", draws=draws(), factors=["mode", "price"])
    said = charts.plot_factors({"mode": nothing}).texts[0].get_text()
    assert said == "no two systems differ in one factor alone"


def test_verdicts_on_a_map():
    found = versus(world(), "P@1", draws=draws())
    ax = charts.plot_versus(found)
    assert rows(ax) == [t.get_text() for t in ax.get_xticklabels()] == ["b", "d", "a", "c"]
    loses, open_, tie, wins = range(4)
    shown = ax.images[0].get_array().filled(-1)
    assert shown.tolist() == [
        [-1, tie, wins, open_], [tie, -1, wins, open_], [loses, loses, -1, open_], [open_, open_, open_, -1],
    ]  # fmt: skip
    assert legend(ax) == ["row behind column", "inconclusive", "tie", "row ahead of column"]
    assert ax.get_legend().get_title().get_text() == "each pair by itself, not corrected for 6 pairs"
    turned = charts.plot_versus(found, order=["a", "b", "c", "d"])
    assert rows(turned) == ["a", "b", "c", "d"]
    assert turned.images[0].get_array().filled(-1)[0].tolist() == [-1, loses, open_, loses]
    alone = versus(world({"a": [0.1, 0.2]}), "P@1", draws=draws(2))
    assert charts.plot_versus(alone).texts[0].get_text() == "there is one system only"


def test_what_the_best_sets_correction_leaves_open_is_ringed():
    found, best = versus(world(), "P@1", draws=draws()), best_set(world(), "P@1", draws=draws())
    won = found.pairs.assign(verdict="win")  # of b over d, a and c; d and c are in the best set
    ax = charts.plot_versus(replace(found, pairs=won), best)
    assert sorted(points(ax)) == [(0, 1), (0, 3), (1, 0), (3, 0)]
    assert legend(ax)[-1] == "not after Holm's correction: in the best set"
    assert "not after" not in " ".join(legend(charts.plot_versus(found, best)))  # b and a: both say so


def test_means_against_cost():
    found = tradeoff(best_set(world(), "P@1", draws=draws()), CATALOGUE, "price")
    ax = charts.plot_tradeoff(found, measure="P@1")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("price (less is better)", "mean P@1")
    # In the set: c (1, .4), d (2, .5), b (3, .5); a (1, .4) is worse than b. b pays for nothing.
    assert sorted(np.round(points(ax), 9).tolist()) == [[1, 0.4], [1, 0.4], [2, 0.5], [3, 0.5]]
    assert sorted(t.get_text() for t in ax.texts) == ["a", "c", "d"]
    assert legend(ax) == ["nothing is as good and cheaper", "in the best set", "worse"]
    unknown = tradeoff(best_set(world(), "P@1", draws=draws()), CATALOGUE.assign(price=""), "price")
    assert charts.plot_tradeoff(unknown).texts[0].get_text() == "no system has a number in price"


def test_both_legends_of_the_trade_off_are_seen():
    best = best_set(world(), "P@1", draws=draws())
    ax = charts.plot_tradeoff(tradeoff(best, CATALOGUE, "price"), families=dict.fromkeys("abcd", "f"))
    legends = [child for child in ax.get_children() if isinstance(child, Legend)]
    [above] = [legend for legend in legends if legend is not ax.get_legend()]
    assert not above.get_clip_on()  # added by hand it would be cut where the axes end
