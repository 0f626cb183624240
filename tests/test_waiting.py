"""Batches that wait, on disk."""

import pytest

from poolkit.tables import DataError
from poolkit.waiting import waiting_of

ROWS = [{"record": {"key": "k", "query_id": "q\u00e9"}, "usd": 0.5}, {"record": {"key": "l"}, "usd": 0.0}]


def test_written_noted_and_forgotten(tmp_path):
    book = waiting_of(tmp_path / "judge")
    assert book.names() == []
    book.write("b", ROWS)
    book.write("a", ROWS[:1])
    assert book.names() == ["a", "b"]
    assert book.rows("b") == ROWS
    assert book.batch_of("b") == ""
    book.note("b", "batch_7")
    assert waiting_of(tmp_path / "judge").batch_of("b") == "batch_7"
    book.forget("b")
    book.forget("b")
    assert book.names() == ["a"]
    assert sorted(p.name for p in book.folder.iterdir()) == ["a.jsonl"]


def test_a_crash_while_writing_leaves_nothing_half(tmp_path, monkeypatch):
    book = waiting_of(tmp_path)

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        book.write("b", ROWS)
    assert book.names() == []


def test_a_damaged_memory_is_not_thrown_away(tmp_path):
    book = waiting_of(tmp_path)
    book.write("b", ROWS)
    (book.folder / "b.jsonl").write_text('{"record": {"key"')
    with pytest.raises(DataError, match=r"b\.jsonl: the memory of a batch is damaged"):
        book.rows("b")
    assert book.names() == ["b"]
