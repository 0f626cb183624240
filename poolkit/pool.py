"""The pool: the union of every system's top documents, and what each system brought to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from poolkit.tables import Runs, positions


@dataclass(frozen=True)
class Pool:
    """Documents to judge, each with its contributors.

    Attributes
    ----------
    runs : Runs
    depth : int
        Ranks that each run gave.
    item : ndarray of int, shape (n,)
        The pooled items, ascending: query by query.
    member : ndarray of bool, shape (systems, n)
        Which systems brought each of them.
    """

    runs: Runs
    depth: int
    item: np.ndarray
    member: np.ndarray

    @property
    def unique(self) -> int:
        """Judgments that the pool costs."""
        return len(self.item)

    @property
    def independent(self) -> int:
        """Judgments that judging each system by itself would cost."""
        return int(self.member.sum())

    @property
    def reuse(self) -> float:
        """Share of judgments saved, 1 - unique / independent."""
        return 1 - self.unique / self.independent

    @property
    def cost_factor(self) -> float:
        """How many times dearer judging each system by itself would be."""
        return self.independent / self.unique

    @property
    def nominal(self) -> int:
        """Systems x queries x depth, which the paper divides by: `independent` if no run were short."""
        return len(self.runs.systems) * len(self.runs.queries) * self.depth

    @property
    def nominal_reuse(self) -> float:
        """Share saved against `nominal`."""
        return 1 - self.unique / self.nominal

    @property
    def query(self) -> np.ndarray:
        """Query position of each pooled item, ascending."""
        return np.asarray(self.runs.query_of[self.item])

    def sizes(self) -> pd.Series:
        """Pooled documents per query, indexed by query_id."""
        counts = np.bincount(self.query, minlength=len(self.runs.queries))
        return pd.Series(counts, pd.Index(self.runs.queries, name="query_id"), name="documents")

    def frame(self) -> pd.DataFrame:
        """Pool as a table: query_id, doc_id, contributors (how many systems brought it)."""
        return self.runs.pairs(self.item).assign(contributors=self.member.sum(axis=0))

    def contributors(self, query_id: str, doc_id: str) -> list[str]:
        """Systems that brought one document, in system order."""
        pairs = self.runs.pairs(self.item)
        at = np.flatnonzero((pairs["query_id"] == query_id) & (pairs["doc_id"] == doc_id))
        return (
            []
            if not len(at)
            else [s for s, m in zip(self.runs.systems, self.member[:, at[0]], strict=True) if m]
        )


def pool(runs: Runs, *, depth: int) -> Pool:
    """Union over systems of each run's first `depth` documents, query by query.

    Parameters
    ----------
    runs : Runs
    depth : int
        At least 1. Runs that are shorter give what they have.

    Returns
    -------
    Pool

    Notes
    -----
    pool(q) is the union over s of top_depth(s, q), as METHOD 2.

    Examples
    --------
    >>> from toy import runs
    >>> p = pool(runs(), depth=2)
    >>> p.independent, p.unique
    (10, 6)
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1; got {depth}")
    top = runs.item[:, :, :depth].reshape(len(runs.systems), -1)
    member = np.zeros((len(runs.systems), runs.n_items + 1), dtype=bool)
    np.put_along_axis(member, top, True, axis=1)
    item = np.flatnonzero(member[:, :-1].any(axis=0))
    return Pool(runs, depth, item, np.take(member, item, axis=1))


def arrival(pool: Pool, *, order: Sequence[str] | None = None) -> pd.DataFrame:
    """What each system costs when systems arrive one after the other.

    Parameters
    ----------
    pool : Pool
    order : sequence of str, optional
        Systems by arrival; the runs' own order if absent.

    Returns
    -------
    DataFrame
        By system in arrival order: `returned` documents within depth, `new` ones that no earlier
        system brought (the marginal cost), `share` = new / returned, and the running totals
        `unique`, `independent` and `reuse`.
    """
    order = list(pool.runs.systems if order is None else order)
    at = positions(order, pool.runs.systems, what="system")
    if len(set(order)) < len(order):
        raise ValueError("the order of arrival names a system twice")
    first = pool.member[at].argmax(axis=0)[pool.member[at].any(axis=0)]
    new = np.bincount(first, minlength=len(order))
    returned = pool.member[at].sum(axis=1)
    unique, independent = new.cumsum(), returned.cumsum()
    share = np.divide(new, returned, out=np.zeros(len(order)), where=returned > 0)
    reuse = 1 - np.divide(unique, independent, out=np.ones(len(order)), where=independent > 0)
    columns = {
        "returned": returned, "new": new, "share": share, "unique": unique, "independent": independent,
        "reuse": reuse,
    }  # fmt: skip
    return pd.DataFrame(columns, index=pd.Index(order, name="system"))


