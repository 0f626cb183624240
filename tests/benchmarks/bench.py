"""Speed against peers on one seeded world: CPU seconds, medians, ratios. Run by `make bench`.

Writes reports/bench.md and reports/bench.json. The defaults are the paper's production set. Ratios are of CPU
seconds within this one process, because other work on a machine moves both sides alike; peaks are those of a process
of their own. `--report` adds the wall time of the whole report, `--growth` what doubling costs each step, with
reports/bench-growth.png, `--ten` every step on ten times as many systems: minutes each.
"""

import contextlib
import importlib.util
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import matplotlib
import numpy as np
import pytrec_eval
import scipy.stats
import typer
from load import files_to_scores
from steps import FLIPS, MEASURES, PAIRS, bootstrap
from world import write_world

from poolkit.bias import leave_out
from poolkit.certify import certificates
from poolkit.collection import read_collection
from poolkit.growth import growth_orders
from poolkit.labels import grades_on
from poolkit.noise import noise_through
from poolkit.pool import own_members, pool
from poolkit.resample import query_draws
from poolkit.score import scores

matplotlib.use("Agg")
TREC_EVAL = {"P.10", "ndcg_cut.10,100", "map_cut.100", "recall.100"}
HERE = Path(__file__).parent


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a piece of work, and what it returns."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


class Peers:
    """Other tools on the same files, used as their documents say."""

    def __init__(self, folder: Path):
        self.paths = sorted((folder / "runs").glob("*.run"))
        self.qrels = folder / "qrels" / "human.qrels"
        self.measures = [ir_measures.parse_measure(m) for m in MEASURES]

    def read(self) -> tuple[list, list[list]]:
        """Read qrels and runs by ir_measures."""
        return list(ir_measures.read_trec_qrels(str(self.qrels))), [
            list(ir_measures.read_trec_run(str(p))) for p in self.paths
        ]

    def by_ir_measures(self, qrels: list, runs: list[list]) -> list[dict]:
        """Means of every run; ready-made tables, one evaluator."""
        evaluator = ir_measures.evaluator(self.measures, qrels)
        return [evaluator.calc_aggregate(run) for run in runs]

    def for_pytrec_eval(self, qrels: list, runs: list[list]) -> tuple[dict, list[dict]]:
        """Nested dictionaries, which is what pytrec_eval and ranx take."""

        def nested(rows: list, value: str) -> dict:
            found: dict[str, dict] = {}
            for row in rows:
                found.setdefault(row.query_id, {})[row.doc_id] = getattr(row, value)
            return found

        return nested(qrels, "relevance"), [nested(run, "score") for run in runs]

    def by_pytrec_eval(self, qrels: dict, runs: list[dict]) -> None:
        """Scores by query of every run."""
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, TREC_EVAL)
        for run in runs:
            evaluator.evaluate(run)


def ranx_seconds(qrels: dict, runs: list[dict]) -> float | None:
    """CPU seconds of ranx on its own loaded tables, compiled before; None where it is not installed."""
    if importlib.util.find_spec("ranx") is None:
        return None
    import ranx

    names = ["precision@10", "ndcg@10", "ndcg@100", "map@100", "recall@100"]
    labels, tables = ranx.Qrels(qrels), [ranx.Run(run) for run in runs if run]
    ranx.evaluate(labels, tables[0], names, make_comparable=True)
    return cpu(lambda: [ranx.evaluate(labels, t, names, make_comparable=True) for t in tables])[0]


