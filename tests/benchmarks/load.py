"""Files to scores in a process of its own: prints CPU seconds, wall seconds and peak memory as JSON.

Called by bench.py as `python load.py FOLDER MEASURE...`; the imports are not counted, their memory is.
"""

import json
import sys
import time
from pathlib import Path

from poolkit.formats import read_qrels
from poolkit.labels import Grades, grades_on, labels_from
from poolkit.parts import read_rankings
from poolkit.score import Scores, scores
from poolkit.tables import Runs, runs_from
from poolkit.texts import read_queries


def load(folder: Path) -> tuple[Runs, Grades]:
    """Run files and human labels of a folder, every check of the readers included."""
    queries = list(read_queries(folder).strict().index)
    runs = runs_from(read_rankings(folder, repeats=False).strict(), queries)
    labels = labels_from(read_qrels(folder / "qrels" / "human.qrels").strict(), "human")
    return runs, grades_on(runs, labels)


def files_to_scores(folder: Path, measures: list[str]) -> Scores:
    """Scores of every run file of a folder."""
    return scores(*load(folder), measures)


def peak_memory() -> float:
    """Most memory of this process so far, in MB. getrusage would count the process that started this one."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    cpu, wall = time.process_time(), time.perf_counter()
    files_to_scores(Path(sys.argv[1]), sys.argv[2:])
    peak = peak_memory()
    print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "peak": peak}))
