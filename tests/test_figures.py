"""Every figure draws the numbers of its result: on the toy world, on one pair, none, many, and odd names."""

from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import toy
from matplotlib.axes import Axes
from pictures import HOSTILE, intervals, legend, points, rows, show, world

from poolkit import charts, curves, drawing, figures, maps


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


def drawn(w):
    """Every figure of a world, by name."""
    return {
        "pool growth": lambda **o: curves.plot_pool_growth(w.arrivals, **o),
        "marginal": lambda **o: curves.plot_marginal(w.arrivals, w.families, **o),
        "overlap": lambda **o: maps.plot_overlap(w.overlap, label="Jaccard", **o),
        "confusion": lambda **o: maps.plot_confusion(w.confusion, left="author grades", right="robot", **o),
        "correlation": lambda **o: figures.plot_correlation(w.correlation, w.families, **o),
        "swaps": lambda **o: maps.plot_swaps(w.disagreements, w.order, **o),
        "certificates": lambda **o: maps.plot_certificates(w.certified, w.order, **o),
        "ledger": lambda **o: curves.plot_ledger(w.spent, **o),
        "ranks": lambda **o: figures.plot_ranks(w.correlation, **o),
        "calibration": lambda **o: figures.plot_calibration(w.correlation, w.families, **o),
        "disagreements": lambda **o: figures.plot_disagreements(w.disagreements, **o),
        "penalties": lambda **o: figures.plot_penalties(w.left_out, "nDCG@3", w.families, **o),
        "tau": lambda **o: curves.plot_tau_growth(w.grown, **o),
        "fragile": lambda **o: curves.plot_fragile(w.orders, **o),
        "noise": lambda **o: figures.plot_noise(w.noise, **o),
        "factors": lambda **o: charts.plot_factors({"size": w.matched}, **o),
        "versus": lambda **o: charts.plot_versus(w.versus, **o),
        "tradeoff": lambda **o: charts.plot_tradeoff(w.tradeoff, families=w.families, **o),
        "best": lambda **o: figures.plot_best(w.best, w.families, **o),
    }


NAMES = list(drawn(SimpleNamespace()))


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_draws_on_the_axes_it_is_given(small, name):
    _, ax = plt.subplots()
    assert drawn(small)[name](ax=ax) is ax
    assert plt.get_fignums() == [1]
    made = drawn(small)[name]()
    assert isinstance(made, Axes)
    assert made is not ax


@pytest.fixture(scope="module")
def pair():
    return world({s: toy.RANKINGS[s] for s in ("bm25", "dense")}, {"bm25": "lexical", "dense": "neural"})


@pytest.fixture(scope="module")
def alone():
    return world({"dense": toy.RANKINGS["dense"]}, {"dense": "neural"})


@pytest.fixture(scope="module")
def one_query():
    rankings = {s: {"q2": toy.RANKINGS[s]["q2"]} for s in ("bm25", "dense")}
    human, judge = ({"q2": x["q2"]} for x in (toy.GRADES, toy.JUDGED))
    return world(rankings, {"bm25": "lexical", "dense": "neural"}, ("q2",), human, judge)


@pytest.fixture(scope="module")
def hostile():
    names = {HOSTILE[s]: HOSTILE[s] for s in toy.FAMILIES}
    return world({HOSTILE[s]: r for s, r in toy.RANKINGS.items()}, names)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["pair", "alone", "one_query"])
def test_one_pair_no_pair_one_query(name, kind, request):
    show(drawn(request.getfixturevalue(kind))[name]())


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_stay_what_they_are(name, hostile):
    ax = show(drawn(hostile)[name]())
    if name in ("marginal", "ranks", "calibration", "noise", "best", "swaps", "certificates"):
        assert sorted(rows(ax)) == sorted(HOSTILE.values())
    if name in ("marginal", "correlation", "calibration"):
        assert legend(ax) == list(HOSTILE.values())


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(3)
    axis = [f"q{i}" for i in range(4)]
    documents = [f"d{i}" for i in range(12)]
    rankings = {f"s{i}": {q: list(rng.permutation(documents)[:3]) for q in axis} for i in range(63)}
    human = {q: dict(zip(documents, rng.integers(0, 3, 12).tolist(), strict=True)) for q in axis}
    judge = {
        q: {d: min(2, g + 1) if rng.random() < 0.3 else g for d, g in ds.items()} for q, ds in human.items()
    }
    return world(rankings, {s: f"f{i % 20}" for i, s in enumerate(rankings)}, axis, human, judge)


@pytest.mark.parametrize("name", NAMES)
def test_63_systems_keep_their_names(many, name):
    ax = show(drawn(many)[name]())
    if name in ("marginal", "ranks", "calibration", "noise", "best", "overlap", "swaps", "certificates"):
        assert set(rows(ax)) == set(many.systems)
    if name == "disagreements":
        assert len(rows(ax)) == 30
        assert ax.get_ylabel().startswith("30 of ")


def test_correlation(small):
    ax = show(figures.plot_correlation(small.correlation, small.families))
    # bm25: q1 1; q2 (2 / log2 3) / D, D = 2 + 1 / log2 3 + 1 / 2 (human), 2 + 2 / log2 3 + 1 / 2 (judge)
    third = 1 / np.log2(3)
    human, judge = (1 + 2 * third / (2.5 + third)) / 2, (1 + 2 * third / (2.5 + 2 * third)) / 2
    assert points(ax)[0] == pytest.approx((human, judge))
    assert ax.get_aspect() == 1
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_xlabel() == "mean nDCG@3, author grades"
    assert ax.get_ylabel() == "mean nDCG@3, robot"
    low, high = ax.get_xlim()
    assert all(low < x < high for ends in intervals(ax) for x in ends)


