"""Every step on one collection in a process of its own: prints CPU seconds and peak memory as JSON.

Called by bench.py as `python steps.py FOLDER`. Orders and worlds are few here; their cost is linear in their number.
With `--once` each step runs once, and its wall time and the peak so far are said as it ends.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from load import files_to_scores, load, peak_memory

from poolkit.bias import leave_out
from poolkit.certify import certificates
from poolkit.growth import growth_orders
from poolkit.noise import noise_through
from poolkit.pool import pool
from poolkit.resample import difference_bounds, mean_draws, query_draws, share_above
from poolkit.score import scores

MEASURES = ["P@10", "nDCG@10", "nDCG@100", "AP@100", "R@100"]
FLIPS = pd.DataFrame([[0.9, 0.08, 0.02], [0.1, 0.8, 0.1], [0.02, 0.08, 0.9]])
PAIRS = {"bootstrap", "certificates"}  # their work is one piece for every pair of systems


def bootstrap(values: np.ndarray, draws: np.ndarray) -> None:
    """Shares and intervals of every pair."""
    drawn = mean_draws(values, draws)
    share_above(drawn)
    difference_bounds(drawn)


def steps(folder: Path, *, once: bool = False) -> dict[str, float]:
    """CPU seconds of each step."""
    spent: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any], times: int = 1) -> Any:
        if not once:
            work()  # imports and first touches are not the work
        times = 1 if once else times
        start, wall = time.process_time(), time.perf_counter()
        for _ in range(times):
            found = work()
        spent[name] = (time.process_time() - start) / times
        if once:
            took = time.perf_counter() - wall
            said = f"{name:<22} {took:7.1f} s wall {spent[name]:7.1f} s CPU {peak_memory():7,.0f} MB at most"
            print(said, file=sys.stderr, flush=True)
        return found

    if not once:
        timed("files to scores", lambda: files_to_scores(folder, MEASURES))
        spent["peak MB, files to scores"] = peak_memory()
    runs, grades = timed("files to grades", lambda: load(folder)) if once else load(folder)
    made, queries = pool(runs, depth=runs.item.shape[2]), len(runs.queries)
    families = pd.read_csv(folder / "systems.csv", index_col="system")["family"].to_dict()
    found = timed("scores", lambda: scores(runs, grades, MEASURES), 5)
    timed("leave one family out", lambda: leave_out(made, grades, families, MEASURES))
    timed("orders", lambda: growth_orders(made, grades, "nDCG@10", n_orders=20, rng=np.random.default_rng(1)))
    timed("certificates", lambda: certificates(runs, grades, "nDCG@10"))
    draws = query_draws(queries, n_resamples=10_000, rng=np.random.default_rng(1))
    timed("bootstrap", lambda: bootstrap(found.values["nDCG@10"], draws))
    timed(
        "worlds",
        lambda: noise_through(runs, grades, FLIPS, "nDCG@10", n_worlds=20, rng=np.random.default_rng(1)),
    )
    return spent | {"peak MB, all steps": peak_memory()}


if __name__ == "__main__":
    print(json.dumps(steps(Path(sys.argv[1]), once="--once" in sys.argv)))
