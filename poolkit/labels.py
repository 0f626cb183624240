"""Labels: one grade for each (query, document), whoever gave it, and their place on the runs."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from poolkit.tables import DataError, Runs, listed

LOWEST, HIGHEST = -1000, 1000  # tables grow with the highest grade
BEYOND = f"grades lie between {LOWEST} and {HIGHEST}"


@dataclass(frozen=True)
class Labels:
    """One grade for each labelled (query, document), whoever gave it.

    Attributes
    ----------
    name : str
        The file's name without suffix; how commands call these labels.
    relevance : DataFrame
        Columns query_id, doc_id, relevance (integer); one row a pair.
    title : str
        How prose calls them, such as "author grades".
    human : bool
        Whether people gave them (qrels) or a judge did.
    failed : DataFrame
        Columns query_id, doc_id, status: pairs that a judge could not grade. They stay unjudged.
    dropped : int
        Identical repeats that were left out.
    """

    name: str
    relevance: pd.DataFrame
    title: str
    human: bool
    failed: pd.DataFrame
    dropped: int = 0

    @cached_property
    def marks(self) -> np.ndarray:
        """A number for each row's pair; equal pairs have equal marks."""
        return _marks(self.relevance)


def labels_from(
    rows: pd.DataFrame, name: str, *, title: str = "", human: bool = True, failed: pd.DataFrame | None = None
) -> Labels:
    """Labels from a table of query_id, doc_id, relevance.

    Grades must be whole numbers between -1000 and 1000; 1.0 is read as 1, 0.5 is refused. Identical repeats are dropped
    and counted, conflicting ones refused.
    """
    rows = rows[["query_id", "doc_id", "relevance"]]
    grades = pd.to_numeric(rows["relevance"], errors="coerce").to_numpy(dtype=float)
    bad = ~(np.isfinite(grades) & (grades == np.round(grades)))
    if bad.any():
        worst = rows[bad].iloc[0]
        raise DataError(
            f"labels {name}: query {worst.query_id}, document {worst.doc_id} has the grade "
            f"{worst.relevance!r}; a grade is a whole number ({int(bad.sum())} such rows)"
        )
    _refuse_beyond(rows, name)
    texts = {key: rows[key].astype(str).reset_index(drop=True) for key in ("query_id", "doc_id")}
    kept = pd.DataFrame({**texts, "relevance": grades.astype(int)})
    if failed is None:
        failed = pd.DataFrame(columns=["query_id", "doc_id", "status"])
    found = Labels(name, kept, title or name, human, failed)
    if np.diff(np.sort(found.marks)).all():  # no mark twice, so no pair twice
        return found
    kept = kept.drop_duplicates(ignore_index=True)
    clash = kept.duplicated(["query_id", "doc_id"])
    if clash.any():
        worst = kept[clash].iloc[0]
        raise DataError(
            f"labels {name}: query {worst.query_id}, document {worst.doc_id} has two different grades "
            f"({int(clash.sum())} such pairs). Keep one."
        )
    return Labels(name, kept, title or name, human, failed, len(rows) - len(kept))


