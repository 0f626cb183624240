"""The likelihood judge: a small local language model that grades by what it finds likely.

A model too small to follow a prompt still knows which question a text makes likelier. The score of a
pair is the mean log probability of the query's tokens after the document, minus the same without a
document. Thresholds, fitted on a stated sample of labels, turn scores into grades. It is a weak judge
and is called so: it cannot see dates, negation or corrections. It costs no money and needs no key.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from poolkit.price import Price
from poolkit.prompt import Prompt
from poolkit.tables import DataError

AFTER = "{title}\n{text}\n\nQuestion:"
BEFORE = "Question:"
MOST = 400  # tokens of a document that are read
PROMPT_HASH = hashlib.sha256(json.dumps([AFTER, BEFORE, MOST]).encode()).hexdigest()
KEYS = {
    "model": "a model's name or GGUF file",
    "thresholds": "one number a grade above 0, ascending",
    "fitted_on": "the sample of labels that the thresholds were fitted on",
    "provenance": "text",
}
FIT = "`python -m poolkit.fit DATA --labels NAME` fits thresholds and prints the whole table"


def settings(where: str, given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Settings of a judge of this kind, from its table of collection.toml.

    Parameters
    ----------
    where : str
        How messages name the judge.
    given : mapping
        The table, without its kind.
    folder : Path
        The collection's, where a GGUF file is looked for.

    Returns
    -------
    dict
        Fields of `poolkit.identity.Judge`.
    """
    for key, value in given.items():
        if key not in KEYS:
            raise DataError(f"{where}: a likelihood judge has no key {key!r}. Known: {', '.join(KEYS)}.")
        if key != "thresholds" and not (isinstance(value, str) and value.strip()):
            raise DataError(f"{where}: {key} is {str(value)[:40]!r}; give {KEYS[key]}.")
    for key in ("model", "thresholds", "fitted_on"):
        if key not in given:
            raise DataError(f"{where}: no {key}; give {KEYS[key]}. {FIT}.")
    cuts = given["thresholds"]
    good = isinstance(cuts, list) and cuts and all(type(c) in (int, float) and math.isfinite(c) for c in cuts)
    if not good or sorted(set(cuts)) != cuts:
        raise DataError(f"{where}: thresholds is {str(cuts)[:60]}; give {KEYS['thresholds']}.")
    file = given["model"].endswith(".gguf")
    scale = tuple(range(len(cuts) + 1))
    return {
        "model": Path(given["model"]).stem if file else given["model"],
        "weights": folder / given["model"] if file else None,
        "prompt": Prompt("likelihood", "1", scale, {}, f"{BEFORE}\n+++\n{AFTER}", PROMPT_HASH),
        "parameters": {"thresholds": [float(c) for c in cuts]},
        "price": Price(0.0, 0.0, 0.0),
        "base_url": "",
        "concurrency": 1,
        "provenance": dict(given),
    }


def graded(scores: np.ndarray, thresholds: list[float]) -> np.ndarray:
    """Grades: how many thresholds each score reaches.

    Examples
    --------
    >>> graded(np.array([-1.0, 0.5, 3.0]), [0.5, 2.0]).tolist()
    [0, 1, 2]
    """
    return np.searchsorted(np.asarray(thresholds), scores, side="right")


def thresholds(scores: np.ndarray, grades: np.ndarray) -> list[float]:
    """The cuts under which scores agree best with grades, by quadratically weighted kappa.

    Every midpoint between neighbouring scores is tried, and where grades reach 2 every pair of them; of
    equals the first is taken.

    Examples
    --------
    >>> thresholds(np.array([0.1, 0.2, 0.9, 2.0]), np.array([0, 0, 1, 2]))
    [0.55, 1.45]
    >>> thresholds(np.array([0.1, 0.2, 0.9, 2.0]), np.array([0, 0, 1, 1]))
    [0.55]
    """
    grades = np.asarray(grades, dtype=float)
    if set(np.unique(grades)) - {0, 1, 2} or len(np.unique(grades)) < 2:
        raise DataError(f"thresholds need grades 0, 1, 2, at least two of them; found {np.unique(grades)}")
    value = np.unique(scores)
    if len(value) < 3:
        raise DataError(f"thresholds need three different scores; found {len(value)}")
    cuts = ((value[1:] + value[:-1]) / 2).tolist()
    best, found = -np.inf, list[float]()
    for some in itertools.combinations(cuts, 2 if grades.max() == 2 else 1):
        given = graded(scores, list(some))
        # Quadratic kappa: 1 - observed squared difference / that of independent gradings.
        chance = given.var() + grades.var() + (given.mean() - grades.mean()) ** 2
        kappa = 1 - np.mean((given - grades) ** 2) / chance
        if kappa > best + 1e-12:
            best, found = float(kappa), list(some)
    return found


def auc(scores: np.ndarray, relevant: np.ndarray) -> float:
    """Chance that a relevant pair scores above another one, ties half; NaN where either is missing."""
    order = pd.Series(scores).rank().to_numpy()
    n, m = int(relevant.sum()), int((~relevant).sum())
    return float((order[relevant].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")
