"""What figures share: a style that leaves names alone, families told apart, rows, legends, a map's order."""

from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from poolkit import drawing


@pytest.fixture(autouse=True)
def style():
    with plt.rc_context():
        mpl.use("agg")
        drawing.set_style()
        yield
        plt.close("all")


def luminance(colour):
    """Relative luminance as WCAG defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in mpl.colors.to_rgb(colour)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def seen(colour):
    """Colour as someone without green cones sees it (Machado 2009, deuteranomaly 1.0)."""
    matrix = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    return np.clip(np.array(matrix) @ mpl.colors.to_rgb(colour), 0, 1)


def test_the_style_is_that_of_seaborn():
    import seaborn

    theirs = {**seaborn.axes_style("whitegrid"), **seaborn.plotting_context("notebook")}
    del theirs["image.cmap"]  # every map names its own
    with plt.rc_context(theirs | drawing.style()):
        wanted = dict(mpl.rcParams)
    mpl.rcdefaults()
    with plt.rc_context(drawing.style()):
        assert dict(mpl.rcParams) == wanted


def test_families_keep_their_look_in_order_of_first_appearance():
    styles = drawing.family_styles({"a": "x", "b": "y", "c": "x"})
    assert list(styles) == ["x", "y"]
    assert styles["x"] == (drawing.COLOURS[0], drawing.MARKERS[0])
    more = drawing.family_styles({"a": "x", "b": "y", "d": "z"})
    assert {k: more[k] for k in styles} == styles


def test_a_hundred_families_are_told_apart():
    styles = drawing.family_styles({f"s{i}": f"f{i}" for i in range(126)})
    assert len(set(styles.values())) == 126


def test_colours_show_on_white_and_to_the_colour_blind():
    for colour in (*drawing.COLOURS, drawing.RESULT, drawing.HUMAN["color"], drawing.JUDGE["color"]):
        assert 1.05 / (luminance(colour) + 0.05) > 2.2, colour  # WCAG contrast with white
    first = [seen(c) for c in drawing.COLOURS[:7]]  # 7 families without a marker's help
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(first) for b in first[:i]]
    assert min(gaps) > 0.1


def test_human_and_judge_differ_in_colour_marker_and_line():
    assert all(drawing.HUMAN[k] != drawing.JUDGE[k] for k in ("color", "marker", "ls"))


def test_names_are_never_maths():
    _, ax = plt.subplots()
    drawing.name_rows(ax, ["$x_1$", "_lead", "<b>"])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["$x_1$", "_lead", "<b>"]
    assert not any(t.get_parse_math() for t in ax.get_yticklabels())


def test_the_first_row_is_on_top():
    _, ax = plt.subplots()
    drawing.name_rows(ax, "abc")
    bottom, top = ax.get_ylim()
    assert bottom > 2 > 0 > top


@pytest.mark.parametrize("rows", [63, drawing.MOST_LABELS])
def test_names_of_many_rows_do_not_overlap(rows):
    figure, ax = plt.subplots(figsize=(7, drawing.tall(rows)))
    drawing.name_rows(ax, [f"system-{i}" for i in range(rows)])
    figure.canvas.draw()
    boxes = [t.get_window_extent() for t in ax.get_yticklabels()]
    assert len(boxes) == rows
    assert all(upper.y0 > lower.y0 + 0.7 * lower.height for upper, lower in pairwise(boxes))


def test_too_many_names_are_counted_instead():
    _, ax = plt.subplots()
    drawing.name_rows(ax, range(1200))
    assert not ax.get_yticklabels()
    assert ax.get_ylabel() == "1,200 rows, in the order of the table"


@pytest.mark.parametrize("n", [1, 7, 30, 63])
def test_a_family_legend_names_all_and_lies_beside_the_data(n):
    figure, ax = plt.subplots(figsize=(7, 5))
    ax.plot([0, 1], [0, 1])
    drawing.family_legend(ax, {f"s{i}": f"_f{i}$" for i in range(n)})
    figure.canvas.draw()
    legend = ax.get_legend()
    assert [t.get_text() for t in legend.get_texts()] == [f"_f{i}$" for i in range(n)]
    assert legend.get_window_extent().x0 > ax.get_window_extent().x1


def test_a_legend_above_hides_no_data():
    figure, ax = plt.subplots(figsize=(7, 3))
    ax.plot([0, 1], [0, 1], label="x")
    drawing.legend_above(ax)
    figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1 - 1


def test_rows_follow_a_given_order():
    assert drawing.ordered(["a", "b", "c", "d"], ["c", "b", "x"]) == ["c", "b", "a", "d"]
    assert drawing.ordered(["b", "a"], None) == ["b", "a"]


def test_bounds_leave_undefined_draws_out():
    # 0, 1, .., 100 without the undefined one: the middle 90 % is 5 to 95
    draws = np.append(np.arange(101.0), np.nan)[:, None]
    low, high = drawing.bounds(draws, 0.9)
    assert (low[0], high[0]) == pytest.approx((5, 95))
    assert [len(x) for x in drawing.bounds(np.zeros((3, 0)), 0.9)] == [0, 0]


def test_like_systems_become_neighbours():
    names = ["a", "far", "b"]
    matrix = pd.DataFrame([[1, 0, 0.9], [0, 1, 0.1], [0.9, 0.1, 1]], index=names, columns=names)
    order = [names[i] for i in drawing.neighbours(matrix)]
    assert abs(order.index("a") - order.index("b")) == 1
    assert list(drawing.neighbours(matrix.iloc[:2, :2])) == [0, 1]


def test_empty_axes_say_why():
    _, ax = plt.subplots()
    assert drawing.nothing(ax, "no pair") is ax
    assert [t.get_text() for t in ax.texts] == ["no pair"]
