"""Judgments on file: strict reading, which count."""

import json
import time

import pandas as pd
import pytest

from poolkit import records as rc
from poolkit.records import newest, no_records, read_judgments, read_records
from poolkit.tables import DataError

PLAIN = {"query_id": "q1", "doc_id": "d1", "relevance": 1}


def written(tmp_path, *rows, end="\n"):
    path = tmp_path / "j.jsonl"
    path.write_text(
        "\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows) + end, encoding="utf-8"
    )
    return path


def test_little_is_needed(tmp_path):
    read = read_judgments(
        written(tmp_path, PLAIN, {**PLAIN, "doc_id": "d2", "relevance": None, "status": "refused"})
    )
    assert read["relevance"].tolist() == [1, pd.NA]
    assert read["status"].tolist() == ["ok", "refused"]
    assert read["replicate"].tolist() == [0, 0]
    assert list(read.columns) == list(no_records().columns)


def test_ids_are_text_to_the_byte(tmp_path):
    ids = ["007", "NA", "null", "nan", "1e5", "True", "-", "é ü", "a b", " x"]
    read = read_judgments(written(tmp_path, *({**PLAIN, "doc_id": i} for i in ids)))
    assert read["doc_id"].tolist() == ids


def test_whole_numbers_written_as_decimals_count(tmp_path):
    read = read_judgments(written(tmp_path, {**PLAIN, "relevance": 2.0}, "", {**PLAIN, "doc_id": "d2"}))
    assert read["relevance"].tolist() == [2, 1]


def test_empty_and_missing_files(tmp_path):
    assert read_records(written(tmp_path, "")).empty
    with pytest.raises(DataError, match=r"none\.jsonl: cannot be read: No such file"):
        read_records(tmp_path / "none.jsonl")


