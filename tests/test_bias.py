"""Leave a family or a system out of the pool: against plain loops, by hand, and repaired."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import FAMILIES, grades, labels, runs
from worlds import dense, worlds

from poolkit.bias import leave_out
from poolkit.labels import grades_on, labels_from
from poolkit.pool import contributions, pool
from poolkit.score import scores

MEASURES = ["nDCG@3", "AP@3", "P@2"]


def plain(found, given_labels, depth, group_of, group, name, queries):
    """Means without a group, by dropping the labels of what only it brought and scoring anew."""
    rows = found.frame(depth)
    own = rows[rows["system"].map(group_of) == group]
    rest = rows[rows["system"].map(group_of) != group]
    pairs = lambda r: set(zip(r["query_id"], r["doc_id"], strict=True))  # noqa: E731
    unique = pairs(own) - pairs(rest)
    labelled = given_labels.relevance
    kept = [p not in unique for p in zip(labelled["query_id"], labelled["doc_id"], strict=True)]
    on = grades_on(found, labels_from(labelled[kept], "kept"))
    if not on.has.any():
        return pd.Series(0.0, index=list(found.systems)), unique
    # Queries that lose all labels still count, with 0.
    return scores(found, on, [name]).table(name).sum(axis=1) / len(queries), unique


@given(worlds(systems=5), st.integers(1, 4), st.booleans(), st.data())
@settings(max_examples=12, deadline=None)
def test_leaving_out_equals_scoring_anew_in_odd_worlds(world, depth, by_system, data):
    families = {s: data.draw(st.sampled_from("xyz")) for s in world[0].systems}
    assert_equals_scoring_anew(world[0], world[1], depth, by_system, families)


@pytest.mark.parametrize(("seed", "depth"), [(1, 3), (2, 3), (3, 2), (4, 1)])
@pytest.mark.parametrize("by_system", [False, True])
def test_leaving_out_equals_scoring_anew_in_dense_worlds(seed, depth, by_system):
    found, given_labels = dense(seed, systems=6)
    assert_equals_scoring_anew(
        found, given_labels, depth, by_system, dict(zip(found.systems, "xxyyzz", strict=True))
    )


def assert_equals_scoring_anew(found, given_labels, depth, by_system, families):
    on = grades_on(found, given_labels)
    result = leave_out(
        pool(found, depth=depth), on, families, MEASURES, by="system" if by_system else "family"
    )
    group_of = {s: s for s in found.systems} if by_system else families
    if len(set(group_of.values())) == 1:
        assert result.groups.empty
        return
    full = scores(found, on, MEASURES)
    relevance = {(r.query_id, r.doc_id): r.relevance for r in given_labels.relevance.itertuples()}
    for m in MEASURES:
        assert result.full[m].tolist() == pytest.approx(full.mean(m).tolist())
        for group in result.groups.index:
            expected, unique = plain(found, given_labels, depth, group_of, group, m, full.queries)
            assert result.means[m][group].tolist() == pytest.approx(expected.tolist())
            row = result.groups.loc[group]
            assert row["unique"] == len(unique)
            assert row["judged"] == sum(p in relevance for p in unique)
            assert row["relevant"] == sum(relevance.get(p, 0) > 0 for p in unique)
            before, after = full.mean(m).round(12), expected.round(12)
            flips = {
                (a, b)
                for a in found.systems
                for b in found.systems
                if before[a] > before[b] and after[a] < after[b]
            }
            mine = result.flips[(result.flips["group"] == group) & (result.flips["measure"] == m)]
            assert set(zip(mine["better"], mine["worse"], strict=True)) == flips
    assert (result.effects["flips_repaired"] == 0).all()
    assert (result.effects["difference_repaired"] == 0).all()


def test_toy_by_hand():
    # Depth 2: lexical alone brought q2 d3 (0); neural alone q1 d4 (0) and q2 d4 (1).
    found = leave_out(pool(runs(), depth=2), grades(), FAMILIES, ["P@2", "R@2"])
    assert found.groups.to_dict("index") == {
        "lexical": {"systems": 1, "unique": 1, "judged": 1, "relevant": 0},
        "neural": {"systems": 2, "unique": 2, "judged": 2, "relevant": 1},
    }
    # dense loses d4 of q2: P@2 1.5 / 2 -> 1 / 2. R(q2) falls from 3 to 2: dense 2/3 -> 1/2 there.
    rows = found.penalties.set_index(["measure", "system"])
    assert rows.loc[("P@2", "dense"), ["full", "left_out", "penalty"]].tolist() == [0.75, 0.5, 0.25]
    assert rows.loc[("R@2", "dense"), "penalty"] == pytest.approx((2 / 3 - 1 / 2) / 2)
    # Of dense's 4 documents within rank 2, q1 d4 and q2 d4 have no judgment then; of hybrid's 2, none.
    assert rows.loc[("P@2", "dense"), "unjudged"] == 2 / 4
    assert rows.loc[("P@2", "dense"), "unjudged_full"] == 0
    assert rows.loc[("P@2", "hybrid"), "unjudged"] == 0
    effects = found.effects.set_index(["group", "measure"])
    assert effects.loc[("neural", "P@2"), ["largest", "system"]].tolist() == [0.25, "dense"]
    assert found.notes == ()


def test_a_flip_by_hand_and_its_near_tie():
    # One query; a ranks x (2) alone, b ranks y (1): nDCG@1 a = 1, b = 1/2. Without a nobody judges x:
    # a = 0, b = 1 / 1. The pair flips by a mile; with near_tie above both gaps it is a near-tie.
    world = {"a": {"q1": ["x"]}, "b": {"q1": ["y"]}}
    on = grades({"q1": {"x": 2, "y": 1}}, world)
    found = leave_out(pool(runs(world), depth=1), on, {"a": "A", "b": "B"}, ["nDCG@1"])
    flip = found.flips.iloc[0]
    assert len(found.flips) == 1
    assert flip[["group", "better", "worse", "gap", "gap_left_out"]].tolist() == ["A", "a", "b", 0.5, -1.0]
    assert (flip["near_tie"], flip["better_own"], flip["worse_own"]) == (False, True, False)
    assert found.effects["flips_repaired"].tolist() == [0, 0]
    near = leave_out(pool(runs(world), depth=1), on, {"a": "A", "b": "B"}, ["nDCG@1"], near_tie=0.6)
    assert near.flips["near_tie"].tolist() == [True]
    assert found.turned("nDCG@1") == {frozenset("ab")}
    assert found.turned("P@1") == set()
    assert near.effects["near_ties"].tolist() == [1, 0]


def test_labels_outside_the_pool_stay():
    # x9 is labelled but nobody ranks it: R(q1) = 2 with and without it.
    world = {"a": {"q1": ["x"]}, "b": {"q1": ["y"]}}
    on = grades({"q1": {"x": 1, "x9": 1}}, world)
    found = leave_out(pool(runs(world), depth=1), on, {"a": "A", "b": "B"}, ["R@1"])
    assert found.means["R@1"]["B"].tolist() == [0.5, 0.0]


def test_a_system_beyond_the_depth_loses_what_it_ranks_there():
    # Depth 1: only a brought x, but b ranks it second. Unjudged, it counts for neither.
    world = {"a": {"q1": ["x"]}, "b": {"q1": ["y", "x"]}}
    on = grades({"q1": {"x": 1, "y": 0}}, world)
    found = leave_out(pool(runs(world), depth=1), on, {"a": "A", "b": "B"}, ["P@2"])
    assert found.full["P@2"].tolist() == [0.5, 0.5]
    assert found.means["P@2"]["A"].tolist() == [0.0, 0.0]


def test_by_system_each_is_its_own_family():
    p = pool(runs(), depth=2)
    one = leave_out(p, grades(), FAMILIES, ["AP@2"], by="system")
    other = leave_out(p, grades(), {s: s for s in FAMILIES}, ["AP@2"])
    pd.testing.assert_frame_equal(one.groups, other.groups)
    pd.testing.assert_frame_equal(one.penalties, other.penalties)
    assert one.groups["unique"].to_dict() == contributions(p, FAMILIES)["unique_to_system"].to_dict()


def test_one_family_has_nothing_to_be_left_out_of():
    found = leave_out(pool(runs(), depth=2), grades(), dict.fromkeys(FAMILIES, "one"), ["P@2"])
    assert found.notes == ("All systems are one family (one), so nothing is left of the pool without it.",)
    assert found.groups.empty
    assert found.effects.empty
    assert found.flips.empty
    assert found.penalties.empty


def test_no_labels_are_said():
    rows = labels().relevance[:0]
    found = leave_out(pool(runs(), depth=2), grades_on(runs(), labels_from(rows, "none")), FAMILIES, ["P@2"])
    assert found.notes == ("none: no query has a label, so nothing can be scored.",)
    assert found.full["P@2"].isna().all()


def test_measures_that_do_not_split_are_named_or_refused():
    found = leave_out(pool(runs(), depth=2), grades(), FAMILIES, ["P@2", "Bpref", "NDCG@2"])
    assert found.measures == ("P@2", "nDCG@2")
    assert found.notes == ("Bpref is left out: it is not a numerator over a denominator.",)
    said = r"none of the measures Bpref is a numerator over a denominator\. Try nDCG@10 or AP@100\."
    with pytest.raises(ValueError, match=said):
        leave_out(pool(runs(), depth=2), grades(), FAMILIES, ["Bpref"])


def test_a_system_without_a_family_is_refused():
    with pytest.raises(ValueError, match=r"no family for system hybrid\. Add it to systems\.csv\."):
        leave_out(pool(runs(), depth=2), grades(), {"bm25": "a", "dense": "b"}, ["P@2"])


def test_another_grouping_is_refused():
    with pytest.raises(ValueError, match='by is \'team\'; write "family" or "system"'):
        leave_out(pool(runs(), depth=2), grades(), FAMILIES, ["P@2"], by="team")


def test_dl21_families(dl21):
    found, by_name, families = dl21
    on = grades_on(found, by_name["human"])
    result = leave_out(pool(found, depth=10), on, families, ["nDCG@10"])
    flips = result.effects.set_index("group")["flips"].to_dict()
    assert flips == {
        "hybrid": 24, "rerank": 133, "learned-sparse": 6, "dense": 45, "lexical": 16, "late-interaction": 6,
        "serp-trained-lr": 42,
    }  # fmt: skip
    assert (result.effects["flips_repaired"] == 0).all()
    assert (result.penalties["penalty"] >= -1e-12).mean() > 0.5
    for group, rows in result.penalties.groupby("group"):
        expected, _ = plain(found, by_name["human"], 10, families, group, "nDCG@10", found.queries)
        assert rows["left_out"].tolist() == pytest.approx(expected[rows["system"]].tolist())
