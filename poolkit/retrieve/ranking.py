"""Ranked documents: the best of a score table, BM25, cosine, and reciprocal rank fusion."""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from poolkit.tables import DataError, Runs, listed

QUERIES = 1024  # compared with a block of documents at once


@dataclass(frozen=True)
class Ranking:
    """Documents of one query, best first.

    Attributes
    ----------
    document : ndarray of int
        Positions in the corpus.
    score : ndarray of float32
        Descending; documents of equal score stand by id, descending, as trec_eval has it.
    """

    document: np.ndarray
    score: np.ndarray

    def top(self, depth: int) -> "Ranking":
        """Return the first `depth` ranks."""
        return Ranking(self.document[:depth], self.score[:depth])


def id_order(doc_ids: Sequence[str]) -> np.ndarray:
    """Place of each document id in the order of bytes, which decides ties."""
    place = np.empty(len(doc_ids), dtype=np.int64)
    place[sorted(range(len(doc_ids)), key=lambda i: doc_ids[i].encode())] = np.arange(len(doc_ids))
    return place


def best(score: np.ndarray, place: np.ndarray, *, depth: int) -> Ranking:
    """Documents with the highest scores.

    Parameters
    ----------
    score : ndarray
        One score a document; minus infinity for a document that was not found.
    place : ndarray
        As `id_order` gives it.
    depth : int
        Ranks to keep.

    Returns
    -------
    Ranking

    Notes
    -----
    Scores are ordered as 32-bit floats, ties by id descending: what trec_eval will see in the file.
    """
    score = score.astype(np.float32)
    near = np.flatnonzero(score > -np.inf)
    if len(near) > depth:
        floor = np.partition(score, len(score) - depth)[len(score) - depth]
        near = np.flatnonzero(score >= floor)
    order = near[np.lexsort((-place[near], -score[near]))][:depth]
    return Ranking(order, score[order])


class Bm25:
    """BM25 over an index of documents, with Lucene's formula, by bm25s.

    Words are lower-cased, of two letters or digits or more, without English stop words.

    Parameters
    ----------
    documents : sequence of str
    k1, b : float
        How soon repeats stop counting; how much long documents are held back.
    stem : str
        A Snowball language, such as "english"; empty leaves words as they are.
    """

    def __init__(self, documents: Sequence[str], *, k1: float = 1.5, b: float = 0.75, stem: str = "") -> None:
        try:
            import bm25s
        except ImportError:
            raise DataError("BM25 needs bm25s, which is not installed. Run: pip install bm25s") from None
        self._tokenize, self._stemmer, self._n = bm25s.tokenize, _stemmer(stem), len(documents)
        words = self._words(documents)
        if not any(words):
            raise DataError("BM25: no document holds a word of two letters or more")
        self._index = bm25s.BM25(method="lucene", k1=k1, b=b)
        self._index.index(words, show_progress=False)

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        quiet = {"stopwords": "en", "stemmer": self._stemmer, "return_ids": False, "show_progress": False}
        return list(self._tokenize(list(texts), **quiet))

    def scores(self, queries: Sequence[str]) -> Iterator[np.ndarray]:
        """Scores of all documents, query by query; minus infinity for one without a word of the query."""
        for wanted in self._words(queries):
            known = [w for w in wanted if w in self._index.vocab_dict]
            score = self._index.get_scores(known) if known else np.zeros(self._n, dtype=np.float32)
            yield np.where(score > 0, score, -np.inf)


def _stemmer(language: str) -> Any:
    """A Snowball stemmer, or None where no language is named."""
    if not language:
        return None
    try:
        snowball: Any = importlib.import_module("Stemmer")
    except ImportError:
        text = f"stem = {language!r} needs PyStemmer, which is not installed. Run: pip install PyStemmer"
        raise DataError(text) from None
    if language not in snowball.algorithms():
        raise DataError(f"stem = {language!r} is unknown. Known: {', '.join(snowball.algorithms())}.")
    return snowball.Stemmer(language)


