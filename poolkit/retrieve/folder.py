"""A collection's corpus, queries and systems.toml to tables, and runs back to files."""

import gzip
import os
from pathlib import Path
from typing import Any

import pandas as pd

from poolkit import texts
from poolkit.formats import read_csv, read_toml
from poolkit.lines import read_lines
from poolkit.tables import DataError, listed

TAG = "poolkit-"  # of the runs made here: how they are told from those of others


def read_systems(path: Path) -> dict[str, Any]:
    """Content of a systems.toml."""
    if not os.path.lexists(path):
        text = f"{path}: not found. Declare the systems there; data/demo/systems.toml is an example."
        raise DataError(text)
    return read_toml(path)


def read_corpus(folder: Path) -> pd.DataFrame:
    """Table of doc_id, title, text from corpus.jsonl or corpus.jsonl.gz."""
    path = texts.one_of(folder, "corpus.jsonl", "corpus.jsonl.gz")
    if path is None:
        raise DataError(f"{folder}: no corpus.jsonl; retrieval needs the texts")
    return texts.read_corpus(folder, path).strict().reset_index()


def read_queries(folder: Path) -> pd.DataFrame:
    """Table of query_id and every formulation of queries.jsonl."""
    return texts.read_queries(folder).strict().reset_index()


def write_run(run: pd.DataFrame, system: str, path: Path) -> None:
    """Write a run in TREC's six columns, gzipped."""
    write(path, run_bytes(run, system, path))


def run_bytes(run: pd.DataFrame, system: str, path: Path) -> bytes:
    """Content of a run file; equal runs give equal bytes.

    Scores have nine significant digits, which is all that a 32-bit float holds. A run without a row is
    refused, as every reader would refuse its file.
    """
    if run.empty:
        raise DataError(f"system {system}: it finds no document for any query, so no run is written")
    for ids in (run["query_id"], run["doc_id"]):
        spaced = ids[ids.str.contains(r"\s|^$")].drop_duplicates()
        if len(spaced):
            raise DataError(
                f"{path.name}: empty ids and ids with spaces do not fit a run file: {listed(map(repr, spaced))}"
            )
    rows = zip(run["query_id"], run["doc_id"], run["rank"], run["score"], strict=True)
    text = "".join(f"{q} Q0 {d} {r} {s:.9g} {TAG}{system}\n" for q, d, r, s in rows)
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def run_path(folder: Path, system: str) -> Path:
    """Where a system's run goes; refused where a run stands that poolkit did not make."""
    other = folder / "runs" / f"{system}.run"
    path = other.with_name(f"{other.name}.gz")
    for there in (p for p in (other, path) if os.path.lexists(p)):
        tag = lines[0][1].split()[-1] if (lines := read_lines(there).strict()) else ""
        if there is other or not tag.startswith(TAG):
            raise DataError(
                f"runs/{there.name}: exists already, and poolkit retrieve did not make it (its tag is {tag!r}). "
                "Move it, or name the system of systems.toml anew."
            )
    return path


def merged_catalogue(path: Path, made: pd.DataFrame) -> pd.DataFrame:
    """Rows of the systems made, laid over those of an existing systems.csv: nothing else in it changes."""
    fresh = made.astype(object).where(made.notna(), "").astype(str).set_index("system")
    if not os.path.lexists(path):
        return fresh.reset_index()
    old = read_csv(path).strict()
    if "system" not in old or old["system"].duplicated().any():
        raise DataError(f"{path.name}: needs a column system and one row a system. Mend it, or move it away.")
    columns = list(dict.fromkeys([*old.columns, "system", *fresh.columns]))
    old = old.set_index("system")
    rows = old.reindex(list(dict.fromkeys([*old.index, *fresh.index])), columns=columns, fill_value="")
    rows.loc[fresh.index, fresh.columns] = fresh
    return rows.drop(columns="system").rename_axis("system").reset_index()[columns]


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)
