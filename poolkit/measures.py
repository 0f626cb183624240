"""Measures as numerators and denominators: N[system, query] / D[query].

The numerator belongs to the system and sees only its own ranks; the denominator belongs to the
query and the judged documents. That is what makes leave-one-out, growth and certificates cheap:
they change grades and counts, and call the two functions here again.
"""

from collections.abc import Sequence

import ir_measures
import numpy as np
from ir_measures import Measure
from ir_measures.measures import Measure as _Measure
from ir_measures.measures import ParamInfo

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
    grade = relevance[item]
    gain = np.maximum(grade, 0)
    ranks = np.arange(1, item.shape[-1] + 1)
    discount = 1 / np.log2(ranks + 1)
    relevant = {t: (grade >= t) & (gain > 0 if t <= 0 else True) for t in {*map(_threshold, measures)}}
    found: dict[str, np.ndarray] = {}
    for m in measures:
        top = slice(None, cutoff_of(m))
        rel = relevant[_threshold(m)][..., top]
        if m.NAME in ("P", "R"):
            value = rel.sum(axis=-1)
        elif m.NAME == "AP":
            value = (rel * rel.cumsum(axis=-1) / ranks[top]).sum(axis=-1)
        elif m.NAME in ("nDCG", "DCG"):
            value = gain[..., top] @ discount[top]
        elif m.NAME == "RR":
            value = (rel / ranks[top]).max(axis=-1, initial=0.0)
        elif m.NAME == "Success":
            value = rel.any(axis=-1)
        else:
            there = (item[..., top] < len(relevance) - 1).sum(axis=-1)
            value = judged[item[..., top]].sum(axis=-1) / np.maximum(there, 1)
        found[str(m)] = np.asarray(value, dtype=float)
    return found


def grade_counts(query: np.ndarray, relevance: np.ndarray, *, n_queries: int, top: int) -> np.ndarray:
    """Documents of each positive grade per query: int, shape (n_queries, top), grades 1..top."""
    kept = relevance > 0
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