def _refuse_beyond(rows: pd.DataFrame, name: str) -> None:
    """Refuse grades that no scale has; a missing one is none."""
    grades = pd.to_numeric(rows["relevance"], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    far = (grades < LOWEST) | (grades > HIGHEST)
    if far.any():
        worst = rows[far].iloc[0]
        raise DataError(
            f"labels {name}: query {worst.query_id}, document {worst.doc_id} has the "
            f"grade {worst.relevance}; {BEYOND} ({int(far.sum())} such rows)"
        )


def mapped(labels: Labels, grades: Mapping[int, int]) -> Labels:
    """Labels with every grade replaced as an explicit map says; a grade without an entry is refused."""
    missing = sorted(set(labels.relevance["relevance"]) - set(grades))
    if missing:
        raise DataError(f"grade map for {labels.name}: no entry for grade {listed(missing)}")
    relevance = labels.relevance.assign(relevance=labels.relevance["relevance"].map(dict(grades)).astype(int))
    return Labels(labels.name, relevance, labels.title, labels.human, labels.failed, labels.dropped)


@dataclass(frozen=True)
class Grades:
    """Labels laid on the items of Runs.

    Attributes
    ----------
    relevance : ndarray of int, shape (n_items + 1,)
        Grade of each item; 0 where unjudged and at the end, for padding. Read with `judged`.
    judged : ndarray of bool, shape (n_items + 1,)
        Whether the item has a grade.
    beyond_query, beyond_relevance : ndarray of int
        Query positions and grades of labelled documents that no run returned.
    has : ndarray of bool, shape (queries,)
        Whether a query has any label.
    strays : int
        Labels of queries that are not on the axis.
    epoch : str
        Short hash of the judged pairs: scores of two epochs do not belong in one table.
    """

    name: str
    title: str
    relevance: np.ndarray
    judged: np.ndarray
    beyond_query: np.ndarray
    beyond_relevance: np.ndarray
    has: np.ndarray
    strays: int
    epoch: str

    @property
    def top(self) -> int:
        """The highest grade in use, at least 1."""
        highest = max(self.relevance.max(initial=0), self.beyond_relevance.max(initial=0))
        return max(1, int(highest))


def grades_on(runs: Runs, labels: Labels) -> Grades:
    """Labels laid on the items of `runs`, by id and never by position.

    Raises
    ------
    DataError
        When no label's query is on the query axis.
    """
    rows = labels.relevance
    query, at = _places(runs, rows)
    grade = rows["relevance"].to_numpy()
    known = query >= 0
    if len(rows) and not known.any():
        raise DataError(
            f"labels {labels.name}: none of their queries is in this collection; they say "
            f"{listed(rows['query_id'].unique())}, the collection says {listed(runs.queries)}"
        )
    on = at >= 0
    relevance = np.zeros(runs.n_items + 1, dtype=np.int64)
    judged = np.zeros(runs.n_items + 1, dtype=bool)
    relevance[at[on]], judged[at[on]] = grade[on], True
    beyond = known & ~on
    has = np.zeros(len(runs.queries), dtype=bool)
    has[query[known]] = True
    return Grades(
        labels.name, labels.title, relevance, judged, query[beyond], grade[beyond], has,
        int(len(rows) - known.sum()), _epoch(labels.marks[known]),
    )  # fmt: skip


def items_of(runs: Runs, rows: pd.DataFrame) -> np.ndarray:
    """Item of each row's query_id and doc_id; -1 where no run returned the pair."""
    return _places(runs, rows)[1]


def _places(runs: Runs, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Query position and item of each row, by id and never by position; -1 where there is none."""
    query, document = (
        pc.index_in(pa.array(rows[name], pa.string()), value_set=pa.array(axis, pa.string()))
        .fill_null(-1)
        .to_numpy(zero_copy_only=False)
        for name, axis in (("query_id", runs.queries), ("doc_id", runs.documents))
    )
    width = len(runs.documents) + 1
    keys = runs.query_of.astype(np.int64) * width + runs.document_of
    wanted = query.astype(np.int64) * width + document
    at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
    return query, np.where((query >= 0) & (document >= 0) & (keys[at] == wanted), at, -1)


def _epoch(marks: np.ndarray) -> str:
    """Hash of the judged pairs, whatever order they come in."""
    return hashlib.sha256(np.sort(marks).astype("<u8").tobytes()).hexdigest()[:8]


_ODD = np.uint64(0x9E3779B97F4A7C15)
_BLOCK = 1 << 15  # texts marked at a time


def _marks(rows: pd.DataFrame) -> np.ndarray:
    """One number for each (query, document)."""
    queries = _one_chunk(pa.array(rows["query_id"])).dictionary_encode()
    query = _text_marks(queries.dictionary)[queries.indices.to_numpy()]  # few texts, many rows
    document = _text_marks(pa.array(rows["doc_id"]))
    return (query ^ (query >> np.uint64(29))) * _ODD + document


def _text_marks(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """One number for each text: a polynomial in its bytes, modulo 2^64."""
    texts = _one_chunk(column).cast(pa.large_string()).cast(pa.large_binary())
    ends = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset :][: len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", dtype=np.uint8)
    power = np.multiply.accumulate(np.full(np.diff(ends).max(initial=0) + 1, _ODD))
    marks = np.empty(len(texts), dtype=np.uint64)
    for at in range(0, len(texts), _BLOCK):  # every byte becomes eight
        some = ends[at : at + _BLOCK + 1] - ends[at]
        length, start = np.diff(some), some[:-1]
        place = np.arange(some[-1]) - np.repeat(start, length)
        total = np.zeros(some[-1] + 1, dtype=np.uint64)
        here = data[ends[at] : ends[at] + some[-1]]
        np.cumsum((here + np.uint64(1)) * power[place], out=total[1:])
        marks[at : at + _BLOCK] = total[start + length] - total[start]
    return marks


def _one_chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
