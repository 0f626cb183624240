"""Run files, label files and JSON Lines: what they must hold, checked as they are read."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

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
from poolkit.tables import DataError


def _codes(rows: pa.Table) -> np.ndarray:
    """One integer for each (query, document) of the rows."""
    query = rows["query_id"].combine_chunks().dictionary_encode()
    document = rows["doc_id"].combine_chunks().dictionary_encode()
    width = len(document.dictionary)
    return np.asarray(query.indices.to_numpy().astype(np.int64) * width + document.indices.to_numpy())


def read_run(path: Path) -> Read[pa.Table]:
    """Rows of a TREC run file: query_id, doc_id, rank, score.

    Refused: a document twice in a query, a score that is not a number, lines that are not six
    columns, an empty file. Warned of: a rank column that contradicts the scores.
    """
    try:
        data = read_bytes(path)
    except DataError as error:
        return Read(None, unreadable(path, error))
    read = read_columns(path, data, RUN)
    if read.rows is None:
        return read
    rows = read.rows
    codes, score = _codes(rows), rows["score"].to_numpy()
    order = np.argsort(codes, kind="stable")
    again = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    missing = np.flatnonzero(np.isnan(score))
    if not len(again) and not len(missing):
        return Read(rows, _rank_conflict(path, data, rows))
    number = [n for n, _ in lines(data)]
    problems = []
    for first, second in zip(order[again].tolist(), order[again + 1].tolist(), strict=True):
        query, doc = rows["query_id"][second].as_py(), rows["doc_id"][second].as_py()
        said = f"query {query} ranks {doc} twice (lines {number[first]} and {number[second]}). Keep one."
        problems.append(Problem(path, number[second], said))
    for row in missing.tolist():
        said = f"query {rows['query_id'][row].as_py()} has a score that is not a number (NaN)"
        problems.append(Problem(path, number[row], said))
    return Read(rows, sorted(problems, key=lambda p: p.line or 0))


def _rank_conflict(path: Path, data: bytes, rows: pa.Table) -> list[Problem]:
    """Warn where the rank column and the scores order two documents differently."""
    query = rows["query_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    rank, score = rows["rank"].to_numpy(), rows["score"].to_numpy().astype(np.float32)
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

    Refused: grades that are not whole numbers, and conflicting repeats. Identical repeats stay for
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
    frame = pd.DataFrame({"pair": _codes(read.rows), "grade": grade})
    broken = np.flatnonzero(~(np.isfinite(grade) & (grade == np.round(grade))))
    first_of = frame.groupby("pair", sort=False)["grade"].transform("first").to_numpy()
    clashes = np.flatnonzero((first_of != grade) & ~np.isnan(grade))
    problems = []
    if len(broken) or len(clashes):
        number = [n for n, _ in lines(data)][1 if form.header else 0 :]
        for row in broken.tolist():
            problems.append(
                Problem(path, number[row], f"the grade is {grade[row]:g}; a grade is a whole number")
            )
        for row in clashes.tolist():
            first = int(np.flatnonzero(frame["pair"].to_numpy() == frame["pair"][row])[0])
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
        if isinstance(row, dict):
            rows.append((number, row))
        else:
            problems.append(Problem(path, number, f"a JSON {type(row).__name__} where an object is expected"))
    if not rows and not problems:
        problems.append(Problem(path, None, "the file is empty"))
    return Read(rows, problems)