def test_a_torn_last_line_is_left_out_with_a_warning(tmp_path):
    path = written(tmp_path, PLAIN, '{"query_id": "q1", "doc', end="")
    with pytest.warns(UserWarning, match=r"j\.jsonl, line 2: the last line is cut off and left out"):
        assert len(read_records(path)) == 1
    assert len(read_records(written(tmp_path, PLAIN, {**PLAIN, "doc_id": "d2"}, end=""))) == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{bad", r"line 2: not JSON: '\{bad'. Mend or delete it."),
        ("[1]", r"line 2: not an object: '\[1\]'"),
        ({**PLAIN, "query_id": 7}, "line 2: query_id is 7; it must be text in quotes"),
        ({**PLAIN, "relevance": 1.5}, "line 2: relevance is 1.5; it must be a whole number or null"),
        ({**PLAIN, "relevance": True}, "line 2: relevance is True; it must be a whole number or null"),
        ({**PLAIN, "usd": "much"}, "line 2: usd is 'much'; it must be a number or null"),
        ({**PLAIN, "doc_id": ""}, "line 2: doc_id is missing"),
        ({"query_id": "q1", "relevance": 1}, "line 2: doc_id is missing"),
        ({"query_id": "q1", "doc_id": "d"}, "line 2: neither a relevance nor a status"),
        ({**PLAIN, "status": "fine"}, "line 2: unknown status; known are ok, unreadable, out of scale"),
        ({**PLAIN, "relevance": None, "status": "ok"}, "line 2: status is 'ok' but relevance is null"),
        ({**PLAIN, "status": "refused"}, "line 2: a failed judgment has a relevance"),
        ({**PLAIN, "replicate": -1}, "line 2: replicate is negative"),
        *(
            ({**PLAIN, name: -1}, f"line 2: {name} is negative")
            for name in ("calls", "usd", "tokens_in", "tokens_cached", "tokens_out")
        ),
        *(
            (
                {**PLAIN, name: n},
                f"line 2: {name} is {str(n)[:9]}.*; it must be a whole number or null, below",
            )
            for name in ("relevance", "tokens_in", "calls", "replicate", "schema")
            for n in (2**63, 10**30, -(10**400))
        ),
        ({**PLAIN, "usd": 10**400}, "line 2: usd is inf"),
        ('{"query_id": "q", "doc_id": "d", "relevance": 1, "usd": 1e999}', "line 2: usd is inf"),
        ('{"query_id": "q", "doc_id": "d", "relevance": NaN}', "line 2: relevance is nan"),
        ("[" * 100_000, "line 2: not JSON"),
        ('{"query_id": "q", "doc_id": "d\\ud800", "relevance": 1}', "line 2: doc_id holds half a character"),
        (
            {**PLAIN, "thought": "\udfff"},
            "line 2: thought holds half a character .a lone surrogate.. Mend or",
        ),
        ({**PLAIN, "schema": 2}, "line 2: written by a newer poolkit; this one knows schema 1"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path, row, message):
    with pytest.raises(DataError, match=rf"^j\.jsonl, {message}"):
        read_records(written(tmp_path, PLAIN, row, PLAIN))


def test_one_key_has_one_grade(tmp_path):
    rows = [{**PLAIN, "key": "k"}, {**PLAIN, "key": "other"}, {**PLAIN, "key": "k", "relevance": 2}]
    with pytest.raises(DataError, match=r"j\.jsonl, line 1, 3: one key with different grades. Keep one"):
        read_records(written(tmp_path, *rows))


def row(key, time, relevance=None, *, doc_id="d1", replicate=0):
    status = "refused" if relevance is None else "ok"
    return {"query_id": "q1", "doc_id": doc_id, "relevance": relevance, "status": status, "key": key,
            "time": time, "replicate": replicate}  # fmt: skip


def test_the_newest_counts(tmp_path):
    rows = [
        row("a", "2026-01-03", 2),
        row("b", "2026-01-01", 1),
        row("c", "2026-01-01", 0, doc_id="d2"),
        row("c", "2026-01-02", doc_id="d2"),  # failed when asked again: the grade stays
        row("x", "2026-01-01", 1, doc_id="d3"),
        row("y", "2026-01-02", doc_id="d3"),  # another prompt, and it failed: the old grade is not its
        row("z", "2026-01-09", 1, replicate=1),
    ]
    read = read_judgments(written(tmp_path, *rows))
    assert read[["doc_id", "replicate", "key", "status"]].to_numpy().tolist() == [
        ["d1", 0, "a", "ok"],
        ["d2", 0, "c", "ok"],
        ["d3", 0, "y", "refused"],
        ["d1", 1, "z", "ok"],
    ]


def test_without_times_the_last_line_counts(tmp_path):
    read = read_judgments(written(tmp_path, PLAIN, {**PLAIN, "relevance": 0}))
    assert read["relevance"].tolist() == [0]
    assert newest(no_records()).empty


@pytest.mark.parametrize("size", [1, 50, 200, 10**6])
def test_blocks_of_any_size_read_alike(tmp_path, monkeypatch, size):
    rows = [{**PLAIN, "doc_id": f"d{i}", "thought": "é" * (i * 7)} for i in range(30)]
    for end in ("", "\n"):
        path = written(tmp_path, *rows, end=end)
        whole = read_records(path)
        monkeypatch.setattr(rc, "BLOCK", size)
        pd.testing.assert_frame_equal(read_records(path), whole)
        torn = written(tmp_path, *rows, '{"query_id": "q1", "doc', end="")
        with pytest.warns(UserWarning, match=r"j\.jsonl, line 31: the last line is cut off"):
            pd.testing.assert_frame_equal(read_records(torn), whole)
        monkeypatch.undo()


def test_reading_is_fast(tmp_path):
    text = "It names the date and the amount. " * 4
    lines = (json.dumps({**PLAIN, "doc_id": f"d{i}", "thought": text, "key": f"k{i}"}) for i in range(50_000))
    path = written(tmp_path, *lines)
    start = time.perf_counter()
    assert len(read_judgments(path)) == 50_000
    assert time.perf_counter() - start < 3


def test_the_largest_numbers_that_fit_are_read(tmp_path):
    big = 2**63 - 1
    read = read_records(written(tmp_path, "", {**PLAIN, "tokens_in": big, "relevance": -(2**63)}))
    assert (read["tokens_in"].item(), read["relevance"].item()) == (big, -(2**63))


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path):
    path = tmp_path / "j.jsonl"
    row = json.dumps({**PLAIN, "thought": "X"}).encode()
    path.write_bytes(b"\xef\xbb\xbf" + row + b"\r\n")
    assert read_records(path)["thought"].tolist() == ["X"]
    path.write_bytes(row + b"\n" + row.replace(b"X", b"\xff\xfe") + b"\n" + row)
    with pytest.raises(DataError, match=r"^j\.jsonl, line 2: not UTF-8: "):
        read_records(path)
