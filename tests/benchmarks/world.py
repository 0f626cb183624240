"""A collection of any size from a seed: runs, grades of the whole pool, a judge's judgments, a catalogue.

One lexical family, and embedding families of twelve systems each: three dimensions, dense and hybrid, two
formulations. 62 systems x 303 queries x 200 have about 770,000 pooled pairs, as the paper's production set.
Scores have four decimals, so ties abound; the lexical systems miss a query and return short lists; one query
has no relevant document.
"""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

DIMENSIONS, MODES, FORMULATIONS = (256, 768, 1536), ("dense", "hybrid"), ("question", "keywords")
SECOND_READING = 1_000  # pairs that the judge reads twice
NOISE = 3.05  # of scores; at paper scale it leaves a fifth of all returned pairs unique


def catalogue(systems: int) -> pd.DataFrame:
    """Systems with their families and factors: the lexical ones first, then family by family."""
    rows = [(f"bm25-{form}", "bm25", "lexical", "", form) for form in FORMULATIONS]
    family = 0
    while len(rows) < systems:
        rows += [
            (f"e{family}-{size}-{mode}-{form}", f"e{family}", mode, size, form)
            for size, mode, form in product(DIMENSIONS, MODES, FORMULATIONS)
        ]
        family += 1
    return pd.DataFrame(rows[:systems], columns=["system", "family", "mode", "dimensions", "formulation"])


def write_world(
    folder: Path, *, systems: int, queries: int, depth: int, seed: int, judged: bool = True
) -> Path:
    """Write a collection and return its folder.

    `judged` adds the judge `robot`, which grades every pooled pair, most as the human labels do.
    """
    table = catalogue(systems)
    for name in ("runs", "qrels", "judgments"):
        (folder / name).mkdir(parents=True)
    table.to_csv(folder / "systems.csv", index=False)
    text = "".join(json.dumps({"_id": f"q{q}", "text": f"what is {q}"}) + "\n" for q in range(queries))
    (folder / "queries.jsonl").write_text(text, encoding="utf-8")
    (folder / "collection.toml").write_text(
        f'name = "world"\ntitle = "A simulated world"\ndepth = {depth}\nhuman = "human"\njudge = "robot"\n'
        'measures = ["nDCG@10", "P@10", "nDCG@100", "AP@100", "R@100"]\n[judges.robot]\nmodel = "robot-1"\n',
        encoding="utf-8",
    )
    titles, lexical = table["system"].tolist(), (table["family"] == "bm25").tolist()
    runs = [(folder / "runs" / f"{name}.run").open("w", encoding="utf-8") for name in titles]
    with (folder / "qrels" / "human.qrels").open("w", encoding="utf-8") as labels:
        for q in range(queries):
            rng = np.random.default_rng([seed, q])
            relevance, scores = _query(rng, table, candidates=80 * depth)
            grade = np.digitize(relevance + rng.normal(0, 0.45, len(relevance)), [0.95, 2.2])
            if q == 7:
                grade[:] = 0
            names = [f"doc-{n:07d}" for n in rng.choice(2_000_000, len(relevance), replace=False).tolist()]
            pooled = np.zeros(len(relevance), dtype=bool)
            for s, file in enumerate(runs):
                short = lexical[s] and q % 50 == 3
                depth_here = depth if not short else 0 if q == 3 else depth // 5
                best = np.argpartition(-scores[s], depth)[:depth]
                best = best[np.argsort(-scores[s][best], kind="stable")][:depth_here]
                pooled[best] = True
                values = scores[s][best].tolist()
                file.writelines(
                    f"q{q} Q0 {names[d]} {r} {v:.4f} {titles[s]}\n"
                    for r, (d, v) in enumerate(zip(best.tolist(), values, strict=True), start=1)
                )
            labels.writelines(f"q{q} 0 {names[d]} {grade[d]}\n" for d in np.flatnonzero(pooled).tolist())
    for file in runs:
        file.close()
    if judged:
        _judge(folder, np.random.default_rng([seed, queries]))
    return folder


def _query(
    rng: np.random.Generator, table: pd.DataFrame, *, candidates: int
) -> tuple[np.ndarray, np.ndarray]:
    """Latent relevance of each candidate, and its score by every system."""

    def noise(scale: float) -> np.ndarray:
        return rng.standard_normal(candidates, dtype=np.float32) * np.float32(scale * NOISE)

    share = np.clip(rng.lognormal(-3.5, 0.8), 0.003, 0.25)
    signal = rng.random(candidates) < share
    relevance = np.where(signal, rng.exponential(1.2, candidates) + 0.3, 0).astype(np.float32)
    base = relevance * 1.6 + rng.standard_normal(candidates, dtype=np.float32) * np.float32(0.9)
    form = {"question": 0, "keywords": noise(0.45)}
    common = noise(1.1)
    lexical = {
        f: 0.8 * base + common + form[f] + (0 if f == "question" else noise(0.5)) for f in FORMULATIONS
    }
    embedded: dict[tuple, np.ndarray] = {}
    scores = np.empty((len(table), candidates), dtype=np.float32)
    for s, (_, family, mode, size, formulation) in enumerate(table.itertuples(index=False)):
        if family == "bm25":
            scores[s] = lexical[formulation]
            continue
        if family not in embedded:
            quality = 0.8 + 0.1 * (int(family[1:]) % 5)
            embedded = {
                (family, f): quality * base + form[f] + noise(0.35) * (f != "question") for f in FORMULATIONS
            }
            shared = noise(0.95)
            sizes = {d: noise(0.28 * (768 / d) ** 0.35) for d in DIMENSIONS}
            embedded |= {
                (d, f): embedded[family, f] + shared + sizes[d] for d, f in product(DIMENSIONS, FORMULATIONS)
            }
            embedded[family] = shared
        dense = embedded[size, formulation]
        lex = lexical[formulation]
        scores[s] = dense if mode == "dense" else 0.55 * dense / dense.std() + 0.45 * lex / lex.std()
    return relevance, scores / 10 + np.float32(0.5)


def _judge(folder: Path, rng: np.random.Generator) -> None:
    """Judgments of every labelled pair: one in eight grades is another than the human one."""
    rows = [
        line.split() for line in (folder / "qrels" / "human.qrels").read_text(encoding="utf-8").splitlines()
    ]
    again = set(rng.choice(len(rows), min(SECOND_READING, len(rows)), replace=False).tolist())
    common = {
        "thought": "The passage touches the question, but its core is not answered in full.", "status": "ok",
        "model": "robot-1", "prompt_hash": "0" * 64, "calls": 1, "tokens_in": 612, "tokens_cached": 0,
        "tokens_out": 31, "usd": 0.0015, "time": "2026-01-01T00:00:00Z", "schema": 1,
    }  # fmt: skip
    rest = json.dumps(common)[1:]
    shifts = rng.choice([-1, 0, 1], size=(2, len(rows)), p=[0.05, 0.875, 0.075])
    with (folder / "judgments" / "robot.jsonl").open("w", encoding="utf-8") as file:
        for at, (query, _, doc, grade) in enumerate(rows):
            for replicate in range(1 + (at in again)):
                given = min(2, max(0, int(grade) + int(shifts[replicate, at])))
                file.write(
                    f'{{"query_id": "{query}", "doc_id": "{doc}", "relevance": {given}, "replicate": {replicate}, '
                    f'"key": "{at:060x}-{replicate:03}", {rest}\n'
                )
