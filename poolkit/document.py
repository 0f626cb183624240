"""Every analysis as one JSON document: the numbers that the notebooks show."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from poolkit import analyse
from poolkit.boards import by_grade
from poolkit.bounds import Bounds
from poolkit.exhibits import exhibits
from poolkit.pool import arrival, contributions
from poolkit.resample import Interval
from poolkit.study import Study

SCHEMA = "poolkit.analyse/1"


def analysis(
    study: Study, *, seed: int = 1, n_resamples: int = 10_000, n_orders: int = 500
) -> dict[str, Any]:
    """Every analysis as one JSON-ready document; the numbers are those of the notebooks.

    Parameters
    ----------
    study : Study
    seed, n_resamples, n_orders : int

    Returns
    -------
    dict
        Valid under schemas/analyse.json. What cannot be known is null; `lacks` says why. NaN is null.
    """
    pool, labels = study.pool, analyse.label_agreements(study, seed=seed)
    differ = analyse.disagreements(study, seed=seed, n_resamples=n_resamples)
    document = {
        "schema": SCHEMA,
        "collection": study.collection.config["name"],
        "parameters": {"seed": seed, "n_resamples": n_resamples, "n_orders": n_orders, "depth": study.depth,
                       "measures": list(study.measures)},
        "labels": {"human": study.human and study.human.name, "judge": study.judge and study.judge.name},
        "lacks": list(analyse.lacks(study)),
        "pool": {"systems": len(pool.runs.systems), "queries": len(pool.runs.queries), "unique": pool.unique,
                 "independent": pool.independent, "nominal": pool.nominal, "reuse": pool.reuse,
                 "nominal_reuse": pool.nominal_reuse, "cost_factor": pool.cost_factor,
                 "arrival": arrival(pool), "contributions": contributions(pool, study.families)},
        "scores": {"human": _scored(study.human_bounds), "judge": _scored(study.judge_bounds)},
        "correlate": analyse.correlation(study, seed=seed, n_resamples=n_resamples),
        "agree": labels,
        "by_grade": by_grade(labels),
        "thresholds": analyse.thresholds(study),
        "disagree": differ,
        "evidence": exhibits(study, differ),
        "bias": analyse.left_out(study),
        "bias_by_system": analyse.left_out(study, by="system"),
        "stability": analyse.judged_again(study, seed=seed),
        "judges": {k: {"labels": a, "rankings": r} for k, (a, r) in analyse.other_judges(study, seed=seed).items()},
        "simulated_noise": analyse.simulated_noise(study, seed=seed),
        "growth": analyse.growing(study),
        "growth_orders": analyse.growing_at_random(study, seed=seed, n_orders=n_orders),
        "certificates": analyse.certificates(study),
        "factors": analyse.factor_effects(study, seed=seed, n_resamples=n_resamples),
        "choose": analyse.best_systems(study, seed=seed, n_resamples=n_resamples),
        "versus": analyse.every_two(study, seed=seed, n_resamples=n_resamples),
    }  # fmt: skip
    plain: dict[str, Any] = as_json(document)
    return plain


def _scored(found: Bounds | None) -> dict[str, Any] | None:
    """Scores of one side with their bounds."""
    if found is None:
        return None
    given = found.given
    return {
        "labels": given.labels, "title": given.title, "epoch": given.epoch, "top": found.top,
        "unjudged": found.unjudged, "dropped": given.dropped, "barren": given.barren,
        "missing": len(given.missing), "means": found.table(),
    }  # fmt: skip


def as_json(value: object) -> Any:
    """Result as plain JSON values: tables as lists of rows, NaN as null, draws left out."""
    if isinstance(value, Interval):
        kept = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.name != "draws"}
        return as_json(kept)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {k: as_json(v) for k, v in fields.items() if not _is_bulk(k, v)}
    if isinstance(value, pd.DataFrame):
        table = value if isinstance(value.index, pd.RangeIndex) else _indexed(value)
        return [as_json(row) for row in table.to_dict("records")]
    if isinstance(value, pd.Series):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, Mapping):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(v) for v in value]
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if value is pd.NA else value


def _is_bulk(name: str, value: object) -> bool:
    """Draws and pair-by-pair grades, which a document of results does not carry."""
    if isinstance(value, pd.DataFrame):
        return name.endswith("draws") or (name == "pairs" and "doc_id" in value.columns)
    return isinstance(value, np.ndarray)


def _indexed(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename_axis(index=str(table.index.name or "row")).reset_index()
