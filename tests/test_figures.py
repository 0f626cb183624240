"""Every figure draws the numbers of its result: on the toy world, on one pair, none, many, and odd names."""

from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import toy
from matplotlib.axes import Axes

from poolkit import charts, drawing, figures
from poolkit.agree import label_agreement
from poolkit.bias import leave_out
from poolkit.choose import best_set, tradeoff
from poolkit.correlate import correlate
from poolkit.disagree import disagree
from poolkit.factors import matched
from poolkit.growth import grow, growth_orders
from poolkit.labels import grades_on
from poolkit.noise import noise_through
from poolkit.pool import arrival, jaccard, pool
from poolkit.resample import query_draws
from poolkit.score import scores
from poolkit.versus import versus

HOSTILE = {"bm25": "$x_1$ ^{", "dense": "_lead", "hybrid": "<b>&\\frac"}


@pytest.fixture(autouse=True)
def style():
    with plt.rc_context():
        mpl.use("agg")
        drawing.set_style()
        yield
        plt.close("all")


def world(rankings, families, queries=toy.QUERIES, human=toy.GRADES, judge=toy.JUDGED):
    """All results of a small world, by name."""
    runs = toy.runs(rankings, queries)
    people, robot = toy.labels(human, title="author grades"), toy.labels(judge, "robot", human=False)
    h, j = (grades_on(runs, x) for x in (people, robot))
    hs, js = (scores(runs, x, ["nDCG@3"]) for x in (h, j))
    draws = query_draws(len(hs.queries), n_resamples=200, rng=np.random.default_rng(1))
    rng, made = np.random.default_rng(2), pool(runs, depth=3)
    flips = pd.DataFrame(np.full((3, 3), 1 / 3), index=range(3), columns=range(3))
    catalogue = pd.DataFrame(
        {"family": list(families.values()), "size": np.arange(float(len(families)))}, index=list(families)
    )
    return SimpleNamespace(
        families=families, arrivals=arrival(made), overlap=jaccard(made), systems=list(runs.systems),
        correlation=correlate(hs, js, "nDCG@3", rng=rng, draws=draws),
        disagreements=disagree(hs, js, "nDCG@3", draws=draws), left_out=leave_out(made, j, families, ["nDCG@3"]),
        grown=grow(made, j, "nDCG@3"), orders=growth_orders(made, j, "nDCG@3", n_orders=6, rng=rng),
        noise=noise_through(runs, j, flips, "nDCG@3", n_worlds=8, rng=rng), best=best_set(js, "nDCG@3", draws=draws),
        matched=matched(js, catalogue, "nDCG@3", factor="size", draws=draws, factors=["size"]),
        versus=versus(js, "nDCG@3", draws=draws),
        tradeoff=tradeoff(best_set(js, "nDCG@3", draws=draws), catalogue, "size"),
        confusion=label_agreement(people, robot, rng=rng, n_resamples=10).agreement.confusion,
    )  # fmt: skip


@pytest.fixture(scope="module")
def small():
    return world(toy.RANKINGS, toy.FAMILIES)


def drawn(w):
    """Every figure of a world, by name."""
    return {
        "pool growth": lambda **o: figures.plot_pool_growth(w.arrivals, **o),
        "marginal": lambda **o: figures.plot_marginal(w.arrivals, w.families, **o),
        "overlap": lambda **o: figures.plot_overlap(w.overlap, label="Jaccard", **o),
        "confusion": lambda **o: figures.plot_confusion(
            w.confusion, left="author grades", right="robot", **o
        ),
        "correlation": lambda **o: figures.plot_correlation(w.correlation, w.families, **o),
        "ranks": lambda **o: figures.plot_ranks(w.correlation, **o),
        "calibration": lambda **o: figures.plot_calibration(w.correlation, w.families, **o),
        "disagreements": lambda **o: figures.plot_disagreements(w.disagreements, **o),
        "penalties": lambda **o: figures.plot_penalties(w.left_out, "nDCG@3", **o),
        "tau": lambda **o: figures.plot_tau_growth(w.grown, **o),
        "fragile": lambda **o: figures.plot_fragile(w.orders, **o),
        "noise": lambda **o: figures.plot_noise(w.noise, **o),
        "factors": lambda **o: charts.plot_factors({"size": w.matched}, **o),
        "versus": lambda **o: charts.plot_versus(w.versus, **o),
        "tradeoff": lambda **o: charts.plot_tradeoff(w.tradeoff, measure="nDCG@3", **o),
        "best": lambda **o: figures.plot_best(w.best, **o),
    }


