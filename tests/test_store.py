"""What is paid for is kept, whatever happens."""

import hashlib
import json
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
import zlib

import diskcache
import pytest

from poolkit.records import FIELDS, copied, read_records
from poolkit.store import Store
from poolkit.tables import DataError


def record(key, relevance=1, **more):
    plain = dict.fromkeys(FIELDS) | {
        "schema": 1,
        "query_id": "q",
        "doc_id": f"d-{key}",
        "key": key,
        "calls": 1,
    }
    status = "refused" if relevance is None else "ok"
    return plain | {"relevance": relevance, "status": status, "replicate": 0, "time": f"t{key}", **more}


@pytest.fixture
def at(tmp_path):
    return tmp_path / "cache", tmp_path / "judgments" / "j.jsonl"


def keys(path):
    return read_records(path)["key"].tolist()


def test_records_are_in_both_and_stay(at):
    with Store(*at) as store:
        store.put([record("a"), record("b", None)])
        store.put([record("c")])
    with Store(*at) as store:
        assert store.records["key"].tolist() == ["a", "b", "c"]
        assert store.get("c")["relevance"] == 1
        assert store.get("none") is None
        assert store.recovered == 0
        for name, value in {"eviction_policy": "none", "cull_limit": 0, "size_limit": 2**62}.items():
            assert getattr(store._cache, name) == value
    assert stat.S_IMODE((at[0] / "j").stat().st_mode) == 0o700


def test_copies_cost_nothing_and_do_not_replace_the_original(at):
    with Store(*at) as store:
        store.put([record("a", tokens_in=500)])
        store.records = read_records(at[1])
        store.put([copied(dict(store.records.loc[0]), "q", "d2")])
        assert store.get("a")["doc_id"] == "d-a"
    assert read_records(at[1])["tokens_in"].tolist() == [500, 0]


def test_each_side_is_rebuilt_from_the_other(at):
    cache, path = at
    with Store(*at) as store:
        store.put([record("a"), record("b")])
    path.unlink()
    with Store(*at) as store:
        assert store.recovered == 2
    assert keys(path) == ["a", "b"]
    for file in (cache / "j").glob("cache.db*"):
        file.unlink()
    with Store(*at) as store:
        assert store.get("b") == record("b")
        assert store.recovered == 0


def test_a_grade_that_only_the_cache_has_is_recovered_over_a_failure(at):
    with Store(*at) as store:
        store.put([record("a", None)])
        store._cache["a"] = record("a", 2)  # killed between the two writes
    with Store(*at) as store:
        assert store.records["relevance"].dropna().tolist() == [2]


@pytest.mark.parametrize("torn", ['{"query_id": "q", "doc', '{"query_id": "q"}]', "\x00\x00\x00"])
def test_a_torn_line_is_set_aside_and_its_record_comes_back(at, torn):
    cache, path = at
    with Store(*at) as store:
        store.put([record("a"), record("b")])
    whole = path.read_text()
    path.write_text(whole.splitlines()[0] + "\n" + torn)
    with Store(*at) as store:
        assert store.recovered == 1
    assert keys(path) == ["a", "b"]
    assert torn in (cache / "j" / "torn.txt").read_text()


def test_a_last_line_without_its_newline_gets_one(at):
    with Store(*at) as store:
        store.put([record("a")])
    at[1].write_text(at[1].read_text().rstrip("\n"))
    with Store(*at) as store:
        store.put([record("b")])
    assert keys(at[1]) == ["a", "b"]


def test_a_long_torn_line(at):
    with Store(*at) as store:
        store.put([record("a")])
    with at[1].open("a") as file:
        file.write('{"thought": "' + "x" * 300_000)
    with Store(*at) as store:
        assert store.records["key"].tolist() == ["a"]


