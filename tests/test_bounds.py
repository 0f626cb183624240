"""Bounds: by hand, against ir_measures on relabelled qrels, and against every grading of a small world."""

from itertools import product

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import grades, labels, runs
from worlds import dense, worlds

from poolkit.bounds import bounds
from poolkit.labels import grades_on, labels_from
from poolkit.pool import pool
from poolkit.score import scores

MEASURES = (
    "P@2", "P(rel=2)@3", "R@3", "AP", "AP@3", "nDCG@3", "nDCG", "RR", "Success@2", "Bpref", "P@9", "Judged@2",
)  # fmt: skip
FIXED = ("P@2", "DCG@3", "RR", "Success@2", "P(rel=2)@3")


def bounded(found, given_labels, names, *, depth, top=3):
    on = grades_on(found, given_labels)
    return bounds(pool(found, depth=depth), on, scores(found, on, list(names)), top=top)


def relabelled(found, given_labels, grade, *, depth, cutoff):
    """Qrels with this grade for what any system ranks within depth or cutoff without a grade."""
    ranked = found.frame()
    if cutoff is not None:
        ranked = ranked[ranked["rank"] <= max(depth, cutoff)]
    known = given_labels.relevance
    pairs = ranked[["query_id", "doc_id"]].drop_duplicates()
    pairs = pairs[pairs["query_id"].isin(set(known["query_id"]))].merge(
        known, how="left", on=["query_id", "doc_id"]
    )
    new = pairs[pairs["relevance"].isna()].assign(relevance=grade)
    every = pd.concat([known, new]).astype({"relevance": int})
    return every.assign(relevance=every["relevance"].clip(lower=0)), len(new)


def assert_equal_to_ir_measures(found, given_labels, names, *, depth, top=3):
    got = bounded(found, given_labels, names, depth=depth, top=top)
    for name in got.given.measures:
        m = ir_measures.parse_measure(name)
        cutoff = m.params.get("cutoff")
        for side, grade in ((got.all_0, 0), (got.all_top, top)):
            qrels, n = relabelled(found, given_labels, grade, depth=depth, cutoff=cutoff)
            assert got.unjudged[name] == n
            at = {q: i for i, q in enumerate(got.given.queries)}
            for s, system in enumerate(found.systems):
                ranked = found.select([system]).frame()
                ranked = ranked.assign(score=1000 - ranked["rank"])[["query_id", "doc_id", "score"]]
                expected = np.zeros(len(at))
                for value in ir_measures.iter_calc([m], qrels, ranked):
                    if value.query_id in at:
                        expected[at[value.query_id]] = value.value
                np.testing.assert_allclose(
                    side.values[name][s], expected, atol=1e-9, err_msg=f"{name} {grade}"
                )