def test_ranks(small):
    ax = figures.plot_ranks(small.correlation)
    ranks = small.correlation.ranks
    # human .702 .690 .430; judge .668 .690 .430: bm25 and dense change places
    assert [x for x, _ in points(ax)] == [1, 2, 3, 2, 1, 3]
    assert rows(ax) == ["bm25", "dense", "hybrid"]
    assert intervals(ax)[:3] == list(zip(ranks["human_low"], ranks["human_high"], strict=True))
    assert legend(ax) == ["author grades", "robot"]
    styles = [(c.get_linestyle()[0][1] is None) for c in ax.collections]
    assert styles == [True, False]  # human solid, judge dashed


def test_calibration(small):
    ax = figures.plot_calibration(small.correlation, small.families)
    percent = small.correlation.calibration.percent
    assert points(ax) == [(pytest.approx(v, abs=1e-9), r) for r, v in enumerate(percent)]
    assert percent["bm25"] == pytest.approx(100 * (0.667718 - 0.701515) / 0.701515, abs=1e-3)
    # draws are q1 twice (no shift), both (the mean), q2 twice: .335435 against .403030, -16.77 %
    assert intervals(ax)[0] == pytest.approx((100 * (0.335435 / 0.403030 - 1), 0), abs=1e-3)


def test_calibration_leaves_a_mean_of_zero_out(small):
    nothing = {"q1": {"d9": 2}, "q2": toy.GRADES["q2"]}
    w = world(toy.RANKINGS, toy.FAMILIES, human=nothing)
    assert w.correlation.calibration.percent.isna()["hybrid"]
    ax = show(figures.plot_calibration(w.correlation, w.families))
    assert rows(ax) == list(w.correlation.means.index)
    assert len(points(ax)) == 2


def test_disagreements(small):
    ax = figures.plot_disagreements(small.disagreements)
    assert rows(ax) == ["bm25 > dense"]
    pair = small.disagreements.pairs.iloc[0]
    assert [x for x, _ in points(ax)] == pytest.approx([pair["human"], pair["judge"]])
    assert intervals(ax)[0] == pytest.approx((pair["human_low"], pair["human_high"]))


def test_conflicts_are_marked(small):
    pairs = small.disagreements.pairs.assign(
        order="different", verdict=["conflict", "strong conflict", "within noise"]
    )
    found = SimpleNamespace(measure="P@3", human="h", judge="j", pairs=pairs)
    # widest by human first: .272, .260, .011
    assert rows(figures.plot_disagreements(found)) == ["bm25 > hybrid **", "dense > hybrid", "bm25 > dense *"]


def test_no_disagreement_is_said(small):
    found = SimpleNamespace(pairs=small.disagreements.pairs.iloc[1:])
    ax = figures.plot_disagreements(found)
    assert [t.get_text() for t in ax.texts] == ["no pair of systems is ordered differently"]


def test_penalties(small):
    ax = figures.plot_penalties(small.left_out, "nDCG@3", small.families)
    assert rows(ax) == ["lexical", "neural"]
    shown = small.left_out.penalties.set_index("group")["penalty"]
    assert sorted(points(ax)) == sorted([*((v, 1) for v in shown["neural"]), (shown["lexical"], 0)])
    flips = small.left_out.effects.set_index("group")["flips"]
    said = {0: "\u2013", 1: "1 flip"}
    assert [t.get_text() for t in ax.texts] == [said.get(flips[g], f"{flips[g]} flips") for g in rows(ax)]
    styles = drawing.family_styles(small.families)
    assert [line.get_color() for line in ax.lines[:2]] == [styles["lexical"][0], styles["neural"][0]]
    empty = figures.plot_penalties(small.left_out, "P@3", small.families)
    assert [t.get_text() for t in empty.texts] == ["no family can be left out under P@3"]


def test_noise_follows_the_order_of_the_page(small):
    ax = figures.plot_noise(small.noise, order=["hybrid", "bm25", "dense"])
    systems = small.noise.systems.loc[["hybrid", "bm25", "dense"]]
    assert rows(ax) == list(systems.index)
    assert intervals(ax) == list(zip(systems["low"], systems["high"], strict=True))
    assert [x for x, _ in points(ax)] == [*systems["simulated"], *systems["observed"]]
    assert rows(figures.plot_noise(small.noise)) == ["dense", "bm25", "hybrid"]
    assert ax.get_xlabel() == "mean nDCG@3, robot (line: 95 % of simulated worlds)"


def test_best_fills_what_cannot_be_told_apart(small):
    table = small.best.table.assign(in_set=[True, True, False])
    found = SimpleNamespace(measure="nDCG@3", best="dense", table=table)
    ax = figures.plot_best(found, small.families)
    # dense .690, bm25 .668, hybrid .430
    assert [x for x, _ in points(ax)] == pytest.approx([0, 0.022329, 0.260188], abs=1e-6)
    faces = [line.get_markerfacecolor() for line in ax.lines[:3]]
    styles = drawing.family_styles(small.families)
    assert faces == [styles["neural"][0], styles["lexical"][0], "white"]
    assert legend(ax) == ["lexical", "neural"]
    assert rows(figures.plot_best(found, small.families, order=["hybrid", "dense"])) == [
        "hybrid",
        "dense",
        "bm25",
    ]
