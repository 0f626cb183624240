"""Collections as folders: the toy world with something missing, and real TREC data."""

import json
import shutil
from pathlib import Path

import toy

from poolkit.formats import read_qrels


def without(*names):
    def changed(path):
        for name in names:
            shutil.rmtree(path / name) if (path / name).is_dir() else (path / name).unlink()

    return changed


def only(*systems):
    return without(*(f"runs/{s}.run" for s in toy.RANKINGS if s not in systems))


def one_family(path):
    toy.write_lines(path / "systems.csv", ["system,family", *(f"{s},all" for s in toy.FAMILIES)])


def one_query(path):
    toy.write_lines(path / "queries.jsonl", [json.dumps({"_id": "q1", "text": "what is q1"})])


def graded(human, judge):
    """Give every pair these grades, which may be a function of query and document."""

    def changed(path):
        pairs = [(q, d) for q in toy.QUERIES for d in toy.TITLES]
        toy.write_lines(path / "qrels" / "author.qrels", [f"{q} 0 {d} {human}" for q, d in pairs])
        toy.write_lines(
            path / "judgments" / "robot.jsonl", [json.dumps(toy.judgment(q, d, judge)) for q, d in pairs]
        )

    return changed


def conflict_folder(path: Path) -> Path:
    """Write a collection with a strong conflict: on four queries people prefer what `good` finds, the judge not.

    Of q1 .. q4 `good` ranks gN, then xN, `bad` ranks bN, then xN; people give gN 2 and bN 0, the judge 0 and 2.
    """
    for name in ("runs", "qrels", "judgments"):
        (path / name).mkdir(parents=True)
    queries = [f"q{i}" for i in range(1, 5)]
    for system, letter in (("good", "g"), ("bad", "b")):
        lines = [
            f"{q} Q0 {d}{q[1:]} {r} {-r} {system}" for q in queries for r, d in enumerate((letter, "x"), 1)
        ]
        toy.write_lines(path / "runs" / f"{system}.run", lines)
    toy.write_lines(path / "queries.jsonl", [json.dumps({"_id": q, "text": f"what is {q}"}) for q in queries])
    documents = [f"{d}{q[1:]}" for q in queries for d in "gbx"]
    texts = [{"_id": d, "title": d.upper(), "text": f"<b>About {d}</b>."} for d in documents]
    toy.write_lines(path / "corpus.jsonl", [json.dumps(x) for x in texts])
    people, judge = {"g": 2, "b": 0, "x": 1}, {"g": 0, "b": 2, "x": 1}
    graded = [(q, d, f"{d}{q[1:]}") for q in queries for d in "gbx"]
    toy.write_lines(path / "qrels" / "author.qrels", [f"{q} 0 {doc} {people[d]}" for q, d, doc in graded])
    lines = [json.dumps(toy.judgment(q, doc, judge[d])) for q, d, doc in graded]
    toy.write_lines(path / "judgments" / "robot.jsonl", lines)
    toy.write_lines(path / "systems.csv", ["system,family", "good,one", "bad,two"])
    toy.write_lines(path / "collection.toml", ['name = "conflict"', "depth = 2", 'measures = ["P(rel=2)@1"]'])
    return path


def no_common_query(path):
    toy.write_lines(path / "judgments" / "robot.jsonl", [json.dumps(toy.judgment("q1", "d1", 2))])
    toy.write_lines(path / "qrels" / "author.qrels", ["q2 0 d1 1"])


def all_failed(path):
    lines = [json.dumps(toy.judgment(q, "d1", None, status="refused")) for q in toy.QUERIES]
    toy.write_lines(path / "judgments" / "robot.jsonl", lines)


DEGRADED = {  # how the toy world becomes poorer, and what is then said
    "only queries and runs": (
        without("qrels", "judgments", "systems.csv", "corpus.jsonl", "collection.toml"),
        "There are no labels yet, so no system has a score.",
    ),
    "no human": (without("qrels"), "There are no human labels, so correlation with them"),
    "human only": (
        without("judgments"),
        "No judge has graded this pool; scores are those under author grades.",
    ),
    "one family": (one_family, "There is one family only: leaving it out would leave nothing."),
    "two systems": (only("bm25", "dense"), "There are two systems only: one pair,"),
    "one system": (only("bm25"), "There is one system only: nothing can be compared."),
    "one query": (one_query, "There is one query only: it cannot be resampled"),
    "constant grades": (graded(2, 2), "Both sides give one and the same grade to all pairs: kappa is not"),
    "constant scores": (graded(0, 0), "Every system has the same mean under author grades: no correlation"),
    "no common query": (no_common_query, "author grades and robot have no query in common"),
    "all failed": (all_failed, "robot: no pair has a grade."),
}


def trec_folder(
    case: Path, path: Path, *, judge: str = "", order: str = "score", grade_map: str = ""
) -> Path:
    """Make a collection of a folder of real data: its runs by link, its topics, human labels, a model's grades."""
    for name in ("qrels", "judgments"):
        (path / name).mkdir(parents=True)
    (path / "runs").symlink_to(case / "runs")
    labels = read_qrels(case / "human.qrels.gz").strict()
    (path / "qrels" / "human.qrels.gz").symlink_to(case / "human.qrels.gz")
    if (case / "topics.tsv").exists():
        (path / "queries.tsv").symlink_to(case / "topics.tsv")
    else:
        queries = sorted(set(labels["query_id"]), key=int)
        toy.write_lines(path / "queries.tsv", [f"{q}\ttopic {q}" for q in queries])
    if (case / "systems.csv").exists():
        (path / "systems.csv").symlink_to(case / "systems.csv")
    if judge:
        rows = read_qrels(case / "llm" / f"{judge}.qrels.gz").strict()
        said = {"status": "ok", "model": judge}
        lines = [json.dumps({**r, **said, "relevance": int(r["relevance"])}) for r in rows.to_dict("records")]
        toy.write_lines(path / "judgments" / f"{judge}.jsonl", lines)
    maps = ["[grade_maps]", f"human = {grade_map}", f'"{judge}" = {grade_map}'] if grade_map else []
    toy.write_lines(
        path / "collection.toml",
        [f'name = "{case.name}"', f'order = "{order}"', 'measures = ["nDCG@10", "P(rel=2)@10"]', *maps],
    )
    return path
