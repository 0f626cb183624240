"""Runs as integers: the table that everything else is computed on.

An *item* is a (query, document) pair that some run returned, numbered
in query order; a run is then an array of items by rank. Everything after the readers works on
these arrays, and ids come back at the border.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Order = Literal["score", "rank"]


class DataError(ValueError):
    """An input that cannot be read as what it claims to be; the message says where and why."""


def listed(offenders: Iterable[object], *, first: int = 3) -> str:
    """Offenders as text: the first few, then how many more there are."""
    every = list(offenders)
    shown = ", ".join(str(x) for x in every[:first])
    return shown if len(every) <= first else f"{shown} and {len(every) - first} more"


@dataclass(frozen=True)
class Runs:
    """Every system's ranked documents for every query, coded as integers.

    Attributes
    ----------
    systems, queries : tuple of str
        The axes, in the order given.
    documents : ndarray of str
        Distinct documents, ascending.
    item : ndarray of int32, shape (systems, queries, ranks)
        The item at each rank, best first; `n_items` where a run is shorter.
    query_of, document_of : ndarray of int32, shape (n_items,)
        Positions of an item's query and document. Items ascend by query, then document.
    tied : ndarray of bool, shape (systems, queries, ranks)
        Whether the document at this rank has the score of the one below it.
    strays : int
        Rows left out because their query is not on the query axis.
    """

    systems: tuple[str, ...]
    queries: tuple[str, ...]
    documents: np.ndarray
    item: np.ndarray
    query_of: np.ndarray
    document_of: np.ndarray
    tied: np.ndarray
    strays: int = 0

    @property
    def n_items(self) -> int:
        """How many distinct (query, document) pairs the runs hold."""
        return len(self.query_of)

    @property
    def returned(self) -> np.ndarray:
        """Documents each system returned for each query, shape (systems, queries)."""
        return np.asarray((self.item < self.n_items).sum(axis=2))

    def select(self, systems: Sequence[str]) -> "Runs":
        """Return the same items with only these systems, in this order."""
        at = positions(systems, self.systems, what="system")
        return Runs(
            tuple(systems), self.queries, self.documents, self.item[at], self.query_of,
            self.document_of, self.tied[at], self.strays,
        )  # fmt: skip

    def pairs(self, items: np.ndarray) -> pd.DataFrame:
        """Items as a table with the columns query_id and doc_id."""
        queries = np.asarray(self.queries, dtype=object)
        return pd.DataFrame(
            {"query_id": queries[self.query_of[items]], "doc_id": self.documents[self.document_of[items]]}
        )

    def frame(self, cutoff: int | None = None) -> pd.DataFrame:
        """Runs as a table: system, query_id, doc_id, rank from 1, score = -rank.

        The score is made of the rank so that every tool that reads it sees this one order.
        """
        item = self.item[:, :, :cutoff]
        s, q, r = np.nonzero(item < self.n_items)
        doc = self.documents[self.document_of[item[s, q, r]]]
        systems, queries = np.asarray(self.systems, dtype=object), np.asarray(self.queries, dtype=object)
        return pd.DataFrame(
            {"system": systems[s], "query_id": queries[q], "doc_id": doc, "rank": r + 1, "score": -(r + 1.0)}
        )


def positions(wanted: Sequence[str], axis: Sequence[str], *, what: str) -> np.ndarray:
    """Where each wanted label stands on an axis; unknown labels are refused by name."""
    at = {label: i for i, label in enumerate(axis)}
    unknown = [label for label in wanted if label not in at]
    if unknown:
        raise ValueError(f"unknown {what}: {listed(unknown)}. Known: {listed(axis, first=12)}.")
    return np.array([at[label] for label in wanted], dtype=int)


def coded(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Code of each row, and the distinct values in order of appearance."""
    chunks = column.dictionary_encode().chunks  # all share one dictionary
    codes = [np.zeros(0, dtype=np.int32), *(chunk.indices.to_numpy() for chunk in chunks)]
    return np.concatenate(codes), chunks[-1].dictionary if chunks else pa.array([], pa.string())


def _on_axis(column: pa.ChunkedArray, axis: Sequence[str] | np.ndarray) -> np.ndarray:
    """Position of each row's value on an axis, -1 where it is not there."""
    found = [np.zeros(0, dtype=np.int32)]
    values = pa.array(axis, pa.string())
    for chunk in column.chunks:
        stretch = pc.run_end_encode(chunk)  # one query's rows mostly stand together
        at = pc.index_in(stretch.values, value_set=values).fill_null(-1).to_numpy().astype(np.int32)
        found.append(np.repeat(at, np.diff(stretch.run_ends.to_numpy(), prepend=0)))
    return np.concatenate(found)


