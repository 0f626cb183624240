"""Batches sent and not yet collected: what was asked in each, and its name at the endpoint.

A batch has two files. ``NAME.jsonl`` is written before anything is sent: one line for each request, which is
the record that its answer will complete. ``NAME.json`` then holds the endpoint's name. Both go when every
answer is in the judgments file.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from poolkit.disk import sync_folder
from poolkit.tables import DataError


class Waiting:
    """The batches of one judge that wait.

    Parameters
    ----------
    folder : Path
        ``batches`` in the judge's cache folder; it need not exist.
    """

    def __init__(self, folder: Path):
        self.folder = folder

    def names(self) -> list[str]:
        """Names of the batches, in alphabetic order."""
        return sorted(path.stem for path in self.folder.glob("*.jsonl"))

    def write(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Remember a batch that is about to be sent: whole and on disk, or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._replace(f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """What was asked in a batch."""
        path = self.folder / f"{name}.jsonl"
        try:
            return [json.loads(line) for line in path.read_text().splitlines()]
        except ValueError:
            raise DataError(
                f"{path}: the memory of a batch is damaged. Its answers are still at the endpoint: fetch its "
                "output file there before you delete this one."
            ) from None

    def note(self, name: str, batch: str) -> None:
        """Remember what the endpoint calls a batch."""
        self._replace(f"{name}.json", json.dumps({"batch": batch}))

    def batch_of(self, name: str) -> str:
        """What the endpoint calls a batch; nothing where the process died before it was known."""
        path = self.folder / f"{name}.json"
        return str(json.loads(path.read_text())["batch"]) if path.exists() else ""

    def forget(self, name: str) -> None:
        """Forget a batch: it was collected, or nothing was sent."""
        (self.folder / f"{name}.json").unlink(missing_ok=True)
        (self.folder / f"{name}.jsonl").unlink(missing_ok=True)

    def _replace(self, name: str, text: str) -> None:
        """Write a file so that a crash leaves the old one or the new one."""
        new = self.folder / f".{name}.new"
        new.unlink(missing_ok=True)  # never through a link
        with new.open("x") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.folder / name)
        sync_folder(self.folder)  # else a power cut may forget the name


def waiting_of(judge_cache: Path) -> Waiting:
    """Batches that wait for the judge whose cache folder this is."""
    return Waiting(judge_cache / "batches")
