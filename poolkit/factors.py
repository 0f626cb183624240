"""What one factor does: matched pairs of systems that differ in it alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from poolkit.resample import ONE_QUERY, check_level, draw_bounds, drawn_means
from poolkit.score import Scores
from poolkit.score import measure as measure_of
from poolkit.tables import DataError, listed


@dataclass(frozen=True)
class Matched:
    """What one factor does, in pairs of systems that differ in it alone.

    Attributes
    ----------
    measure, factor : str
    others : tuple of str
        The columns that each pair agrees on.
    pairs : DataFrame
        from_level, to_level, from_system, to_system, the other factors, difference (to less from).
    contrasts : DataFrame
        from_level, to_level, n_pairs, difference (mean over pairs), low, high.
    by_level : DataFrame
        The same within each level of each other factor: also `factor`, `level`.
    interactions : DataFrame
        from_level, to_level, factor, level_a, level_b, n_settings, difference (effect under level_b
        less effect under level_a), low, high.
    draws, by_level_draws, interaction_draws : ndarray, shape (n_resamples, rows of the table)
    level : float
    notes : tuple of str
    """

    measure: str
    factor: str
    others: tuple[str, ...]
    pairs: pd.DataFrame
    contrasts: pd.DataFrame
    by_level: pd.DataFrame
    interactions: pd.DataFrame
    draws: np.ndarray
    by_level_draws: np.ndarray
    interaction_draws: np.ndarray
    level: float
    notes: tuple[str, ...]

    @property
    def n_contrasts(self) -> int:
        """How many intervals were looked at: with many, some miss zero by chance."""
        return len(self.contrasts) + len(self.by_level) + len(self.interactions)


def factors_of(catalogue: pd.DataFrame) -> tuple[str, ...]:
    """Columns of a catalogue that vary; `family` only where no other columns settle it."""
    names = [str(c) for c in catalogue.columns if catalogue[c].nunique(dropna=False) > 1]
    rest = [c for c in names if c != "family"]
    if "family" in names and rest:
        settings = catalogue.groupby(rest, dropna=False)["family"].nunique(dropna=False)
        if settings.max() == 1:
            return tuple(rest)
    return tuple(names)


def matched(
    scores: Scores, catalogue: pd.DataFrame, measure: str, *, factor: str, draws: np.ndarray,
    level: float = 0.95, factors: Sequence[str] | None = None,
) -> Matched:  # fmt: skip
    """Effect of one factor: mean difference over pairs of systems that differ in nothing else.

    Parameters
    ----------
    scores : Scores
    catalogue : DataFrame
        By system: family, and any factors. An empty cell is a level like any other.
    measure : str
    factor : str
        The column that may differ.
    draws : ndarray
        From `query_draws`, over the queries of `scores`.
    level : float
    factors : sequence of str, optional
        The columns that must be equal, costs left out; by default `factors_of` the catalogue.

    Returns
    -------
    Matched

    Notes
    -----
    METHOD 10. Levels run from low to high where they are numbers, else in order of appearance. A
    contrast is the mean over its pairs, resampled over queries with all its pairs at once, so an
    interval speaks of these systems on other queries. An interaction compares only settings of the
    remaining factors that occur under both levels, so that nothing else differs.
    """
    check_level(level)
    table, key = scores.table(measure), str(measure_of(measure))
    held = factors_of(catalogue) if factors is None else tuple(factors)
    unknown = [c for c in (factor, *held) if c not in catalogue]
    if unknown:
        raise ValueError(
            f"unknown factor {unknown[0]!r}; the catalogue has {listed(catalogue.columns, first=12)}"
        )
    absent = [s for s in table.index if s not in catalogue.index]
    if absent:
        raise DataError(f"catalogue: no row for {listed(absent)}, which are scored. Add one row each.")
    others = tuple(c for c in held if c != factor)
    rows = catalogue.loc[list(table.index)]
    levels = rows[factor].drop_duplicates()
    if pd.api.types.is_numeric_dtype(levels):
        levels = levels.sort_values()
    order = pd.Index(levels)
    at = order.get_indexer(pd.Index(rows[factor]))
    setting = rows.groupby(list(others), dropna=False, sort=False).ngroup() if others else np.zeros(len(rows))
    members = pd.DataFrame({"at": at, "setting": np.asarray(setting), "row": np.arange(len(rows))})
    both = members.merge(members, on="setting", suffixes=("_a", "_b"))
    both = both[both["at_a"] < both["at_b"]].sort_values(["at_a", "at_b", "setting"], kind="stable")
    a, b = both["row_a"].to_numpy(), both["row_b"].to_numpy()
    values, names = table.to_numpy(), np.asarray(table.index, dtype=object)
    gain = values[b] - values[a]
    pairs = rows[list(others)].iloc[a].reset_index(drop=True)
    ends = {"from_level": order[both["at_a"].to_numpy()], "to_level": order[both["at_b"].to_numpy()]}
    ends |= {"from_system": names[a], "to_system": names[b]}
    for place, (name, column) in enumerate(ends.items()):
        pairs.insert(place, name, column)
    pairs["difference"] = gain.mean(axis=1)
    spoilers = [] if len(pairs) else _spoilers(rows, factor, others)
    return _matched(key, factor, others, pairs, gain, draws, level, spoilers)


def _spoilers(rows: pd.DataFrame, factor: str, others: tuple[str, ...]) -> list[str]:
    """Columns that alone keep apart systems which would differ in nothing but the factor."""
    found = []
    for column in others:
        keys = [c for c in others if c != column]
        apart = rows.groupby(keys, dropna=False)[factor].nunique().max() if keys else rows[factor].nunique()
        found += [column] if apart > 1 else []
    return found


def _matched(
    measure: str, factor: str, others: tuple[str, ...], pairs: pd.DataFrame, gain: np.ndarray,
    draws: np.ndarray, level: float, spoilers: list[str],
) -> Matched:  # fmt: skip
    """Tables of contrasts, of contrasts by level, and of interactions, from the gain of every pair."""
    effects: list[tuple[tuple, int, np.ndarray]] = []
    by_level, interactions = effects.copy(), effects.copy()
    for ends, group in pairs.groupby(["from_level", "to_level"], sort=False, dropna=False):
        here = group.index.to_numpy()
        effects.append((ends, len(here), gain[here].mean(axis=0)))
        for other in others:
            under = {v: g.index.to_numpy() for v, g in group.groupby(other, sort=False, dropna=False)}
            by_level += [((*ends, other, v), len(at), gain[at].mean(axis=0)) for v, at in under.items()]
            rest = [c for c in others if c != other]
            for one, two in combinations(under, 2):
                n, change = _interaction(pairs, gain, under[one], under[two], rest)
                interactions += [((*ends, other, one, two), n, change)] if n else []

    def resampled(
        rows: list[tuple[tuple, int, np.ndarray]], *columns: str
    ) -> tuple[pd.DataFrame, np.ndarray]:
        effect = np.array([x[2] for x in rows]).reshape(-1, gain.shape[1])
        drawn = drawn_means(effect, draws)
        low, high = draw_bounds(drawn, level)
        head = pd.DataFrame([x[0] for x in rows], columns=["from_level", "to_level", *columns[1:]])
        head[columns[0]] = np.array([x[1] for x in rows], dtype=int)
        return head.assign(difference=effect.mean(axis=1), low=low, high=high), drawn

    notes = []
    if not len(pairs):
        why = f": {listed(spoilers)} differ too; if costs, name the others as factors in collection.toml"
        hint = why if spoilers else ""
        notes.append(f"no two systems differ in {factor} alone, so its effect cannot be known{hint}")
    elif gain.shape[1] < 2:
        notes.append(ONE_QUERY)
    a, x = resampled(effects, "n_pairs")
    b, y = resampled(by_level, "n_pairs", "factor", "level")
    c, z = resampled(interactions, "n_settings", "factor", "level_a", "level_b")
    return Matched(measure, factor, others, pairs, a, b, c, x, y, z, level, tuple(notes))


def each_once(effects: Mapping[str, Matched]) -> dict[str, Matched]:
    """Matched pairs of several factors with every interaction under one of its two factors only.

    How the effect of dimension changes with mode is how the effect of mode changes with dimension:
    the same four systems, the same number.
    """
    kept: dict[str, Matched] = {}
    for name, one in effects.items():
        new = ~one.interactions["factor"].isin(list(kept)).to_numpy(dtype=bool)
        table = one.interactions[new].reset_index(drop=True)
        kept[name] = replace(one, interactions=table, interaction_draws=one.interaction_draws[:, new])
    return kept


def _interaction(
    pairs: pd.DataFrame, gain: np.ndarray, one: np.ndarray, two: np.ndarray, rest: list[str]
) -> tuple[int, np.ndarray]:
    """Settings of the remaining factors that both levels have, and the effect's mean change over them."""
    setting = np.zeros(len(pairs), dtype=int)
    if rest:
        setting = pairs.groupby(rest, dropna=False).ngroup().to_numpy()
    shared = np.intersect1d(setting[one], setting[two])
    if not len(shared):
        return 0, np.zeros(gain.shape[1])
    changes = [
        gain[two[setting[two] == c]].mean(axis=0) - gain[one[setting[one] == c]].mean(axis=0) for c in shared
    ]
    return len(shared), np.mean(changes, axis=0)