@given(worlds(grades=(0, 3)), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_random_worlds_equal_ir_measures_on_relabelled_qrels(world, depth):
    assert_equal_to_ir_measures(world[0], world[1], MEASURES[:-1], depth=depth)


def test_dl21_equals_ir_measures_on_relabelled_qrels(dl21):
    runs_, by_name, _ = dl21
    some = runs_.select(runs_.systems[::9])
    names = ["nDCG@10", "P@10", "R@10", "AP@10", "RR@10"]
    assert_equal_to_ir_measures(some, by_name["human"], names, depth=10)


def test_dl21_has_84_pooled_pairs_without_a_label(dl21):
    runs_, by_name, _ = dl21
    got = bounded(runs_, by_name["human"], ["nDCG@10", "P@10"], depth=10)
    assert got.unjudged == {"nDCG@10": 84, "P@10": 84}  # cases/README.md
    table = got.table().set_index(["measure", "system"])
    # P@10 can only gain, and gains where Judged@10 is below 1: a tenth for each hole.
    p = table.loc["P@10"]
    assert p["all_top"].to_numpy() == pytest.approx((p["mean"] + 1 - p["judged"]).to_numpy())
    assert (p["judged"] < 1).any()
    # nDCG divides by the ideal list: systems without a hole lose when others' holes are worth the top grade.
    n = table.loc["nDCG@10"]
    assert (n["all_top"] < n["mean"]).any()
    assert (n["all_top"] > n["mean"]).any()


def test_bounds_by_hand():
    # q1: bm25 d1 2, d2 1, d3 (no grade); dense d2 1, d4 0; hybrid d2 d1 d4. q2 has every grade.
    got = bounded(runs(), labels(), ["P@3", "R@3", "AP@3", "DCG@3", "Judged@3"], depth=3, top=2)
    assert got.unjudged == dict.fromkeys(got.given.measures, 1)
    assert got.all_0.values == got.given.values
    top = {m: got.all_top.table(m)["q1"].to_dict() for m in got.given.measures}
    assert top["P@3"] == pytest.approx({"bm25": 1, "dense": 1 / 3, "hybrid": 2 / 3})
    # R(q1) is 3 then: dense finds 1, hybrid 2.
    assert top["R@3"] == pytest.approx({"bm25": 1, "dense": 1 / 3, "hybrid": 2 / 3})
    assert top["AP@3"] == pytest.approx({"bm25": 1, "dense": 1 / 3, "hybrid": 2 / 3})
    assert top["DCG@3"]["bm25"] == pytest.approx(2 + 1 / np.log2(3) + 2 / 2)
    assert got.all_top.table("P@3")["q2"].tolist() == got.given.table("P@3")["q2"].tolist()
    # Judged@3 is no grade and has no bounds: bm25 has 2 of 3 judged in q1.
    assert top["Judged@3"]["bm25"] == got.all_0.table("Judged@3").loc["bm25", "q1"] == 2 / 3


def test_tables():
    got = bounded(runs(), labels(), ["P@3", "AP"], depth=2, top=2)
    rows = got.table().set_index(["system", "measure"])
    # bm25 P@3: q1 2/3, q2 1/3; with d3 3/3.
    assert rows.loc[("bm25", "P@3")].tolist() == pytest.approx([1 / 2, 1 / 2, 2 / 3, (2 / 3 + 1) / 2])
    assert rows.loc[("bm25", "AP"), "judged"] == 1  # no cutoff: Judged@2, the depth
    wide = got.wide()
    assert list(wide.columns) == [
        "P@3", "P@3 all 0", "P@3 all top", "AP", "AP all 0", "AP all top", "Judged@3", "Judged@2", "epoch",
    ]  # fmt: skip
    assert set(wide["epoch"]) == {grades().epoch}
    long = got.wide(per_query=True)
    assert long.index.names == ["system", "query_id"]
    assert long.loc[("bm25", "q1"), ["P@3", "P@3 all top"]].tolist() == pytest.approx([2 / 3, 1])
    assert len(long) == 6


def test_only_what_a_measure_reads_or_the_pool_holds_is_graded():
    world = {"a": {"q1": ["x", "y", "z"]}, "b": {"q1": ["u", "v", "w"]}, "c": {"q2": ["x"]}}
    given_labels = labels({"q1": {"x": 1}})
    got = bounded(runs(world), given_labels, ["P@1", "P@2", "AP"], depth=1, top=1)
    # Depth 1: u. Cutoff 2: u, v, y. Whole runs: also w, z. Never q2, which has no label and is dropped.
    assert got.unjudged == {"P@1": 1, "P@2": 3, "AP": 5}
    assert got.given.dropped == ("q2",)


def test_a_fully_judged_pool_has_no_bounds():
    full = labels(
        {"q1": dict.fromkeys(["d1", "d2", "d3", "d4"], 1), "q2": dict.fromkeys(["d1", "d3", "d4", "d5"], 0)}
    )
    got = bounded(runs(), full, ["nDCG@3", "Bpref"], depth=3)
    assert got.unjudged == {"nDCG@3": 0, "Bpref": 0}
    for side in (got.all_0, got.all_top):
        assert all(np.array_equal(side.values[m], got.given.values[m]) for m in got.given.measures)


def every_grading(found, given_labels, names, *, depth, top):
    """Means under every grading of the unjudged pooled documents, shape (gradings, systems) by measure."""
    qrels, _ = relabelled(found, given_labels, -1, depth=depth, cutoff=depth)
    new = qrels.iloc[len(given_labels.relevance) :]
    rows = {name: [] for name in names}
    for some in product(range(top + 1), repeat=len(new)):
        every = pd.concat([given_labels.relevance, new.assign(relevance=list(some))], ignore_index=True)
        on = grades_on(found, labels_from(every, "all"))
        for name, means in scores(found, on, list(names)).means().items():
            rows[name].append(means.to_numpy())
    return {name: np.array(means) for name, means in rows.items()}


@pytest.mark.parametrize("seed", range(4))
def test_no_grading_leaves_the_bounds_where_the_denominator_is_fixed(seed):
    found, given_labels = dense(seed, systems=3, queries=2, documents=5, labelled=0.5)
    got = bounded(found, given_labels, FIXED, depth=3, top=2)
    assert 0 < got.unjudged["P@2"] < 9
    every = every_grading(found, given_labels, FIXED, depth=3, top=2)
    for name in FIXED:
        assert got.all_0.mean(name).to_numpy() == pytest.approx(every[name].min(axis=0)), name
        assert got.all_top.mean(name).to_numpy() == pytest.approx(every[name].max(axis=0)), name


@pytest.mark.parametrize("name", ["R@2", "AP@2", "nDCG@2"])
def test_where_the_denominator_moves_a_mixture_may_lie_outside_both(name):
    # a finds x, which is relevant; of y (only a) and z (only b) nothing is known.
    found = runs({"a": {"q1": ["x", "y"]}, "b": {"q1": ["z", "x"]}}, ("q1",))
    given_labels = labels({"q1": {"x": 2}})
    got = bounded(found, given_labels, [name], depth=2, top=2)
    every = every_grading(found, given_labels, [name], depth=2, top=2)[name][:, 0]
    ends = sorted([got.all_0.mean(name)["a"], got.all_top.mean(name)["a"]])
    assert every.min() < ends[0] - 0.01 or every.max() > ends[1] + 0.01
