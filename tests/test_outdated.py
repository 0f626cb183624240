"""Grades of another text or setting than now are seen, told, and not taken for current ones."""

import json
import shutil

import pandas as pd
import pytest
import toy
from typer.testing import CliRunner

from poolkit import accounts, check, collection, ledger
from poolkit.cli import app
from poolkit.identity import asked, judge_from, short_hash, shown
from poolkit.outdated import outdated, outdated_lines, query_hashes, text_hashes


@pytest.fixture
def folder(tmp_path):
    """The toy collection, its whole pool judged by gpt-4.1 as `poolkit judge` would write it."""
    path = toy.toy_folder(tmp_path / "toy")
    shutil.rmtree(path / "judgments")
    (path / "judgments").mkdir()
    with (path / "collection.toml").open("a") as out:
        out.write("\n".join(['[judges."gpt-4.1"]', 'model = "gpt-4.1-2025-04-14"', ""]))
    job = ledger.job_of(path, "gpt-4.1")
    facts = {
        "asked": job.judge.model, "prompt_hash": job.judge.prompt.hash, "parameters": shown(job.judge.parameters),
    }  # fmt: skip
    rows = [
        toy.judgment(
            p.query_id,
            p.doc_id,
            1,
            key=p.key,
            query_hash=short_hash(p.query),
            text_hash=p.text_hash,
            replicate=0,
            **facts,
        )
        for p in asked(job.judge, job.pairs, 0)
    ]
    toy.write_lines(path / "judgments" / "gpt-4.1.jsonl", map(json.dumps, rows))
    return path


def warned(folder):
    return [str(p) for p in check.check(folder)]


def judge_status(folder):
    found = ledger.status_of(folder)
    return found["judges"][0], found["next"]


def changed_text(path, key, text):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    toy.write_lines(path, [json.dumps(r | ({"text": text} if r["_id"] == key else {})) for r in rows])


def test_nothing_has_changed(folder):
    assert warned(folder) == []
    assert judge_status(folder)[0]["outdated"] == 0
    assert judge_status(folder)[1] == f"poolkit report {folder}"


def test_another_query_text(folder):
    changed_text(folder / "queries.jsonl", "q2", "what else is q2")
    # q2 pools d1, d3, d4 and d5
    said = (
        "judgments/gpt-4.1.jsonl: 4 grades were given to another query text than now (q2); they count until "
        "judged again"
    )
    assert warned(folder) == [said]
    assert [str(note) for note in collection.read_collection(folder).notes] == [said]
    status, then = judge_status(folder)
    assert (status["judged"], status["unjudged"], status["outdated"]) == (8, 0, 4)
    assert then == f"poolkit judge {folder} --judge gpt-4.1 (a grade of another text or setting: 4 pairs)"
    assert (
        "4 of 8 pairs to judge"
        in ledger.forecast_lines(ledger.job_of(folder, "gpt-4.1"), replicate=0, retry_failed=False)[0]
    )


def test_another_document_text_is_seen_where_texts_are_read(folder):
    changed_text(folder / "corpus.jsonl", "d4", "A passage about forty.")
    # d4 is pooled for q1 and q2
    assert warned(folder) == [
        "judgments/gpt-4.1.jsonl: 2 grades were given to another document text than now (d4); they count until "
        "judged again"
    ]
    assert judge_status(folder)[0]["outdated"] == 0  # status reads no texts


@pytest.mark.parametrize(
    "line", ['model = "gpt-4.1-2026-01-01"', "parameters = {temperature = 1}", 'prompt = "umbrela"']
)
def test_another_model_prompt_or_parameters(folder, line):
    text = (folder / "collection.toml").read_text()
    if line.startswith("model"):
        text = text.replace('model = "gpt-4.1-2025-04-14"', line)
    else:
        text += line + "\n"
    (folder / "collection.toml").write_text(text)
    assert warned(folder) == [
        "judgments/gpt-4.1.jsonl: 8 grades were given to another model, prompt or parameters than now; they count "
        "until judged again"
    ]
    assert judge_status(folder)[0]["outdated"] == 8


@pytest.mark.filterwarnings("default")
def test_scores_and_pages_say_so(folder):
    changed_text(folder / "queries.jsonl", "q2", "what else is q2")
    changed_text(folder / "corpus.jsonl", "d1", "A passage about won.")
    query, document = (
        "4 grades were given to another query text",
        "2 grades were given to another document text",
    )
    done = CliRunner().invoke(app, ["score", str(folder)])
    assert done.exit_code == 0
    assert f"warning: {query} than now (q2)" in done.stderr
    found = collection.read_collection(folder)
    lines = accounts.provenance_lines(found, found.labels["gpt-4.1"])
    assert [line.partition(" than now")[0] for line in lines[-2:]] == [query, document]


def test_what_nobody_can_compare_is_not_called_outdated(folder):
    path = folder / "judgments" / "gpt-4.1.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    bare = [{k: r[k] for k in ("query_id", "doc_id", "relevance")} for r in rows]
    toy.write_lines(path, map(json.dumps, bare))
    changed_text(folder / "queries.jsonl", "q2", "what else is q2")
    changed_text(folder / "corpus.jsonl", "d4", "A passage about forty.")
    assert warned(folder) == []


def test_a_judge_that_grades_outside_is_compared_by_texts_and_prompt(folder):
    judge = judge_from("robot", {"kind": "reader", "model": "robot-1", "prompt": "graded"}, folder)
    queries = query_hashes(pd.DataFrame({"text": ["what is q1"]}, index=["q1"]))
    corpus = pd.DataFrame({"title": ["One"], "text": ["A passage about one."], "image": [""]}, index=["d1"])
    documents = text_hashes(judge, corpus.rename_axis("doc_id"), folder)
    facts = {"query_id": "q1", "doc_id": "d1", "asked": "another", "parameters": "other", "status": "ok"}
    good = {"query_hash": queries["q1"], "text_hash": documents["d1"], "prompt_hash": judge.prompt.hash}
    rows = [good, good | {"prompt_hash": "x"}, good | {"text_hash": "x"}, good | {"query_hash": "x"}]
    rows = pd.DataFrame([facts | row for row in [*rows, good | {"status": "refused", "text_hash": "x"}]])
    found = outdated(rows, queries, judge, documents)
    assert found.tolist() == ["", "judge", "document", "query"]  # a failure is no grade
    assert outdated_lines(rows, found)[0].startswith("1 grade was given to another query text than now (q1);")
