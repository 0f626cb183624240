"""Every analysis of a study, one function each: what notebooks show and `poolkit analyse` prints.

Each takes its randomness from a seed of its own, so that a notebook and the JSON document give the
same numbers. Where a study lacks what an analysis needs, the function returns None; `lacks` says why.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from poolkit import certify
from poolkit.agree import LabelAgreement, label_agreement, threshold_sensitivity
from poolkit.bias import LeftOut, leave_out
from poolkit.choose import BestSet, best_set
from poolkit.correlate import Correlation, correlate
from poolkit.disagree import Disagreements, disagree
from poolkit.factors import Matched, each_once, factors_of, matched
from poolkit.growth import Growth, GrowthOrders, grow, growth_orders
from poolkit.labels import holes_of
from poolkit.noise import Rankings, SimulatedNoise, noise_through, rankings
from poolkit.plain import named
from poolkit.resample import query_draws
from poolkit.score import cutoff_of, is_native, measure
from poolkit.stability import Judges, Repeats, judges, repeats
from poolkit.study import Study
from poolkit.tables import DataError, listed
from poolkit.versus import Versus, versus


def lacks(study: Study) -> tuple[str, ...]:
    """What this collection does not have, and so cannot be known: one sentence each."""
    said, titles = [], [named(x.title) for x in (study.human, study.judge) if x is not None]
    empty = [x for x in (study.human, study.judge) if x is not None and x.relevance.empty]
    if study.judge is None and study.human is None:
        said.append("There are no labels yet, so no system has a score.")
    elif study.judge is None:
        said.append(f"No judge has graded this pool; scores are those under {titles[0]}.")
    elif study.human is None:
        said.append("There are no human labels, so correlation with them and disagreements cannot be known.")
    elif study.both is None and not empty:
        said.append(f"{' and '.join(titles)} have no query in common, so they cannot be compared.")
    said += [f"{named(labels.title)}: no pair has a grade." for labels in empty]
    if len(study.collection.runs.queries) < 2:
        said.append("There is one query only: it cannot be resampled, so nothing has an interval.")
    if len(study.collection.runs.systems) < 2:
        said.append("There is one system only: nothing can be compared.")
    elif len(study.collection.runs.systems) < 3:
        said.append("There are two systems only: one pair, whose order is right or wrong.")
    if len(set(study.families.values())) < 2:
        said.append("There is one family only: leaving it out would leave nothing.")
    return tuple(said)


def caveats(study: Study) -> tuple[str, ...]:
    """What a reader must know first: the collection's own note, what it lacks, and its holes."""
    note = str(study.collection.config.get("note", "")).strip()
    return (*([note] if note else []), *lacks(study), *_holes(study))


def _holes(study: Study) -> list[str]:
    """Pooled documents without a grade, which every score reads as non-relevant."""
    sides = (study.human_grades, study.judge_grades)
    return [x for g in sides if g is not None and g.judged.any() for x in holes_of(g, study.pool.item)]


def correlation(
    study: Study, *, seed: int = 1, n_resamples: int = 10_000, level: float = 0.95
) -> Correlation | None:
    """Correlation of systems under human labels and judge (METHOD 5)."""
    if study.both is None:
        return None
    near = study.collection.config["near_tie"]
    rng = np.random.default_rng(seed)
    return correlate(*study.both, study.measure, rng=rng, draws=n_resamples, level=level, near_tie=near)


def label_agreements(study: Study, *, seed: int = 1, n_resamples: int = 2_000) -> LabelAgreement | None:
    """Agreement of human labels and judge, pair by pair (METHOD 5)."""
    if study.both is None or study.human is None or study.judge is None:
        return None
    return label_agreement(study.human, study.judge, rng=np.random.default_rng(seed), n_resamples=n_resamples)


def thresholds(study: Study) -> pd.DataFrame | None:
    """Rank correlations when relevant begins at grade 1 or 2 on either side (METHOD 5)."""
    has_threshold = [m for m in study.measures if "rel" in measure(m).SUPPORTED_PARAMS]
    if study.both is None or study.human_grades is None or study.judge_grades is None or not has_threshold:
        return None
    return threshold_sensitivity(study.collection.runs, study.human_grades, study.judge_grades, has_threshold)


def disagreements(
    study: Study, *, seed: int = 1, n_resamples: int = 10_000, level: float = 0.05, holm: bool = False
) -> Disagreements | None:
    """Pairs that human labels and judge order differently (METHOD 6)."""
    if study.both is None:
        return None
    draws = study.draws(n_resamples=n_resamples, rng=np.random.default_rng(seed))
    return disagree(
        *study.both, study.measure, draws=draws, level=level, correction="holm" if holm else None,
        near_tie=study.collection.config["near_tie"],
    )  # fmt: skip


def left_out(study: Study, *, by: str = "family") -> LeftOut | None:
    """Ranking with each family, or each system, left out of the pool (METHOD 7)."""
    native = [m for m in study.measures if is_native(measure(m))]
    groups = set(study.families.values()) if by == "family" else study.collection.runs.systems
    if not native or len(groups) < 2 or not has_labels(study):
        return None
    near = study.collection.config["near_tie"]
    kind: Any = by
    return leave_out(study.pool, study.grades, study.families, native, by=kind, near_tie=near)


def has_labels(study: Study) -> bool:
    """Whether any side has scores."""
    return study.judge_scores is not None or study.human_scores is not None


