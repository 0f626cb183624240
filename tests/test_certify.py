"""Certificates: against every future of small worlds, simulated futures, and examples that attain m."""

from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import grades, labels, run_table, runs
from worlds import dense, worlds

from poolkit.certify import certificates
from poolkit.labels import grades_on, labels_from
from poolkit.score import measure, scores
from poolkit.tables import runs_from

MEASURES = ["nDCG@2", "nDCG@3", "AP@3", "R@2", "AP(rel=2)@3"]
TOP = 2


def below(name, documents):
    """D of one query from the grades of its documents, by definition."""
    if name.startswith("nDCG"):
        best = sorted((g for g in documents if g > 0), reverse=True)[: measure(name)["cutoff"]]
        return sum(g / np.log2(r + 1) for r, g in enumerate(best, start=1))
    return sum(g >= (2 if "rel=2" in name else 1) for g in documents)


def future_gaps(found, given_labels, name, m):
    """Gaps of every pair of systems in all futures with up to m more documents a query."""
    on = grades_on(found, given_labels)
    above = scores(found, on, [name]).numerators[name]
    by_query = given_labels.relevance.groupby("query_id")["relevance"].apply(list)
    options = []
    for query in np.asarray(found.queries, dtype=object)[on.has]:
        more = combinations_with_replacement(range(TOP + 1), m)  # grade 0: no relevant document
        options.append(sorted({below(name, by_query[query] + list(extra)) for extra in more}))
    futures = np.array(list(product(*options)))  # futures by queries
    weight = np.divide(1, futures, out=np.zeros_like(futures, dtype=float), where=futures > 0)
    means = weight @ above.T / above.shape[1]
    return {
        (a, b): means[:, i] - means[:, j]
        for i, a in enumerate(found.systems) for j, b in enumerate(found.systems)
    }  # fmt: skip


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize(("seed", "m"), [(1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3), (7, 3)])
def test_bounds_equal_brute_force(name, seed, m):
    found, given_labels = dense(seed, labelled=0.5)
    on = grades_on(found, given_labels)
    got = certificates(found, on, name, further=m, top=TOP)
    gaps = future_gaps(found, given_labels, name, m)
    for row in got.pairs.itertuples():
        every = gaps[row.better, row.worse]
        assert row.least == pytest.approx(every.min(), abs=1e-12)
        assert row.greatest == pytest.approx(every.max(), abs=1e-12)
        reversible = every.min() < -1e-12
        if row.status != "tied":
            assert (row.status == "open") == reversible
            assert reversible == (not pd.isna(row.smallest) and row.smallest <= m)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("seed", range(8))
def test_the_smallest_number_is_the_first_at_which_brute_force_reverses(name, seed):
    found, given_labels = dense(seed, labelled=0.5)
    got = certificates(found, grades_on(found, given_labels), name, top=TOP)
    by_m = [future_gaps(found, given_labels, name, m) for m in range(4)]
    for row in got.pairs.itertuples():
        first = next((m for m in range(4) if by_m[m][row.better, row.worse].min() < -1e-12), None)
        if row.status == "tied":
            assert pd.isna(row.smallest)
        elif first is None:
            assert pd.isna(row.smallest) or row.smallest > 3
        else:
            assert row.smallest == first


def grown(found, given_labels, extra):
    """Runs and labels after a newcomer brought these documents: {query: [grades]}."""
    tables, frame = {}, found.frame()
    for system in found.systems:
        tables[system] = frame[frame["system"] == system][["query_id", "doc_id", "score"]]
    named = [(q, f"new{i}", g) for q, some in extra.items() for i, g in enumerate(some)]
    tables["newcomer"] = run_table({q: [f"new{i}" for i in range(len(g))] for q, g in extra.items()})
    more = pd.DataFrame(named, columns=["query_id", "doc_id", "relevance"])
    later = runs_from({s: t for s, t in tables.items() if len(t)}, found.queries)
    return later, labels_from(pd.concat([given_labels.relevance, more], ignore_index=True), "later")


