"""Loaded files kept as columns, so that a second load of unchanged files parses nothing.

A copy is found only by the digest of every byte that it was made from, so it cannot be stale, and it
is checked against a digest of its own. Nothing else lives here: delete the folder at any time.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

FORM = "1"  # of what is kept; another number finds no older copy
SMALL = 1 << 20  # bytes of source that are parsed as fast as they are looked up


def cache_folder() -> Path | None:
    """Where copies are kept: POOLKIT_CACHE, else beside the reports of the working directory, else nowhere."""
    named = os.environ.get("POOLKIT_CACHE")
    if named is not None:
        return Path(named) if named else None
    return Path("reports", ".cache") if Path("reports").is_dir() else None


def key_of(kind: str, sources: Iterable[Path], *facts: object) -> str | None:
    """Name of the copy made from these files and facts; None where there is nothing to keep or nowhere.

    It begins with kind and place, so that a newer copy of the same files replaces the older one.
    """
    paths = list(sources)
    if cache_folder() is None or not paths or not all(p.is_file() for p in paths):
        return None
    if sum(p.stat().st_size for p in paths) < SMALL:
        return None
    content = hashlib.sha256(json.dumps([FORM, kind, *facts], default=str).encode())
    for path in paths:
        with path.open("rb") as file:
            content.update(path.name.encode("utf-8", "surrogateescape") + b"\0")
            content.update(hashlib.file_digest(file, "sha256").digest())
    place = hashlib.sha256(os.fsencode(paths[0].resolve())).hexdigest()[:12]
    return f"{kind}-{place}-{content.hexdigest()}"


def kept(key: str | None) -> pa.Table | None:
    """Return the copy of this name, if there is a whole one."""
    folder = cache_folder()
    if key is None or folder is None:
        return None
    try:
        data = memoryview((folder / f"{key}.arrow").read_bytes())
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            return None
        return pa.ipc.open_stream(pa.BufferReader(data[32:])).read_all()
    except (OSError, pa.ArrowInvalid):
        return None


def keep(key: str | None, table: pa.Table) -> None:
    """Keep a copy, whole or not at all; where that is impossible, the next load parses again."""
    folder = cache_folder()
    if key is None or folder is None:
        return
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        body = sink.getvalue()
        number, name = tempfile.mkstemp(dir=folder, prefix="part-")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(hashlib.sha256(body).digest())
                file.write(body)
            os.replace(name, folder / f"{key}.arrow")
        finally:
            Path(name).unlink(missing_ok=True)  # what could not be kept
        older = (p for p in folder.glob(f"{key.rsplit('-', 1)[0]}-*.arrow") if p.stem != key)
        for path in older:
            path.unlink(missing_ok=True)
