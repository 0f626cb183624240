"""A collection's corpus, queries and systems.toml to tables, and runs back to files."""

import gzip
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from poolkit import texts
from poolkit.formats import read_csv, read_run, read_toml
from poolkit.lines import read_lines
from poolkit.parts import named_files, read_config
from poolkit.retrieve.systems import System
from poolkit.tables import DataError, Order, Runs, listed, runs_from

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
    return _fit(texts.read_corpus(folder, path).strict().reset_index(), "doc_id", path.name)


def read_queries(folder: Path) -> pd.DataFrame:
    """Table of query_id and every formulation of queries.jsonl."""
    return _fit(texts.read_queries(folder).strict().reset_index(), "query_id", "queries")


def _fit(table: pd.DataFrame, key: str, where: str) -> pd.DataFrame:
    """The table, if its ids fit a run file, whose columns are parted by white space."""
    spaced = table[key][table[key].str.contains(r"\s|^$")].drop_duplicates()
    if len(spaced):
        said = f"empty ids and ids with spaces do not fit a run file: {listed(map(repr, spaced))}"
        raise DataError(f"{where}: {said}")
    return table


def write_run(run: pd.DataFrame, system: str, path: Path) -> None:
    """Write a run in TREC's six columns, gzipped."""
    write({path: run_bytes(run, system, path)})


def run_bytes(run: pd.DataFrame, system: str, path: Path) -> bytes:
    """Content of a run file; equal runs give equal bytes.

    Scores have nine significant digits, which is all that a 32-bit float holds. A run without a row is
    refused, as every reader would refuse its file.
    """
    if run.empty:
        raise DataError(f"system {system}: it finds no document for any query, so no run is written")
    for key in ("query_id", "doc_id"):
        _fit(run, key, path.name)
    rows = zip(run["query_id"], run["doc_id"], run["rank"], run["score"], strict=True)
    text = "".join(f"{q} Q0 {d} {r} {s:.9g} {TAG}{system}\n" for q, d, r, s in rows)
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def run_path(folder: Path, system: str) -> Path:
    """Where a system's run goes; refused where a run stands that poolkit did not make for this system."""
    if os.path.lexists(folder / "runs") and not (folder / "runs").is_dir():
        raise DataError(f"{folder / 'runs'}: is not a folder. Move it away.")
    other = folder / "runs" / f"{system}.run"
    path = other.with_name(f"{other.name}.gz")
    for there in (p for p in (other, path) if os.path.lexists(p)):
        tags = {line.split()[-1] for _, line in read_lines(there).strict()}
        if there is other or tags != {TAG + system}:
            tag = listed(map(repr, sorted(tags - {TAG + system} or tags))) or "none"
            raise DataError(
                f"runs/{there.name}: exists already, and poolkit retrieve did not make it (its tag is {tag}). "
                "Move it, or name the system of systems.toml anew."
            )
    return path


def other_runs(folder: Path) -> dict[str, System]:
    """Runs of a folder as systems, by what systems.csv says of them; without a row they have no family."""
    names = [name for name, _, problem in named_files(folder / "runs", ".run") if not problem]
    rows = pd.DataFrame()
    if os.path.lexists(folder / "systems.csv"):
        rows = read_csv(folder / "systems.csv").strict()
        rows = rows.drop_duplicates("system").set_index("system") if "system" in rows else pd.DataFrame()

    def told(name: str, column: str) -> str:
        return str(rows.at[name, column]).strip() if name in rows.index and column in rows else ""

    return {
        name: System(
            name, "run", told(name, "family"), told(name, "model") or name, told(name, "formulation"),
            int(size) if (size := told(name, "dimensions")).isdecimal() else None, (),
            {"mode": told(name, "mode")},
        )
        for name in names
    }  # fmt: skip


def add_run(source: Path, folder: Path, row: Mapping[str, str]) -> list[str]:
    """Put a run made elsewhere into a collection, and what is known of it into systems.csv.

    Parameters
    ----------
    source : Path
        NAME.run or NAME.run.gz; the system is called NAME.
    folder : Path
    row : mapping
        Cells of systems.csv, such as family; a column that is new is empty for the other systems.

    Returns
    -------
    list of str
        What was done, in words.
    """
    name = source.name.removesuffix(".gz").removesuffix(".run")
    there = {n: p for n, p, _ in named_files(folder / "runs", ".run")}
    if name in there:
        raise DataError(
            f"runs/{there[name].name}: exists already. Rename {source.name}, or move that run away."
        )
    runs = runs_from({name: read_run(source).strict()}, list(read_queries(folder)["query_id"]))
    path, csv = folder / "runs" / source.name, folder / "systems.csv"
    rows = (
        [] if csv.exists() else [{"system": n, "family": n} for n in there]
    )  # as if each had been given one
    known = pd.DataFrame([*rows, {**row, "system": name}]).fillna("")
    table = merged_catalogue(csv, known)
    given = table.set_index("system").reindex(columns=["family"], fill_value="")
    if not str(given.at[name, "family"]).strip():
        raise DataError(f"{name}: say which family it belongs to: --set family=NAME")
    write({path: source.read_bytes(), csv: table.to_csv(index=False, lineterminator="\n").encode()})
    found, asked = int(runs.returned.any(axis=0).sum()), len(runs.queries)
    strays = f"; {runs.strays:,} rows are of other queries" if runs.strays else ""
    return [f"{path}: {found:,} of {asked:,} queries{strays}; its row is in {csv.name}"]


def read_other_runs(folder: Path, names: list[str], queries: pd.Series) -> Runs | None:
    """Runs of a folder by name, on the axis of the queries; the order is as collection.toml says."""
    if not names:
        return None
    order: Order = "rank" if read_config(folder)[0]["order"] == "rank" else "score"
    found = {name: path for name, path, _ in named_files(folder / "runs", ".run")}
    runs = runs_from({n: read_run(found[n], order).strict() for n in names}, list(queries), order=order)
    for name, returned in zip(runs.systems, runs.returned, strict=True):
        if not returned.any():
            raise DataError(f"runs/{found[name].name}: none of its queries is in the queries file")
    return runs


def merged_catalogue(path: Path, made: pd.DataFrame, *, emptied: Sequence[str] = ()) -> pd.DataFrame:
    """Rows of the systems made, laid over those of an existing systems.csv: nothing else in it changes.

    Columns of `emptied` that `made` lacks are emptied in its rows: settings that no longer tell them apart.
    """
    fresh = made.astype(object).where(made.notna(), "").astype(str).set_index("system")
    if not os.path.lexists(path):
        return fresh.reset_index()
    old = read_csv(path).strict()
    if "system" not in old or old["system"].duplicated().any():
        raise DataError(f"{path.name}: needs a column system and one row a system. Mend it, or move it away.")
    columns = list(dict.fromkeys([*old.columns, "system", *fresh.columns]))
    old = old.set_index("system")
    rows = old.reindex(list(dict.fromkeys([*old.index, *fresh.index])), columns=columns, fill_value="")
    rows.loc[fresh.index, [c for c in emptied if c in rows]] = ""
    rows.loc[fresh.index, fresh.columns] = fresh
    return rows.drop(columns="system").rename_axis("system").reset_index()[columns]


def write(files: Mapping[Path, bytes]) -> None:
    """Write files whole or not at all: all beside their places first, then each to its place."""
    parts = {path.with_name(f".{path.name}.part"): path for path in files}
    try:
        for part, path in parts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(files[path])
        for part, path in parts.items():
            os.replace(part, path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
