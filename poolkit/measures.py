"""Measures as numerators and denominators: N[system, query] / D[query].

The numerator belongs to the system and sees only its own ranks; the denominator belongs to the
query and the judged documents. That is what makes leave-one-out, growth and certificates cheap:
they change grades and counts, and call the two functions here again.
"""

from collections.abc import Iterator, Sequence

import ir_measures
import numpy as np
from ir_measures import Measure
from ir_measures.measures import Measure as _Measure
from ir_measures.measures import ParamInfo

BLOCK = 1 << 23  # cells (system, query, rank) scored at a time
NATIVE = ("P", "R", "AP", "nDCG", "DCG", "RR", "Success", "Judged")


class _DCG(_Measure):
    """Discounted cumulative gain, sum of g / log2(rank + 1): nDCG without its denominator."""

    __name__ = "DCG"
    NAME = "DCG"
    PRETTY_NAME = "Discounted Cumulative Gain"
    SHORT_DESC = "Sum of the grades in the top k, each divided by log2(rank + 1)."
    SUPPORTED_PARAMS = {"cutoff": ParamInfo(dtype=int, required=False, desc="ranking cutoff threshold")}  # noqa: RUF012


DCG = _DCG()
_KNOWN = set(ir_measures.measures.registry) | {"DCG"}


def measure(text: str | Measure) -> Measure:
    """Measure of a name as ir_measures writes it; `DCG@k` is added.

    Examples
    --------
    >>> measure("NDCG@10"), measure("P(rel=2)@5")
    (nDCG@10, P(rel=2)@5)
    """
    if isinstance(text, Measure):
        return text
    try:
        name, at, cut = text.strip().partition("@")
        own = DCG @ int(cut) if at and name == "DCG" else DCG
        found = own if name == "DCG" else ir_measures.parse_measure(text)
        found.validate_params()
    except (NameError, ValueError, AssertionError, TypeError) as error:
        name = text.strip().split("@")[0].split("(")[0]
        same = [known for known in sorted(_KNOWN, key=str.swapcase) if known.casefold() == name.casefold()]
        hint = f"Did you mean {text.replace(name, same[0], 1)}?" if same and name not in same else f"{error}."
        if "cutoff=" in str(error):
            hint = f"It needs a cutoff, such as {name}@10."
        raise ValueError(
            f"measure {text!r}: {hint} Names are those of ir_measures: nDCG@10, P(rel=2)@10."
        ) from None
    cutoff = found["cutoff"] if "cutoff" in found.SUPPORTED_PARAMS else None
    if isinstance(cutoff, int) and cutoff < 1:
        raise ValueError(f"measure {text!r}: the cutoff must be at least 1")
    if _threshold(found) < 1:
        raise ValueError(
            f"measure {text!r}: rel must be at least 1, or unjudged documents would count as relevant"
        )
    return found


def is_native(m: Measure) -> bool:
    """Whether a measure is a numerator over a denominator here; others go to ir_measures whole."""
    if m.NAME not in NATIVE or m.params.get("judged_only"):
        return False
    return m.NAME != "nDCG" or (m.params.get("dcg", "log2") == "log2" and not m.params.get("gains"))


def cutoff_of(m: Measure) -> int | None:
    """Last rank that a measure reads, or None for all."""
    return m.params.get("cutoff")


def _threshold(m: Measure) -> int:
    return int(m.params.get("rel", 1))


