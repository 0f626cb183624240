"""Locks, and names that last."""

import errno
import fcntl
import os

import pytest

from poolkit.disk import sync_folder
from poolkit.store import Store
from poolkit.tables import DataError
from poolkit.waiting import waiting_of


def test_a_share_without_locks_is_refused(tmp_path, monkeypatch):
    """As some network file systems are."""
    at = tmp_path / "cache", tmp_path / "judgments" / "j.jsonl"

    def none(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with (
        pytest.raises(DataError, match=r"j\.jsonl: no lock can be taken here \(No locks available\), so"),
        Store(*at),
    ):
        pass
    assert not at[1].exists()


def test_the_name_of_a_batch_is_on_disk_before_it_is_sent(tmp_path, monkeypatch):
    """The file, then its folder, which holds the name."""
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda at: synced.append(os.fstat(at).st_ino) or fsync(at))
    book = waiting_of(tmp_path)
    book.write("b", [{}])
    assert synced == [(book.folder / "b.jsonl").stat().st_ino, book.folder.stat().st_ino]
    sync_folder(tmp_path)
    assert synced[-1] == tmp_path.stat().st_ino