@given(st.integers(0, 10**6), st.sampled_from(MEASURES), st.data())
@settings(max_examples=25, deadline=None)
def test_a_certified_pair_keeps_its_order_when_newcomers_come(seed, name, data):
    found, given_labels = dense(seed, labelled=0.5)
    got = certificates(found, grades_on(found, given_labels), name, top=TOP)
    labelled = sorted(set(given_labels.relevance["query_id"]))
    extra = {q: data.draw(st.lists(st.integers(0, TOP), max_size=6)) for q in labelled}
    later, relabelled = grown(found, given_labels, extra)
    means = scores(later, grades_on(later, relabelled), [name]).mean(name)
    for row in got.pairs[got.pairs["status"] == "certified"].itertuples():
        if {row.better, row.worse} <= set(later.systems):
            assert means[row.better] - means[row.worse] > -1e-12


@given(worlds(systems=4, grades=(0, TOP)), st.sampled_from(MEASURES))
@settings(max_examples=20, deadline=None)
def test_bounds_hold_in_odd_worlds_too(world, name):
    found, given_labels, _ = world
    got = certificates(found, grades_on(found, given_labels), name, further=2, top=TOP)
    gaps = future_gaps(found, given_labels, name, 2)
    for row in got.pairs.itertuples():
        assert row.least == pytest.approx(gaps[row.better, row.worse].min(), abs=1e-12)
        assert row.greatest == pytest.approx(gaps[row.better, row.worse].max(), abs=1e-12)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("seed", range(4))
def test_an_open_pair_is_reversed_by_an_example_with_its_smallest_number(name, seed):
    found, given_labels = dense(seed, labelled=0.5)
    on = grades_on(found, given_labels)
    got = certificates(found, on, name, top=TOP)
    now = scores(found, on, [name])
    above = pd.DataFrame(now.numerators[name], index=list(now.systems), columns=list(now.queries))
    opened = got.pairs[got.pairs["status"] == "open"]
    for row in opened[opened["smallest"] < 200].itertuples():
        ahead = above.loc[row.better] > above.loc[row.worse]
        for m, turns in ((row.smallest, True), (row.smallest - 1, False)):
            extra = {q: [TOP] * m for q in ahead.index[ahead]}
            later, relabelled = grown(found, given_labels, extra)
            means = scores(later, grades_on(later, relabelled), [name]).mean(name)
            gap = means.get(row.better, 0.0) - means.get(row.worse, 0.0)
            assert (gap < -1e-12) == turns


def test_the_worlds_above_hold_both_kinds_of_pairs():
    for name in MEASURES:
        found = [dense(seed, labelled=0.5) for seed in range(8)]
        got = [certificates(r, grades_on(r, x), name, top=TOP).pairs["status"] for r, x in found]
        assert {"certified", "open"} <= set(pd.concat(got)), name


def test_toy_by_hand():
    # nDCG@2, w = 1 / log2(3) = 0.631: D(q1) = D(q2) = 2 + w. bm25 N = 2 + w, 2w; dense N = 1, 2 + w.
    w = 1 / np.log2(3)
    got = certificates(runs(), grades(), "nDCG@2", further=1)
    row = got.pairs.iloc[0]
    assert row[["better", "worse", "status"]].tolist() == ["bm25", "dense", "open"]
    assert row["gap"] == pytest.approx(((1 + w) - (2 - w)) / (2 + w) / 2)
    # One more document of grade 2: D = 2 + 2w. Least where q1 grows, greatest where q2 does.
    assert row["least"] == pytest.approx(((1 + w) / (2 + 2 * w) - (2 - w) / (2 + w)) / 2)
    assert row["greatest"] == pytest.approx(((1 + w) / (2 + w) - (2 - w) / (2 + 2 * w)) / 2)
    assert row["smallest"] == 1
    # bm25 beats hybrid in both queries or ties it: certified for ever.
    rest = got.pairs.set_index(["better", "worse"])["status"]
    assert rest["bm25", "hybrid"] == "certified"
    assert got.certified == (got.pairs["status"] == "certified").sum()


