"""The texts of a collection, queries and documents: each to its table, with every problem by line."""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from poolkit.formats import read_jsonl
from poolkit.lines import Problem, Read, read_lines
from poolkit.tables import listed

QUERIES = (".jsonl", ".jsonl.gz", ".tsv")
EMPTY_CORPUS = pd.DataFrame(
    {"title": [], "text": [], "image": []}, index=pd.Index([], name="doc_id"), dtype=str
)


def one_of(folder: Path, *names: str) -> Path | None:
    """First of the named files that exists in a folder."""
    return next((folder / n for n in names if os.path.lexists(folder / n)), None)


def read_queries(folder: Path) -> Read[pd.DataFrame]:
    """Queries by id, in file order: text and other formulations, each a field or a file queries-NAME.jsonl."""
    path = one_of(folder, "queries.jsonl", "queries.jsonl.gz", "queries.tsv")
    if path is None:
        return Read(None, [Problem(folder / "queries.jsonl", None, "absent; write one {_id, text} a line")])
    read = _query_file(path)
    table, problems = read.rows, read.problems
    for other in sorted(p for p in folder.glob("queries-*") if p.name.endswith(QUERIES)):
        read, name = _query_file(other), other.name.removeprefix("queries-").partition(".")[0]
        problems += read.problems
        if table is None or read.rows is None:
            return Read(None, problems)
        strange = read.rows.index.difference(table.index)
        if len(strange):
            said = f"{len(strange)} queries are not in {path.name}: {listed(strange)}. A formulation has the same ids."
            return Read(None, [*problems, Problem(other, None, said)])
        if name in table:
            said = f"{path.name} has a field {name!r} already. Keep one of the two."
            return Read(None, [*problems, Problem(other, None, said)])
        table = table.assign(**{name: read.rows["text"].reindex(table.index, fill_value="")})
    return Read(table, problems)


def _query_file(path: Path) -> Read[pd.DataFrame]:
    """Queries of one file."""
    rows, problems = [], []
    if path.suffix == ".tsv":
        text_lines = read_lines(path)
        problems += text_lines.problems
        for number, line in text_lines.rows or []:
            query_id, tab, text = line.partition("\t")
            if not tab:
                problems.append(Problem(path, number, "no tab; write query id, tab, text"))
            rows.append((number, {"query_id": query_id, "text": text}))
    else:
        read = read_jsonl(path)
        problems += read.problems
        for number, row in read.rows or []:
            if not _identified(row):
                problems.append(Problem(path, number, 'a query needs "_id" (text or integer) and "text"'))
                continue
            extra = {k: v for k, v in row.items() if isinstance(v, str) and k not in ("_id", "query_id")}
            rows.append((number, {"query_id": str(row["_id"]), **extra}))
    return _keyed(path, rows, problems, key="query_id")


def _keyed(
    path: Path, rows: Sequence[tuple[int, dict[str, str]]], problems: list[Problem], *, key: str
) -> Read[pd.DataFrame]:
    """Rows by id: a repeat with other content is refused, an empty text noted."""
    seen: dict[str, tuple[int, dict[str, str]]] = {}
    blank, again = [], []
    for number, row in rows:
        if row[key] in seen:
            first, earlier = seen[row[key]]
            if earlier != row:
                said = f"{row[key]} has another content than on line {first}. Keep one."
                problems.append(Problem(path, number, said))
            else:
                again.append((number, row[key]))
            continue
        seen[row[key]] = (number, row)
        if not row["text"].strip():
            blank.append((number, row[key]))
    if again:
        ids = listed(dict.fromkeys(i for _, i in again))
        said = f"{len(again)} lines repeat an earlier one and are left out: {ids}"
        problems.append(Problem(path, again[0][0], said, warning=True))
    if blank:
        said = f"{len(blank)} texts are empty: {listed(i for _, i in blank)}"
        problems.append(Problem(path, blank[0][0], said, warning=True))
    if not seen or any(not p.warning for p in problems):
        return Read(None, problems)
    table = pd.DataFrame([row for _, row in seen.values()]).fillna("").astype(object).set_index(key)
    return Read(table, problems)


def _identified(row: dict[str, object]) -> bool:
    """Whether a JSON object has a usable id and a text."""
    name = row.get("_id")
    return isinstance(name, str | int) and not isinstance(name, bool) and isinstance(row.get("text"), str)


def read_corpus(folder: Path, path: Path) -> Read[pd.DataFrame]:
    """Documents by id: title, text, image (a file inside the collection)."""
    read = read_jsonl(path)
    rows, problems = [], list(read.problems)
    for number, row in read.rows or []:
        if not _identified(row):
            problems.append(Problem(path, number, 'a document needs "_id" (text or integer) and "text"'))
            continue
        image = str(row.get("image") or "")
        if image and ("\0" in image or not (folder / image).resolve().is_relative_to(folder.resolve())):
            problems.append(Problem(path, number, f"image {image!r} lies outside the collection"))
            continue
        document = {"doc_id": str(row["_id"]), "title": str(row.get("title") or ""), "text": str(row["text"])}
        rows.append((number, document | {"image": image}))
    return _keyed(path, rows, problems, key="doc_id")
