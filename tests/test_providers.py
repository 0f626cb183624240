"""The judges that README shows, each against a server with that provider's ways."""

import json
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from loopback import Loopback, Say, completion, error, graded

from poolkit import endpoint as ep
from poolkit.dialect import OPENAI
from poolkit.identity import judge_from
from poolkit.judge import fill
from poolkit.records import read_records

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCK = re.search(r"In collection\.toml, copy what you need:\n\n((?:    .*\n|\n)+)", README)[1]
JUDGES = tomllib.loads(BLOCK)["judges"]


def user_schema(request):
    return request.get("response_format", {}).get("type")


def openai(request, number):
    """It takes all; its usage counts cached tokens, its model is as asked."""
    return graded(1, tokens=(500, 400, 20))


def reasoning(request, number):
    """OpenAI's reasoning models: another name for max_tokens, no temperature."""
    if "max_tokens" in request:
        said = (
            "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead."
        )
        return Say({"error": {"message": said, "type": "invalid_request_error", "param": "max_tokens",
                              "code": "unsupported_parameter"}}, 400)  # fmt: skip
    if "temperature" in request:
        said = "Unsupported value: 'temperature' does not support 0 with this model. Only 1 is supported."
        return Say({"error": {"message": said, "type": "invalid_request_error", "param": "temperature",
                              "code": "unsupported_value"}}, 400)  # fmt: skip
    return graded(1)


def claude(request, number):
    """It passes over response_format, so replies may be fenced; errors come in Anthropic's form; no cache counts."""
    if number == 0:
        return Say({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529)
    if number == 1:
        limited = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
        return Say(limited, 429, {"retry-after": "0"})
    body = completion('```json\n{"thought": "It says so.", "relevance": 1}\n```')
    del body["usage"]["prompt_tokens_details"]
    return Say(body)


def azure(request, number):
    """Its content filter comes as HTTP 400 with an inner error, and replies carry filter results."""
    if "document 3 " in json.dumps(request):
        inner = {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"hate": {"filtered": True}},
        }
        said = {
            "code": "content_filter",
            "status": 400,
            "innererror": inner,
            "message": "The response was filtered",
        }
        return Say({"error": said}, 400)
    body = graded(1).body
    return Say({**body, "prompt_filter_results": [{"prompt_index": 0}]})


def vllm(request, number):
    """It takes json_schema; errors have no inner object."""
    if number == 0:
        return Say({"object": "error", "message": "the engine is loading", "code": 503}, 503)
    return graded(1) if user_schema(request) == "json_schema" else Say(completion("no JSON"))


def ollama(request, number):
    """It has no prompt_tokens_details."""
    body = graded(1).body
    del body["usage"]["prompt_tokens_details"]
    return Say(body)


def llama_cpp(request, number):
    """It answers json_schema with HTTP 500, and leaves raw newlines in strings."""
    if user_schema(request) == "json_schema":
        return error(500, "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type')}]")
    return Say(completion('{"thought": "It\nsays so.", "relevance": 1}'))


WAYS = {
    "openai": openai,
    "claude": claude,
    "azure": azure,
    "vllm": vllm,
    "ollama": ollama,
    "llama-cpp": llama_cpp,
}


def pairs(n=6):
    ids = [f"d{i}" for i in range(n)]
    return pd.DataFrame(
        {
            "query_id": "q",
            "doc_id": ids,
            "query": "who",
            "title": "",
            "text": [f"document {i} " for i in range(n)],
        }
    )


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(ep, "_BACKOFF", lambda state: 0.01)


def judged(tmp_path, settings, plan, monkeypatch):
    """Outcome, records and server of judging six pairs under these settings at a server with these ways."""
    judge = judge_from("j", settings, tmp_path)
    if judge.key_env:
        monkeypatch.setenv(judge.key_env, "sk-secret-1234567890")
    with Loopback(plan) as server:
        place = server.url.removesuffix("/v1")
        path = re.sub(r"https?://[^/]+", "", judge.base_url)
        judge = judge_from("j", {**settings, "base_url": place + path, "key_env": judge.key_env}, tmp_path)
        outcome = fill(
            judge, pairs(), cache_folder=tmp_path / "c", judgments_path=tmp_path / "j.jsonl", progress=False
        )
    return outcome, read_records(tmp_path / "j.jsonl"), server


def test_readme_shows_each_provider():
    assert set(JUDGES) == set(WAYS)


@pytest.mark.parametrize("name", WAYS)
def test_each_judge_of_the_readme_works_by_its_table_alone(tmp_path, monkeypatch, name):
    outcome, records, server = judged(tmp_path, JUDGES[name], WAYS[name], monkeypatch)
    failed = {"filtered": 1} if name == "azure" else {}
    assert (outcome.judged, outcome.failed, outcome.remaining) == (6 - len(failed), failed, 0)
    key = "Bearer sk-secret-1234567890" if name in ("openai", "claude", "azure") else "Bearer none"
    assert server.keys == {key}
    assert {r["model"] for r in server.requests} == {JUDGES[name]["model"]}
    assert server.paths == {f"{'/openai' if name == 'azure' else ''}/v1/chat/completions"}
    sent = set(records.loc[records["status"].eq("ok"), "sent"])
    form = "json_object" if name == "llama-cpp" else "json_schema"
    assert sent == {f"max_tokens=400 response_format={form} temperature=0"}
    assert "sk-secret" not in (tmp_path / "j.jsonl").read_text()


def test_reasoning_models_teach_their_ways_once(tmp_path, monkeypatch):
    settings = {"model": "o4-mini-2025-04-16", "parameters": {"max_tokens": 2000}}
    outcome, records, server = judged(tmp_path, settings, reasoning, monkeypatch)
    assert (outcome.judged, len(server.requests)) == (6, 8)
    assert set(records["sent"]) == {"max_completion_tokens=2000 response_format=json_schema"}
    assert set(records["parameters"]) == {"max_tokens=2000 temperature=0"}


def test_prices_of_the_readme(tmp_path):
    prices = {name: judge_from(name, settings, tmp_path).price for name, settings in JUDGES.items()}
    assert prices["openai"] == prices["azure"]
    assert (prices["claude"].input, prices["claude"].output) == (3.0, 15.0)
    assert prices["vllm"].usd(10**6, 0, 10**6) == 0
    assert judge_from("x", JUDGES["openai"], tmp_path).base_url == OPENAI
