"""Other people's folders to collections: BEIR, TREC files, or an ir_datasets id."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from poolkit.formats import read_jsonl, read_qrels
from poolkit.lines import read_lines
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
    _write_jsonl(target / "queries.jsonl", ({"_id": q, **fields} for q, fields in topics.items()))
    n_documents = _write_jsonl(target / "corpus.jsonl", documents) if documents is not None else 0
    if folder.is_dir() and isinstance(documents, list):
        _copy_images(folder, target, documents)
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
Fields = dict[str, Any]
Parts = tuple[dict[str, Fields], Iterable[Fields] | None, dict[str, Rows], list[Path]]


def _from_folder(folder: Path) -> Parts:
    """BEIR's files, or TREC's: topics as tab-separated lines, any qrels and runs."""
    topics: dict[str, Fields] = {}
    for name in ("queries.jsonl", "queries.jsonl.gz"):
        if (folder / name).exists():
            rows = _rows(folder / name)
            topics = {str(r["_id"]): {k: v for k, v in r.items() if k != "_id"} for r in rows}
    for name in ("queries.tsv", "topics.tsv"):
        if not topics and (folder / name).exists():
            for number, line in read_lines(folder / name).strict():
                query, tab, text = line.partition("\t")
                if not tab:
                    raise DataError(f"{name}, line {number}: no tab; write query id, tab, text")
                topics[query] = {"text": text}
    documents = None
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if (folder / name).exists():
            documents = [
                {"_id": str(r["_id"]), "title": str(r.get("title") or ""), "text": r["text"]}
                | ({"image": str(r["image"])} if r.get("image") else {})
                for r in _rows(folder / name)
            ]
            _refuse_outside(folder, name, documents)
    labels: dict[str, Rows] = {}
    for path in _files([*sorted((folder / "qrels").glob("*")), *sorted(folder.glob("*.qrels*"))]):
        read = read_qrels(path).strict()
        name = path.name.removesuffix(".gz").removesuffix(".tsv").removesuffix(".qrels").removesuffix(".txt")
        if name in labels:
            raise DataError(f"{path.name}: labels {name!r} exist already; rename one of the files")
        columns = (read["query_id"], read["doc_id"], read["relevance"].astype(int))
        labels[name] = list(zip(*columns, strict=True))
    runs = _files(sorted([*(folder / "runs").glob("*.run*"), *folder.glob("*.run*")]))
    return topics, documents, labels, runs


def _files(paths: Iterable[Path]) -> list[Path]:
    """Files among paths: folders, pipes and hidden files are left out."""
    return [p for p in paths if p.is_file() and not p.name.startswith(".")]


def _refuse_outside(folder: Path, name: str, documents: list[Fields]) -> None:
    """Refuse an image that does not lie inside the folder."""
    for row in documents:
        image = row.get("image", "")
        if (
            "\0" in image
            or Path(image).is_absolute()
            or not (folder / image).resolve().is_relative_to(folder.resolve())
        ):
            raise DataError(f"{name}: document {row['_id']} has the image {image!r}, outside the folder")


def _copy_images(folder: Path, target: Path, documents: list[Fields]) -> None:
    """Copy the images that documents name and that are there."""
    for image in {row["image"] for row in documents if "image" in row}:
        if (folder / image).is_file():
            (target / image).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / image, target / image)


def _rows(path: Path) -> list[dict[str, object]]:
    """Objects of a JSON Lines file, each with an id and a text."""
    rows = []
    for number, row in read_jsonl(path).strict():
        lacking = [x for x in ("_id", "text") if x not in row]
        if lacking:
            raise DataError(
                f"{path.name}, line {number}: no {lacking[0]!r}; found {', '.join(row) or 'nothing'}"
            )
        if not isinstance(row["text"], str) or type(row["_id"]) not in (str, int):
            raise DataError(f'{path.name}, line {number}: "_id" must be text or an integer, "text" a text')
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
    topics: dict[str, Fields] = {}
    if dataset.has_queries():
        topics = {q.query_id: {"text": q.default_text()} for q in dataset.queries_iter()}
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


def _write_jsonl(path: Path, rows: Iterable[Fields]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count