def own_members(pool: Pool, group: np.ndarray) -> np.ndarray:
    """Pooled items that only systems of `group` brought: bool, shape (n,).

    `group` is a boolean mask over systems.
    """
    return np.asarray(pool.member[group].any(axis=0) & ~pool.member[~group].any(axis=0))


def contributions(pool: Pool, families: Mapping[str, str]) -> pd.DataFrame:
    """By system: family, documents contributed, unique to it, unique to its family.

    Parameters
    ----------
    pool : Pool
    families : mapping of str to str
        Family of each system, from systems.csv.
    """
    systems = pool.runs.systems
    names = np.array([families[s] for s in systems], dtype=object)
    sole = pool.member & (pool.member.sum(axis=0) == 1)
    of_family = {f: int(own_members(pool, names == f).sum()) for f in dict.fromkeys(names)}
    columns = {
        "family": names,
        "contributed": pool.member.sum(axis=1),
        "unique_to_system": sole.sum(axis=1),
        "unique_to_family": [of_family[f] for f in names],
    }
    return pd.DataFrame(columns, index=pd.Index(systems, name="system"))


def jaccard(pool: Pool) -> pd.DataFrame:
    """Overlap of every two systems' pooled documents, |A and B| / |A or B|, over all queries."""
    member = pool.member.astype(np.float32)
    both = (member @ member.T).astype(float)
    size = np.diag(both)
    either = size[:, None] + size[None, :] - both
    values = np.divide(both, either, out=np.ones_like(both), where=either > 0)
    return pd.DataFrame(values, index=list(pool.runs.systems), columns=list(pool.runs.systems))


def rank_biased_overlap(pool: Pool, *, persistence: float = 0.9) -> pd.DataFrame:
    """Rank-biased overlap of every two systems' rankings, to the pool's depth, mean over queries.

    Parameters
    ----------
    pool : Pool
    persistence : float
        Weight p in (0, 1) of going on to the next rank.

    Notes
    -----
    Truncated form: (1 - p) / (1 - p^k) * sum over d = 1..k of p^(d-1) |A_d and B_d| / d, so that
    equal rankings of full length have 1. Ranks past the end of a short run overlap with nothing.

    References
    ----------
    .. [1] Webber, Moffat, Zobel, "A similarity measure for indefinite rankings", TOIS 28(4), 2010.
    """
    if not 0 < persistence < 1:
        raise ValueError(f"persistence must lie between 0 and 1; got {persistence}")
    runs = pool.runs
    item = runs.item[:, :, : pool.depth]
    depth = item.shape[2]
    rank = np.full((len(runs.systems), runs.n_items + 1), depth, dtype=np.int32)
    for s in range(len(runs.systems)):
        rank[s, item[s]] = np.arange(depth)
    rank[:, -1] = depth
    weight = persistence ** np.arange(depth)
    # A document met by both from depth d on adds 1/d' at every d' >= d: one weight for its later rank.
    tail = np.append(np.cumsum((weight / np.arange(1, depth + 1))[::-1])[::-1], 0.0)
    scale = len(runs.queries) * weight.sum()
    values = np.empty((len(runs.systems), len(runs.systems)))
    for s in range(len(runs.systems)):
        found = item[s][item[s] < runs.n_items]
        values[s, s:] = values[s:, s] = tail[np.maximum(rank[s:, found], rank[s, found])].sum(axis=1) / scale
    return pd.DataFrame(values, index=list(runs.systems), columns=list(runs.systems))


def unjudged(pool: Pool, judged: np.ndarray) -> pd.DataFrame:
    """Pooled pairs without a grade: query_id, doc_id, in pool order.

    `judged` is a boolean mask over the runs' items, as in `Grades`.
    """
    return pool.runs.pairs(pool.item[~judged[pool.item]])


def holes(runs: Runs, judged: np.ndarray, *, cutoff: int) -> pd.Series:
    """Unjudged documents in the top ranks, per system, summed over queries.

    Most measures read a hole as non-relevant, so few holes mean safer scores. Ranks that a short
    run leaves empty are not holes.
    """
    top = runs.item[:, :, :cutoff]
    missing = ((top < runs.n_items) & ~judged[top]).sum(axis=(1, 2))
    return pd.Series(missing, index=pd.Index(runs.systems, name="system"), name="holes")


def ties(runs: Runs, *, cutoff: int) -> pd.Series:
    """Places within the cutoff that only the tie rule fills, per system, summed over queries.

    A place counts when its document shares its score with the first document beyond the cutoff:
    another tie rule would have put another document there.
    """
    tied = runs.tied[:, :, :cutoff]
    if tied.shape[2] < cutoff:
        tied = np.zeros_like(tied)  # nothing lies beyond the cutoff
    chain = np.flip(np.logical_and.accumulate(np.flip(tied, axis=2), axis=2), axis=2)
    return pd.Series(chain.sum(axis=(1, 2)), index=pd.Index(runs.systems, name="system"), name="ties")
