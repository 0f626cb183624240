"""Vectors by key in a file that only grows: what was embedded once is never embedded again."""

import fcntl
import os
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Self

import numpy as np

from poolkit.tables import DataError

MAGIC = b"poolkit1"
HEAD, KEY = 16, 32  # bytes


class Shelf:
    """Vectors of one model at one length; open it with ``with``, one process at a time.

    A file is a head (magic, length of the vectors) and then records of a key and a vector, appended whole
    and synced. A record that a crash cut short is dropped at the next opening.

    Parameters
    ----------
    folder : Path
    name : str
        Whose vectors: model and dimensions.

    Attributes
    ----------
    size : int
        Length of the vectors; 0 until the first are put.
    rows : dict of bytes to int
        Where each key's vector stands.
    """

    def __init__(self, folder: Path, name: str) -> None:
        slug = re.sub(r"[^\w.=-]+", "-", name)[:80]
        self.path = folder / f"{slug}-{sha256(name.encode()).hexdigest()[:8]}.vectors"
        self.size, self.rows = 0, dict[bytes, int]()

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self._open()
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def _open(self) -> None:
        """Read the keys; cut what a crash left half-written."""
        head, length = os.pread(self._file, HEAD, 0), os.fstat(self._file).st_size
        if length < HEAD:
            os.ftruncate(self._file, 0)
            return
        self.size = int.from_bytes(head[8:], "little")
        if head[:8] != MAGIC or not 0 < self.size < 2**20:
            raise DataError(f"{self.path}: is no cache of vectors. Delete it; they are made anew.")
        os.ftruncate(self._file, length - (length - HEAD) % self._record.itemsize)
        keys = self._records()["key"].tobytes() if length >= HEAD + self._record.itemsize else b""
        self.rows = {keys[at : at + KEY]: row for row, at in enumerate(range(0, len(keys), KEY))}

    @property
    def _record(self) -> np.dtype:
        return np.dtype([("key", f"V{KEY}"), ("vector", "<f4", (self.size,))])

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
        start = os.lseek(self._file, 0, os.SEEK_END)
        self.size = vectors.shape[1]
        records = np.empty(len(keys), self._record)
        records["key"], records["vector"] = np.frombuffer(b"".join(keys), f"V{KEY}"), vectors
        head = b"" if start else MAGIC + self.size.to_bytes(8, "little")
        left = memoryview(head + records.tobytes())
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, start)
            raise
        self.rows.update(zip(keys, range(len(self.rows), len(self.rows) + len(keys)), strict=True))

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Vectors of these rows as float32, shape (rows, size); the file need not be open."""
        return np.asarray(self._records()["vector"][rows])
