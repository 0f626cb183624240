"""Vectors by key in a file that only grows: what was embedded once is never embedded again."""

import fcntl
import os
import re
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Self
from zlib import crc32

import numpy as np

from poolkit.tables import DataError

MAGIC = b"poolkit2"
HEAD, KEY, CHECK = 16, 32, 4  # bytes
BLOCK = 4096  # records read at once
PATIENCE = 1.0  # seconds to wait for another process before it is said


class Shelf:
    """Vectors of one model at one length; open it with ``with``, one process at a time.

    A file is a head (magic, length of the vectors) and then records of a key, a vector and their CRC-32,
    appended whole and synced. A record that a crash cut short is dropped at the next opening; one that does
    not fit its checksum counts as absent, so its vector is made again.

    Parameters
    ----------
    folder : Path
    name : str
        Whose vectors: model and dimensions.
    told : callable, optional
        Hears when another process has to be waited for.

    Attributes
    ----------
    size : int
        Length of the vectors; 0 until the first are put.
    rows : dict of bytes to int
        Where each key's vector stands.
    damaged : int
        Records that do not fit their checksum.
    """

    def __init__(self, folder: Path, name: str, told: Callable[[str], None] = lambda said: None) -> None:
        slug = re.sub(r"[^\w.=-]+", "-", name)[:80]
        self.path = folder / f"{slug}-{sha256(name.encode()).hexdigest()[:8]}.vectors"
        self.told = told
        self._forget()

    def _forget(self) -> None:
        self.size, self.rows, self.damaged = 0, dict[bytes, int](), 0
        self._known, self._inode = 0, 0  # records read, and of which file

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._lock()
            self._open()
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def _lock(self) -> None:
        """Be the only one; who waits for longer than a moment says so."""
        for _ in range(20):
            try:
                return fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(PATIENCE / 20)
        self.told(f"{self.path.name}: another process is making vectors for it; waiting for it to end")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def _open(self) -> None:
        """Read the records that are new since the last opening; cut what a crash left half-written."""
        head, file = os.pread(self._file, HEAD, 0), os.fstat(self._file)
        if file.st_size < HEAD:
            self._forget()
            self._inode = file.st_ino
            os.ftruncate(self._file, 0)
            return
        if head[:8] != MAGIC or not 0 < (size := int.from_bytes(head[8:], "little")) < 2**20:
            raise DataError(f"{self.path}: is no cache of vectors. Delete it; they are made anew.")
        n = (file.st_size - HEAD) // (KEY + 4 * size + CHECK)
        if file.st_ino != self._inode or size != self.size or n < self._known:  # another file than before
            self._forget()
        self.size, self._inode = size, file.st_ino
        for at in range(self._known, n, BLOCK):
            self._read(at, min(BLOCK, n - at))
        if self.damaged and not self.rows:
            raise DataError(
                f"{self.path}: is damaged, none of its {n:,} vectors is whole. Delete it; they are made anew, "
                "and paid for again where an endpoint makes them."
            )
        self._known = n
        os.ftruncate(self._file, HEAD + n * self._record.itemsize)

    def _read(self, at: int, count: int) -> None:
        """Note where the whole ones among some records stand."""
        step = self._record.itemsize
        data = memoryview(os.pread(self._file, count * step, HEAD + at * step))
        for row in range(count):
            record = data[row * step : (row + 1) * step]
            if crc32(record[:-CHECK]) == int.from_bytes(record[-CHECK:], "little"):
                self.rows[bytes(record[:KEY])] = at + row
            else:
                self.damaged += 1

    @property
    def _record(self) -> np.dtype:
        return np.dtype([("key", f"V{KEY}"), ("vector", "<f4", (self.size,)), ("check", "<u4")])

    def _records(self) -> np.ndarray:
        return np.memmap(self.path, self._record, "r", HEAD)

    def put(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Make vectors durable before returning: all of them, or on an error none.

        Parameters
        ----------
        keys : sequence of bytes
            32 bytes each.
        vectors : ndarray of float32, shape (keys, size)
        """
        with np.errstate(over="ignore"):  # what is too large for 32 bits is refused as infinite
            vectors = np.asarray(vectors, np.float32)
        if (
            vectors.ndim != 2
            or len(vectors) != len(keys)
            or vectors.shape[1] != (self.size or vectors.shape[1])
        ):
            wanted = f"{len(keys)} x {self.size or 'any length'}"
            raise DataError(
                f"{self.path.name}: vectors of the shape {vectors.shape} where {wanted} is expected"
            )
        if not np.isfinite(vectors).all():
            raise DataError(f"{self.path.name}: a vector holds NaN or infinity")
        start = os.lseek(self._file, 0, os.SEEK_END)
        self.size = vectors.shape[1]
        records = np.empty(len(keys), self._record)
        records["key"], records["vector"] = np.frombuffer(b"".join(keys), f"V{KEY}"), vectors
        records["check"] = [crc32(r.tobytes()[:-CHECK]) for r in records]
        head = b"" if start else MAGIC + self.size.to_bytes(8, "little")
        left = memoryview(head + records.tobytes())
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, start)
            raise
        self.rows.update(zip(keys, range(self._known, self._known + len(keys)), strict=True))
        self._known += len(keys)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Vectors of these rows as float32, shape (rows, size); the file need not be open."""
        return np.asarray(self._records()["vector"][rows])
