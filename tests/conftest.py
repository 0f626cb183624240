"""Fixtures that more than one room's tests use."""

import csv
import os
import signal
from pathlib import Path

import pytest

from poolkit.formats import read_qrels, read_run
from poolkit.labels import Labels, labels_from
from poolkit.tables import Runs, runs_from

os.environ["POOLKIT_CACHE"] = ""  # tests load files, not copies; test_cache turns it on
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs deaf to it
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup to this
CASES = Path(os.environ.get("POOLKIT_CASES", Path(__file__).parents[2] / "shared" / "cases"))


@pytest.fixture(scope="session")
def cases() -> Path:
    """Folder of real TREC data that is not part of this project."""
    if not CASES.is_dir():
        pytest.skip("real TREC cases are not on this machine; set POOLKIT_CASES to their folder")
    return CASES


@pytest.fixture(scope="session")
def dl21(cases) -> tuple[Runs, dict[str, Labels], dict[str, str]]:
    """TREC 2021 Deep Learning: runs of 63 systems, labels by name, family of each system.

    Labels are `human` and one entry a model file, named as the file: `gpt4o.umbrela`, `gpt4.umbrela`,
    `gpt4o.binary`, `gpt4.binary`, `llama32.binary`, `gpt4o.exam_graded_max`. They reach pool depth
    10: use cutoffs up to 10.
    """
    folder = cases / "dl21"
    topics = (folder / "topics.tsv").read_text(encoding="utf-8").splitlines()
    files = sorted((folder / "runs").glob("*.run.gz"))
    rankings = {f.name.removesuffix(".run.gz"): read_run(f).strict() for f in files}
    runs = runs_from(rankings, [line.split("\t")[0] for line in topics])
    labels = {"human": labels_from(read_qrels(folder / "human.qrels.gz").strict(), "human")}
    for file in sorted((folder / "llm").glob("*.qrels.gz")):
        name = file.name.removesuffix(".qrels.gz")
        labels[name] = labels_from(read_qrels(file).strict(), name, human=False)
    with (folder / "systems.csv").open(encoding="utf-8", newline="") as rows:
        families = {row["system"]: row["family"] for row in csv.DictReader(rows)}
    return runs, labels, families


@pytest.fixture(scope="session")
def treccovid(cases) -> tuple[Runs, Labels, dict[str, dict[str, str]]]:
    """TREC-COVID round 1: 143 runs, human labels, and the official leaderboard as text, by run."""
    folder = cases / "treccovid-r1"
    files = sorted((folder / "runs").glob("*.run.gz"))
    labels = labels_from(read_qrels(folder / "human.qrels.gz").strict(), "human")
    queries = sorted(labels.relevance["query_id"].unique(), key=int)
    runs = runs_from({f.name.removesuffix(".run.gz"): read_run(f).strict() for f in files}, queries)
    with (folder / "leaderboard.csv").open(encoding="utf-8", newline="") as rows:
        leaderboard = {row["run"]: row for row in csv.DictReader(rows)}
    return runs, labels, leaderboard
