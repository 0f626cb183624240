"""A collection's corpus, queries and systems.toml to tables, and runs back to files."""

import gzip
import os
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd

from poolkit import parts
from poolkit.tables import DataError, listed


def read_systems(path: Path) -> dict[str, Any]:
    """Content of a systems.toml."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        text = f"{path}: not found. Declare the systems there; data/demo/systems.toml is an example."
        raise DataError(text) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name}: {error}") from None


def read_corpus(folder: Path) -> pd.DataFrame:
    """Table of doc_id, title, text from corpus.jsonl or corpus.jsonl.gz."""
    path = parts.one_of(folder, "corpus.jsonl", "corpus.jsonl.gz")
    if path is None:
        raise DataError(f"{folder}: no corpus.jsonl; retrieval needs the texts")
    return parts.read_corpus(folder, path).strict().reset_index()


def read_queries(folder: Path) -> pd.DataFrame:
    """Table of query_id and every formulation of queries.jsonl."""
    return parts.read_queries(folder).strict().reset_index()


def write_run(run: pd.DataFrame, system: str, path: Path) -> None:
    """Write a run in TREC's six columns, gzipped; equal runs give equal bytes.

    Scores have nine significant digits, which is all that a 32-bit float holds.
    """
    for ids in (run["query_id"], run["doc_id"]):
        spaced = ids[ids.str.contains(r"\s")].drop_duplicates()
        if len(spaced):
            raise DataError(
                f"{path.name}: ids with spaces do not fit a run file: {listed(map(repr, spaced))}"
            )
    rows = zip(run["query_id"], run["doc_id"], run["rank"], run["score"], strict=True)
    text = "".join(f"{q} Q0 {d} {r} {s:.9g} {system}\n" for q, d, r, s in rows)
    write(path, gzip.compress(text.encode(), compresslevel=9, mtime=0))


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)
