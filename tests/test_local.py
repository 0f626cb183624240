"""Filling a pool with a language model on this machine: one of 256 letters, by hand."""

import sys
import types

import pandas as pd
import pytest
import toy
from test_judge import pairs
from test_llama import Echo
from test_picture import picture

from poolkit.judge import fill, forecast, judge_from
from poolkit.plan import explain
from poolkit.records import read_judgments, read_records
from poolkit.tables import DataError


class Place:
    """A likelihood judge's files."""

    def __init__(self, tmp_path):
        (tmp_path / "echo.gguf").write_bytes(b"GGUF")
        self.cache, self.path = tmp_path / "cache", tmp_path / "judgments" / "weak.jsonl"
        table = {
            "kind": "likelihood",
            "model": "echo.gguf",
            "thresholds": [0.1, 0.3],
            "fitted_on": "a sample",
        }
        self.judge = judge_from("weak", table, tmp_path)

    def fill(self, table, **options):
        options = {"progress": False, **options}
        return fill(self.judge, table, cache_folder=self.cache, judgments_path=self.path, **options)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", types.SimpleNamespace(Llama=Echo))
    return Place(tmp_path)


def test_every_pair_once_free_and_resumed(place):
    first = place.fill(pairs(20))
    assert (first.judged, first.failed, first.calls, first.usd, first.stopped) == (20, {}, 20, 0.0, None)
    again = place.fill(pairs(20).sample(frac=1, random_state=1))
    assert (again.judged, again.known, again.calls) == (0, 20, 0)
    assert place.fill(pairs(23)).calls == 3
    assert place.fill(pairs(5), replicate=1).calls == 5
    records = read_records(place.path)
    assert (records["usd"].sum(), records["calls"].sum(), records["tokens_out"].sum()) == (0, 28, 0)
    both = records[records["doc_id"].isin([f"d{i}" for i in range(5)])]
    assert both.groupby("doc_id")["relevance"].nunique().eq(1).all()  # it repeats itself


def test_a_record_says_what_made_it(place):
    place.fill(pairs(1))
    row = read_judgments(place.path).iloc[0]
    assert (row["model"], row["parameters"], row["sent"]) == (
        "echo", "thresholds=[0.1, 0.3]", "fitted on a sample",
    )  # fmt: skip
    score = float(row["thought"].split()[2])
    assert row["thought"].endswith(" a query token; from 0.100 grade 1, from 0.300 grade 2")
    assert row["relevance"] == (score >= 0.1) + (score >= 0.3)


def test_grades_do_not_depend_on_order_or_company(place, tmp_path):
    place.fill(pairs(12))
    together = read_judgments(place.path).set_index("doc_id")["thought"]
    (tmp_path / "b").mkdir()
    other = Place(tmp_path / "b")
    for at in (7, 2, 11):
        other.fill(pairs(12).iloc[[at]])
    alone = read_judgments(other.path).set_index("doc_id")["thought"]
    assert alone.to_dict() == together[alone.index].to_dict()


def test_equal_content_is_read_once(place):
    outcome = place.fill(pairs(9, text=["same"] * 9, title=["same"] * 9))
    assert (outcome.judged, outcome.calls) == (9, 3)


def test_other_thresholds_are_another_judgment(place):
    place.fill(pairs(2))
    known = read_records(place.path)
    row = pairs(2).iloc[0].to_dict()
    assert explain(place.judge, row, known)["verdict"].startswith("hit: grade")
    moved = judge_from(
        "weak", {**place.judge.provenance, "kind": "likelihood", "thresholds": [1]}, place.path
    )
    assert explain(moved, row, known)["verdict"] == "miss: judged before, but with another parameters"


def test_a_forecast_is_free_and_needs_no_model(place, monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    ahead = forecast(place.judge, pairs(30))
    assert (ahead.calls, ahead.tokens_out, ahead.usd) == (30, 0, 0.0)
    assert ahead.minutes == pytest.approx(30 * 0.4 / 60)
    with pytest.raises(DataError, match=r"llama-cpp-python is not installed\. Run: make local-llm"):
        place.fill(pairs(3))


def test_ctrl_c_ends_after_the_pair_in_hand(place, monkeypatch):
    import _thread

    evaluate, count = Echo.eval, iter(range(10**9))

    def interrupted(self, tokens):
        if next(count) == 30:
            _thread.interrupt_main()
        evaluate(self, tokens)

    monkeypatch.setattr(Echo, "eval", interrupted)
    from poolkit import progress

    monkeypatch.setattr(progress.Meter, "add", slowly(progress.Meter.add))
    outcome = place.fill(pairs(200))
    assert outcome.stopped == "interrupted"
    assert 0 < outcome.judged == len(read_records(place.path)) < 200
    assert outcome.remaining == 200 - outcome.judged
    assert place.fill(pairs(200)).judged == outcome.remaining


def slowly(add):
    import time

    def slow(self, *given):
        time.sleep(0.01)
        add(self, *given)

    return slow


def test_a_query_without_tokens_is_a_failure_not_a_grade(place, monkeypatch):
    monkeypatch.setattr(Echo, "tokenize", lambda self, text, add_bos=True: list(text.strip()))
    table = pairs(2, query=["", "who"])
    outcome = place.fill(table)
    assert (outcome.judged, outcome.failed) == (1, {"unreadable": 1})
    assert pd.isna(read_records(place.path).set_index("doc_id")["relevance"]["d0"])


def test_page_pictures_are_said_to_be_left_out(place, tmp_path):
    picture(tmp_path / "p.png")
    outcome = place.fill(pairs(1, image=[str(tmp_path / "p.png")]))
    assert outcome.notes == ("a likelihood judge reads text alone: page pictures were not looked at.",)


def test_there_is_no_batch_on_this_machine(place):
    with pytest.raises(ValueError, match=r"judge 'weak' runs on this machine: there is no batch service"):
        place.fill(pairs(2), batch=True)


def test_the_command_judges_explains_and_says_what_is_missing(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from poolkit.cli import app

    folder = toy.toy_folder(tmp_path / "toy")
    (folder / "echo.gguf").write_bytes(b"GGUF")
    table = '[judges.weak]\nkind = "likelihood"\nmodel = "echo.gguf"\nthresholds = [0.1]\nfitted_on = "a sample"\n'
    with (folder / "collection.toml").open("a") as file:
        file.write(table)
    asked = ["judge", str(folder), "--judge", "weak"]
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    said = CliRunner().invoke(app, [*asked, "--dry-run"]).output
    assert "8 of 8 pairs to judge" in said
    assert "0 output tokens, $0.00" in said
    broken = CliRunner().invoke(app, asked)
    assert broken.exit_code == 1
    assert broken.output.startswith("poolkit: llama-cpp-python is not installed. Run: make local-llm, or ")
    assert broken.output.count("\n") == 1
    monkeypatch.setitem(sys.modules, "llama_cpp", types.SimpleNamespace(Llama=Echo))
    done = CliRunner().invoke(app, asked)
    assert (done.exit_code, "8 judged now, 0 known already, 8 calls, $0.0000" in done.output) == (0, True)
    verdict = CliRunner().invoke(app, [*asked, "--explain", "q1", "d1"]).output
    assert "parameters: thresholds=[0.1]" in verdict
    assert "verdict: hit: grade" in verdict