def test_pickles_in_the_cache_are_refused(at, tmp_path):
    bomb = pickle.dumps(Bomb(str(tmp_path / "boom")))
    with Store(*at) as store:
        store.put([record("a")])
    with sqlite3.connect(at[0] / "j" / "cache.db") as db:
        db.execute("UPDATE Cache SET mode = 4, value = ?", (bomb,))
    db.close()
    at[1].unlink()
    with pytest.raises(DataError, match="the cache holds a pickled value; delete its folder"), Store(*at):
        pass
    with sqlite3.connect(at[0] / "j" / "cache.db") as db:
        db.execute("UPDATE Cache SET raw = 0, key = ?", (bomb,))
    db.close()
    with pytest.raises(DataError, match="the cache holds a pickled key"), Store(*at):
        pass
    assert not (tmp_path / "boom").exists()


class Bomb:
    """A pickle that writes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_a_full_disk_leaves_no_half_line(at, monkeypatch):
    with Store(*at) as store:
        store.put([record("a")])
        write, full = os.write, []

        def half(file, data):
            if file != store._file:
                return write(file, data)
            if full:
                raise OSError(28, "No space left on device")
            full.append(1)
            return write(file, data[: len(data) // 2])

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(OSError, match="No space left"):
            store.put([record("b")])
        monkeypatch.undo()
    assert keys(at[1]) == ["a"]
    with Store(*at) as store:  # the cache has it
        assert store.recovered == 1
    assert keys(at[1]) == ["a", "b"]


def test_a_cache_that_cannot_be_written_leaves_the_file(at, monkeypatch):
    with Store(*at) as store:
        monkeypatch.setattr(store._cache, "transact", lambda retry: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.put([record("a")])
    assert keys(at[1]) == ["a"]


def test_a_second_process_waits_for_the_first(at):
    program = f"""
