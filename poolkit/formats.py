"""Run files, label files, JSON Lines, CSV, TOML: what they must hold, checked as they are read."""

import csv
import io
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from poolkit.labels import BEYOND, HIGHEST, LOWEST
from poolkit.lines import (
    BEIR_QRELS,
    RUN,
    TREC_QRELS,
    Problem,
    Read,
    lines,
    read_bytes,
    read_columns,
    unreadable,
)
from poolkit.tables import DataError, Order, coded, listed

HALF = "half a character (a lone surrogate such as \\ud800). Mend the text."


def _pairs(rows: pa.Table) -> np.ndarray:
    """One integer for each distinct (query, document) of the rows."""
    query, document = (coded(rows[key])[0].astype(np.int64) for key in ("query_id", "doc_id"))
    return query * (document.max() + 1) + document


def read_run(path: Path, order: Order = "score", *, repeats: bool = True) -> Read[pa.Table]:
    """Rows of a TREC run file: query_id, doc_id, rank, score.

    Refused: a document twice in a query, a score that is not a number, a rank that is none where ranks
    give the order, lines that are not six columns, an empty file. Warned of: a rank column that contradicts the scores.
    Without `repeats`, a document twice is left to `runs_from`, which refuses it but knows no lines.
    """
    try:
        data = read_bytes(path)
    except DataError as error:
        return Read(None, unreadable(path, error))
    read = read_columns(path, data, RUN)
    if read.rows is None:
        return read
    rows = read.rows
    missing = np.flatnonzero(np.isnan(rows["score"].to_numpy()))
    unranked = np.flatnonzero(~np.isfinite(rows["rank"].to_numpy()) & (order == "rank"))
    twice = _twice(rows) if repeats else ()
    if not len(twice) and not len(missing) and not len(unranked):
        return Read(rows, _rank_conflict(path, data, rows))
    number = [n for n, _ in lines(data)]
    problems = []
    for first, second in twice:
        query, doc = rows["query_id"][second].as_py(), rows["doc_id"][second].as_py()
        said = f"query {query} ranks {doc} twice (lines {number[first]} and {number[second]}). Keep one."
        problems.append(Problem(path, number[second], said))
    for row in missing.tolist():
        said = f"query {rows['query_id'][row].as_py()} has a score that is not a number (NaN)"
        problems.append(Problem(path, number[row], said))
    for row in unranked.tolist():
        said = f"query {rows['query_id'][row].as_py()} has the rank {rows['rank'][row].as_py()}; a rank is a number"
        problems.append(Problem(path, number[row], f'{said} where order is "rank"'))
    return Read(rows, sorted(problems, key=lambda p: p.line or 0))


def _twice(rows: pa.Table) -> list[tuple[int, int]]:
    """Rows of the same query and document, each with the one before."""
    pairs = _pairs(rows)
    by_pair = np.argsort(pairs, kind="stable")
    again = np.flatnonzero(pairs[by_pair][1:] == pairs[by_pair][:-1])
    return list(zip(by_pair[again].tolist(), by_pair[again + 1].tolist(), strict=True))


def _rank_conflict(path: Path, data: bytes, rows: pa.Table) -> list[Problem]:
    """Warn where the rank column and the scores order two documents differently."""
    stretch = pc.run_end_encode(rows["query_id"].combine_chunks())
    lengths = np.diff(stretch.run_ends.to_numpy(), prepend=0)
    query = np.repeat(stretch.values.dictionary_encode().indices.to_numpy(), lengths)
    rank, score = rows["rank"].to_numpy(), rows["score"].to_numpy().astype(np.float32)
    by_rank = np.arange(len(query))
    if np.any((query[1:] < query[:-1]) | ((query[1:] == query[:-1]) & (rank[1:] < rank[:-1]))):
        by_rank = np.lexsort((rank, query))
    same = query[by_rank][1:] == query[by_rank][:-1]
    climbs = same & (score[by_rank][1:] > score[by_rank][:-1])
    if not climbs.any():
        return []
    row = int(by_rank[1:][climbs].min())
    queries = len(np.unique(query[by_rank][1:][climbs]))
    hint = " Scores rise with rank everywhere: are they distances?" if climbs.sum() == same.sum() else ""
    said = (
        f"query {rows['query_id'][row].as_py()} has {rows['doc_id'][row].as_py()} at rank {rank[row]:g}, "
        f"but its score {score[row]:g} is higher than that of the rank before "
        f"({queries} queries contradict so). "
        f'The scores count; order = "rank" in collection.toml takes the rank column instead.{hint}'
    )
    return [Problem(path, [n for n, _ in lines(data)][row], said, warning=True)]


