"""Runs from a corpus: BM25, dense (a local model or an endpoint), and their fusion.

The optional extra: `pip install "poolkit[retrieve]"` brings bm25s; each encoder says what it needs.
Systems are declared in a collection's systems.toml and made with

    poolkit retrieve data/demo --depth 50

which writes runs/<system>.run.gz and systems.csv.
"""

import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

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
from poolkit.retrieve.ranking import Bm25, Ranking, best, fused, id_order, nearest, run_table
from poolkit.retrieve.systems import System, catalogue, sized, systems_from
from poolkit.retrieve.vectors import Vectors
from poolkit.tables import DataError, listed

__all__ = ["System", "catalogue", "retrieve", "retrieve_folder", "systems_from"]


def retrieve(
    corpus: pd.DataFrame, queries: pd.DataFrame, systems: list[System], *, depth: int,
    cache: Path | None = None, max_usd: float | None = None, told: Callable[[str], None] = lambda said: None,
) -> tuple[list[System], dict[str, pd.DataFrame]]:  # fmt: skip
    """Run of every system.

    Parameters
    ----------
    corpus : DataFrame
        Columns doc_id, title, text. A document is read as its title, a space, its text.
    queries : DataFrame
        Column query_id and one column a formulation.
    systems : list of System
        As `systems_from` gives them.
    depth : int
        Ranks to keep.
    cache : Path, optional
        Where vectors are kept; without it nothing is kept.
    max_usd : float, optional
        Spend no more on embeddings endpoints.
    told : callable, optional
        Hears what is left out, and what is about to be embedded.

    Returns
    -------
    list of System
        Those whose runs count, with the dimensions that their models turned out to have.
    dict of str to DataFrame
        For each system query_id, doc_id, rank from 1, score; the same input gives the same table.

    Notes
    -----
    The formulation `original` is the column `original`, or `text` where there is none. Vectors are made once
    for all systems that share a model, then cut to each one's dimensions. Documents without any text are
    never found.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1; got {depth}")
    if max_usd is not None and not max_usd > 0:
        raise ValueError(f"max_usd is {max_usd}; it must be above 0")
    texts = {s.formulation: _formulation(queries, s) for s in systems if s.kind != "hybrid"}
    documents = pd.Series((corpus["title"] + " " + corpus["text"]).str.strip().array, corpus["doc_id"])
    blank = documents.index[documents == ""]
    if len(blank) == len(documents):
        raise DataError("no document has a text; there is nothing to retrieve")
    if len(blank):
        told(f"{len(blank):,} documents are empty and are never retrieved: {listed(blank)}")
        documents = documents[documents != ""]
    place = id_order(documents.index.tolist())
    deepest = max([depth, *(s.options["fuse_depth"] for s in systems if s.kind == "hybrid")])
    made: dict[str, list[Ranking]] = {}
    sizes: dict[str, int] = {}
    indexes: dict[str, Bm25] = {}
    with tempfile.TemporaryDirectory() if cache is None else nullcontext(cache) as folder:
        vectors = Vectors(documents, texts, Path(folder), max_usd=max_usd, told=told)
        for s in systems:
            if s.kind == "bm25":
                options = {k: s.options[k] for k in ("k1", "b", "stem") if k in s.options}
                if (known := str(options)) not in indexes:
                    indexes[known] = Bm25(documents.tolist(), **options)
                scores = indexes[known].scores(texts[s.formulation].tolist())
                made[s.name] = [best(x, place, depth=deepest) for x in scores]
            elif s.kind == "dense":
                blocks, asked = vectors.of(s)
                sizes[s.name] = asked.shape[1]
                made[s.name] = nearest(blocks, asked, place, depth=deepest)
    for s in systems:
        if s.kind == "hybrid":
            parts = [[r.top(s.options["fuse_depth"]) for r in made[name]] for name in s.fuses]
            k = float(s.options.get("rrf_k", 60))
            made[s.name] = [fused(p, place, depth=depth, k=k) for p in zip(*parts, strict=True)]
    query_ids, doc_ids = queries["query_id"].tolist(), documents.index.tolist()
    counted = [s for s in sized(systems, sizes) if not s.options.get("only_fused")]
    tables = {s.name: run_table([r.top(depth) for r in made[s.name]], query_ids, doc_ids) for s in counted}
    return counted, tables


def retrieve_folder(
    folder: Path, *, depth: int, max_usd: float | None = None, told: Callable[[str], None] = lambda said: None
) -> pd.DataFrame:
    """Make every system of a collection's systems.toml; write its runs and systems.csv.

    Other systems keep their runs and their rows. Nothing is written where anything is refused, but for the
    vectors that were made by then: they are kept in .cache/embeddings, and the next run goes on from there.

    Returns
    -------
    DataFrame
        The catalogue of the systems made.
    """
    systems = systems_from(read_systems(folder / "systems.toml"))
    counted = [s for s in systems if not s.options.get("only_fused")]
    paths = {s.name: run_path(folder, s.name) for s in counted}
    merged_catalogue(folder / "systems.csv", catalogue(counted))  # refuses before anything is spent
    counted, runs = retrieve(
        read_corpus(folder), read_queries(folder), systems,
        depth=depth, cache=folder / ".cache" / "embeddings", max_usd=max_usd, told=told,
    )  # fmt: skip
    table = catalogue(counted)
    files = {paths[system]: run_bytes(run, system, paths[system]) for system, run in runs.items()}
    for path, data in files.items():
        write(path, data)
    whole = merged_catalogue(folder / "systems.csv", table)
    write(folder / "systems.csv", whole.to_csv(index=False, lineterminator="\n").encode())
    return table


def _formulation(queries: pd.DataFrame, system: System) -> pd.Series:
    """Texts of the queries in a system's formulation, by query_id; none may be empty."""
    name = system.formulation
    column = "text" if name == "original" and name not in queries else name
    if column not in queries or column == "query_id":
        known = [str(c) for c in queries.columns if c != "query_id"]
        raise DataError(
            f"system {system.name}: the queries have no formulation {name!r}; "
            f"the queries have {listed(known, first=8)}. Put them into queries-{name}.jsonl"
        )
    empty = queries["query_id"][queries[column].fillna("").str.strip() == ""]
    if len(empty):
        raise DataError(f"system {system.name}: no {name} text for the queries {listed(empty)}")
    return pd.Series(queries[column].astype(str).array, queries["query_id"])
