"""Every command: what it prints, its exit status, and errors as one line."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import batches
import loopback
import pandas as pd
import pytest
import toy
from PIL import Image
from typer.main import get_command
from typer.testing import CliRunner

from poolkit import __version__
from poolkit.cli import app

COMMANDS = sorted(get_command(app).commands)
POOLKIT = [str(Path(sys.executable).with_name("poolkit"))]


@pytest.fixture
def folder(tmp_path):
    return toy.toy_folder(tmp_path / "toy")


def poolkit(*arguments, code=0):
    """Run a command in this process; nothing but SystemExit may come out of it."""
    done = CliRunner().invoke(app, [str(x) for x in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code == code, (done.stdout, done.stderr)
    return done


def refused(*arguments, code, match):
    """One line on stderr, nothing on stdout."""
    done = poolkit(*arguments, code=code)
    assert done.stdout == ""
    assert re.fullmatch(r"poolkit: [^\n]+\n", done.stderr), done.stderr
    assert re.search(match, done.stderr), done.stderr


def judged_by(folder, url, **settings):
    """Declare a judge at an address in collection.toml."""
    told = {"model": "m-1", "base_url": url, "key_env": "TOY_KEY", "requests_per_minute": 60000} | settings
    price = "price = { input = 1000.0, output = 1000.0 }"
    lines = [f"{k} = {json.dumps(v)}" for k, v in told.items()]
    with (folder / "collection.toml").open("a", encoding="utf-8") as out:
        out.write("\n".join(["[judges.server]", *lines, price, ""]))


def records(folder, name="server"):
    lines = (folder / "judgments" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(x) for x in lines]


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_every_argument_and_option(command):
    said = CliRunner(env={"COLUMNS": "200"}).invoke(app, [command, "--help"]).stdout
    for parameter in get_command(app).commands[command].params:
        assert parameter.help.strip(), (command, parameter.name)
        assert all(o in said for o in parameter.opts if o.startswith("-")), (command, parameter.name)
        assert "[" not in parameter.help, "the help's markup swallows brackets"


def test_help_teaches_the_first_steps():
    said = " ".join(poolkit("--help").stdout.split())
    for words in ("poolkit check", "--dry-run", "poolkit report DATA", "3 judging incomplete"):
        assert words in said


def test_help_answers_without_the_heavy_imports():
    code = "import sys, poolkit.cli; print([m for m in ('pandas', 'scipy', 'openai') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_wrong_usage_is_2():
    for arguments in (
        ["chek"],
        ["check"],
        ["score", "x", "--labells", "y"],
        ["judge", "x", "--max-usd", "ten"],
    ):
        done = poolkit(*arguments, code=2)
        assert done.stdout == ""
        assert "Traceback" not in done.stderr


# check and status


def test_check_a_clean_collection(folder):
    done = poolkit("check", folder)
    assert (done.stdout, done.stderr) == ("", f"errors: 0, warnings: 0, in {folder}\n")


def test_check_lists_every_problem_errors_first(folder):
    toy.write_lines(folder / "runs" / "dense.run", ["q1 Q0 d2 1 -1 x", "q1 Q0 d2 2 -2 x", "q1 Q0 d4 3 nan x"])
    toy.write_lines(folder / "qrels" / "author.qrels", ["q1 0 d1 0.5"])
    (folder / "corpus.jsonl").unlink()
    done = poolkit("check", folder, code=1)
    assert done.stdout.splitlines() == [
        "error: runs/dense.run, line 2: query q1 ranks d2 twice (lines 1 and 2). Keep one.",
        "error: runs/dense.run, line 3: query q1 has a score that is not a number (NaN)",
        "error: qrels/author.qrels, line 1: the grade is 0.5; a grade is a whole number",
        "warning: corpus.jsonl: absent: reports show ids only",
    ]
    assert done.stderr == f"errors: 3, warnings: 1, in {folder}\n"


def test_check_and_dry_run_point_out_an_alias(folder):
    with (folder / "collection.toml").open("a") as out:
        out.write('[judges.moving]\nmodel = "gpt-4.1"\n[judges.odd]\nmodel = "m"\nmodle = "n"\n')
    said = "judge 'moving': 'gpt-4.1' is an alias: what it means may change. Pin a dated snapshot."
    assert poolkit("check", folder, code=1).stdout.splitlines() == [
        "error: collection.toml: judge 'odd': unknown key 'modle'. Did you mean 'model'?",
        f"warning: collection.toml: {said}",
    ]
    done = subprocess.run(
        [*POOLKIT, "judge", str(folder), "--judge", "moving", "--dry-run"], capture_output=True, text=True
    )
    assert done.stderr == f"poolkit: warning: {said}\n"
    assert done.stdout.startswith("judge moving (gpt-4.1): 8 of 8 pairs to judge\n")


def test_check_looks_at_page_pictures(folder):
    rows = [json.dumps({"_id": d, "text": "", "image": f"{d}.png"}) for d in toy.TITLES]
    toy.write_lines(folder / "corpus.jsonl", rows)
    Image.new("RGB", (4, 4)).save(folder / "d1.png")
    (folder / "d2.png").write_text("<html>")
    said = poolkit("check", folder, code=1).stdout
    assert (
        "error: corpus.jsonl: 4 of 5 page pictures cannot be sent; the first: d2.png: "
        "cannot be read: the picture is damaged\n"
    ) in said


def test_a_problem_in_judgments_names_the_file_once(folder):
    path = folder / "judgments" / "robot.jsonl"
    text = path.read_text()
    path.write_text(text.replace('"relevance": 2', '"relevance": "two"', 1))
    error = poolkit("check", folder, code=1).stdout
    assert error == (
        "error: judgments/robot.jsonl, line 1: relevance is 'two'; it must be a whole number or null.\n"
    )
    path.write_text(text.replace('"status": "ok"', '"status": "fine"'))
    error = poolkit("check", folder, code=1).stdout
    assert error.startswith("error: judgments/robot.jsonl, line 1: unknown status; known are ok, ")
    assert error.endswith(" Also line 2, 3 and 11 more.\n")


def test_no_such_folder(tmp_path):
    done = poolkit("check", tmp_path / "no", code=1)
    assert (
        done.stdout
        == f"error: no: no such folder ({tmp_path / 'no'}); a collection is a folder with queries and runs/\n"
    )
    for command in ("status", "score", "analyse", "report", "judge"):
        refused(
            command, tmp_path / "no", code=1, match="no: no such folder .*; a collection is a folder with"
        )


def test_bad_input_is_one_line_in_every_command(folder, tmp_path):
    toy.write_lines(folder / "runs" / "dense.run", ["q1 Q0 d2"])
    for command in ("status", "score", "analyse", "judge"):
        refused(command, folder, code=1, match=r"runs/dense\.run, line 1: 3 columns where 6 are expected")
    refused("report", folder, "--out", tmp_path / "out", code=1, match=r"runs/dense\.run, line 1")
    assert not (tmp_path / "out").exists()


def test_a_file_that_cannot_be_opened(folder):
    (folder / "queries.jsonl").unlink()
    (folder / "queries.jsonl").mkdir()
    refused("status", folder, code=1, match=r"queries\.jsonl.*Is a directory")


def test_warnings_are_one_line_too(folder):
    with (folder / "judgments" / "robot.jsonl").open("a") as out:
        out.write('{"query_id": "q1", "do')
    done = subprocess.run([*POOLKIT, "score", str(folder)], capture_output=True, text=True, check=True)
    said = done.stderr.splitlines()
    assert said
    assert said.pop() == "poolkit: scores under robot"
    assert all(x.startswith("poolkit: warning: robot.jsonl, line 16: the last line is cut off") for x in said)


def test_status(folder):
    shown = poolkit("status", folder).stdout
    assert "pool" not in shown.splitlines()[0]
    assert "unique: 8\nreuse: 0.3846\n" in shown
    assert (
        "judge robot: judged 7, failed 1, unjudged 0, outdated 0, calls 15, tokens in 1,500, tokens cached 0, "
        "tokens out 150, usd 0.015, usd per grade 0.001071, batches waiting 0\n"
        "  failed by kind: unreadable 1\n"
        "  failed by system: dense 1, hybrid 1\n"
        "  failed by query: q1 1\n"
        "  2026-01-01 robot-1: calls 15, tokens in 1,500, tokens cached 0, tokens out 150, usd 0.015\n"
        "  bm25: judged 5, calls 5, tokens in 500, tokens cached 0, tokens out 50, usd 0.005\n"
        "  dense: judged 2, calls 3, tokens in 300, tokens cached 0, tokens out 30, usd 0.003\n"
        "  hybrid: judged 0, calls 0, tokens in 0, tokens cached 0, tokens out 0, usd 0\n"
        "  (judged again): judged 7, calls 7, tokens in 700, tokens cached 0, tokens out 70, usd 0.007\n"
    ) in shown
    assert shown.splitlines()[-1] == (
        "next: grade 1 query-document pair as robot, outside poolkit, into judgments/robot.jsonl"
    )


def test_status_as_json(folder):
    found = json.loads(poolkit("status", folder, "--json").stdout)
    assert (found["systems"], found["queries"], found["unique"], found["independent"]) == (3, 2, 8, 13)
    judge = found["judges"][0]
    assert (judge["judge"], judge["judged"], judge["failed"], judge["calls"]) == ("robot", 7, 1, 15)
    assert judge["usd"] == pytest.approx(0.015)
    assert judge["usd_per_grade"] == pytest.approx(0.015 / 14)
    assert judge["failed_by"] == {
        "kind": {"unreadable": 1},
        "system": {"dense": 1, "hybrid": 1},
        "query": {"q1": 1},
    }
    assert [(r["system"], r["new"], r["calls"]) for r in judge["by_system"]] == [
        ("bm25", 5, 5), ("dense", 3, 3), ("hybrid", 0, 0), ("(judged again)", None, 7),
    ]  # fmt: skip
    assert [(r["day"], r["model"], r["calls"]) for r in judge["by_day"]] == [("2026-01-01", "robot-1", 15)]


def test_status_never_takes_an_unknown_price_for_0(folder):
    with (folder / "judgments" / "robot.jsonl").open("a") as out:
        out.write(json.dumps(toy.judgment("q1", "d4", 1, usd=None, time="2026-01-02")) + "\n")
    judge = json.loads(poolkit("status", folder, "--json").stdout)["judges"][0]
    assert (judge["usd"], judge["usd_per_grade"]) == (None, None)
    assert [r["usd"] for r in judge["by_day"]] == [pytest.approx(0.015), None]
    assert {r["system"]: r["usd"] is None for r in judge["by_system"]}["dense"]
    assert "usd unknown" in poolkit("status", folder).stdout


def test_status_at_another_depth(folder):
    # Depth 1: q1 d1 d2, q2 d3 d5.
    assert json.loads(poolkit("status", folder, "--depth", 1, "--json").stdout)["unique"] == 4
    refused("status", folder, "--depth", -3, code=2, match="depth must be at least 1; got -3")


def test_status_says_what_to_do_next(folder):
    shutil.rmtree(folder / "judgments")
    assert poolkit("status", folder).stdout.endswith(f"next: poolkit judge {folder} --dry-run\n")


# score and analyse


def table_of(done):
    return pd.read_csv(io.StringIO(done.stdout))


def test_score(folder):
    table = table_of(poolkit("score", folder))
    assert table.columns[:5].tolist() == ["system", "nDCG@3", "nDCG@3 all 0", "nDCG@3 all top", "P@3"]
    assert table.columns[-2:].tolist() == ["Judged@3", "epoch"]
    assert table["P@3"].tolist() == pytest.approx([1 / 2, 2 / 3, 1 / 3])


def test_score_with_labels_and_measures(folder):
    table = table_of(poolkit("score", folder, "--labels", "author", "-m", "P@1 P(rel=2)@1", "-m", "AP@3"))
    plain = [c for c in table.columns if " all " not in c]
    assert plain == ["system", "P@1", "P(rel=2)@1", "AP@3", "Judged@1", "Judged@3", "epoch"]
    # Tops by author grades: bm25 d1 = 2, d3 = 0; dense d2 = 1, d5 = 2; hybrid d2 = 1, none.
    assert table["P@1"].tolist() == [0.5, 1.0, 0.5]
    assert table["P(rel=2)@1"].tolist() == [0.5, 0.5, 0.0]


def test_score_per_query(folder):
    table = table_of(poolkit("score", folder, "--per-query", "-m", "P@1"))[["system", "query_id", "P@1"]]
    assert list(table.itertuples(index=False, name=None))[-2:] == [
        ("hybrid", "q1", 1.0),
        ("hybrid", "q2", 0.0),
    ]


def test_score_refusals(folder):
    refused(
        "score",
        folder,
        "--labels",
        "nobody",
        code=1,
        match="no labels 'nobody' in toy; there are: author, robot",
    )
    refused("score", folder, "-m", "BLEU@4", code=2, match="measure 'BLEU@4': .*ir_measures")
    (folder / "collection.toml").write_text('measures = ["BLEU@4"]\n')
    assert poolkit("check", folder, code=1).stdout.startswith("error: collection.toml: measure 'BLEU@4': ")
    refused("score", folder, code=1, match=r"collection\.toml: measure 'BLEU@4'")
    shutil.rmtree(folder / "judgments")
    shutil.rmtree(folder / "qrels")
    refused("score", folder, "-m", "P@1", code=1, match="toy has no labels yet; run `poolkit judge`")


def test_a_reader_that_has_seen_enough(folder):
    command = f"{POOLKIT[0]} score {folder} --per-query | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == (
        "system,query_id,nDCG@3,nDCG@3 all 0,nDCG@3 all top,P@3,P@3 all 0,P@3 all top,AP@3,AP@3 all 0,AP@3 all top,"
        "Judged@3,epoch\n", "poolkit: scores under robot\n", 0,
    )  # fmt: skip


def test_analyse(folder):
    found = json.loads(
        poolkit("analyse", folder, "--resamples", 50, "--orders", 5, "-m", "P@3", "--seed", 7).stdout
    )
    assert found["schema"] == "poolkit.analyse/1"
    assert found["parameters"] == {
        "seed": 7,
        "n_resamples": 50,
        "n_orders": 5,
        "depth": 3,
        "measures": ["P@3"],
    }
    refused("analyse", folder, "--resamples", 0, code=2, match="resample")
    refused(
        "analyse", folder, "--orders", 0, "--resamples", 9, code=2, match="n_orders must be at least 1; got 0"
    )
    refused("analyse", folder, "--human", "robbot", code=1, match="no labels 'robbot'")


# judge


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("TOY_KEY", "sk-secret")
    with loopback.Loopback() as running:
        yield running


def test_dry_run_calls_nobody(folder, server):
    judged_by(folder, server.url)
    said = poolkit("judge", folder, "--judge", "server", "--dry-run").stdout.splitlines()
    assert said[0] == "judge server (m-1): 8 of 8 pairs to judge"
    assert re.fullmatch(r"about [\d,]+ input and 480 output tokens, \$[\d.]+, under a minute at .*", said[1])
    assert not server.requests
    assert not (folder / "judgments" / "server.jsonl").exists()


def test_judge_by_batches(folder, monkeypatch):
    monkeypatch.setattr("poolkit.batch.POLL", (0.01, 0.02))
    monkeypatch.setenv("TOY_KEY", "sk-toy-1234567890")
    with batches.BatchLoopback() as server:
        judged_by(folder, server.url)
        with (folder / "collection.toml").open("a", encoding="utf-8") as out:
            out.write("batch = { price_factor = 0.25 }\n")
        whole, batched = (
            float(
                re.search(
                    r"\$([\d.]+)", poolkit("judge", folder, "--judge", "server", "--dry-run", *flag).stdout
                )[1]
            )
            for flag in ([], ["--batch"])
        )
        assert batched == pytest.approx(whole / 4, abs=0.01)
        done = poolkit("judge", folder, "--judge", "server", "--batch")
        assert "8 judged now, 0 known already, 8 calls, $1.4300" in done.stderr  # 0.52 + 7 x 0.13
        status = json.loads(poolkit("status", folder, "--json").stdout)
        judge = next(j for j in status["judges"] if j["judge"] == "server")
        assert (judge["judged"], judge["batches_waiting"]) == (8, 0)


def test_judge_end_to_end(folder, server):
    judged_by(folder, server.url)
    done = poolkit("judge", folder, "--judge", "server")
    assert "8 judged now, 0 known already, 8 calls, $4.1600" in done.stderr  # 8 x 520 tokens, $1000 a million
    assert len(server.requests) == 8
    assert {(r["query_id"], r["doc_id"]) for r in records(folder)} == {
        ("q1", "d1"), ("q1", "d2"), ("q1", "d3"), ("q1", "d4"), ("q2", "d1"), ("q2", "d3"), ("q2", "d4"), ("q2", "d5"),
    }  # fmt: skip
    assert "A passage about one." in json.dumps(server.requests)
    assert "sk-secret" not in "".join(p.read_text("latin-1") for p in folder.rglob("*") if p.is_file())
    again = poolkit("judge", folder, "--judge", "server")
    assert "0 judged now, 8 known already, 0 calls, $0.0000" in again.stderr
    assert len(server.requests) == 8
    assert "system,P@3" in poolkit("score", folder, "--labels", "server", "-m", "P@3").stdout
    explained = poolkit("judge", folder, "--judge", "server", "--explain", "q1", "d1").stdout
    assert re.search(r"verdict: hit: grade [012], 20", explained)


def test_a_budget_stops_and_the_rest_follows(folder, server):
    judged_by(folder, server.url, concurrency=1)
    done = poolkit("judge", folder, "--judge", "server", "--max-usd", 3, code=3)
    assert re.search(r"\d pairs remain: .*budget.*Run again to go on", done.stderr), done.stderr
    first = len(records(folder))
    assert 0 < first < 8
    assert sum(r["usd"] for r in records(folder)) <= 3
    poolkit("judge", folder, "--judge", "server")
    assert len(records(folder)) == len(server.requests) == 8
    assert (
        "judge server: judged 8, failed 0, unjudged 0, outdated 0, calls 8"
        in poolkit("status", folder).stdout
    )


def test_a_sample_and_a_replicate(folder, server):
    judged_by(folder, server.url)
    poolkit("judge", folder, "--judge", "server", "--sample", 3, "--seed", 5)
    sample = [(r["query_id"], r["doc_id"]) for r in records(folder)]
    assert len(set(sample)) == 3
    poolkit("judge", folder, "--judge", "server", "--sample", 3, "--seed", 5, "--replicate", 1)
    second = [r for r in records(folder) if r["replicate"] == 1]
    assert sorted((r["query_id"], r["doc_id"]) for r in second) == sorted(sample)
    assert len(server.requests) == 6
    refused("judge", folder, "--sample", -3, code=2, match="sample is -3, seed 1; give numbers from 0")


def test_failures_are_3_and_can_be_asked_again(folder, monkeypatch):
    monkeypatch.setenv("TOY_KEY", "k")
    broken = [True]

    def plan(request, number):
        bad = broken[0] and "A passage about one." in json.dumps(request)
        return loopback.Say(loopback.completion("I would rather not say.")) if bad else loopback.graded(1)

    with loopback.Loopback(plan) as server:
        judged_by(folder, server.url)
        done = poolkit("judge", folder, "--judge", "server", code=3)
        assert "6 judged now" in done.stderr  # d1 is in both queries
        assert "failed (unreadable): 2" in done.stderr
        assert "failed 2" in poolkit("status", folder).stdout
        broken[0] = False
        again = poolkit("judge", folder, "--judge", "server", code=0)
        assert "8 known already (of them 2 failed: --retry-failed asks again), 0 calls" in again.stderr
        assert "failed 2" in poolkit("status", folder).stdout
        assert (
            "2 judged now, 6 known already"
            in poolkit("judge", folder, "--judge", "server", "--retry-failed").stderr
        )
        assert "judge server: judged 8, failed 0" in poolkit("status", folder).stdout


def test_explain_calls_nobody_and_leaves_no_trace(folder, server):
    judged_by(folder, server.url)
    before = sorted(folder.rglob("*"))
    said = poolkit("judge", folder, "--judge", "server", "--sample", 1, "--explain", "q1", "d4").stdout
    assert said.splitlines()[-1] == "verdict: miss: this query and document were never judged here"
    assert "model: m-1\n" in said
    assert sorted(folder.rglob("*")) == before
    refused(
        "judge",
        folder,
        "--judge",
        "server",
        "--explain",
        "q1",
        "d5",
        code=1,
        match="query q1, document d5 is not in the pool at depth 3",
    )


def test_a_judge_that_never_started_is_no_judge(folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = poolkit("score", folder).stdout
    refused(
        "judge", folder, code=1, match="judge 'gpt-4.1': no key. Set the environment variable OPENAI_API_KEY"
    )
    assert not (folder / "judgments" / "gpt-4.1.jsonl").exists()
    assert poolkit("score", folder).stdout == before


def test_judge_refusals(folder):
    refused("judge", folder, "--judge", "nobody", code=1, match=r"has no \[judges\.nobody\]")
    refused(
        "judge",
        folder,
        "--judge",
        "robot",
        code=1,
        match="made outside poolkit.*Choose a judge of kind",
    )
    refused("judge", folder, "--max-usd", 0, code=2, match="max_usd is 0.0; it must be above 0")
    (folder / "corpus.jsonl").unlink()
    refused("judge", folder, code=1, match="5 pooled documents have no text|8 pooled documents have no text")


def test_interrupted_judging_loses_nothing(folder, monkeypatch):
    with loopback.Loopback(latency=0.2) as server:
        judged_by(folder, server.url, concurrency=1)
        command = [*POOLKIT, "judge", str(folder), "--judge", "server"]
        running = subprocess.Popen(
            command,
            env={**os.environ, "TOY_KEY": "k"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while len(server.requests) < 3 and running.poll() is None:
            time.sleep(0.02)
        running.send_signal(2)
        _, said = running.communicate(timeout=60)
        assert running.returncode == 3, said
        assert "Traceback" not in said
        assert "Run again to go on" in said
        kept = len(records(folder))
        assert 2 <= kept < 8
        monkeypatch.setenv("TOY_KEY", "k")
        done = poolkit("judge", folder, "--judge", "server")
        assert f"{8 - kept} judged now, {kept} known already" in done.stderr


# import, retrieve, report


def test_import(folder, tmp_path):
    new = tmp_path / "new"
    said = poolkit("import", folder, new).stdout
    assert said.splitlines() == [
        f"{new}: 2 queries, 5 documents, 3 runs",
        "labels author: 7 of 2 queries: 2 of grade 0, 3 of grade 1, 2 of grade 2; grades as they came",
        "not read: collection.toml, judgments",
        "licence: not stated by the source; write it here",
    ]
    assert poolkit("check", new).stdout == ""
    scored = poolkit("score", new, "-m", "nDCG@3").stdout
    assert scored == poolkit("score", folder, "--labels", "author", "-m", "nDCG@3").stdout
    refused("import", folder, new, code=1, match="holds a collection already; name a new folder")
    refused("import", tmp_path / "none", tmp_path / "x", code=1, match="no such folder|neither a folder")
    refused("import", folder, tmp_path / "x", "--queries", -1, code=2, match="queries is -1; give how many")


def test_retrieve(folder):
    shutil.rmtree(folder / "runs")
    (folder / "systems.csv").unlink()
    toy.write_lines(folder / "queries.jsonl", ['{"_id": "q1", "text": "passage one"}'])
    refused("retrieve", folder, code=1, match=r"systems\.toml: not found\. Declare the systems there")
    (folder / "systems.toml").write_text(
        '[systems.words]\nkind = "bm25"\nfamily = "lexical"\n', encoding="utf-8"
    )
    said = poolkit("retrieve", folder, "--depth", 2).stdout
    assert said == f"1 runs in {folder / 'runs'}, catalogue in {folder / 'systems.csv'}\n"
    assert "P@1" in poolkit("score", folder, "-m", "P@1").stdout


def test_report_refusals(folder, tmp_path):
    out = tmp_path / "reports"
    for given, match in {
        "sede=3": r"no notebook has a parameter 'sede'\. Did you mean 'seed'\?",
        "zzz=3": r"no notebook has a parameter 'zzz'\. Known: .*depth.*seed",
        "seed": "-p 'seed': write NAME=VALUE",
        "seed=many": "parameter seed is 'many'; it must be a whole number",
        "seed=1.5": "parameter seed is '1.5'; it must be a whole number",
        "seed=true": "parameter seed is 'true'; it must be a whole number",
        "level=NaN": "parameter level is 'NaN'; it must be a number",
        "holm=3": "parameter holm is '3'; it must be true or false",
        "out=x": "the parameter 'out' is set by the report itself",
    }.items():
        refused("report", folder, "--out", out, "-p", given, code=2, match=match)
    refused("report", folder, folder, "--out", out, code=2, match="two collections have the same folder name")
    refused("report", folder, "--jobs", 0, "--out", out, code=2, match="n_jobs is 0; at least one")
    assert not out.exists()


def test_a_sample_by_a_second_judge_does_not_take_the_place_of_the_first(folder, server):
    before = poolkit("score", folder).stdout
    judged_by(folder, server.url)
    (folder / "collection.toml").write_text(
        (folder / "collection.toml").read_text(encoding="utf-8").replace("judges.server", "judges.another"),
        encoding="utf-8",
    )
    poolkit("judge", folder, "--judge", "another", "--sample", 2)
    assert poolkit("score", folder).stdout == before
    assert poolkit("score", folder, "--labels", "another").stdout != before


def test_version():
    assert poolkit("--version").stdout == f"poolkit {__version__}\n"
