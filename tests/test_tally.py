"""What judging cost and where it failed, by hand on the toy world."""

import json

import numpy as np
import pandas as pd
import pytest
import toy

from poolkit import tally
from poolkit.collection import read_collection
from poolkit.pool import pool
from poolkit.records import copied, no_records, read_records

PAID = {"calls": 1, "tokens_in": 500, "tokens_cached": 100, "tokens_out": 20, "model": "m", "usd": 0.5}
ROW = {"query_id": "q1", "doc_id": "d1", "relevance": 1}


@pytest.fixture
def folder(tmp_path):
    return toy.toy_folder(tmp_path / "toy")


def add(folder, *rows):
    with (folder / "judgments" / "robot.jsonl").open("a") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def opened(folder):
    """Pool, every line of robot's file, those that count."""
    found = read_collection(folder)
    return pool(found.runs, depth=3), found.records["robot"], found.judgments["robot"]


def test_the_ledger_counts_what_was_paid(tmp_path):
    rows = [
        {**ROW, **PAID, "time": "2026-01-01T10:00:00Z"},
        {**ROW, **PAID, "calls": 2, "usd": None, "time": "2026-01-01T11:00:00Z"},
        {**ROW, **PAID, "time": "2026-01-02T10:00:00Z"},
    ]
    toy.write_lines(tmp_path / "j.jsonl", map(json.dumps, rows))
    records = read_records(tmp_path / "j.jsonl")
    free = pd.DataFrame([copied(dict(records.loc[0]), "q9", "d9")]).astype(records.dtypes)
    found = tally.ledger(pd.concat([records, free.assign(time="2026-01-02T12:00:00Z")], ignore_index=True))
    first, second = found.to_dict("records")
    assert np.isnan(first.pop("usd"))  # one of two prices is unknown, so the sum is
    assert first == {
        "model": "m", "day": "2026-01-01", "judgments": 2, "calls": 3, "tokens_in": 1000, "tokens_cached": 200,
        "tokens_out": 40, "unpriced": 1,
    }  # fmt: skip
    assert second == {
        "model": "m", "day": "2026-01-02", "judgments": 2, "calls": 1, "tokens_in": 500, "tokens_cached": 100,
        "tokens_out": 20, "usd": 0.5, "unpriced": 0,
    }  # fmt: skip
    assert tally.ledger(no_records()).empty


def test_in_all_and_the_mean_of_a_grade(folder):
    _, records, judgments = opened(folder)
    # 7 grades, a failure, 7 repeats: 15 calls at $0.001 for 14 grades
    assert tally.spent(records, judgments) == {
        "calls": 15, "tokens_in": 1500, "tokens_cached": 0, "tokens_out": 150,
        "usd": pytest.approx(0.015), "usd_per_grade": pytest.approx(0.015 / 14),
    }  # fmt: skip
    add(folder, toy.judgment("q1", "d4", 1, replicate=2, usd=None))
    _, records, judgments = opened(folder)
    found = tally.spent(records, judgments)
    assert (found["calls"], found["usd"], found["usd_per_grade"]) == (16, None, None)
    nothing = tally.spent(no_records(), no_records())
    assert (nothing["usd"], nothing["usd_per_grade"]) == (0.0, None)


def test_each_system_pays_for_what_it_alone_brought(folder):
    add(folder, toy.judgment("q2", "d2", 1), toy.judgment("q9", "d1", None, status="refused"))
    table = tally.by_system(*opened(folder))
    # bm25 brings q1 d1 d2 d3, q2 d3 d5; dense adds q1 d4 (failed), q2 d1 d4; hybrid nothing.
    # q2 d2 was returned by nobody, q9 is no query; 7 were judged again.
    assert table.index.tolist() == ["bm25", "dense", "hybrid", "(in no pool)", "(judged again)"]
    assert table["new"].tolist()[:3] == [5, 3, 0]
    assert table["reuse"].tolist()[:3] == pytest.approx([0, 1 - 8 / 10, 1 - 8 / 13])
    assert table["judged"].tolist() == [5, 2, 0, 1, 7]
    assert table["failed"].tolist() == [0, 1, 0, 1, 0]
    assert table["calls"].tolist() == [5, 3, 0, 2, 7]
    assert table["tokens_in"].tolist() == [500, 300, 0, 200, 700]
    assert table["usd"].tolist() == pytest.approx([0.005, 0.003, 0, 0.002, 0.007])


def test_rows_add_up_to_the_ledger_and_unknown_stays_unknown(folder):
    add(folder, toy.judgment("q1", "d4", 1, usd=None, time="2026-01-02T00:00:00Z"))  # asked again: dense's
    made, records, judgments = opened(folder)
    systems, days = tally.by_system(made, records, judgments), tally.ledger(records)
    for name in ("calls", "tokens_in", "tokens_cached", "tokens_out"):
        assert systems[name].sum() == days[name].sum() == records[name].sum()
    assert systems["usd"].isna().to_dict() == {
        "bm25": False,
        "dense": True,
        "hybrid": False,
        "(judged again)": False,
    }
    assert systems.loc["dense", ["judged", "failed", "calls"]].tolist() == [3, 0, 4]


def test_failures_count_for_every_system_that_has_them(folder):
    add(folder, toy.judgment("q2", "d5", None, status="refused", key="new", time="2026-02-01"))
    found = read_collection(folder)
    by = tally.failed_by(pool(found.runs, depth=3), found.labels["robot"].failed)
    # q1 d4 is dense's and hybrid's, q2 d5 bm25's and dense's
    assert by["kind"].to_dict() == {"unreadable": 1, "refused": 1}
    assert by["system"].to_dict() == {"dense": 2, "bm25": 1, "hybrid": 1}
    assert by["query"].to_dict() == {"q1": 1, "q2": 1}
    # At depth 2: q1 d4 is dense's alone
    assert tally.failed_by(pool(found.runs, depth=2), found.labels["robot"].failed)["system"].to_dict() == {
        "dense": 2, "bm25": 1,
    }  # fmt: skip
