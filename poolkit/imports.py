"""Other people's folders to collections: BEIR, TREC files, or an ir_datasets id."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from poolkit.formats import read_jsonl, read_qrels
from poolkit.lines import read_bytes
from poolkit.tables import DataError


def import_collection(source: str, target: Path, *, queries: int = 0, seed: int = 1) -> list[str]:
    """Make a collection of a BEIR folder, a folder of TREC files, or an ir_datasets id.

    Parameters
    ----------
    source : str
        A folder, or an id of ir_datasets (which must be installed, and may download).
    target : Path
        The new collection; it must not hold one yet.
    queries : int
        Keep so many queries, drawn by `seed` among those with labels where there are any; 0 keeps all.
    seed : int

    Returns
    -------
    list of str
        What was made, in words.
    """
    if target.exists() and Path(source).exists() and target.samefile(source):
        raise DataError(f"{target}: is the folder to import from; name a new folder")
    if (target / "collection.toml").exists() or (target / "queries.jsonl").exists():
        raise DataError(f"{target}: holds a collection already; name a new folder")
    if queries < 0:
        raise ValueError(f"queries is {queries}; give how many to keep, or 0 for all")
    folder = Path(source)
    if folder.is_dir():
        topics, documents, labels, runs = _from_folder(folder)
    else:
        topics, documents, labels, runs = _from_ir_datasets(source)
    if not topics:
        raise DataError(f"{source}: no queries found (queries.jsonl, queries.tsv, topics.tsv)")
    if queries and queries < len(topics):
        judged = {q for rows in labels.values() for q, _, _ in rows}
        among = [q for q in topics if q in judged] or list(topics)
        rng = np.random.default_rng(seed)
        kept = {among[i] for i in rng.choice(len(among), size=min(queries, len(among)), replace=False)}
        topics = {q: t for q, t in topics.items() if q in kept}
    for part in ("runs", "qrels"):
        (target / part).mkdir(parents=True, exist_ok=True)
    _write_jsonl(target / "queries.jsonl", ({"_id": q, "text": t} for q, t in topics.items()))
    n_documents = _write_jsonl(target / "corpus.jsonl", documents) if documents is not None else 0
    for name, rows in labels.items():
        lines = (f"{q}\t{d}\t{g}\n" for q, d, g in rows if q in topics)
        (target / "qrels" / f"{name}.tsv").write_text(
            "query-id\tcorpus-id\tscore\n" + "".join(lines), encoding="utf-8"
        )
    name, origin = target.resolve().name, folder.resolve().name if folder.is_dir() else source
    for path in runs:
        shutil.copy(path, target / "runs" / path.name)
    (target / "collection.toml").write_text(
        f"name = {_toml(name)}\ntitle = {_toml(name)}\nsource = {_toml(origin)}\ndepth = 10\n",
        encoding="utf-8",
    )
    done = [
        f"{target}: {len(topics):,} queries, {n_documents:,} documents, {len(runs)} runs, labels: {len(labels)}"
    ]
    if not runs:
        done.append(
            "put one TREC run a system into runs/, or declare systems.toml and run `poolkit retrieve`"
        )
    return done


Rows = list[tuple[str, str, int]]
Parts = tuple[dict[str, str], Iterable[dict[str, str]] | None, dict[str, Rows], list[Path]]


def _from_folder(folder: Path) -> Parts:
    """BEIR's files, or TREC's: topics as tab-separated lines, any qrels and runs."""
    topics: dict[str, str] = {}
    for name in ("queries.jsonl", "queries.jsonl.gz"):
        if (folder / name).exists():
            rows = _rows(folder / name, "_id", "text")
            topics = {str(r["_id"]): str(r["text"]) for r in rows}
    for name in ("queries.tsv", "topics.tsv"):
        if not topics and (folder / name).exists():
            text = read_bytes(folder / name).decode("utf-8")
            lines = (line.partition("\t") for line in text.splitlines() if line.strip())
            topics = {q: t for q, _, t in lines}
    documents = None
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if (folder / name).exists():
            documents = [
                {"_id": str(r["_id"]), "title": str(r.get("title") or ""), "text": str(r["text"])}
                for r in _rows(folder / name, "_id", "text")
            ]
    labels = {}
    for path in [*sorted((folder / "qrels").glob("*")), *sorted(folder.glob("*.qrels*"))]:
        read = read_qrels(path).strict()
        name = path.name.removesuffix(".gz").removesuffix(".tsv").removesuffix(".qrels").removesuffix(".txt")
        columns = (read["query_id"], read["doc_id"], read["relevance"].astype(int))
        labels[name] = list(zip(*columns, strict=True))
    runs = sorted([*(folder / "runs").glob("*.run*"), *folder.glob("*.run*")])
    return topics, documents, labels, runs


def _rows(path: Path, *fields: str) -> list[dict[str, object]]:
    """Objects of a JSON Lines file, which must have these fields."""
    rows = []
    for number, row in read_jsonl(path).strict():
        lacking = [x for x in fields if x not in row]
        if lacking:
            raise DataError(
                f"{path.name}, line {number}: no {lacking[0]!r}; found {', '.join(row) or 'nothing'}"
            )
        rows.append(row)
    return rows


def _from_ir_datasets(name: str) -> Parts:
    """Whatever a dataset of ir_datasets has of queries, documents, qrels."""
    try:
        import ir_datasets
    except ImportError:
        raise DataError(
            f"{name}: no such folder. For an ir_datasets id, run: pip install ir-datasets"
        ) from None
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise DataError(f"{name}: neither a folder nor an ir_datasets id") from None
    topics = {q.query_id: q.default_text() for q in dataset.queries_iter()} if dataset.has_queries() else {}
    documents = None
    if dataset.has_docs():
        documents = (
            {
                "_id": d.doc_id,
                "title": getattr(d, "title", "") or "",
                "text": getattr(d, "text", "") or d.default_text(),
            }
            for d in dataset.docs_iter()
        )
    rows: Rows = []
    if dataset.has_qrels():
        rows = [(q.query_id, q.doc_id, q.relevance) for q in dataset.qrels_iter()]
    return topics, documents, {"human": rows} if rows else {}, []


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _write_jsonl(path: Path, rows: Iterable[dict[str, str]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count
