"""Is a disagreement real: pairs of systems that human and judge order differently."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from ir_measures import Measure

from poolkit.compare import holm
from poolkit.labels import Grades
from poolkit.orders import aligned, pair_table
from poolkit.resample import check_level, difference_bounds, mean_draws, share_above
from poolkit.score import Scores, cutoff_of, one_epoch, scores
from poolkit.score import measure as measure_of
from poolkit.tables import Runs, positions

NOISE, CONFLICT, STRONG, UNKNOWN = "within noise", "conflict", "strong conflict", "unknown"
ENOUGH = 10_000  # resamples that a verdict should rest on


@dataclass(frozen=True)
class Disagreements:
    """Every pair of systems under human and judge, and whether their disagreements are noise.

    Attributes
    ----------
    measure, human, judge : str
        The measure's name; titles of the two sides.
    pairs : DataFrame
        One row a pair, a ahead of b under human: a, b; human, human_low, human_high and the same for
        judge (mean of a less mean of b, and its interval); human_p, judge_p (share of draws with
        a above b, ties half); order ("same", "different", "tied"); near_tie; verdict, empty but
        where the order differs.
    level : float
        Least tail share that leaves a pair uncertain.
    interval_level : float
        1 - 2 level: without a correction, the interval holds 0 just where the pair is uncertain.
    correction : str or None
    family : int
        Pairs that Holm's correction counts, all of them.
    n_queries : int
    human_draws, judge_draws : DataFrame, resamples by systems
        Means in every resample, the same draws on both sides.
    notes : tuple of str
        What cannot be known, or weakens the rest.
    """

    measure: str
    human: str
    judge: str
    pairs: pd.DataFrame
    level: float
    interval_level: float
    correction: str | None
    family: int
    n_queries: int
    human_draws: pd.DataFrame
    judge_draws: pd.DataFrame
    notes: tuple[str, ...]

    def verdict(self, *verdicts: str) -> pd.DataFrame:
        """Pairs with any of these verdicts."""
        return self.pairs[self.pairs["verdict"].isin(verdicts)]

    @property
    def counts(self) -> pd.Series:
        """Pairs by order and verdict; "conflict" includes strong ones, near ties are those that differ."""
        order, verdict = self.pairs["order"], self.pairs["verdict"]
        different = order == "different"
        return pd.Series({
            "pairs": len(order), "same": (order == "same").sum(), "different": different.sum(),
            "tied": (order == "tied").sum(), "near_ties": (different & self.pairs["near_tie"]).sum(),
            NOISE: (verdict == NOISE).sum(), CONFLICT: verdict.isin([CONFLICT, STRONG]).sum(),
            STRONG: (verdict == STRONG).sum(), UNKNOWN: (verdict == UNKNOWN).sum(),
        }, dtype=int)  # fmt: skip

    @property
    def noise_share(self) -> float:
        """Share of disagreements within noise; NaN where there is none, or none can be judged."""
        known = self.counts["different"] - self.counts[UNKNOWN]
        return float(self.counts[NOISE] / known) if known else float("nan")

    @property
    def preserved(self) -> float:
        """1 - conflicts / pairs; NaN without a pair or where nothing can be judged."""
        if not len(self.pairs) or self.counts[UNKNOWN]:
            return float("nan")
        return float(1 - self.counts[CONFLICT] / len(self.pairs))


def disagree(
    human: Scores, judge: Scores, measure: str | Measure, *, draws: np.ndarray, level: float = 0.05,
    correction: Literal["holm"] | None = None, near_tie: float = 0.001, n_jobs: int | None = None,
) -> Disagreements:  # fmt: skip
    """Which pairs of systems human and judge order differently, and whether human queries can tell.

    Parameters
    ----------
    human, judge : Scores
        Of the same systems. Only queries that both score count.
    measure : str or Measure
    draws : ndarray, shape (n_resamples, common queries)
        From `query_draws`; at least 10,000 resamples.
    level : float
        A pair is uncertain where min(p, 1 - p) is above it.
    correction : {None, "holm"}
        Holm's, over all pairs, on either side by itself.
    near_tie : float
    n_jobs : int, optional
        Pairs are shared among so many jobs; joblib's `parallel_config` says where they run.

    Notes
    -----
    METHOD 6. A pair ordered differently is within noise where the human side's draws leave it uncertain, else
    a conflict; strong where the judge's draws are certain of the opposite. min(p, 1 - p) is one tail, so a
    level of 0.05 is a two-sided test at 0.1. With "holm" the tails are adjusted first.
    """
    check_level(level)
    if not level < 0.5:
        raise ValueError(f"level is the share of one tail and must lie below 0.5; got {level}")
    if correction not in (None, "holm"):
        raise ValueError(f"correction must be None or 'holm'; got {correction!r}")
    one_epoch(human, judge)
    name = str(measure_of(measure))
    sides = dict(zip(("human", "judge"), aligned(human.table(name), judge.table(name)), strict=True))
    pairs = pair_table(*(side.mean(axis=1) for side in sides.values()), near_tie=near_tie)
    pairs = pairs.rename(columns={"left": "human", "right": "judge"})
    systems = list(sides["human"].index)
    a, b = (positions(pairs[end].tolist(), systems, what="system") for end in ("a", "b"))
    kept, one_query = {}, sides["human"].shape[1] == 1
    for side, table in sides.items():
        drawn = mean_draws(table.to_numpy(), draws)
        kept[side] = pd.DataFrame(drawn, columns=systems)
        low, high = difference_bounds(drawn, level=1 - 2 * level, n_jobs=n_jobs)
        columns = {"low": low[a, b], "high": high[a, b], "p": share_above(drawn, n_jobs=n_jobs)[a, b]}
        for key, values in columns.items():
            pairs[f"{side}_{key}"] = np.full(len(a), np.nan) if one_query else values
    pairs["verdict"] = _verdicts(pairs, level=level, correction=correction)
    first = [
        "a",
        "b",
        *(f"{s}{k}" for s in ("human", "judge") for k in ("", "_low", "_high")),
        "human_p",
        "judge_p",
    ]
    return Disagreements(
        name, human.title, judge.title, pairs[[*first, "order", "near_tie", "verdict"]], level, 1 - 2 * level,
        correction, len(pairs), sides["human"].shape[1], kept["human"], kept["judge"],
        _notes(human, judge, len(systems), draws, len(pairs), level if correction else None),
    )  # fmt: skip


def _verdicts(pairs: pd.DataFrame, *, level: float, correction: str | None) -> np.ndarray:
    """Verdict of each pair that differs, empty for the others."""
    certain = {}
    for side in ("human", "judge"):
        p = pairs[f"{side}_p"].to_numpy()
        tail = np.minimum(p, 1 - p)
        if correction and len(tail) and not np.isnan(tail).any():
            tail = holm(tail)
        certain[side] = np.round(tail, 12) <= level
    opposite = certain["judge"] & (pairs["judge_p"].to_numpy() < 0.5)
    verdict = np.where(certain["human"], np.where(opposite, STRONG, CONFLICT), NOISE).astype(object)
    verdict[pairs["human_p"].isna().to_numpy()] = UNKNOWN
    verdict[(pairs["order"] != "different").to_numpy()] = ""
    return verdict


def _notes(
    human: Scores, judge: Scores, systems: int, draws: np.ndarray, family: int, holm_level: float | None
) -> tuple[str, ...]:
    """Say what cannot be known, or weakens the rest."""
    notes = []
    if systems == 1:
        notes.append("One system: there is no pair to disagree on.")
    if draws.shape[1] == 1:
        notes.append(
            "One common query: resampling says nothing, so no disagreement can be called noise or conflict."
        )
    elif len(draws) < ENOUGH:
        notes.append(f"{len(draws)} resamples; verdicts should rest on at least {ENOUGH}.")
    if holm_level is not None and family and holm_level / family < 1 / len(draws):
        need = int(np.ceil(family / holm_level))
        notes.append(
            f"Holm over {family} pairs asks for tails finer than one draw in {len(draws)}: only a pair "
            f"without a contrary draw can pass its first step. {need} resamples would resolve it."
        )
    return tuple(notes)


@dataclass(frozen=True)
class Evidence:
    """What carries a disagreement about two systems.

    Attributes
    ----------
    queries : DataFrame by query_id
        human and judge (score of a less score of b), contribution (judge less human), share
        (contribution over the sum; they add to 1). Those that carry most come first.
    documents : DataFrame
        query_id, doc_id, rank_a, rank_b (missing beyond the cutoff), human and judge (grades, missing
        where unjudged): documents in either top k whose grades differ. In the order of `queries`.
    """

    queries: pd.DataFrame
    documents: pd.DataFrame


def evidence(runs: Runs, human: Grades, judge: Grades, measure: str | Measure, *, a: str, b: str) -> Evidence:
    """Queries and documents that make a judge order two systems otherwise than people do.

    Parameters
    ----------
    runs : Runs
    human, judge : Grades
        On these runs.
    measure : str or Measure
    a, b : str
        Systems; a is the one ahead under human.

    Notes
    -----
    nDCG, AP and R also divide by what all judged documents of the query are worth: a query can
    contribute although no document listed here differs.
    """
    if a == b:
        raise ValueError(f"two different systems are needed; got {a} twice")
    m = measure_of(measure)
    two = runs.select([a, b])
    h, j = aligned(*(scores(two, side, [m]).table(str(m)) for side in (human, judge)))
    queries = pd.DataFrame({"human": h.loc[a] - h.loc[b], "judge": j.loc[a] - j.loc[b]}).rename_axis(
        "query_id"
    )
    queries["contribution"] = queries["judge"] - queries["human"]
    total = float(queries["contribution"].sum())
    queries["share"] = queries["contribution"] / total if round(total, 12) else np.nan
    toward = queries["contribution"] * (np.sign(total) or 1)
    queries = queries.loc[toward.sort_values(ascending=False, kind="stable").index]

    ranks = np.zeros((2, runs.n_items + 1), dtype=int)
    for s, item in enumerate(two.item[:, :, : cutoff_of(m)]):
        ranks[s, item] = np.arange(1, item.shape[1] + 1)
    differs = (human.judged != judge.judged) | (human.relevance != judge.relevance)
    found = np.flatnonzero((ranks[:, :-1].any(axis=0)) & differs[:-1])
    documents = runs.pairs(found)
    for column, values in (("rank_a", ranks[0, found]), ("rank_b", ranks[1, found])):
        documents[column] = pd.Series(values, dtype="Int64").where(values > 0)
    for column, side in (("human", human), ("judge", judge)):
        documents[column] = pd.Series(side.relevance[found], dtype="Int64").where(side.judged[found])
    place = documents["query_id"].map({q: i for i, q in enumerate(queries.index)})
    best = documents[["rank_a", "rank_b"]].min(axis=1)
    ordered = (
        documents.assign(place=place, best=best)
        .dropna(subset="place")
        .sort_values(["place", "best", "doc_id"])
    )
    return Evidence(queries, ordered[documents.columns].reset_index(drop=True))
