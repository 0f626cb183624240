"""Copies of loaded files: found while nothing changed, and never else."""

import pyarrow as pa
import pytest

from poolkit import cache

TABLE = pa.table({"a": ["x", "y"], "b": [1, None]})


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("POOLKIT_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "SMALL", 0)
    path = tmp_path / "a.run"
    path.write_text("one")
    return path


def test_a_copy_is_found_until_a_byte_a_name_or_a_fact_changes(source):
    key = cache.key_of("runs", [source], "score")
    assert cache.kept(key) is None
    cache.keep(key, TABLE)
    assert cache.kept(cache.key_of("runs", [source], "score")).equals(TABLE)
    assert cache.kept(cache.key_of("runs", [source], "rank")) is None
    assert cache.kept(cache.key_of("qrels", [source], "score")) is None
    renamed = source.rename(source.with_name("b.run"))
    assert cache.kept(cache.key_of("runs", [renamed], "score")) is None
    renamed.rename(source).write_text("two")
    assert cache.kept(cache.key_of("runs", [source], "score")) is None
    source.write_text("one")  # content counts, not the time of writing
    assert cache.kept(cache.key_of("runs", [source], "score")).equals(TABLE)


def test_a_newer_copy_replaces_the_older_one(source):
    for text in ("one", "two"):
        source.write_text(text)
        cache.keep(cache.key_of("runs", [source]), TABLE)
    assert len(list(cache.cache_folder().iterdir())) == 1


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"", lambda b: b[:50] + b"\0" + b[51:]])
def test_a_damaged_copy_is_no_copy(source, damage):
    key = cache.key_of("runs", [source])
    cache.keep(key, TABLE)
    (path,) = cache.cache_folder().iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert cache.kept(key) is None


def test_nowhere_to_keep_is_no_error(source, monkeypatch):
    key = cache.key_of("runs", [source])
    monkeypatch.setenv("POOLKIT_CACHE", str(source / "below-a-file"))
    cache.keep(key, TABLE)
    assert cache.kept(key) is None
    monkeypatch.setenv("POOLKIT_CACHE", "")
    assert cache.key_of("runs", [source]) is None


def test_what_cannot_be_kept_leaves_nothing_behind(source, monkeypatch):
    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(cache.os, "replace", full)
    cache.keep(cache.key_of("runs", [source]), TABLE)
    assert list(cache.cache_folder().iterdir()) == []


def test_beside_the_reports_of_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.delenv("POOLKIT_CACHE")
    monkeypatch.chdir(tmp_path)
    assert cache.cache_folder() is None
    (tmp_path / "reports").mkdir()
    assert str(cache.cache_folder()) == "reports/.cache"


def test_small_files_are_parsed(source, monkeypatch):
    monkeypatch.setattr(cache, "SMALL", 4)
    assert cache.key_of("runs", [source]) is None
