"""Figures of the pool: its growth, its cost, and what turns while it grows."""

from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import toy
from pictures import legend, points, rows, show, world

from poolkit import curves, drawing


@pytest.fixture(autouse=True)
def style():
    with plt.rc_context():
        mpl.use("agg")
        drawing.set_style()
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def small():
    return world(toy.RANKINGS, toy.FAMILIES)


def test_pool_growth(small):
    ax = curves.plot_pool_growth(small.arrivals)
    # bm25 returns 3 + 2 documents, dense 2 + 3, hybrid 3; dense brings d4 to q1, d4 and d1 to q2
    assert ax.lines[0].get_ydata().tolist() == [5, 10, 13]
    assert ax.lines[1].get_ydata().tolist() == [5, 8, 8]


def test_marginal(small):
    ax = curves.plot_marginal(small.arrivals, small.families)
    assert points(ax) == [(5, 0), (3, 1), (0, 2)]
    assert rows(ax) == ["bm25", "dense", "hybrid"]
    assert legend(ax) == ["lexical", "neural"]
    assert ax.lines[1].get_color() == ax.lines[2].get_color() != ax.lines[0].get_color()


def test_tau_growth(small):
    ax = curves.plot_tau_growth(small.grown)
    x, y = ax.lines[0].get_data()
    assert list(x) == [1, 2, 3]
    np.testing.assert_array_equal(y, [np.nan, 1, 1])  # one system has no order; then all as finally
    low, high = ax.get_ylim()
    assert low < 1 < high


def test_fragile(small):
    assert small.orders.fragile.empty
    said = curves.plot_fragile(small.orders)
    assert [t.get_text() for t in said.texts] == ["no pair reversed in any of 6 orders"]
    table = pd.DataFrame({"final_gap": [0.02, 0.0004], "share": [0.25, 0.5]})
    ax = curves.plot_fragile(SimpleNamespace(measure="P@3", orders=np.zeros((4, 3)), fragile=table))
    assert points(ax) == [(0.02, 25), (0.0004, 50)]
    assert ax.get_ylabel() == "orders that reverse it, % of 4"


def test_reversals_are_counted_where_they_stand():
    table = pd.DataFrame({"tau": [np.nan, 0.5, 0.9], "reversed": [0, 2, 0]})
    ax = show(curves.plot_tau_growth(SimpleNamespace(arrivals=table)))
    assert [t.get_text() for t in ax.texts] == ["2"]
    assert list(zip(*ax.lines[1].get_data(), strict=True)) == [(2, 0.5)]


@pytest.mark.parametrize(
    ("usd", "calls", "label", "values"),
    [([0.5, 0.0], [3, 4], "dollars", [0.5, 0]), ([0, 0], [3, 4], "calls", [3, 4]),
     ([0, 0], [0, 0], "judgments", [5, 6])],
)  # fmt: skip
def test_ledger_shows_the_dearest_unit_it_knows(usd, calls, label, values):
    spent = pd.DataFrame(
        {"model": ["m", "n"], "day": ["1", "2"], "judgments": [5, 6], "calls": calls, "usd": usd}
    )
    ax = show(curves.plot_ledger(spent))
    assert [x for x, _ in points(ax)] == values
    assert rows(ax) == ["m, 1", "n, 2"]
    assert ax.get_xlabel() == label