def test_unbounded_recall_by_hand():
    # R@1: a finds 1 of 2 in q1 (0.5), b 1 of 4 in q2 (0.25). Once q1 has m more: 1 / (2 + m) < 1 / 4 from
    # m = 3 on; at m = 2 they tie, which is no reversal.
    world = {"a": {"q1": ["x"]}, "b": {"q2": ["y"]}}
    known = {"q1": {"x": 1, "x2": 1}, "q2": {"y": 1, "y2": 1, "y3": 1, "y4": 1}}
    got = certificates(runs(world), grades(known, world), "R@1")
    row = got.pairs.iloc[0]
    assert row[["better", "worse", "status", "smallest"]].tolist() == ["a", "b", "open", 3]
    # Without limit a's lead may vanish, or b's score.
    assert row[["least", "greatest"]].tolist() == pytest.approx([-0.125, 0.25])
    assert certificates(runs(world), grades(known, world), "R@1", further=2).pairs["status"][0] == "certified"


def test_a_higher_scale_leaves_more_open():
    world = {"a": {"q1": ["x"]}, "b": {"q2": ["y", "z"]}}
    known = {"q1": {"x": 1}, "q2": {"z": 1}}
    # nDCG@2, grade 1 in use: a = 1, b = w = 0.63 in the other query. q1 with one more document of grade 3
    # has D = 3 + w; with the scale ending at 1 at most 1 + w, and 1 / 1.63 = 0.61 < 0.63 all the same.
    on = grades(known, world)
    low = certificates(runs(world), on, "nDCG@2").pairs.iloc[0]
    high = certificates(runs(world), on, "nDCG@2", top=3).pairs.iloc[0]
    w = 1 / np.log2(3)
    assert low["least"] == pytest.approx((1 / (1 + w) - w) / 2)
    assert high["least"] == pytest.approx((1 / (3 + 3 * w) - w) / 2)
    assert low["smallest"] == high["smallest"] == 1


def test_fixed_denominators_keep_every_order():
    for name in ("P@2", "DCG@2", "RR", "Success@1", "R(rel=3)@2"):
        got = certificates(runs(), grades(), name)
        assert set(got.pairs["status"]) <= {"certified", "tied"}
        assert got.pairs["smallest"].isna().all()
        assert got.pairs["least"].tolist() == got.pairs["gap"].tolist() == got.pairs["greatest"].tolist()


def test_equal_systems_have_no_order():
    world = {"a": {"q1": ["x"]}, "b": {"q1": ["x"]}}
    got = certificates(runs(world), grades({"q1": {"x": 1}}, world), "AP@1")
    assert got.pairs["status"].tolist() == ["tied"]
    assert got.certified == 0


def test_holes_one_system_and_no_labels_are_said():
    got = certificates(runs(), grades(), "nDCG@3")
    assert got.notes == (
        "1 documents that nDCG@3 reads have no label; certificates hold while they count as non-relevant. "
        "Judge them first.",
    )
    alone = {"a": {"q1": ["x"]}}
    one = certificates(runs(alone), grades({"q1": {"x": 1}}, alone), "AP@1")
    assert one.pairs.empty
    assert one.notes == ("There is one system only, so there is no order to certify.",)
    none = grades_on(runs(), labels_from(labels().relevance[:0], "none"))
    found = certificates(runs(), none, "AP@1")
    assert found.notes == ("none: no query has a label, so there is no order to certify.",)
    assert set(found.pairs["status"]) == {"tied"}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("Bpref", {}, r"Bpref is not a numerator over a denominator\. Try nDCG@10 or AP@100\."),
        ("nDCG", {}, r"nDCG has no cutoff, so nothing bounds its ideal list\. Write nDCG@10\."),
        ("AP@2", {"further": -1}, "further must be 0 or more documents, or None for any number; got -1"),
        ("AP@2", {"top": 1}, r"top is 1, but author go up to 2\. Give the scale's top\."),
    ],
)
def test_refusals(name, options, said):
    with pytest.raises(ValueError, match=said):
        certificates(runs(), grades(), name, **options)


def test_dl21_certifies_most_pairs(dl21):
    found, by_name, _ = dl21
    got = certificates(found, grades_on(found, by_name["human"]), "nDCG@10")
    assert got.pairs["status"].value_counts().to_dict() == {"certified": 1866, "open": 84, "tied": 3}
    assert got.pairs["smallest"].max() <= 10