def nearest(
    blocks: Iterable[np.ndarray], queries: np.ndarray, place: np.ndarray, *, depth: int
) -> list[Ranking]:
    """Documents of the highest cosine, exactly, with one block of them in memory at a time.

    Parameters
    ----------
    blocks : iterable of ndarray
        Unit vectors of the documents in order, some thousands a block; walked once for every QUERIES queries.
    queries : ndarray
        Unit vectors.
    place : ndarray
        As `id_order` gives it.
    depth : int

    Returns
    -------
    list of Ranking
        One a query.

    Notes
    -----
    Cosines are settled at six decimals: what lies below is float noise, which would order equal texts by
    chance. Cosine and place then make one whole number, so ties need no further care, and the size of the
    blocks changes nothing.
    """
    made: list[Ranking] = []
    document_at = np.argsort(place)
    for first in range(0, len(queries), QUERIES):
        some = queries[first : first + QUERIES]
        top, start = np.empty((len(some), 0), dtype=np.int64), 0
        for block in blocks:
            micro = np.rint(some @ block.T * 1e6).astype(np.int64)
            here = micro << 32 | place[start : start + len(block)]
            if here.shape[1] > depth:
                here = np.partition(here, -depth, axis=1)[:, -depth:]
            top, start = np.hstack([top, here]), start + len(block)
            if top.shape[1] > depth:
                top = np.partition(top, -depth, axis=1)[:, -depth:]
        top = np.sort(top, axis=1)[:, ::-1]
        document, score = document_at[top & 0xFFFFFFFF], ((top >> 32) / 1e6).astype(np.float32)
        made += [Ranking(d, s) for d, s in zip(document, score, strict=True)]
    return made


def fused(rankings: Sequence[Ranking], place: np.ndarray, *, depth: int, k: float = 60) -> Ranking:
    """Reciprocal rank fusion of several rankings of one query.

    A document scores the sum of 1 / (k + rank) over the rankings that hold it [1]_.

    References
    ----------
    .. [1] Cormack, Clarke, Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual
       rank learning methods", SIGIR 2009, 10.1145/1571941.1572114.
    """
    score = np.zeros(len(place))
    for ranking in rankings:
        score[ranking.document] += 1 / (k + np.arange(1, len(ranking.document) + 1))
    return best(np.where(score > 0, score, -np.inf), place, depth=depth)


def run_rankings(runs: Runs, system: str, doc_ids: Sequence[str]) -> list[Ranking]:
    """Rankings of a run that was made elsewhere, one a query; only their order means anything."""
    at = pd.Index(doc_ids).get_indexer(pd.Index(runs.documents))
    items = runs.item[runs.systems.index(system)]
    ranked = [runs.document_of[row[row < runs.n_items]] for row in items]
    strange = np.unique(np.concatenate(ranked))
    strange = strange[at[strange] < 0]
    if len(strange):
        named = listed(runs.documents[strange])
        raise DataError(f"run {system}: {len(strange):,} of its documents are not in the corpus: {named}")
    return [Ranking(at[row], -np.arange(len(row), dtype=np.float32)) for row in ranked]


def run_table(rankings: Sequence[Ranking], query_ids: Sequence[str], doc_ids: Sequence[str]) -> pd.DataFrame:
    """Rankings as a run: query_id, doc_id, rank from 1, score."""
    names = np.asarray(doc_ids, dtype=object)
    lengths = [len(r.document) for r in rankings]
    joined: list[np.ndarray] = [r.document for r in rankings]
    return pd.DataFrame(
        {
            "query_id": np.repeat(np.asarray(query_ids, dtype=object), lengths),
            "doc_id": names[np.concatenate(joined)],
            "rank": np.concatenate([np.arange(1, n + 1) for n in lengths]),
            "score": np.concatenate([r.score for r in rankings]),
        }
    )