NAMES = list(drawn(SimpleNamespace()))


def points(ax):
    """Every drawn point but those of lines, legends and guides, as (x, y)."""
    found = []
    for line in ax.lines:
        if line.get_marker() not in ("None", None, ""):
            found += list(zip(*map(np.ravel, line.get_data()), strict=True))
    return [(float(x), float(y)) for x, y in found]


def intervals(ax):
    """Ends (x0, x1) of every horizontal interval, by drawing order."""
    return [(s[0][0], s[1][0]) for c in ax.collections for s in c.get_segments() if s[0][1] == s[1][1]]


def rows(ax):
    return [t.get_text() for t in ax.get_yticklabels()]


def legend(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def show(ax):
    ax.get_figure().canvas.draw()
    return ax


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
    if name in ("marginal", "ranks", "calibration", "noise", "best"):
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
    if name in ("marginal", "ranks", "calibration", "noise", "best", "overlap"):
        assert set(rows(ax)) == set(many.systems)
    if name == "disagreements":
        assert len(rows(ax)) == 30
        assert ax.get_ylabel().startswith("30 of ")


def test_pool_growth(small):
    ax = figures.plot_pool_growth(small.arrivals)
    # bm25 returns 3 + 2 documents, dense 2 + 3, hybrid 3; dense brings d4 to q1, d4 and d1 to q2
    assert ax.lines[0].get_ydata().tolist() == [5, 10, 13]
    assert ax.lines[1].get_ydata().tolist() == [5, 8, 8]


def test_marginal(small):
    ax = figures.plot_marginal(small.arrivals, small.families)
    assert points(ax) == [(5, 0), (3, 1), (0, 2)]
    assert rows(ax) == ["bm25", "dense", "hybrid"]
    assert legend(ax) == ["lexical", "neural"]
    assert ax.lines[1].get_color() == ax.lines[2].get_color() != ax.lines[0].get_color()


def test_overlap(small):
    ax = figures.plot_overlap(small.overlap, label="Jaccard")
    shown = ax.collections[0].get_array().reshape(3, 3)
    order = rows(ax)
    # bm25 {1,2,3 | 3,5}, dense {2,4 | 5,4,1}: both have q1 d2 and q2 d5, so 2 / 8
    assert shown[order.index("bm25"), order.index("dense")] == pytest.approx(2 / 8)
    # hybrid {1,2,4 | }: 2 / 6 with bm25, 2 / 6 with dense
    assert shown[order.index("hybrid"), order.index("dense")] == pytest.approx(2 / 6)


def test_confusion(small):
    ax = show(figures.plot_confusion(small.confusion, left="author grades", right="robot"))
    # both graded q1 d1 (2, 2), d2 (1, 1), q2 d1 (1, 1), d3 (0, 0), d4 (1, 2), d5 (2, 2)
    assert [t.get_text() for t in ax.texts] == ["1", "0", "0", "0", "2", "1", "0", "0", "2"]
    assert ax.collections[0].get_array().reshape(3, 3)[1].tolist() == pytest.approx([0, 2 / 3, 1 / 3])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("grade, author grades", "grade, robot")


def test_a_grade_that_no_one_gave_is_no_share(small):
    ax = show(figures.plot_confusion(small.confusion * 0, left="a", right="b"))
    assert not np.asarray(ax.collections[0].get_array()).any()


def test_correlation(small):
    ax = show(figures.plot_correlation(small.correlation, small.families))
    # bm25: q1 1; q2 (2 / log2 3) / D, D = 2 + 1 / log2 3 + 1 / 2 (human), 2 + 2 / log2 3 + 1 / 2 (judge)
    third = 1 / np.log2(3)
    human, judge = (1 + 2 * third / (2.5 + third)) / 2, (1 + 2 * third / (2.5 + 2 * third)) / 2
    assert points(ax)[0] == pytest.approx((human, judge))
    assert ax.get_aspect() == 1
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_xlabel() == "mean nDCG@3, author grades"
    assert ax.get_ylabel() == "mean nDCG@3, judge robot"
    low, high = ax.get_xlim()
    assert all(low < x < high for ends in intervals(ax) for x in ends)


def test_ranks(small):
    ax = figures.plot_ranks(small.correlation)
    ranks = small.correlation.ranks
    # human .702 .690 .430; judge .668 .690 .430: bm25 and dense change places
    assert [x for x, _ in points(ax)] == [1, 2, 3, 2, 1, 3]
    assert rows(ax) == ["bm25", "dense", "hybrid"]
    assert intervals(ax)[:3] == list(zip(ranks["human_low"], ranks["human_high"], strict=True))
    assert legend(ax) == ["author grades", "judge robot"]
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
        order="different", verdict=["conflict", "strong conflict", "within human noise"]
    )
    found = SimpleNamespace(measure="P@3", human="h", judge="j", pairs=pairs)
    # widest by human first: .272, .260, .011
    assert rows(figures.plot_disagreements(found)) == ["bm25 > hybrid **", "dense > hybrid", "bm25 > dense *"]