def measure_all(folder: Path, *, repeats: int, worlds: int, orders: int) -> tuple[list[dict], dict[str, Any]]:
    """Rows of the table, and facts about the world."""
    peers, rounds = Peers(folder), []
    collection = read_collection(folder)
    runs, labels = collection.runs, collection.labels["human"]
    grades, n = grades_on(runs, labels), len(runs.systems)
    made, families = pool(runs, depth=collection.config["depth"]), collection.families
    draws = query_draws(len(runs.queries), n_resamples=10_000, rng=np.random.default_rng(1))
    found, pairs = scores(runs, grades, MEASURES), n * (n - 1) // 2
    for at in range(repeats):
        print(f"round {at + 1} of {repeats}", file=sys.stderr, flush=True)
        spent: dict[str, float] = {}

        def timed(name: str, work: Callable[[], Any], spent: dict[str, float] = spent) -> Any:
            spent[name], result = cpu(work)
            return result

        timed("files", lambda: files_to_scores(folder, MEASURES))
        qrels, rows = timed("ir_measures reads", peers.read)
        means = timed("ir_measures", lambda: peers.by_ir_measures(qrels, rows))
        timed("scores", lambda: [scores(runs, grades, MEASURES) for _ in range(5)])
        family = families[runs.systems[-1]]
        lost = runs.pairs(
            made.item[own_members(made, np.array([families[s] == family for s in runs.systems]))]
        )
        gone = set(zip(lost["query_id"], lost["doc_id"], strict=True))
        fewer = [x for x in qrels if (x.query_id, x.doc_id) not in gone]
        timed("ir_measures one family", lambda: peers.by_ir_measures(fewer, rows))
        timed("families", lambda: leave_out(made, grades, families, MEASURES))
        nested = peers.for_pytrec_eval(qrels, rows)
        rows = qrels = []
        timed("pytrec_eval", lambda: peers.by_pytrec_eval(*nested))
        if at == 0:
            ranx = ranx_seconds(*nested)
            apart = [abs(found.mean(m)[p.stem] - x[ir_measures.parse_measure(m)])
                     for p, x in zip(peers.paths, means, strict=True) for m in MEASURES]  # fmt: skip
        rng = np.random.default_rng(1)
        timed("orders", lambda: growth_orders(made, grades, "nDCG@10", n_orders=orders, rng=rng))
        timed("certificates", lambda: certificates(runs, grades, "nDCG@10"))
        values = found.values["nDCG@10"]
        timed("bootstrap", lambda: bootstrap(values, draws))
        difference = values[-1] - values[-2]
        timed("scipy", lambda: [
            scipy.stats.bootstrap((difference,), np.mean, n_resamples=10_000, method="percentile", rng=rng)
            for _ in range(3)
        ])  # fmt: skip
        rounds.append(spent)
    noise = cpu(
        lambda: noise_through(runs, grades, FLIPS, "nDCG@10", n_worlds=worlds, rng=np.random.default_rng(1))
    )
    t = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
    t["scores"] /= 5
    n_families = len(set(families.values()))
    loads = [json.loads(alone("load.py", folder, *MEASURES)) for _ in range(repeats)]
    rows_ = [
        ("files to scores of 5 measures", t["files"], "ir_measures", t["ir_measures reads"] + t["ir_measures"], "5 x"),
        ("scores from loaded tables", t["scores"], "ir_measures", t["ir_measures"], "50 x"),
        ("", t["scores"], "pytrec_eval", t["pytrec_eval"], "40 x"),
        ("", t["scores"], "ranx", ranx, ""),
        (f"leave one family out, {n_families} families, {n} systems", t["families"],
         "ir_measures, one family x families", t["ir_measures one family"] * n_families, "100 x"),
        (f"growth: one of {orders} arrival orders", t["orders"] / orders, "one scoring here", t["scores"], "4 x"),
        (f"certificates for {pairs:,} pairs", t["certificates"], "", None, "<= 1 s"),
        (f"bootstrap of {pairs:,} pairs, 10,000 draws, intervals", t["bootstrap"], "scipy.stats.bootstrap x pairs",
         t["scipy"] / 3 * pairs, "50 x"),
        (f"judge noise through {worlds:,} worlds", noise[0], "", None, "<= 60 s"),
    ]  # fmt: skip
    table = [
        {"work": w, "poolkit s": mine, "peer": peer, "peer s": theirs, "ratio": theirs / mine if theirs else None,
         "goal": goal} for w, mine, peer, theirs, goal in rows_
    ]  # fmt: skip
    facts = {
        "systems": n, "queries": len(runs.queries), "rows": int(runs.returned.sum()), "pool": made.unique,
        "repeats": repeats, "difference from ir_measures, at most": float(max(apart)),
        "files to scores, peak MB": round(statistics.median(x["peak"] for x in loads)),
        "files to scores, wall s": round(statistics.median(x["wall"] for x in loads), 2),
    }  # fmt: skip
    return table, facts