def numerators(
    item: np.ndarray, relevance: np.ndarray, judged: np.ndarray, measures: Sequence[Measure]
) -> dict[str, np.ndarray]:
    """Numerators of native measures for rankings of items.

    Parameters
    ----------
    item : ndarray of int, shape (..., ranks)
        Items by rank; the last index of `relevance` stands for no document.
    relevance, judged : ndarray, shape (n_items + 1,)
        As in `Grades`.
    measures : sequence of Measure

    Returns
    -------
    dict of str to ndarray, shape (...)
        By the measure's text.

    Notes
    -----
    P, R: relevant in the top k. AP: sum of P@r over relevant ranks r <= k. nDCG, DCG: sum of
    max(g, 0) / log2(r + 1). RR: 1 / rank of the first relevant. Success: 1 if any is relevant.
    Judged: judged in the top k / documents there. Relevant means grade >= rel.
    """
    if not measures:
        return {}
    last = item.shape[-1]
    ranks = min(last, max(cutoff_of(m) or last for m in measures))
    grade = relevance.astype(np.int16, copy=False)[
        item[..., :ranks]
    ]  # grades are small, and narrow ones move faster
    shape, grade = grade.shape[:-1], grade.reshape(-1, ranks)
    # Few documents are relevant, so sums run over their cells alone: row, rank from 0, grade of each.
    relevant = grade > 0
    row = np.repeat(np.arange(len(grade)), np.count_nonzero(relevant, axis=1))
    cell = np.flatnonzero(relevant)
    rank, gain = cell - row * ranks, grade.ravel()[cell]
    inverse, discount = 1 / np.arange(1, ranks + 1), 1 / np.log2(np.arange(2, ranks + 2))
    found: dict[str, np.ndarray] = {}
    for m in measures:
        top, floor = cutoff_of(m) or ranks, 1 if m.NAME in ("nDCG", "DCG") else _threshold(m)
        kept = np.s_[:] if top >= ranks and floor == 1 else np.flatnonzero((rank < top) & (gain >= floor))
        at, r = row[kept], rank[kept]
        if m.NAME in ("nDCG", "DCG"):
            value = np.bincount(at, gain[kept] * discount[r], len(grade))
        elif m.NAME in ("AP", "RR"):
            hits = np.bincount(at, minlength=len(grade))
            nth = np.arange(1, len(at) + 1) - (np.cumsum(hits) - hits)[at]
            gained = nth * inverse[r] if m.NAME == "AP" else np.where(nth == 1, inverse[r], 0)
            value = np.bincount(at, gained, len(grade))
        elif m.NAME == "Judged":
            there = (item[..., :top] < len(relevance) - 1).sum(axis=-1)
            value = judged[item[..., :top]].sum(axis=-1) / np.maximum(there, 1)
        else:
            hits = np.bincount(at, minlength=len(grade))
            value = np.minimum(hits, 1) if m.NAME == "Success" else hits
        found[str(m)] = np.asarray(value, dtype=float).reshape(shape)
    return found


def query_blocks(
    item: np.ndarray, query_of: np.ndarray, relevance: np.ndarray, judged: np.ndarray, has: np.ndarray, *,
    least: int = 1,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:  # fmt: skip
    """Blocks of labelled queries, each with its own items: item, relevance and judged for `numerators`.

    Work is per query, so a block bounds the memory; there are at least `least` of them, if queries suffice.

    Parameters
    ----------
    item : ndarray of int, shape (systems, queries, ranks)
    query_of : ndarray, shape (n_items,)
        Ascending, as in `Runs`.
    relevance, judged : ndarray, shape (n_items + 1,)
    has : ndarray of bool, shape (queries,)
        Which queries are labelled.
    """
    at = np.flatnonzero(has)
    n_blocks = max(least, -(-len(item) * len(at) * item.shape[2] // BLOCK))
    if n_blocks == 1 and has.all():
        yield item, relevance, judged
        return
    for part in np.array_split(at, min(n_blocks, len(at))):
        first, last = np.searchsorted(query_of, [part[0], part[-1] + 1])
        kept = np.r_[first:last, len(query_of)]
        yield np.minimum(item[:, part] - first, last - first, dtype=np.int32), relevance[kept], judged[kept]


def grade_counts(query: np.ndarray, relevance: np.ndarray, *, n_queries: int, top: int) -> np.ndarray:
    """Documents of each positive grade per query: int, shape (n_queries, top), grades 1..top."""
    kept = np.flatnonzero(relevance > 0)
    code = query[kept] * top + relevance[kept] - 1
    return np.bincount(code, minlength=n_queries * top).reshape(n_queries, top)


def denominators(counts: np.ndarray, measures: Sequence[Measure]) -> dict[str, np.ndarray]:
    """Denominators of native measures from how many documents carry each grade.

    Parameters
    ----------
    counts : ndarray of int, shape (..., top)
        Judged documents of grade 1, 2, .. top.
    measures : sequence of Measure

    Returns
    -------
    dict of str to ndarray, shape (...)

    Notes
    -----
    P: k. R, AP: relevant documents R(q). nDCG: the ideal DCG@k over all judged documents. Others: 1.
    """
    top = counts.shape[-1]
    at_least = counts[..., ::-1].cumsum(axis=-1)[..., ::-1]  # documents of grade >= 1, >= 2, ..
    shape = counts.shape[:-1]
    found: dict[str, np.ndarray] = {}
    for m in measures:
        threshold = max(_threshold(m), 1)
        if m.NAME == "P":
            value = np.full(shape, float(cutoff_of(m) or 1))
        elif m.NAME in ("R", "AP"):
            value = at_least[..., threshold - 1] if threshold <= top else np.zeros(shape)
        elif m.NAME == "nDCG":
            most = int(at_least.max(initial=0))
            limit = min(cutoff_of(m) or most, most)
            gathered = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(1, limit + 1) + 1))])
            # A list of gains is a stack of layers: each grade adds 1 to all documents at or above it.
            value = gathered[np.minimum(at_least, limit)].sum(axis=-1)
        else:
            value = np.ones(shape)
        found[str(m)] = np.asarray(value, dtype=float)
    return found


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """N / D, and 0 where D is 0: a query without a relevant document scores 0 for everybody."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0)