def read_qrels(path: Path) -> Read[pd.DataFrame]:
    """Human labels in TREC form (four columns) or BEIR form (a header, three tab-separated columns).

    Refused: grades that are not whole numbers or lie beyond +-1000, and conflicting repeats. Identical repeats stay for
    `labels_from` to drop and count.
    """
    try:
        data = read_bytes(path)
    except DataError as error:
        return Read(None, unreadable(path, error))
    form = BEIR_QRELS if data[:8].lower() == b"query-id" else TREC_QRELS
    read = read_columns(path, data, form)
    if read.rows is None:
        return Read(None, read.problems)
    grade = read.rows["relevance"].to_numpy()
    far = np.flatnonzero(np.isfinite(grade) & ((grade < LOWEST) | (grade > HIGHEST)))
    broken = np.flatnonzero(~(np.isfinite(grade) & (grade == np.round(grade))))
    pairs = _pairs(read.rows)
    by_pair = np.argsort(pairs, kind="stable")
    new = np.diff(pairs[by_pair], prepend=-1) > 0
    first_of = np.empty_like(by_pair)
    first_of[by_pair] = by_pair[new][np.cumsum(new) - 1]
    clashes = np.flatnonzero((grade[first_of] != grade) & ~np.isnan(grade))
    problems = []
    if len(broken) or len(clashes) or len(far):
        number = [n for n, _ in lines(data)][1 if form.header else 0 :]
        for row in broken.tolist():
            problems.append(
                Problem(path, number[row], f"the grade is {grade[row]:g}; a grade is a whole number")
            )
        problems += [Problem(path, number[row], f"grade {grade[row]:g}; {BEYOND}") for row in far.tolist()]
        for row in clashes.tolist():
            first = int(first_of[row])
            query, doc = read.rows["query_id"][row].as_py(), read.rows["doc_id"][row].as_py()
            said = (
                f"query {query}, document {doc} has the grade {grade[row]:g} here and "
                f"{grade[first]:g} on line {number[first]}. Keep one."
            )
            problems.append(Problem(path, number[row], said))
    return Read(read.rows.to_pandas(), problems)


def read_jsonl(path: Path) -> Read[list[tuple[int, dict[str, object]]]]:
    """Objects of a JSON Lines file with their line numbers."""
    try:
        data = read_bytes(path)
    except DataError as error:
        return Read(None, unreadable(path, error))
    rows: list[tuple[int, dict[str, object]]] = []
    problems: list[Problem] = []
    last = data.count(b"\n") + 1
    for number, line in lines(data):
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            cut = " The last line looks cut off." if number == last else ""
            said = error.msg if isinstance(error, json.JSONDecodeError) else "not UTF-8"
            problems.append(Problem(path, number, f"not a JSON object ({said}).{cut}"))
            continue
        except (RecursionError, ValueError) as error:
            deep = isinstance(error, RecursionError)
            said = "nested too deep" if deep else "a number of thousands of digits"
            problems.append(Problem(path, number, f"not usable JSON ({said}). Mend or remove the line."))
            continue
        if halved(line, row):
            problems.append(Problem(path, number, HALF))
        elif isinstance(row, dict):
            rows.append((number, row))
        else:
            problems.append(Problem(path, number, f"a JSON {type(row).__name__} where an object is expected"))
    if not rows and not problems:
        problems.append(Problem(path, None, "the file is empty"))
    return Read(rows, problems)


def halved(line: bytes, row: object) -> bool:
    """Whether a text in the JSON value of a line holds a lone surrogate, which no file can hold."""
    if b"\\u" not in line:
        return False
    try:
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except (UnicodeEncodeError, RecursionError):
        return True
    return False


def read_toml(path: Path) -> dict[str, Any]:
    """Content of a TOML file; a DataError with the file's name where it is none."""
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8"))
    except UnicodeDecodeError:
        raise DataError(f"{path.name}: not UTF-8. Save the file as UTF-8.") from None
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name}: not readable as TOML: {error}") from None


def read_csv(path: Path) -> Read[pd.DataFrame]:
    """Table of a CSV file as text, indexed by line number; a short row ends in empty cells."""
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        return Read(None, [Problem(path, None, "not UTF-8. Save the file as UTF-8.")])
    except DataError as error:
        return Read(None, unreadable(path, error))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        return Read(None, [Problem(path, reader.line_num, f"not readable as CSV: {error}")])
    if not rows:
        return Read(None, [Problem(path, None, "not readable as CSV: the file is empty")])
    (first, names), *rest = rows
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return Read(None, [Problem(path, first, f"column {listed(map(repr, twice))} comes twice. Keep one.")])
    wide = [(number, row) for number, row in rest if len(row) > len(names)]
    if wide:
        said = f"cells where the header has {len(names)} columns. Quote a cell that holds a comma."
        return Read(None, [Problem(path, number, f"{len(row)} {said}") for number, row in wide])
    cells = [row + [""] * (len(names) - len(row)) for _, row in rest]
    return Read(pd.DataFrame(cells, columns=names, index=[n for n, _ in rest], dtype=object))
