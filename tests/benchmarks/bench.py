"""Speed against peers in one process: CPU seconds, medians, ratios. Run by `make bench`.

The world is made by a seeded generator: systems of six families that share most of their documents,
graded 0 to 2. Sizes are options, the paper's production set is `--systems 62 --queries 303 --depth 200`.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import scipy.stats
import typer

from poolkit.bias import leave_out
from poolkit.disagree import disagree
from poolkit.formats import read_qrels, read_run
from poolkit.growth import growth_orders
from poolkit.labels import grades_on, labels_from
from poolkit.pool import pool
from poolkit.resample import query_draws
from poolkit.score import scores
from poolkit.tables import runs_from

MEASURES = ["P@10", "nDCG@10", "nDCG@100", "AP@100", "R@100"]
FAMILIES = 6


def world(folder: Path, *, systems: int, queries: int, depth: int, rng: np.random.Generator) -> list[str]:
    """Write run files and qrels; return the query ids. Families share a signal, systems add noise to it."""
    names = [f"q{i}" for i in range(queries)]
    (folder / "runs").mkdir()
    out = [(folder / "runs" / f"s{s:02}.run").open("w") for s in range(systems)]
    with (folder / "labels.qrels").open("w") as labels:
        for q in names:
            relevance = rng.choice(3, size=depth * 15, p=[0.9, 0.07, 0.03])
            topic = relevance * 1.6 + rng.normal(size=len(relevance))
            family = topic + rng.normal(size=(FAMILIES, len(relevance)))
            pooled = np.zeros(len(relevance), dtype=bool)
            for s, file in enumerate(out):
                score = np.round(family[s % FAMILIES] + 0.4 * rng.normal(size=len(relevance)), 4)
                best = np.argsort(-score, kind="stable")[:depth]
                pooled[best] = True
                rows = (f"{q} Q0 {q}-d{d} {r} {score[d]:.4f} s\n" for r, d in enumerate(best, start=1))
                file.writelines(rows)
            labels.writelines(f"{q} 0 {q}-d{d} {relevance[d]}\n" for d in np.flatnonzero(pooled))
    for file in out:
        file.close()
    return names


def cpu(work: Callable[[], object], *, times: int) -> float:
    """Median CPU seconds of a piece of work."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return statistics.median(spent)


def main(systems: int = 62, queries: int = 100, depth: int = 100, repeats: int = 3, seed: int = 1) -> None:
    """Compare poolkit with ir_measures and scipy on one seeded world."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        names = world(folder, systems=systems, queries=queries, depth=depth, rng=rng)
        paths = sorted((folder / "runs").glob("*.run"))

        def load() -> tuple:
            runs = runs_from({p.stem: read_run(p).strict() for p in paths}, names)
            labels = labels_from(read_qrels(folder / "labels.qrels").strict(), "labels")
            return runs, grades_on(runs, labels)

        def peer_load() -> tuple:
            return [list(ir_measures.read_trec_run(str(p))) for p in paths], list(
                ir_measures.read_trec_qrels(str(folder / "labels.qrels"))
            )

        runs, grades = load()
        peer_runs, qrels = peer_load()
        wanted = [ir_measures.parse_measure(m) for m in MEASURES]
        evaluator = ir_measures.evaluator(wanted, qrels)
        families = {s: f"f{i % FAMILIES}" for i, s in enumerate(runs.systems)}
        made = pool(runs, depth=depth)
        found = scores(runs, grades, MEASURES)
        draws = query_draws(queries, n_resamples=10_000, rng=rng)
        a, b = found.values["nDCG@10"][:2]
        pairs = systems * (systems - 1) // 2

        def peer_pair() -> None:
            scipy.stats.bootstrap(
                (a - b,), np.mean, n_resamples=10_000, method="percentile", rng=rng, vectorized=True
            )

        def peer_scores() -> None:
            for run in peer_runs:
                evaluator.calc_aggregate(run)

        one = cpu(peer_scores, times=1)
        rows = [
            ("files to tables", cpu(load, times=repeats), cpu(peer_load, times=1), "ir_measures"),
            (f"scores, {len(MEASURES)} measures", cpu(lambda: scores(runs, grades, MEASURES), times=repeats), one,
             "ir_measures"),
            ("leave each family out", cpu(lambda: leave_out(made, grades, families, MEASURES), times=repeats),
             one * FAMILIES, "ir_measures, once a family"),
            ("one order of arrival",
             cpu(lambda: growth_orders(made, grades, "nDCG@10", n_orders=10, rng=rng), times=1) / 10,
             one * systems / 2, "ir_measures, once an arrival (estimated)"),
            (f"bootstrap of {pairs} pairs, both sides",
             cpu(lambda: disagree(found, found, "nDCG@10", draws=draws), times=1),
             cpu(peer_pair, times=repeats) * pairs * 2, "scipy, pair by pair (estimated)"),
        ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["work", "poolkit s", "peer s", "peer"])
    table["ratio"] = table["peer s"] / table["poolkit s"]
    print(f"{systems} systems x {queries} queries x {depth}, pool {made.unique:,}, CPU seconds")
    print(table.to_string(index=False, float_format=lambda x: f"{x:,.3f}"))


if __name__ == "__main__":
    typer.run(main)