def growing(study: Study) -> Growth | None:
    """Growth of the pool in the given order of arrival (METHOD 9)."""
    return grow(study.pool, study.grades, study.measure) if _grows(study) else None


def growing_at_random(study: Study, *, seed: int = 1, n_orders: int = 500) -> GrowthOrders | None:
    """Growth of the pool in random orders of arrival (METHOD 9)."""
    if not _grows(study):
        return None
    rng = np.random.default_rng(seed)
    return growth_orders(study.pool, study.grades, study.measure, n_orders=n_orders, rng=rng)


def certificates(study: Study, *, further: int | None = None) -> certify.Certificates | None:
    """Pairs whose order no later system can change (METHOD 9)."""
    if not _grows(study):
        return None
    runs, grades = study.collection.runs, study.grades
    return certify.certificates(runs, grades, study.measure, further=further, top=study.top(grades))


def _grows(study: Study) -> bool:
    """Whether the leading measure is final for each system once its pooled ranks are judged."""
    found = measure(study.measure)
    reads = cutoff_of(found) or study.depth + 1
    return (
        has_labels(study)
        and is_native(found)
        and reads <= study.depth
        and len(study.collection.runs.systems) > 1
    )


def judged_again(study: Study, *, seed: int = 1, n_resamples: int = 2_000) -> Repeats | None:
    """Agreement of the judge with itself, where pairs were judged more than once (METHOD 8)."""
    if study.judge is None:
        return None
    records = study.collection.judgments.get(study.judge.name)
    if records is None or records["replicate"].nunique() < 2:
        return None
    return repeats(records, rng=np.random.default_rng(seed), n_resamples=n_resamples)


def other_judges(
    study: Study, *, seed: int = 1, n_resamples: int = 2_000
) -> dict[str, tuple[Judges, Rankings | None]]:
    """Every other set of labels against the judge's: pair by pair, and by ranking (METHOD 8)."""
    found: dict[str, tuple[Judges, Rankings | None]] = {}
    if study.judge is None or study.judge_scores is None:
        return found
    for name, labels in study.collection.labels.items():
        if name in (study.judge.name, study.human.name if study.human else ""):
            continue
        rng = np.random.default_rng(seed)
        agreement = judges(study.judge, labels, rng=rng, n_resamples=n_resamples)
        pair = replace(study, human=labels).both
        ranked = pair and rankings(*pair[::-1], study.measure, rng=rng, n_resamples=n_resamples)
        found[name] = (agreement, ranked)
    return found


def simulated_noise(study: Study, *, seed: int = 1, n_worlds: int = 1_000) -> SimulatedNoise | None:
    """Simulated effect of the judge's own flips on the ranking (METHOD 8)."""
    again = judged_again(study, seed=seed, n_resamples=10)
    if again is None or not again.n or study.judge_scores is None or study.judge_grades is None:
        return None
    if not is_native(measure(study.measure)):
        return None
    grades = study.judge_grades
    given = np.concatenate([grades.relevance[grades.judged], grades.beyond_relevance])
    scale = np.union1d(again.flip_matrix.index, given)  # a grade that no repeat had stays as it is
    flips = again.flip_matrix.reindex(index=scale, columns=scale, fill_value=0.0)
    flips[flips.sum(axis=1) == 0] = np.nan
    rng = np.random.default_rng(seed)
    return noise_through(study.collection.runs, grades, flips, study.measure, n_worlds=n_worlds, rng=rng)


def factor_effects(study: Study, *, seed: int = 1, n_resamples: int = 10_000) -> dict[str, Matched]:
    """Effect of each factor of systems.csv, over matched pairs (METHOD 10).

    The factors are the columns that collection.toml names in `factors`, or all that vary.
    """
    if not has_labels(study):
        return {}
    catalogue, found = study.collection.catalogue, study.scores
    named = study.collection.config["factors"]
    lost = [f for f in named if f not in catalogue]
    if lost:
        raise DataError(
            f"collection.toml: factors names {listed(lost)}, but systems.csv has {listed(catalogue.columns, first=12)}"
        )
    held, draws = tuple(named) or factors_of(catalogue), _own_draws(study, seed, n_resamples)
    return each_once(
        {f: matched(found, catalogue, study.measure, factor=f, draws=draws, factors=held) for f in held}
    )


def best_systems(study: Study, *, seed: int = 1, n_resamples: int = 10_000) -> BestSet | None:
    """Return the best system and those that cannot be told from it (METHOD 10)."""
    if not has_labels(study) or len(study.collection.runs.systems) < 2:
        return None
    return best_set(study.scores, study.measure, draws=_own_draws(study, seed, n_resamples))


def every_two(study: Study, *, seed: int = 1, n_resamples: int = 10_000) -> Versus | None:
    """Win, tie or inconclusive for every two systems, and the queries that would tell (METHOD 10)."""
    if not has_labels(study) or len(study.collection.runs.systems) < 2:
        return None
    draws, near = _own_draws(study, seed, n_resamples), study.collection.config["near_tie"]
    return versus(study.scores, study.measure, draws=draws, margin=near)


def _own_draws(study: Study, seed: int, n_resamples: int) -> np.ndarray:
    """Resamples of all queries that `study.scores` has, common to both sides or not."""
    return query_draws(len(study.scores.queries), n_resamples=n_resamples, rng=np.random.default_rng(seed))