import sys; from pathlib import Path; from poolkit.store import Store
with Store(Path({str(at[0])!r}), Path({str(at[1])!r})) as store: print(len(store.records))
"""
    with Store(*at) as store:
        other = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert (
            other.stderr.readline() == "j.jsonl: another process is judging into it; waiting for it to end.\n"
        )
        store.put([record("a")])
    out, _ = other.communicate(timeout=20)
    assert out == "1\n"


def test_a_full_disk_holds_the_answers_that_were_bought(at, monkeypatch):
    """Room is held back; when it has to be given up, `full` says that no more should be bought."""
    write, cache, path = os.write, *at

    with Store(*at) as store:
        store.hold_back(10)

        def full(file, data):
            if file == store._file and (cache / "j" / "held-back").exists():
                raise OSError(28, "No space left on device")
            return write(file, data)

        monkeypatch.setattr(os, "write", full)
        store.put([record("a")])
        assert (
            store.full
            == f"{cache / 'j'}: [Errno 28] No space left on device; what was answered is in j.jsonl"
        )
        monkeypatch.setattr(store._cache, "set", lambda *_, **__: 1 / 0)  # what is left is for the file
        store.put([record("b")])
        monkeypatch.undo()
    assert keys(path) == ["a", "b"]
    with Store(*at) as store:
        assert (store.get("b")["doc_id"], store.full) == ("d-b", "")
        store.hold_back(10)
        assert (cache / "j" / "held-back").stat().st_size > 10 * 10_000
    assert not (cache / "j" / "held-back").exists()


def test_a_working_copy_that_is_full_leaves_the_file(at, monkeypatch):
    def full(retry):
        raise sqlite3.OperationalError("database or disk is full")

    with Store(*at) as store:
        monkeypatch.setattr(store._cache, "transact", full)
        store.put([record("a")])
        assert "database or disk is full" in store.full
        monkeypatch.undo()
    assert keys(at[1]) == ["a"]


def test_no_room_to_hold_back_is_said_before_anything_is_bought(at, monkeypatch):
    def full(file):
        raise OSError(28, "No space left on device")

    with Store(*at) as store:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(
            DataError, match=r"j: no room for answers \(No space left on device\)\. Free some disk"
        ):
            store.hold_back(10)
        monkeypatch.undo()
        assert not (at[0] / "j" / "held-back").exists()


def test_a_second_failure_that_only_the_cache_has_is_recovered(at):
    with Store(*at) as store:
        store.put([record("a", None)])
        store._cache["a"] = record("a", None, time="later")  # killed between the two writes
    for recovered in (1, 0):
        with Store(*at) as store:
            assert store.recovered == recovered
    assert read_records(at[1])["time"].tolist() == ["ta", "later"]


def test_more_than_the_cache_library_keeps_by_default(at, monkeypatch):
    """Its limit is 1 GiB, here 64 KiB: nothing may be evicted, by one big write or by many small ones."""
    monkeypatch.setitem(diskcache.core.DEFAULT_SETTINGS, "size_limit", 1 << 16)
    many = [record(f"k{i}", thought=hashlib.sha256(str(i).encode()).hexdigest() * 9) for i in range(2000)]
    with Store(*at) as store:
        store.put(many[:1500])
        for row in many[1500:]:
            store._cache[row["key"]] = row
        assert len(store._cache) == 2000
    with Store(*at) as store:
        assert len(store._cache) == len(store.records) == 2000


def test_notes_are_not_records(at):
    with Store(*at) as store:
        store.note("learnt x", ["no temperature"])
    with Store(*at) as store:
        assert store.note("learnt x") == ["no temperature"]
        assert store.records.empty


def test_the_cache_is_plain_json(at):
    with Store(*at) as store:
        store.put([record("a")])
    with sqlite3.connect(at[0] / "j" / "cache.db") as db:
        (value,) = db.execute("SELECT value FROM Cache").fetchone()
    db.close()
    assert json.loads(zlib.decompress(value)) == record("a")


@pytest.mark.parametrize("broken", [b"rubbish" * 1000, b"SQLite format 3\x00" + b"\xff" * 8000])
def test_a_broken_working_copy_is_set_aside_and_made_anew(at, broken):
    cache, path = at
    with Store(*at) as store:
        store.put([record("a"), record("b")])
    (cache / "j" / "cache.db").write_bytes(broken)
    warned = (
        r"j: the working copy is broken \(.*\)\. It is set aside in broken-\w+ and made anew from j\.jsonl"
    )
    store = Store(*at)
    with pytest.warns(UserWarning, match=warned):
        store.__enter__()
    store.put([record("c")])
    assert store.get("b") == record("b")
    store.__exit__()
    assert keys(path) == ["a", "b", "c"]
    assert [p.read_bytes() for p in (cache / "j").glob("broken-*/cache.db")] == [broken]
    with Store(*at) as store:
        assert store.get("c") == record("c")


def test_a_broken_remark_or_table_is_no_traceback(at):
    for damage in ("UPDATE Cache SET value = x'00'", "ALTER TABLE Cache RENAME COLUMN mode TO modes"):
        with Store(*at) as store:
            store.put([record(damage)])
            store.note("learnt x", ["no temperature"])
        with sqlite3.connect(at[0] / "j" / "cache.db") as db:
            db.execute(damage)
        db.close()
        with pytest.warns(UserWarning, match="the working copy is broken"), Store(*at) as store:
            assert store.get(damage) == record(damage)


def test_a_working_copy_that_cannot_be_opened_is_left_alone(at, monkeypatch):
    with Store(*at) as store:
        store.put([record("a")])

    def full(self):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(Store, "_settle", full)
    with (
        pytest.raises(DataError, match=r"j: the working copy cannot be opened: .*disk is full\. Free"),
        Store(*at),
    ):
        pass
    assert not list((at[0] / "j").glob("broken-*"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_file_in_another_encoding_is_no_torn_line_and_stays_as_it_is(at, encoding):
    at[1].parent.mkdir()
    at[1].write_bytes(json.dumps(record("a")).encode(encoding))
    before = at[1].read_bytes()
    with pytest.raises(DataError, match=r"^j\.jsonl: UTF-16.*, where UTF-8 is expected\. Save"), Store(*at):
        pass
    assert at[1].read_bytes() == before
    at[1].write_bytes(b"\0" * 40)  # what the crash of a machine can leave of an appended line
    with Store(*at) as store:
        assert store.records.empty
