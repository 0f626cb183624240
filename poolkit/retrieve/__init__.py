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

from poolkit.retrieve.catalogue import SETTINGS, catalogue, sized
from poolkit.retrieve.folder import (
    merged_catalogue,
    other_runs,
    read_corpus,
    read_other_runs,
    read_queries,
    read_systems,
    run_bytes,
    run_path,
    write,
)
from poolkit.retrieve.ranking import Bm25, Ranking, best, fused, id_order, nearest, run_rankings, run_table
from poolkit.retrieve.systems import System, in_order, systems_from
from poolkit.retrieve.vectors import Vectors
from poolkit.tables import DataError, Runs, listed

__all__ = ["System", "catalogue", "retrieve", "retrieve_folder", "systems_from"]


def retrieve(
    corpus: pd.DataFrame, queries: pd.DataFrame, systems: list[System], *, depth: int,
    runs: Runs | None = None, cache: Path | None = None, max_usd: float | None = None,
    told: Callable[[str], None] = lambda said: None,
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
    runs : Runs, optional
        Those made elsewhere that hybrids fuse, on the axis of these queries.
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
    texts = {s.formulation: _formulation(queries, s) for s in systems if s.kind in ("bm25", "dense")}
    documents = pd.Series((corpus["title"] + " " + corpus["text"]).str.strip().array, corpus["doc_id"])
    blank = documents.index[documents == ""]
    if len(blank) == len(documents):
        raise DataError("no document has a text; there is nothing to retrieve")
    if len(blank):
        told(f"{len(blank):,} documents are empty and are never retrieved: {listed(blank)}")
        documents = documents[documents != ""]
    query_ids, doc_ids = (
        queries["query_id"].tolist(),
        [*documents.index, *blank],
    )  # others' runs may rank those
    place = id_order(doc_ids)
    reads = {s.name: s.options["fuse_depth"] for s in systems if s.kind == "hybrid"}
    deepest = max([depth, *reads.values()])
    most = min(depth, len(doc_ids))
    if shallow := [s.name for s in systems if reads.get(s.name, most) < most and _counts(s)]:
        told(f"fuse_depth is below {most} in {listed(shallow)}: lists there may hold fewer than {most} ranks")
    made = _given(systems, runs, doc_ids, told)
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
    for s in in_order(systems):
        if s.kind == "hybrid":
            parts = [[r.top(reads[s.name]) for r in made[name]] for name in s.fuses]
            k = float(s.options["rrf_k"])
            made[s.name] = [fused(p, place, depth=deepest, k=k) for p in zip(*parts, strict=True)]
    counted = [s for s in sized(systems, sizes) if _counts(s)]
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
    systems = systems_from(read_systems(folder / "systems.toml"), runs=other_runs(folder))
    counted, csv = [s for s in systems if _counts(s)], folder / "systems.csv"
    paths = {s.name: run_path(folder, s.name) for s in counted}
    merged_catalogue(csv, catalogue(counted, of=systems))  # refuses before anything is spent
    queries, corpus = read_queries(folder), read_corpus(folder)
    others = read_other_runs(folder, [s.name for s in systems if s.kind == "run"], queries["query_id"])
    counted, runs = retrieve(
        corpus, queries, systems, depth=depth, runs=others,
        cache=folder / ".cache" / "embeddings", max_usd=max_usd, told=told,
    )  # fmt: skip
    table = catalogue(counted, of=systems)
    files = {paths[system]: run_bytes(run, system, paths[system]) for system, run in runs.items()}
    files[csv] = (
        merged_catalogue(csv, table, emptied=SETTINGS).to_csv(index=False, lineterminator="\n").encode()
    )
    write(files)
    return table


def _counts(system: System) -> bool:
    """Whether a system's run is written."""
    return system.kind != "run" and not system.options.get("only_fused")


def _given(
    systems: list[System], runs: Runs | None, doc_ids: list[str], told: Callable[[str], None]
) -> dict[str, list[Ranking]]:
    """Rankings of the runs made elsewhere; refused where one is not as deep as a hybrid reads it."""
    made: dict[str, list[Ranking]] = {}
    for s in (x for x in systems if x.kind == "run"):
        if runs is None or s.name not in runs.systems:
            raise DataError(f"system {s.name}: its run is not given")
        made[s.name] = run_rankings(runs, s.name, doc_ids)
        holds = max(len(r.document) for r in made[s.name])
        for reader in (x for x in systems if s.name in x.fuses):
            if holds < (wanted := min(reader.options["fuse_depth"], len(doc_ids))):
                raise DataError(
                    f"system {reader.name} reads {wanted} ranks of {s.name}, whose run holds {holds} a query. "
                    "Lower fuse_depth, or bring a deeper run."
                )
        if absent := sum(not len(r.document) for r in made[s.name]):
            told(
                f"{s.name}: its run has nothing for {absent:,} queries; what fuses it has the others alone there"
            )
    return made


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
