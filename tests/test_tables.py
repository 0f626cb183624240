"""Runs as integers: one order, ids to the byte, and what is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from toy import QUERIES, RANKINGS, run_table, runs
from worlds import worlds

from poolkit.tables import DataError, listed, positions, runs_from

ODD_IDS = ("007", "7", "NA", "null", "nan", "1e5", "True", "-", "é", "e\u0301", "a b", "")


def table(rows):
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])


def ranked(found, system, query):
    rows = found.frame()
    return rows[(rows["system"] == system) & (rows["query_id"] == query)]["doc_id"].tolist()


def test_scores_descend_and_ties_go_by_id_descending():
    found = runs_from(
        {"a": table([("q", "d1", 1.0), ("q", "d3", 2.0), ("q", "d9", 1.0), ("q", "d10", 1.0)])}, ["q"]
    )
    assert ranked(found, "a", "q") == ["d3", "d9", "d10", "d1"]
    # A place is tied when the one below has its score.
    assert found.tied[0, 0].tolist() == [False, True, True, False]


def test_scores_are_compared_as_32_bit_floats():
    near = 0.1 + 1e-10  # one 32-bit float with 0.1
    assert np.float32(near) == np.float32(0.1)
    found = runs_from({"a": table([("q", "d1", near), ("q", "d2", 0.1)])}, ["q"])
    assert ranked(found, "a", "q") == ["d2", "d1"]


def test_ids_are_ordered_by_their_bytes():
    # UTF-8 puts "é" after every ASCII letter, and "9" after "10".
    found = runs_from({"a": table([("q", d, 0.0) for d in ("z", "é", "Z", "9", "10")])}, ["q"])
    assert ranked(found, "a", "q") == ["é", "z", "Z", "9", "10"]


def test_order_by_rank_trusts_the_rank_column():
    rows = pd.DataFrame(
        {"query_id": ["q"] * 3, "doc_id": ["x", "y", "z"], "rank": [2, 1, 3], "score": [9.0, 1.0, 5.0]}
    )
    assert ranked(runs_from({"a": rows}, ["q"], order="rank"), "a", "q") == ["y", "x", "z"]
    assert ranked(runs_from({"a": rows}, ["q"]), "a", "q") == ["x", "z", "y"]


def test_ids_stay_strings_to_the_byte():
    found = runs_from({"a": table([("q", d, float(-i)) for i, d in enumerate(ODD_IDS)])}, ["q"])
    assert ranked(found, "a", "q") == list(ODD_IDS)
    assert sorted(found.documents, key=str.encode) == list(found.documents)


def test_toy_runs_hold_every_ranking():
    found = runs()
    assert found.systems == tuple(RANKINGS)
    assert found.queries == QUERIES
    # q1 holds d1..d4, q2 d1, d3, d4, d5.
    assert found.n_items == 8
    assert found.returned.tolist() == [[3, 2], [2, 3], [3, 0]]
    assert {s: {q: ranked(found, s, q) for q in r} for s, r in RANKINGS.items()} == RANKINGS
    assert found.pairs(np.array([0, 7])).to_numpy().tolist() == [["q1", "d1"], ["q2", "d5"]]


def test_a_frame_is_cut_at_the_cutoff_and_scored_by_rank():
    rows = runs().frame(2)
    assert rows["rank"].max() == 2
    assert (rows["score"] == -rows["rank"]).all()
    assert len(rows) == 10


def test_arrow_tables_and_data_frames_give_the_same_runs():
    tables = {s: run_table(r) for s, r in RANKINGS.items()}
    arrow = {s: pa.Table.from_pandas(t, preserve_index=False) for s, t in tables.items()}
    assert np.array_equal(runs_from(arrow, QUERIES).item, runs_from(tables, QUERIES).item)


def test_rows_of_unknown_queries_are_left_out_and_counted():
    found = runs_from({"a": table([("q", "d1", 1.0), ("p", "d1", 1.0), ("p", "d2", 0.0)])}, ["q"])
    assert found.strays == 2
    assert found.n_items == 1


def test_queries_that_only_some_runs_answer():
    found = runs_from({"a": table([("q1", "d", 1.0)]), "b": table([("q2", "d", 1.0)])}, ["q1", "q2", "q3"])
    assert found.returned.tolist() == [[1, 0, 0], [0, 1, 0]]


def test_more_than_126_systems():
    many = {f"s{i}": table([("q", f"d{i}", 1.0), ("q", "d", 0.5)]) for i in range(300)}
    found = runs_from(many, ["q"])
    assert found.n_items == 301
    assert ranked(found, "s299", "q") == ["d299", "d"]


def test_selected_systems_keep_items():
    found = runs()
    part = found.select(["hybrid", "bm25"])
    assert part.systems == ("hybrid", "bm25")
    assert np.array_equal(part.item, found.item[[2, 0]])
    assert part.n_items == found.n_items


@given(worlds())
@settings(max_examples=20, deadline=None)
def test_the_order_of_rows_changes_nothing(world):
    found, _, tables = world
    shuffled = {s: t.sample(frac=1, random_state=3) for s, t in tables.items()}
    again = runs_from(shuffled, found.queries)
    assert np.array_equal(again.item, found.item)
    assert np.array_equal(again.tied, found.tied)


@given(worlds())
@settings(max_examples=20, deadline=None)
def test_the_order_equals_a_plain_sort(world):
    found, _, tables = world
    for system, rows in tables.items():
        for query in found.queries:
            here = rows[rows["query_id"] == query]
            keyed = [
                (np.float32(x), d.encode(), d) for d, x in zip(here["doc_id"], here["score"], strict=True)
            ]
            assert ranked(found, system, query) == [d for _, _, d in sorted(keyed, reverse=True)]


@given(worlds())
@settings(max_examples=20, deadline=None)
def test_items_ascend_by_query_then_document_and_each_is_returned(world):
    found = world[0]
    keys = list(zip(found.query_of.tolist(), found.document_of.tolist(), strict=True))
    assert keys == sorted(set(keys))
    returned = np.unique(found.item[found.item < found.n_items])
    assert np.array_equal(returned, np.arange(found.n_items))


# ---- refusals


def test_a_document_twice_in_a_query_is_refused():
    rows = table([("q", "d", 1.0), ("q", "d", 0.5)])
    with pytest.raises(DataError, match=r"run a: query q ranks document d twice\. Keep one\."):
        runs_from({"a": rows}, ["q"])


def test_a_score_that_is_not_a_number_is_refused():
    with pytest.raises(DataError, match=r"run b: query q has a score that is not a number \(NaN\)"):
        runs_from({"a": table([("q", "d", 1.0)]), "b": table([("q", "d", float("nan"))])}, ["q"])


def test_runs_that_match_no_query_are_refused():
    said = "no query of the runs is among the 2 queries: runs say 1, queries say q1, q2. Check that both name"
    with pytest.raises(DataError, match=said):
        runs_from({"a": table([("1", "d", 1.0)])}, ["q1", "q2"])


def test_no_runs_are_refused():
    with pytest.raises(DataError, match="no runs: at least one system is needed"):
        runs_from({}, ["q"])


def test_an_unknown_system_is_refused_by_name():
    with pytest.raises(ValueError, match=r"unknown system: splade\. Known: bm25, dense, hybrid\."):
        runs().select(["splade"])


def test_positions_and_lists():
    assert positions(["c", "a"], ["a", "b", "c"], what="label").tolist() == [2, 0]
    assert listed([]) == ""
    assert listed("abc") == "a, b, c"
    assert listed("abcde") == "a, b, c and 2 more"


# ---- real runs


def test_dl21_has_the_known_pool_and_ties(dl21):
    found, _, _ = dl21
    assert len(found.systems) == 63
    assert len(found.queries) == 53
    assert found.item.shape == (63, 53, 100)
    assert len(np.unique(found.item[:, :, :10][found.item[:, :, :10] < found.n_items])) == 7447


@pytest.mark.parametrize("rank", [float("nan"), float("inf")])
def test_a_rank_that_is_no_number_is_refused(rank):
    rows = pd.DataFrame({"query_id": ["q"], "doc_id": ["x"], "rank": [rank], "score": [1.0]})
    with pytest.raises(DataError, match="run a: query q has a rank that is not a number"):
        runs_from({"a": rows}, ["q"], order="rank")
