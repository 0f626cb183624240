"""Replies by key, kept for ever: a JSONL file, the truth, and a diskcache, its crash-safe working copy.

Every judgment is one line of ``judgments/<judge>.jsonl``, appended and never changed (merging and sorting put a
new file in its place, whole). A batch of records
goes first into the cache (one transaction), then to the file (one write, one fsync); whatever moment the
process dies at, the next opening finds each record in at least one of them and writes it to the other. One
process at a time holds a judge's store; a second one waits.
"""

import io
import json
import os
import shutil
import sqlite3
import tempfile
import warnings
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import diskcache

from poolkit.disk import sync_folder, wait_for_lock
from poolkit.records import is_record, last_line, read_judgments, read_records
from poolkit.tables import DataError

__all__ = ["Store", "read_judgments", "read_records"]


ANSWER = 1 << 14  # bytes that hold an answer with room to spare
_BROKEN = (sqlite3.DatabaseError, zlib.error, json.JSONDecodeError, UnicodeDecodeError, KeyError)


class _Disk(diskcache.JSONDisk):
    """JSON only: a pickle that someone put into the cache is refused, not run."""

    def get(self, key: Any, raw: Any) -> Any:
        if not raw:
            raise DataError(
                "the cache holds a pickled key; delete its folder, the .jsonl file has every judgment"
            )
        return super().get(key, raw)

    def fetch(self, mode: int, filename: Any, value: Any, read: bool) -> Any:
        if mode == 4:  # diskcache.core.MODE_PICKLE
            raise DataError(
                "the cache holds a pickled value; delete its folder, the .jsonl file has every judgment"
            )
        return super().fetch(mode, filename, value, read)