def test_no_disagreement_is_said(small):
    found = SimpleNamespace(pairs=small.disagreements.pairs.iloc[1:])
    ax = figures.plot_disagreements(found)
    assert [t.get_text() for t in ax.texts] == ["no pair of systems is ordered differently"]


def test_penalties(small):
    ax = figures.plot_penalties(small.left_out, "nDCG@3", order=["x", "neural"])
    assert rows(ax) == ["neural", "lexical"]
    shown = small.left_out.penalties.set_index("group")["penalty"]
    assert sorted(points(ax)) == sorted([*((v, 0) for v in shown["neural"]), (shown["lexical"], 1)])
    empty = figures.plot_penalties(small.left_out, "P@3")
    assert [t.get_text() for t in empty.texts] == ["no family can be left out under P@3"]


def test_tau_growth(small):
    ax = figures.plot_tau_growth(small.grown)
    x, y = ax.lines[0].get_data()
    assert list(x) == [1, 2, 3]
    np.testing.assert_array_equal(y, [np.nan, 1, 1])  # one system has no order; then all as finally
    low, high = ax.get_ylim()
    assert low < 1 < high


def test_fragile(small):
    assert small.orders.fragile.empty
    said = figures.plot_fragile(small.orders)
    assert [t.get_text() for t in said.texts] == ["no pair reversed in any of 6 orders"]
    table = pd.DataFrame({"final_gap": [0.02, 0.0004], "share": [0.25, 0.5]})
    ax = figures.plot_fragile(SimpleNamespace(measure="P@3", orders=np.zeros((4, 3)), fragile=table))
    assert points(ax) == [(0.02, 25), (0.0004, 50)]
    assert ax.get_ylabel() == "orders that reverse it, % of 4"


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
    ax = figures.plot_best(found)
    # dense .690, bm25 .668, hybrid .430
    assert [x for x, _ in points(ax)] == pytest.approx([0, 0.022329, 0.260188], abs=1e-6)
    inside, outside = ax.lines[:2]
    assert (inside.get_markerfacecolor(), outside.get_markerfacecolor()) == (drawing.RESULT, "white")
    assert legend(ax) == ["cannot be told from the best", "worse"]
    assert legend(figures.plot_best(small.best)) == ["cannot be told from the best"]
    assert rows(figures.plot_best(found, order=["hybrid", "dense"])) == ["hybrid", "dense", "bm25"]
