"""The pool: union at depth, who brought what, what it costs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import FAMILIES, QUERIES, RANKINGS, grades, run_table, runs
from worlds import worlds

from poolkit.labels import grades_on
from poolkit.pool import (
    arrival,
    contributions,
    holes,
    jaccard,
    own_members,
    pool,
    rank_biased_overlap,
    ties,
    unjudged,
)
from poolkit.tables import runs_from


def plain_pool(found, depth):
    """{query: {document: {systems}}} by loops."""
    rows, union = found.frame(depth), {}
    for r in rows.itertuples():
        union.setdefault(r.query_id, {}).setdefault(r.doc_id, set()).add(r.system)
    return union


def test_toy_pool_by_hand():
    # Depth 2: q1 bm25 d1 d2, dense d2 d4, hybrid d2 d1; q2 bm25 d3 d5, dense d5 d4, hybrid none.
    p = pool(runs(), depth=2)
    assert (p.independent, p.unique, p.nominal) == (10, 6, 12)
    assert p.reuse == pytest.approx(1 - 6 / 10)
    assert p.cost_factor == pytest.approx(10 / 6)
    assert p.nominal_reuse == pytest.approx(1 - 6 / 12)
    assert p.sizes().to_dict() == {"q1": 3, "q2": 3}
    table = p.frame().set_index(["query_id", "doc_id"])["contributors"].to_dict()
    assert table == {
        ("q1", "d1"): 2, ("q1", "d2"): 3, ("q1", "d4"): 1, ("q2", "d3"): 1, ("q2", "d4"): 1, ("q2", "d5"): 2,
    }  # fmt: skip
    assert p.contributors("q1", "d1") == ["bm25", "hybrid"]
    assert p.contributors("q1", "d9") == []


def test_the_papers_figures_follow_from_its_counts():
    # METHOD 2: 766,350 unique of 3,765,643 are a reuse of 79.6 % and a cost factor of 4.9.
    assert round(100 * (1 - 766_350 / 3_765_643), 1) == 79.6
    assert round(3_765_643 / 766_350, 1) == 4.9


@given(worlds(), st.integers(1, 9))
@settings(max_examples=20, deadline=None)
def test_a_pool_equals_a_plain_union(world, depth):
    found = world[0]
    p, union = pool(found, depth=depth), plain_pool(found, depth)
    assert p.frame().groupby("query_id")["doc_id"].apply(set).to_dict() == {
        q: set(d) for q, d in union.items()
    }
    for query, documents in union.items():
        for document, systems in documents.items():
            assert set(p.contributors(query, document)) == systems


@given(worlds(), st.integers(1, 8))
@settings(max_examples=20, deadline=None)
def test_a_deeper_pool_contains_a_shallower_one(world, depth):
    shallow, deep = pool(world[0], depth=depth), pool(world[0], depth=depth + 1)
    assert np.isin(shallow.item, deep.item).all()
    assert shallow.independent <= deep.independent


def test_the_order_of_runs_is_irrelevant():
    turned = runs_from({s: run_table(r) for s, r in reversed(RANKINGS.items())}, QUERIES)
    pd.testing.assert_frame_equal(pool(turned, depth=2).frame(), pool(runs(), depth=2).frame())


def test_a_pool_of_no_depth_is_refused():
    with pytest.raises(ValueError, match="depth must be at least 1; got 0"):
        pool(runs(), depth=0)


def test_arrival_by_hand():
    # bm25 brings d1 d2 | d3 d5; dense d4 | d4 anew; hybrid nothing new.
    found = arrival(pool(runs(), depth=2))
    assert found["new"].to_dict() == {"bm25": 4, "dense": 2, "hybrid": 0}
    assert found["returned"].to_dict() == {"bm25": 4, "dense": 4, "hybrid": 2}
    assert found["unique"].tolist() == [4, 6, 6]
    assert found["reuse"].tolist() == pytest.approx([0, 1 - 6 / 8, 1 - 6 / 10])
    assert found["share"].tolist() == [1.0, 0.5, 0.0]


@given(worlds(), st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_arrival_equals_growing_sets(world, random):
    p = pool(world[0], depth=4)
    order = list(p.runs.systems)
    random.shuffle(order)
    seen, new = set(), []
    for system in order:
        rows = p.runs.select([system]).frame(4)
        brought = set(zip(rows["query_id"], rows["doc_id"], strict=True))
        new.append(len(brought - seen))
        seen |= brought
    found = arrival(p, order=order)
    assert found["new"].tolist() == new
    assert found["unique"].iloc[-1] == p.unique
    assert found["reuse"].iloc[-1] == pytest.approx(p.reuse)


def test_an_order_with_repeats_or_strangers_is_refused():
    p = pool(runs(), depth=2)
    with pytest.raises(ValueError, match="the order of arrival names a system twice"):
        arrival(p, order=["bm25", "bm25"])
    with pytest.raises(ValueError, match=r"unknown system: splade\. Known: bm25, dense, hybrid"):
        arrival(p, order=["splade"])


def test_contributions_by_hand():
    # Unique to a system: q1 d4 and q2 d4 (dense), q2 d3 (bm25). Unique to a family: neural d4 d4, lexical d3.
    found = contributions(pool(runs(), depth=2), FAMILIES)
    assert found["unique_to_system"].to_dict() == {"bm25": 1, "dense": 2, "hybrid": 0}
    assert found["unique_to_family"].to_dict() == {"bm25": 1, "dense": 2, "hybrid": 2}
    assert found["contributed"].to_dict() == {"bm25": 4, "dense": 4, "hybrid": 2}
    p = pool(runs(), depth=2)
    assert own_members(p, np.array([False, True, True])).sum() == 2


def test_jaccard_by_hand():
    # bm25 {1d1 1d2 2d3 2d5}, dense {1d2 1d4 2d4 2d5}: 2 of 6; hybrid {1d1 1d2} with bm25: 2 of 4.
    found = jaccard(pool(runs(), depth=2))
    assert found.loc["bm25", "dense"] == pytest.approx(2 / 6)
    assert found.loc["bm25", "hybrid"] == pytest.approx(2 / 4)
    assert np.diag(found).tolist() == [1.0, 1.0, 1.0]


@given(worlds())
@settings(max_examples=20, deadline=None)
def test_overlap_equals_its_definition(world):
    found, depth, p = world[0], 3, 0.8
    frame = found.frame(depth)
    got = rank_biased_overlap(pool(found, depth=depth), persistence=p)
    ranked = {
        (s, q): frame[(frame["system"] == s) & (frame["query_id"] == q)]["doc_id"].tolist()
        for s in found.systems for q in found.queries
    }  # fmt: skip
    deep = min(depth, found.item.shape[2])
    for a in found.systems:
        for b in found.systems:
            total = 0.0
            for q in found.queries:
                for d in range(1, deep + 1):
                    both = set(ranked[a, q][:d]) & set(ranked[b, q][:d])
                    total += p ** (d - 1) * len(both) / d
            scale = len(found.queries) * sum(p ** (d - 1) for d in range(1, deep + 1))
            assert got.loc[a, b] == pytest.approx(total / scale)


def test_overlap_refuses_a_weight_outside_0_1():
    with pytest.raises(ValueError, match=r"persistence must lie between 0 and 1; got 1\.0"):
        rank_biased_overlap(pool(runs(), depth=2), persistence=1.0)


def test_unjudged_documents_and_holes_by_hand():
    # Without a label: q1 d3 (bm25's rank 3). In q2 hybrid returned nothing: no hole.
    on = grades()
    assert unjudged(pool(runs(), depth=3), on.judged).to_numpy().tolist() == [["q1", "d3"]]
    assert unjudged(pool(runs(), depth=2), on.judged).empty
    assert holes(runs(), on.judged, cutoff=3).to_dict() == {"bm25": 1, "dense": 0, "hybrid": 0}
    assert holes(runs(), on.judged, cutoff=2).sum() == 0


def test_ties_count_the_places_another_rule_would_fill_otherwise():
    rows = [("q", d, x) for d, x in [("a", 3.0), ("b", 2.0), ("c", 2.0), ("d", 2.0), ("e", 1.0)]]
    found = runs_from({"s": pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])}, ["q"])
    # d, c, b share ranks 2 to 4: a cut inside them leaves 1 or 2 places to the rule; elsewhere none.
    assert [int(ties(found, cutoff=k)["s"]) for k in range(1, 6)] == [0, 1, 2, 0, 0]


def test_more_than_126_systems_and_short_runs():
    tables = {f"s{i}": run_table({"q1": [f"d{i}", "d"]}) for i in range(200)}
    p = pool(runs_from(tables, ["q1"]), depth=10)
    assert (p.unique, p.independent) == (201, 400)
    assert p.nominal == 2000


def test_dl21_has_the_known_size(dl21):
    found, by_name, _ = dl21
    p = pool(found, depth=10)
    assert p.unique == 7447  # cases/README: by score with ids descending
    assert len(unjudged(p, grades_on(found, by_name["human"]).judged)) == 84
