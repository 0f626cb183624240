"""Runs from a corpus: BM25, dense (a local model or an endpoint), and their fusion.

The optional extra: `pip install "poolkit[retrieve]"` brings bm25s; each encoder says what it needs.
Systems are declared in a collection's systems.toml and made with

    python -m poolkit.retrieve data/demo --depth 50

which writes runs/<system>.run.gz and systems.csv. Nothing is downloaded.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from poolkit.retrieve.folder import (
    merged_catalogue,
    read_corpus,
    read_queries,
    read_systems,
    run_bytes,
    run_path,
    write,
)
from poolkit.retrieve.ranking import Ranking, best, bm25, cosines, fused, id_order, run_table
from poolkit.retrieve.systems import System, catalogue, systems_from
from poolkit.retrieve.vectors import Vectors
from poolkit.tables import DataError, listed

__all__ = ["System", "catalogue", "retrieve", "retrieve_folder", "systems_from"]


def retrieve(
    corpus: pd.DataFrame, queries: pd.DataFrame, config: Mapping[str, Any], *, depth: int
) -> dict[str, pd.DataFrame]:
    """Run of every system declared.

    Parameters
    ----------
    corpus : DataFrame
        Columns doc_id, title, text. A document is read as its title, a space, its text.
    queries : DataFrame
        Column query_id and one column a formulation.
    config : mapping
        A parsed systems.toml.
    depth : int
        Ranks to keep.

    Returns
    -------
    dict of str to DataFrame
        For each system query_id, doc_id, rank from 1, score; the same input gives the same table.

    Notes
    -----
    The formulation `original` is the column `original`, or `text` where there is none. Vectors are
    made once for all systems that share an encoder, then cut to each one's dimensions.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1; got {depth}")
    systems = systems_from(config)
    texts = {s.formulation: _formulation(queries, s) for s in systems}
    documents = (corpus["title"] + " " + corpus["text"]).str.strip().tolist()
    place = id_order(corpus["doc_id"].tolist())
    vectors = Vectors(documents, texts)
    deepest = max([depth, *(s.options["fuse_depth"] for s in systems if s.kind == "hybrid")])
    made: dict[str, list[Ranking]] = {}
    for s in systems:
        if s.kind == "bm25":
            options = {k: s.options[k] for k in ("k1", "b", "stem") if k in s.options}
            scores = bm25(documents, texts[s.formulation], **options)
        elif s.kind == "dense":
            scores = cosines(*vectors.of(s))
        else:
            continue
        made[s.name] = [best(x, place, depth=deepest) for x in scores]
    for s in systems:
        if s.kind == "hybrid":
            parts = [[r.top(s.options["fuse_depth"]) for r in made[name]] for name in s.fuses]
            k = float(s.options.get("rrf_k", 60))
            made[s.name] = [fused(p, place, depth=depth, k=k) for p in zip(*parts, strict=True)]
    query_ids, doc_ids = queries["query_id"].tolist(), corpus["doc_id"].tolist()
    return {s.name: run_table([r.top(depth) for r in made[s.name]], query_ids, doc_ids) for s in systems}


def retrieve_folder(folder: Path, *, depth: int) -> pd.DataFrame:
    """Make every system of a collection's systems.toml; write its runs and systems.csv.

    Other systems keep their runs and their rows. Nothing is written where anything is refused.

    Returns
    -------
    DataFrame
        The catalogue of the systems made.
    """
    config = read_systems(folder / "systems.toml")
    table = catalogue(systems_from(config))
    paths = {system: run_path(folder, system) for system in table["system"]}
    whole = merged_catalogue(folder / "systems.csv", table)
    runs = retrieve(read_corpus(folder), read_queries(folder), config, depth=depth)
    files = {paths[system]: run_bytes(run, system, paths[system]) for system, run in runs.items()}
    for path, data in files.items():
        write(path, data)
    write(folder / "systems.csv", whole.to_csv(index=False, lineterminator="\n").encode())
    return table


def _formulation(queries: pd.DataFrame, system: System) -> list[str]:
    """Texts of the queries in a system's formulation; none may be empty."""
    name = system.formulation
    column = "text" if name == "original" and name not in queries else name
    if column not in queries or column == "query_id":
        known = [str(c) for c in queries.columns if c != "query_id"]
        raise DataError(
            f"system {system.name}: the queries have no formulation {name!r}; "
            f"queries.jsonl has {listed(known, first=8)}"
        )
    empty = queries["query_id"][queries[column].fillna("").str.strip() == ""]
    if len(empty):
        raise DataError(f"system {system.name}: no {name} text for the queries {listed(empty)}")
    return [str(t) for t in queries[column]]