def _ascending(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Code of each row and the distinct values, ascending by bytes (trec_eval's strcmp)."""
    codes, values = coded(column)
    order = pc.sort_indices(values)
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return place[codes], values.take(order).to_numpy(zero_copy_only=False)


def _ties_by_document(group: np.ndarray, key: np.ndarray, document: np.ndarray) -> np.ndarray:
    """Documents of rows that come by group and key, those of equal key put in descending order."""
    tie = np.zeros(len(group) + 1, dtype=bool)  # with the row before
    tie[1:-1] = (group[1:] == group[:-1]) & (key[1:] == key[:-1])
    rows = np.flatnonzero(tie[1:] | tie[:-1])
    block, width = np.cumsum(~tie[rows]), int(document.max()) + 1
    document[rows] = -np.sort(block * width - document[rows]) % width
    return document


def runs_from(
    rankings: Mapping[str, pa.Table | pd.DataFrame], queries: Sequence[str], *, order: Order = "score"
) -> Runs:
    """Runs from one table a system, in the one order that pool and measures both see.

    Parameters
    ----------
    rankings : mapping of str to Table or DataFrame
        For each system the columns query_id, doc_id, score, and rank where `order="rank"`.
    queries : sequence of str
        The query axis. Rows of other queries are left out and counted.
    order : {"score", "rank"}
        `score`: descending as 32-bit floats, ties by document id descending, which is
        trec_eval's rule. `rank`: ascending by the rank column, for scores that mean nothing.

    Returns
    -------
    Runs

    Raises
    ------
    DataError
        For a document twice in one query, a score or rank that is not a number, or no known query at all.
    """
    if not rankings:
        raise DataError("no runs: at least one system is needed")
    systems, n_queries = tuple(rankings), len(queries)
    tables = [t if isinstance(t, pa.Table) else pa.Table.from_pandas(t) for t in rankings.values()]
    wanted = ["query_id", "doc_id", "score" if order == "score" else "rank"]
    lengths = [len(t) for t in tables]
    rows = pa.concat_tables([t.select(wanted).cast(_schema(wanted[2])) for t in tables])
    query = _on_axis(rows["query_id"], queries)
    key = rows[wanted[2]].to_numpy()
    bad = np.isnan(key) if order == "score" else ~np.isfinite(key)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        system = systems[int(np.searchsorted(np.cumsum(lengths), at, side="right"))]
        what = f"a {wanted[2]} that is not a number ({'NaN' if np.isnan(key[at]) else key[at]})"
        raise DataError(f"run {system}: query {rows['query_id'][at]} has {what}")
    strays = int((query < 0).sum())
    if strays == len(query):
        first = rows["query_id"][0] if strays else "none"
        raise DataError(
            f"no query of the runs is among the {n_queries} queries: runs say {first}, "
            f"queries say {listed(queries)}. Check that both name queries alike."
        )
    # Query by query, so that one document's rows are neighbours: coding them then stays in the cache.
    group = query * len(systems) + np.repeat(np.arange(len(systems), dtype=np.int32), lengths)
    best = np.argsort(group, kind="stable")[strays:]
    key = key.astype(np.float32) if order == "score" else -key
    sorted_group, sorted_key = group[best], key[best]
    if np.any((sorted_group[1:] == sorted_group[:-1]) & (sorted_key[1:] > sorted_key[:-1])):
        best = np.lexsort((-key, group))[strays:]
        sorted_key = key[best]
    group, key = sorted_group, sorted_key
    document, documents = _ascending(rows["doc_id"].take(pa.array(best)))
    del query, best
    pa.default_memory_pool().release_unused()  # the texts are coded, and what follows needs the room
    document = _ties_by_document(group, key, document)

    count = np.bincount(group, minlength=n_queries * len(systems))
    depth, start = int(count.max()), np.cumsum(count) - count
    rank = np.arange(len(group), dtype=np.int32) - start.astype(np.int32)[group]
    dense = np.full((len(count), depth), len(documents), dtype=np.int32)
    dense[group, rank] = document
    tied = np.zeros((len(count), depth), dtype=bool)
    tied[group[:-1], rank[:-1]] = (group[1:] == group[:-1]) & (key[1:] == key[:-1])
    shape = (n_queries, len(systems), depth)
    item, query_of, document_of = _items(dense.reshape(shape), len(documents))
    _refuse_repeats(item, len(query_of), systems, queries, documents, document_of)
    tied = np.ascontiguousarray(tied.reshape(shape).swapaxes(0, 1))
    return Runs(systems, tuple(queries), documents, item, query_of, document_of, tied, strays)


def _schema(key: str) -> pa.Schema:
    return pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), (key, pa.float64())])


def _items(dense: np.ndarray, padding: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the distinct (query, document) pairs of documents by query, system and rank."""
    item = np.empty_like(dense)
    place = np.empty(padding + 1, dtype=np.int32)
    document_of, sizes, n = [], [], 0
    for q, here in enumerate(dense):
        found = np.sort(here, axis=None)  # and not np.unique: sorting numbers is faster than hashing them
        found = found[(np.diff(found, prepend=-1) > 0) & (found < padding)]
        place[found] = np.arange(n, n + len(found))
        place[padding] = -1
        item[q] = place[here]
        document_of.append(found)
        sizes.append(len(found))
        n += len(found)
    item[item < 0] = n
    query_of = np.repeat(np.arange(len(dense), dtype=np.int32), sizes)
    return np.ascontiguousarray(item.swapaxes(0, 1)), query_of, np.concatenate(document_of)


def _refuse_repeats(
    item: np.ndarray, n_items: int, systems: tuple[str, ...], queries: Sequence[str],
    documents: np.ndarray, document_of: np.ndarray,
) -> None:  # fmt: skip
    """Refuse a document that one run ranks twice for one query."""
    ordered = np.sort(item, axis=2)
    twice = (ordered[:, :, 1:] == ordered[:, :, :-1]) & (ordered[:, :, 1:] < n_items)
    if twice.any():
        s, q, r = (int(x[0]) for x in np.nonzero(twice))
        doc = documents[document_of[ordered[s, q, r]]]
        raise DataError(f"run {systems[s]}: query {queries[q]} ranks document {doc} twice. Keep one.")
