"""Maps: every cell is the number of its pair, whatever the order of the systems."""

import io
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import toy
from pictures import legend, points, rows, show, world

from poolkit import drawing, maps


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


def test_overlap(small):
    ax = maps.plot_overlap(small.overlap, label="Jaccard")
    shown = ax.collections[0].get_array().reshape(3, 3)
    order = rows(ax)
    # bm25 {1,2,3 | 3,5}, dense {2,4 | 5,4,1}: both have q1 d2 and q2 d5, so 2 / 8
    assert shown[order.index("bm25"), order.index("dense")] == pytest.approx(2 / 8)
    # hybrid {1,2,4 | }: 2 / 6 with bm25, 2 / 6 with dense
    assert shown[order.index("hybrid"), order.index("dense")] == pytest.approx(2 / 6)
    assert np.isnan(np.ma.filled(shown.astype(float), np.nan)).nonzero()[0].tolist() == [0, 1, 2]
    assert ax.collections[0].get_clim() == (0, pytest.approx(2 / 6))
    other = maps.plot_overlap(small.overlap.iloc[::-1, ::-1], like=small.overlap, label="RBO")
    assert rows(other) == order


def test_confusion(small):
    ax = show(maps.plot_confusion(small.confusion, left="author grades", right="robot"))
    # both graded q1 d1 (2, 2), d2 (1, 1), q2 d1 (1, 1), d3 (0, 0), d4 (1, 2), d5 (2, 2)
    assert [t.get_text() for t in ax.texts] == ["1", "0", "0", "0", "2", "1", "0", "0", "2"]
    assert ax.collections[0].get_array().reshape(3, 3)[1].tolist() == pytest.approx([0, 2 / 3, 1 / 3])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("grade, author grades", "grade, robot")


def test_a_grade_that_no_one_gave_is_no_share(small):
    ax = show(maps.plot_confusion(small.confusion * 0, left="a", right="b"))
    assert not np.asarray(ax.collections[0].get_array()).any()


@pytest.mark.parametrize(("n", "pictures"), [(10, 0), (40, 1)])
def test_a_large_map_is_one_picture_in_the_svg(n, pictures):
    names = [f"s{i}" for i in range(n)]
    ax = maps.plot_overlap(pd.DataFrame(np.eye(n), names, names), label="")
    bar = ax.collections[0].colorbar.solids
    bar.set_visible(False)
    file = io.StringIO()
    ax.figure.savefig(file, format="svg")
    assert file.getvalue().count("<image") == pictures
    assert ax.collections[0].get_array().shape == (n, n)


ORDER = ["bm25", "dense", "hybrid"]


def pairs(*rows):
    return pd.DataFrame(rows, columns=["a", "b", "human_p", "judge_p", "verdict"])


def test_swaps():
    found = SimpleNamespace(
        pairs=pairs(("bm25", "dense", 0.9, 0.25, "conflict"), ("dense", "hybrid", 1.0, 0.5, ""))
    )
    table = maps.swaps(found, ORDER)
    assert table.loc["bm25", "dense"] == pytest.approx(
        0.1
    )  # human: the lower one is ahead in a tenth of draws
    assert table.loc["dense", "bm25"] == pytest.approx(0.75)  # judge: in three quarters
    assert table.loc["hybrid", "dense"] == pytest.approx(0.5)
    assert np.isnan(np.diag(table)).all()


def test_swaps_mark_conflicts(small):
    found = SimpleNamespace(
        human="h", judge="j",
        pairs=pairs(("bm25", "dense", 0.9, 0.1, "conflict"), ("bm25", "hybrid", 0.9, 0.1, "within noise")),
    )  # fmt: skip
    ax = show(maps.plot_swaps(found, ORDER))
    assert points(ax) == [(1.5, 0.5), (0.5, 1.5)]
    assert rows(ax) == ORDER
    assert ax.get_xlabel() == "above the diagonal: h; below: j; crosses: conflicts"


def test_certificates_by_what_would_turn_them():
    table = pd.DataFrame(
        [
            ("dense", "bm25", "open", 3),
            ("bm25", "hybrid", "certified", pd.NA),
            ("dense", "hybrid", "tied", pd.NA),
        ],
        columns=["better", "worse", "status", "smallest"],
    ).astype({"smallest": "Int64"})
    ax = show(maps.plot_certificates(SimpleNamespace(pairs=table), ORDER))
    cells = np.ma.filled(ax.collections[0].get_array().astype(float), np.nan).reshape(3, 3)
    # 3 further documents are in the second band; certified is the last but one, tied the last
    assert cells[0, 1] == cells[1, 0] == 1
    assert cells[0, 2] == cells[2, 0] == len(maps.BANDS) - 1
    assert cells[1, 2] == len(maps.BANDS)
    assert legend(ax) == ["2 to 3", "certified: none can", "tied now"]  # what the map shows, no more