def alone(program: str, *asked: object) -> str:
    """What a program beside this one prints, in a process of its own."""
    command = [sys.executable, str(HERE / program), *map(str, asked)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def loading(folder: Path, scratch: Path) -> dict[str, float]:
    """CPU seconds of a first load of everything and of a second one, from the copies."""
    os.environ["POOLKIT_CACHE"] = str(scratch / "kept")
    first, again = (cpu(lambda: read_collection(folder))[0] for _ in range(2))
    return {
        "first load s": round(first, 2),
        "second load s": round(again, 2),
        "load ratio": round(first / again, 1),
    }


def growing_cost(
    scratch: Path, *, systems: int, queries: int, depth: int, seed: int, repeats: int
) -> list[dict[str, Any]]:
    """CPU and memory of each step when systems, queries or depth double, over those of half the size."""
    small, rows = {"systems": systems // 2, "queries": queries // 2, "depth": depth // 2}, []
    sizes = {"base": small} | {axis: small | {axis: small[axis] * 2} for axis in small}
    worlds = {
        axis: write_world(scratch / axis, **size, seed=seed, judged=False) for axis, size in sizes.items()
    }
    # In turn, so that a busy minute of the machine touches every size.
    rounds = [{axis: json.loads(alone("steps.py", w)) for axis, w in worlds.items()} for _ in range(repeats)]
    spent = {
        axis: {step: statistics.median(r[axis][step] for r in rounds) for step in rounds[0][axis]}
        for axis in sizes
    }
    pairs = {axis: size["systems"] * (size["systems"] - 1) / 2 for axis, size in sizes.items()}
    for step, base in spent["base"].items():
        per = {axis: pairs[axis] / pairs["base"] if step in PAIRS else 1 for axis in small}
        ratios = {f"{axis} x 2": spent[axis][step] / base / per[axis] for axis in small}
        rows.append({"step": f"{step}, a pair" if step in PAIRS else step, "base": base} | ratios)
    return rows


def plot_cost(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw what doubling each axis does to each step."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4))
    place = np.arange(len(rows))
    for name, marker in zip(list(rows[0])[2:], "os^", strict=True):
        ax.plot([r[name] for r in rows], place, marker, label=name)
    ax.axvline(1, color="0.8")
    ax.axvline(2.2, color="0.5", ls=":")
    ax.set(
        yticks=place,
        yticklabels=[r["step"] for r in rows],
        xlim=(0, None),
        xlabel="times the cost; dotted: 2.2",
    )
    ax.invert_yaxis()
    ax.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def whole_report(folder: Path, scratch: Path) -> dict[str, float]:
    """Wall and CPU seconds of `poolkit report`, and its most memory: the sum of its processes at a time."""
    asked = [
        "-c",
        "from poolkit.cli import app; app()",
        "report",
        str(folder),
        "--out",
        str(scratch / "reports"),
    ]
    environment = {k: v for k, v in os.environ.items() if k != "POOLKIT_CACHE"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    running, peak = subprocess.Popen([sys.executable, *asked], env=environment), 0.0
    while running.poll() is None:
        peak = max(peak, sum(map(memory, processes(running.pid))))
        time.sleep(0.5)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if running.returncode:
        raise SystemExit(f"poolkit report ended with {running.returncode}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "whole report, wall s": round(wall, 1),
        "whole report, CPU s": round(spent, 1),
        "whole report, peak MB": round(peak),
    }


def processes(root: int) -> list[int]:
    """A process and all that it started."""
    found = [root]
    for pid in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += map(int, (task / "children").read_text(encoding="utf-8").split())
    return found


def memory(pid: int) -> float:
    """Memory of a process in MB, what it shares counted in part (PSS); 0 once it has ended."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return 0.0


def as_markdown(table: list[dict], facts: dict[str, Any], cost: list[dict], large: dict[str, float]) -> str:
    """Return the figures as a page."""

    def cell(value: object) -> str:
        return "" if value is None else f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" \
            if isinstance(value, int) else str(value)  # fmt: skip

    def lines(rows: list[dict]) -> list[str]:
        head = list(rows[0])
        return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
                *("| " + " | ".join(cell(r[k]) for k in head) + " |" for r in rows)]  # fmt: skip

    said = [
        "# Speed",
        "",
        "CPU seconds, medians; a ratio is the peer's time over ours.",
        "",
        *lines(table),
        "",
    ]
    said += [f"- {k}: {cell(v)}" for k, v in facts.items()]
    if cost:
        told = "Times the cost when one axis doubles (CPU seconds, medians; memory); steps over pairs by the pair:"
        said += ["", told, "", *lines(cost), "", "![cost](bench-growth.png)"]
    if large:
        said += ["", "Ten times as many systems, each step once, CPU seconds (20 orders, 20 worlds):", ""]
        said += [f"- {k}: {v:,.1f}" for k, v in large.items()]
    return "\n".join(said) + "\n"


def main(
    systems: int = 62, queries: int = 303, depth: int = 200, repeats: int = 5, seed: int = 1, worlds: int = 1_000,
    orders: int = 500, report: bool = False, growth: bool = False, ten: bool = False, out: Path = Path("reports"),
    world: Path | None = None,
) -> None:  # fmt: skip
    """Compare poolkit with its peers on one seeded world; `--world` takes one that is written already."""
    os.environ["POOLKIT_CACHE"] = ""
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        size = {"systems": systems, "queries": queries, "depth": depth, "seed": seed}
        folder = world or write_world(scratch / "world", **size)
        whole = whole_report(folder, scratch) if report else {}  # while this process is small
        cost = growing_cost(scratch, **size, repeats=repeats) if growth else []
        large = {}
        if ten:
            big = write_world(scratch / "ten", **size | {"systems": 10 * systems}, judged=False)
            large = json.loads(alone("steps.py", big, "once"))
            shutil.rmtree(big)
        table, facts = measure_all(folder, repeats=repeats, worlds=worlds, orders=orders)
        facts |= loading(folder, scratch) | whole
        if cost:
            plot_cost(cost, out / "bench-growth.png")
    page = as_markdown(table, facts, cost, large)
    (out / "bench.md").write_text(page, encoding="utf-8")
    document = {"table": table, "facts": facts, "growth": cost, "ten": large}
    (out / "bench.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    print(page)


if __name__ == "__main__":
    typer.run(main)