class Store:
    """A judge's records: open it with ``with``; nobody else can while it is open.

    Parameters
    ----------
    cache_folder : Path
        Where working copies live; this judge's gets a folder of its own inside.
    judgments_path : Path
        ``judgments/<judge>.jsonl``.
    """

    def __init__(self, cache_folder: Path, judgments_path: Path):
        self.path = Path(judgments_path)
        self.folder = Path(cache_folder) / self.path.stem
        self._held_back = self.folder / "held-back"
        self.recovered = 0  # records that one side had lost
        self.full = ""  # why no more should be bought, though all that was put is on disk

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.chmod(0o700)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        wait_for_lock(self._lock, self.path)
        self._held_back.unlink(missing_ok=True)
        try:
            self._mend()
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            self.records = read_records(self.path)
            try:
                self._open()
            except _BROKEN as error:
                code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
                if code not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
                    raise DataError(  # the copy itself may be well
                        f"{self.folder}: the working copy cannot be opened: {error}. Free the disk, or keep the "
                        "collection on a local one. Nothing is lost."
                    ) from None
                self._set_aside(error)
                self._open()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._cache.close()
        self._held_back.unlink(missing_ok=True)
        if not os.fstat(self._file).st_size:
            self.path.unlink(missing_ok=True)  # no judgment, no judge
        os.close(self._file)
        os.close(self._lock)  # and with it the lock

    def put(self, records: Sequence[dict[str, Any]]) -> None:
        """Make records durable before returning; copies of known answers go to the file alone."""
        try:
            paid = [record for record in records if record["calls"] and not self.full]
            with self._cache.transact(retry=True):
                for record in paid:
                    self._cache[record["key"]] = record
        except (OSError, sqlite3.Error) as error:
            self._make_room(error)
        finally:  # one of the two is enough
            self._append(records)

    def hold_back(self, calls: int) -> None:
        """Keep room on the disk for the answers of so many calls in flight, should it fill up meanwhile."""
        try:
            with self._held_back.open("wb") as file:
                file.write(os.urandom(calls * ANSWER))  # zeros might take no room
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self._held_back.unlink(missing_ok=True)
            raise DataError(
                f"{self.folder}: no room for answers ({error.strerror}). Free some disk."
            ) from None

    def _make_room(self, error: Exception) -> None:
        """Give up what was held back; from now on there is the file alone."""
        self.full = self.full or f"{self.folder}: {error}; what was answered is in {self.path.name}"
        self._held_back.unlink(missing_ok=True)

    def get(self, key: str) -> dict[str, Any] | None:
        """The record of a key in the working copy, or None."""
        found = self._cache.get(key)
        return found if isinstance(found, dict) else None

    def note(self, name: str, value: object = None) -> Any:
        """A remark kept in the working copy, such as what an endpoint refuses; set when a value is given."""
        if value is not None:
            self._cache["note:" + name] = value
        return self._cache.get("note:" + name)

    def release(self) -> None:
        """Close what this thread has open."""
        self._cache.close()

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Put these lines in the place of the file's: all of them or, whatever happens, none."""
        path = self.path.resolve()  # a link stays one
        beside = path.with_name(f".{path.name}.new")
        beside.unlink(missing_ok=True)  # never through a link
        with beside.open("xb") as file:
            file.writelines(line + b"\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(path, beside)
        beside.replace(path)
        sync_folder(path.parent)
        os.close(self._file)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        self.records = read_records(self.path)
        self._settle()

    def _append(self, records: Sequence[dict[str, Any]]) -> None:
        """Lines at the end of the file: all of them, or on an error none."""
        start = os.lseek(self._file, 0, os.SEEK_END)
        left = memoryview("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode())
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, start)
            if self.full:
                raise
            self._make_room(error)
            self._append(records)

    def _mend(self) -> None:
        """End the last line where a crash cut it; a torn line is set aside, its record is in the cache."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as file:
            tail, start = last_line(file)
            if not tail:
                return
            if is_record(tail):
                file.seek(0, io.SEEK_END)
                file.write(b"\n")
            else:
                with (self.folder / "torn.txt").open("ab") as aside:
                    aside.write(tail + b"\n")
                file.truncate(start)

    def _open(self) -> None:
        """Open the working copy, and let both sides have the same."""
        self._cache = diskcache.Cache(
            str(self.folder),
            disk=_Disk,
            eviction_policy="none",
            cull_limit=0,
            size_limit=2**62,
            statistics=0,
        )
        self._settle()

    def _set_aside(self, error: Exception) -> None:
        """Move a broken working copy out of the way: the .jsonl file has every judgment."""
        with suppress(AttributeError, sqlite3.Error):
            self._cache.close()
        aside = Path(tempfile.mkdtemp(prefix="broken-", dir=self.folder))
        for path in self.folder.iterdir():
            if path.name not in ("lock", "torn.txt", "batches") and not path.name.startswith("broken-"):
                shutil.move(path, aside / path.name)
        warnings.warn(
            f"{self.folder}: the working copy is broken ({error}). It is set aside in {aside.name} and made "
            f"anew from {self.path.name}.",
            stacklevel=3,
        )

    def _settle(self) -> None:
        """Write to each side what only the other has."""
        in_file = set(self.records["key"].dropna())
        graded = set(self.records.loc[self.records["status"].eq("ok"), "key"].dropna())
        names = set(self._cache)
        in_cache = {name for name in names if not name.startswith("note:")}
        for name in names - in_cache:
            self._cache.get(name)  # is it whole
        lost = [self._cache[key] for key in in_cache - graded]
        failed = self.records[self.records["status"].ne("ok")]
        there = set(zip(failed["key"], failed["time"], strict=True))  # a second failure was paid for too
        lost = [r for r in lost if r["status"] == "ok" or (r["key"], r["time"]) not in there]
        if lost:
            self._append(sorted(lost, key=lambda record: str(record["time"])))
            self.records = read_records(self.path)
        if missing := in_file - in_cache:
            rows = self.records[self.records["key"].isin(missing)]
            rows = rows.assign(_ok=rows["status"].eq("ok")).sort_values(["_ok", "calls"], kind="stable")
            kept = rows.drop_duplicates("key", keep="last").drop(columns="_ok")
            records = json.loads(kept.to_json(orient="records"))
            for at in range(0, len(records), 1000):
                with self._cache.transact(retry=True):
                    for record in records[at : at + 1000]:
                        self._cache[record["key"]] = record
        self.recovered = len(lost)
