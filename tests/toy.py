"""One small world that every test can hold in mind.

Three systems of two families, two queries, five documents; best first:

    query  system   family   ranking       author grades
    q1     bm25     lexical  d1 d2 d3      d1 = 2, d2 = 1, d4 = 0
    q1     dense    neural   d2 d4
    q1     hybrid   neural   d2 d1 d4
    q2     bm25     lexical  d3 d5         d4 = 1, d5 = 2, d1 = 1, d3 = 0
    q2     dense    neural   d5 d4 d1
    q2     hybrid   neural   (none)
"""

import json
from pathlib import Path

import pandas as pd

from poolkit.labels import Grades, Labels, grades_on, labels_from
from poolkit.tables import Runs, runs_from

QUERIES = ("q1", "q2")
FAMILIES = {"bm25": "lexical", "dense": "neural", "hybrid": "neural"}
RANKINGS = {
    "bm25": {"q1": ["d1", "d2", "d3"], "q2": ["d3", "d5"]},
    "dense": {"q1": ["d2", "d4"], "q2": ["d5", "d4", "d1"]},
    "hybrid": {"q1": ["d2", "d1", "d4"]},
}
GRADES = {"q1": {"d1": 2, "d2": 1, "d4": 0}, "q2": {"d4": 1, "d5": 2, "d1": 1, "d3": 0}}


def run_table(ranking):
    """Turn one system's {query: [documents]} into a table with falling scores."""
    rows = [(q, d, r, -float(r)) for q, docs in ranking.items() for r, d in enumerate(docs, start=1)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"])


def runs(rankings=RANKINGS, queries=QUERIES) -> Runs:
    return runs_from({s: run_table(r) for s, r in rankings.items()}, queries)


def labels(grades=GRADES, name="author", **options) -> Labels:
    rows = [(q, d, g) for q, docs in grades.items() for d, g in docs.items()]
    return labels_from(pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]), name, **options)


def grades(grades=GRADES, rankings=RANKINGS) -> Grades:
    return grades_on(runs(rankings), labels(grades))


TITLES = {"d1": "One", "d2": "Two", "d3": "Three", "d4": "Four", "d5": "Five"}
JUDGED = {"q1": {"d1": 2, "d2": 1, "d3": 0}, "q2": {"d1": 1, "d3": 0, "d4": 2, "d5": 2}}
AGAIN = {"q1": {"d1": 2, "d2": 0, "d3": 0}, "q2": {"d1": 1, "d3": 0, "d4": 1, "d5": 2}}


def toy_folder(path: Path) -> Path:
    """Write the world as a collection: author grades, a judge that failed once and was repeated once.

    The judge `robot` grades as JUDGED, cannot read q1 d4, and in replicate 1 grades as AGAIN: two of
    seven pairs differently. `mode` is a factor.
    """
    (path / "runs").mkdir(parents=True)
    for name in ("qrels", "judgments"):
        (path / name).mkdir()
    for system, ranking in RANKINGS.items():
        lines = [f"{q} Q0 {d} {r} {-r} {system}" for q, ds in ranking.items() for r, d in enumerate(ds, 1)]
        write_lines(path / "runs" / f"{system}.run", lines)
    write_lines(path / "queries.jsonl", [json.dumps({"_id": q, "text": f"what is {q}"}) for q in QUERIES])
    texts = [{"_id": d, "title": t, "text": f"A passage about {t.lower()}."} for d, t in TITLES.items()]
    write_lines(path / "corpus.jsonl", [json.dumps(x) for x in texts])
    grades = [f"{q} 0 {d} {g}" for q, ds in GRADES.items() for d, g in ds.items()]
    write_lines(path / "qrels" / "author.qrels", grades)
    write_lines(path / "systems.csv", ["system,family,mode", *(f"{s},{f},{s}" for s, f in FAMILIES.items())])
    rows = [judgment(q, d, g) for q, ds in JUDGED.items() for d, g in ds.items()]
    rows.append(judgment("q1", "d4", None, status="unreadable"))
    rows += [judgment(q, d, g, replicate=1) for q, ds in AGAIN.items() for d, g in ds.items()]
    write_lines(path / "judgments" / "robot.jsonl", [json.dumps(x) for x in rows])
    write_lines(
        path / "collection.toml",
        ['name = "toy"', 'title = "The toy world"', "depth = 3", 'measures = ["nDCG@3", "P@3", "AP@3"]',
         '[labels.author]', 'title = "author grades"', "[judges.robot]", 'kind = "reader"',
         'model = "robot-1"'],
    )  # fmt: skip
    return path


def judgment(query_id, doc_id, relevance, *, status="ok", **more) -> dict:
    """Return a line of judgments/NAME.jsonl; its only call took 100 tokens and gave 10."""
    spent = {"calls": 1, "tokens_in": 100, "tokens_cached": 0, "tokens_out": 10, "usd": 0.001}
    said = {"query_id": query_id, "doc_id": doc_id, "relevance": relevance, "status": status}
    return {
        **said,
        "thought": "It says so.",
        "model": "robot-1",
        "time": "2026-01-01T00:00:00Z",
        **spent,
        **more,
    }


def write_lines(path: Path, lines) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
