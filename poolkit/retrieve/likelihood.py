"""The likelihood grader: a small local language model that grades by what it finds likely.

A model too small to follow a prompt still knows which question a text makes likelier. The score of a
pair is the mean log probability of the query's tokens after the document, minus the same without a
document. Two thresholds, fitted on a stated sample of human labels, turn scores into grades 0, 1, 2.
It is a weak judge and is called so: it cannot see dates, negation or corrections.

`python -m poolkit.retrieve.grader` grades a collection's pool with it.
"""

import hashlib
import importlib
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from poolkit.tables import DataError

AFTER = "{title}\n{text}\n\nQuestion:"
BEFORE = "Question:"
MOST = 400  # tokens of a document that are read
PROMPT_HASH = hashlib.sha256(json.dumps([AFTER, BEFORE, MOST]).encode()).hexdigest()


def log_odds(pairs: pd.DataFrame, *, model: Path, threads: int = 1) -> pd.DataFrame:
    """How much likelier each document makes its query.

    Parameters
    ----------
    pairs : DataFrame
        Columns query, title, text.
    model : Path
        A GGUF file.
    threads : int
        More than one pays only on an idle machine.

    Returns
    -------
    DataFrame
        By the index of `pairs`: score, the mean over the query's tokens of log P(token | document, tokens
        before) - log P(token | tokens before), natural logarithms; tokens, read in all; cut, tokens of the
        document beyond the first 400, which are left out.
    """
    llm = _llama(model, threads)
    start = llm.tokenize(BEFORE.encode())
    _read(llm, start)
    bare = {q: _mean_log_p(llm, start, q)[0] for q in pairs["query"].unique()}
    rows: dict[Any, tuple[float, int, int]] = {}
    for (title, text), group in pairs.groupby(["title", "text"], sort=False):
        body = llm.tokenize(AFTER.format(title=title, text=text).encode())
        tail = llm.tokenize(b"\n\nQuestion:", add_bos=False)
        cut = max(0, len(body) - MOST)
        prefix = body[: MOST - len(tail)] + tail if cut else body
        _read(llm, prefix)
        for at, query in group["query"].items():
            mean, n = _mean_log_p(llm, prefix, query)
            rows[at] = mean - bare[query], len(prefix) + n, cut
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["score", "tokens", "cut"])
    return table.reindex(pairs.index)


def thresholds(scores: np.ndarray, grades: np.ndarray) -> tuple[float, float]:
    """The two cuts under which scores agree best with grades, by quadratically weighted kappa.

    Every pair of midpoints between neighbouring scores is tried; of equals the first is taken.

    Examples
    --------
    >>> thresholds(np.array([0.1, 0.2, 0.9, 2.0]), np.array([0, 0, 1, 2]))
    (0.55, 1.45)
    """
    grades = np.asarray(grades, dtype=float)
    if set(np.unique(grades)) - {0, 1, 2} or len(np.unique(grades)) < 2:
        raise DataError(f"thresholds need grades 0, 1, 2, at least two of them; found {np.unique(grades)}")
    value = np.unique(scores)
    if len(value) < 3:
        raise DataError(f"thresholds need three different scores; found {len(value)}")
    cuts = (value[1:] + value[:-1]) / 2
    best, found = -np.inf, (0.0, 0.0)
    for low, high in itertools.combinations(cuts.tolist(), 2):
        given = graded(scores, low, high)
        # Quadratic kappa: 1 - observed squared difference / that of independent gradings.
        chance = given.var() + grades.var() + (given.mean() - grades.mean()) ** 2
        kappa = 1 - np.mean((given - grades) ** 2) / chance
        if kappa > best + 1e-12:
            best, found = float(kappa), (low, high)
    return found


def graded(scores: np.ndarray, low: float, high: float) -> np.ndarray:
    """Grades: 0 below `low`, 1 from there, 2 from `high`."""
    return (scores >= low).astype(int) + (scores >= high)


def auc(scores: np.ndarray, relevant: np.ndarray) -> float:
    """Chance that a relevant pair scores above another one, ties half; NaN where either is missing."""
    order = pd.Series(scores).rank().to_numpy()
    n, m = int(relevant.sum()), int((~relevant).sum())
    return float((order[relevant].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def _llama(model: Path, threads: int) -> Any:
    try:
        llama_cpp = importlib.import_module("llama_cpp")
    except ImportError:
        text = "llama-cpp-python is not installed. Run: pip install llama-cpp-python==0.3.16 (it compiles)"
        raise DataError(text) from None
    return llama_cpp.Llama(
        str(model),
        n_ctx=MOST + 112,
        logits_all=True,
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )


def _read(llm: Any, prefix: list[int]) -> None:
    """Have the model read all but the last token of a prefix, without the cost of predictions."""
    llm.reset()
    llm._logits_all = False
    llm.eval(prefix[:-1])
    llm._logits_all = True


def _mean_log_p(llm: Any, prefix: list[int], query: str) -> tuple[float, int]:
    """Mean log probability of a query's tokens (the first 100) after a prefix just read, and their number."""
    tokens = llm.tokenize(f" {query}".encode(), add_bos=False)[:100]
    first = llm.n_tokens = len(prefix) - 1  # keep the prefix, forget the query before
    llm.eval([prefix[-1], *tokens])
    logits = llm.scores[first : first + len(tokens)].astype(np.float64)
    top = logits.max(axis=1)
    total = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    return float((logits[np.arange(len(tokens)), tokens] - total).mean()), len(tokens)
