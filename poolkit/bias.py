"""Pool bias: how the ranking changes had a family, or a system, never been pooled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import joblib
import numpy as np
import pandas as pd
from ir_measures import Measure

from poolkit.compare import order_signs
from poolkit.labels import Grades
from poolkit.pool import Pool
from poolkit.regrade import State, all_labels
from poolkit.score import is_native, measure
from poolkit.tables import listed


@dataclass(frozen=True)
class LeftOut:
    """What happens to the ranking when one group of systems is left out of the pool.

    Attributes
    ----------
    by : str
        "family" or "system": what a group is.
    measures : tuple of str
    near_tie : float
    labels : str
        Whose grades these are.
    groups : DataFrame
        By group: `systems` in it; `unique`, the pooled documents that only they brought (U); how
        many of those are `judged`, and `relevant`.
    effects : DataFrame
        One row a group and measure: `flips` of pairs, how many of them are `near_ties`, the
        `largest` penalty and the `system` that bears it, the `flips_repaired` that remain once U is
        judged again, and the largest `difference_repaired` of a mean from the full pool then.
    flips : DataFrame
        One row a flipped pair: group, measure, `better` and `worse` under the full pool, their
        `gap` there, `gap_left_out` (negative) without U, whether it is a `near_tie`, and whether
        either is of the group (`better_own`, `worse_own`).
    penalties : DataFrame
        One row a group, own system and measure: mean over queries under the `full` labels, the
        `left_out` mean, `penalty` = full - left_out, and `unjudged`, the share of the documents the
        measure reads that have no judgment then (`unjudged_full`: with U judged).
    full : DataFrame
        Means of every system (rows) under the full labels, by measure.
    means : dict of str to DataFrame
        By measure: means of every system (rows) with each group (columns) left out.
    notes : tuple of str
    """

    by: str
    measures: tuple[str, ...]
    near_tie: float
    labels: str
    groups: pd.DataFrame
    effects: pd.DataFrame
    flips: pd.DataFrame
    penalties: pd.DataFrame
    full: pd.DataFrame
    means: dict[str, pd.DataFrame]
    notes: tuple[str, ...]

    def turned(self, measure: str) -> set[frozenset[str]]:
        """Pairs of systems that change order by this measure, whatever is left out."""
        mine = self.flips[self.flips["measure"] == measure]
        return {frozenset(pair) for pair in zip(mine["better"], mine["worse"], strict=True)}


def leave_out(
    pool: Pool, grades: Grades, families: Mapping[str, str], measures: Sequence[str | Measure], *,
    by: Literal["family", "system"] = "family", near_tie: float = 0.001, n_jobs: int | None = None,
) -> LeftOut:  # fmt: skip
    """Flips, penalties and repair when each group of systems is left out of the pool in turn.

    Parameters
    ----------
    pool : Pool
    grades : Grades
        Labels on the pool's runs.
    families : mapping of str to str
        Family of each system, from systems.csv.
    measures : sequence of str or Measure
        Those that poolkit computes itself; others are named in `notes`.
    by : {"family", "system"}
        Leave out whole families, or one system at a time.
    near_tie : float
        A flipped pair closer than this, with or without the group, is a near-tie.
    n_jobs : int, optional
        Groups are shared among so many jobs; joblib's `parallel_config` says where they run.

    Returns
    -------
    LeftOut

    Raises
    ------
    ValueError
        For a system without a family, another `by`, or no measure that can be computed here.

    Notes
    -----
    U is what only the group's systems brought within the pool's depth. Without the group U has no
    judgment and counts as non-relevant, in the numerators of whoever ranks it and in the denominators
    of all; every other label stays, pooled or not. A pair flips when its order of means is strictly
    reversed: ties do not flip. A query that loses its last relevant document scores 0 for everybody.
    Repair gives U its grades back, counts and scores again, and compares again.

    References
    ----------
    .. [1] Zobel, "How reliable are the results of large-scale information retrieval experiments?",
       SIGIR 1998.

    Examples
    --------
    >>> from toy import FAMILIES, grades, runs
    >>> from poolkit.pool import pool
    >>> found = leave_out(pool(runs(), depth=2), grades(), FAMILIES, ["P@2"])
    >>> found.groups["unique"].to_dict()
    {'lexical': 1, 'neural': 2}
    >>> found.penalties[["system", "penalty"]].to_numpy().tolist()
    [['bm25', 0.0], ['dense', 0.25], ['hybrid', 0.0]]
    """
    if by not in ("family", "system"):
        raise ValueError(f'by is {by!r}; write "family" or "system"')
    systems = pool.runs.systems
    lost = [s for s in systems if s not in families]
    if by == "family" and lost:
        raise ValueError(f"no family for system {listed(lost)}. Add it to systems.csv.")
    every = list({str(m): m for m in map(measure, measures)}.values())
    native = [m for m in every if is_native(m)]
    if not native:
        raise ValueError(
            f"none of the measures {listed(every)} is a numerator over a denominator. Try nDCG@10 or AP@100."
        )
    names = np.array([families[s] if by == "family" else s for s in systems], dtype=object)
    titles = list(dict.fromkeys(names))
    notes = [f"{m} is left out: it is not a numerator over a denominator." for m in every if m not in native]
    if len(titles) == 1:
        notes.append(f"All systems are one {by} ({titles[0]}), so nothing is left of the pool without it.")
    if not grades.has.any():
        notes.append(f"{grades.title}: no query has a label, so nothing can be scored.")
    possible = len(titles) > 1 and bool(grades.has.any())

    groups, effects, flips, penalties = [], [], [], []
    full = all_labels(pool, grades, native)
    sole = _sole(pool.member, [titles.index(n) for n in names], len(titles))
    before_all = full.means() if possible else {str(m): np.full(len(systems), np.nan) for m in native}
    means: dict[str, dict[str, np.ndarray]] = {m: {} for m in before_all}
    left = titles if possible else []
    tasks = [(names == title, pool.item[sole[g]]) for g, title in enumerate(left)]
    size = max(1, -(-len(tasks) // joblib.effective_n_jobs(n_jobs)))
    shares = (tasks[at : at + size] for at in range(0, len(tasks), size))
    done = joblib.Parallel(n_jobs=n_jobs)(joblib.delayed(_without)(full, share) for share in shares)
    changes = [change for share in done for change in share]
    for title, (own, unique), (after_all, repaired_all, holes) in zip(left, tasks, changes, strict=True):
        counts = [own.sum(), len(unique), grades.judged[unique].sum(), (grades.relevance[unique] > 0).sum()]
        groups.append((title, *map(int, counts)))
        for m in native:
            key = str(m)
            before, after, mended = before_all[key], after_all[key], repaired_all[key]
            penalty, means[key][title] = before - after, after
            columns = (x[own] for x in (np.array(systems, dtype=object), before, after, penalty))
            unjudged = (holes[key][own], full.unjudged(m)[own])
            penalties += [(title, key, *row) for row in zip(*columns, *unjudged, strict=True)]
            pairs = [
                (title, key, systems[a], systems[b], before[a] - before[b], after[a] - after[b],
                 min(before[a] - before[b], after[b] - after[a]) < near_tie, own[a], own[b])
                for a, b in _flipped(before, after)
            ]  # fmt: skip
            flips += pairs
            worst = int(np.flatnonzero(own)[penalty[own].argmax()])
            effects.append(
                (title, key, len(pairs), sum(bool(p[6]) for p in pairs), penalty[worst], systems[worst],
                 len(_flipped(before, mended)), abs(before - mended).max())
            )  # fmt: skip
    index = pd.Index(systems, name="system")
    return LeftOut(
        by, tuple(means), near_tie, grades.title,
        pd.DataFrame(groups, columns=["group", "systems", "unique", "judged", "relevant"]).set_index("group"),
        pd.DataFrame(effects, columns=["group", "measure", "flips", "near_ties", "largest", "system",
                                       "flips_repaired", "difference_repaired"]),
        pd.DataFrame(flips, columns=["group", "measure", "better", "worse", "gap", "gap_left_out",
                                     "near_tie", "better_own", "worse_own"]),
        pd.DataFrame(penalties, columns=["group", "measure", "system", "full", "left_out", "penalty",
                                         "unjudged", "unjudged_full"]),
        pd.DataFrame(before_all, index=index), {m: pd.DataFrame(c, index=index) for m, c in means.items()},
        tuple(notes),
    )  # fmt: skip


Change = tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, np.ndarray]]


def _without(full: State, groups: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[Change]:
    """By measure, for each group of own systems and items: means without it, means repaired, shares of holes."""
    found = []
    for own, unique in groups:
        without = full.regraded(unique, keep=False, own=own)
        repaired = without.regraded(unique, keep=True, own=own)
        holes = {str(m): without.unjudged(m) for m in full.measures}
        found.append((without.means(), repaired.means(), holes))
    return found


def _sole(member: np.ndarray, group: list[int], n_groups: int) -> np.ndarray:
    """Which pooled items (columns) each group (rows) alone brought, from who brought them."""
    brought = np.zeros((n_groups, member.shape[1]), dtype=bool)
    seen, several = np.zeros((2, member.shape[1]), dtype=bool)
    for by_system, code in zip(member, group, strict=True):
        brought[code] |= by_system
    for by_group in brought:
        several |= seen & by_group
        seen |= by_group
    return brought & ~several


def _flipped(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Pairs (ahead, behind) of means before whose order is strictly the other one after."""
    return np.argwhere((order_signs(before) > 0) & (order_signs(after) < 0))
