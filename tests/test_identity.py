"""Who judges, and what makes two judgments the same."""

from datetime import date

import pandas as pd
import pytest
from PIL import Image

from poolkit.identity import asked, checked_replicate, content_hash, identity, judge_from, prompt_of
from poolkit.price import Price
from poolkit.tables import DataError

LOCAL = {"model": "m-2026-01-01", "base_url": "http://127.0.0.1:1/v1"}


def test_the_built_in_judge(tmp_path):
    judge = judge_from("gpt-4.1", None, tmp_path)
    assert (judge.model, judge.key_env) == ("gpt-4.1-2025-04-14", "OPENAI_API_KEY")
    assert judge.parameters["temperature"] == 0
    assert judge.price == Price(2.0, 0.5, 8.0)
    assert judge.prompt.name == "graded"


@pytest.mark.parametrize(
    ("settings", "price"),
    [
        ({"model": "claude-sonnet-4-6", "base_url": "https://api.anthropic.com/v1/"}, True),
        ({"model": "gpt-4.1", "base_url": "https://x.openai.azure.com/openai/v1/", "key_env": "AZURE"}, True),
        ({"model": "llama3", "base_url": "http://localhost:11434/v1"}, False),
        ({**LOCAL, "price": {"input": 1, "output": 2.5}, "prompt": "umbrela", "concurrency": 8}, True),
    ],
)
def test_judges_by_configuration(tmp_path, settings, price):
    judge = judge_from("j", settings, tmp_path)
    assert (judge.price is not None) == price
    assert judge.key_env == settings.get("key_env", "")  # OpenAI's key goes to OpenAI alone


def test_a_bare_alias_warns(tmp_path):
    with pytest.warns(
        UserWarning, match=r"^judge 'j': 'gpt-4.1' is an alias: what it means may change\. Pin a"
    ):
        judge_from("j", {"model": "gpt-4.1"}, tmp_path)


def test_a_prompt_beside_the_collection_comes_first(tmp_path):
    text = (prompt_of(judge_from("j", LOCAL, tmp_path))).template
    (tmp_path / "graded.md").write_text(
        f'+++\nname = "mine"\nscale = [0, 1]\nwords = {{0 = "no", 1 = "yes"}}\n+++\n{text}', encoding="utf-8"
    )
    assert judge_from("j", LOCAL, tmp_path).prompt.name == "mine"


def test_one_bound_on_the_reply(tmp_path):
    settings = {**LOCAL, "parameters": {"max_completion_tokens": 2000}}
    assert judge_from("j", settings, tmp_path).parameters == {"temperature": 0, "max_completion_tokens": 2000}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (None, r"collection.toml has no \[judges.j\], and built in is only 'gpt-4.1'"),
        (
            {"base_url": "http://x/v1"},
            "no model. Name a pinned snapshot, such as model = 'gpt-4.1-2025-04-14'",
        ),
        ({**LOCAL, "modle": "x"}, "unknown key 'modle'. Did you mean 'model'"),
        ({**LOCAL, "rpm": 3}, "unknown key 'rpm'. Did you mean"),
        ({**LOCAL, "model": 3}, "model must be text"),
        ({**LOCAL, "concurrency": "many"}, "concurrency must be a number"),
        ({**LOCAL, "concurrency": 0}, "concurrency is 0; it must be above 0"),
        ({**LOCAL, "requests_per_minute": True}, "requests_per_minute must be a number"),
        ({**LOCAL, "base_url": "localhost:8000"}, "base_url must begin with http"),
        ({**LOCAL, "base_url": "https://me:sk-hidden@x/v1"}, "base_url holds more than an address"),
        ({**LOCAL, "base_url": "https://x/v1?key=sk-hidden"}, "base_url holds more than an address"),
        ({**LOCAL, "base_url": "https://x/v1#sk-hidden"}, "base_url holds more than an address"),
        (
            {**LOCAL, "key_env": "sk-hidden"},
            "key_env must be the name of an environment variable, never a key",
        ),
        ({**LOCAL, "parameters": {"api_key": "sk-hidden"}}, "parameters cannot hold 'api_key'"),
        ({**LOCAL, "price": {"input": 2}}, "price gives input, output and maybe cached"),
        ({**LOCAL, "price": {"input": -2, "output": 1}}, "price gives input, output"),
        (
            {**LOCAL, "price": {"input": float("inf"), "output": 1}},
            "judge 'j': price gives .*; input is 'inf'",
        ),
        ({**LOCAL, "price": {"input": 10**400, "output": 1}}, "judge 'j': price gives .*; input is '1000"),
        (
            {**LOCAL, "parameters": {"max_tokens": "many"}},
            "judge 'j': parameters: max_tokens is 'many'; it must",
        ),
        ({**LOCAL, "parameters": {"max_tokens": -5}}, "max_tokens is '-5'; it must be a whole number from 1"),
        (
            {**LOCAL, "parameters": {"x": date(2024, 1, 1)}},
            "parameters: x is '2024-01-01', which JSON cannot",
        ),
        ({**LOCAL, "parameters": {"x": [float("nan")]}}, "judge 'j': parameters: x is '.nan.', which JSON"),
        ({**LOCAL, "base_url": "http://[::1"}, "judge 'j': base_url is no address"),
        ({**LOCAL, "base_url": "http://me:sk-hidden/v1"}, "judge 'j': base_url is no address"),
        ({**LOCAL, "base_url": "http://a b/v1"}, "judge 'j': base_url is no address"),
        ({**LOCAL, "timeout": float("inf")}, "judge 'j': timeout is inf; it must be above 0 and at most"),
        ("x", r"judge 'j': collection.toml says 'x'; it must be a table, \[judges.j\]"),
        ({"kind": "reader", "prompt": 3}, "judge 'j': prompt must be text"),
        ({**LOCAL, "prompt": "lost"}, "prompt 'lost': no such file"),
    ],
)
def test_faulty_settings(tmp_path, settings, message):
    with pytest.raises(DataError, match=message) as fault:
        judge_from("j", settings, tmp_path)
    assert "hidden" not in str(fault.value)


def test_judges_outside_are_known_but_cannot_be_run(tmp_path):
    judge = judge_from("reader", {"kind": "reader", "how": "by hand", "when": "2026-11"}, tmp_path)
    assert judge.provenance == {"how": "by hand", "when": "2026-11"}
    message = "judge 'reader' is of kind 'reader': its judgments are made outside poolkit.*reader.jsonl"
    with pytest.raises(DataError, match=message):
        prompt_of(judge)


def key(**changes):
    parts = {
        "model": "m",
        "prompt_hash": "p",
        "parameters": {"temperature": 0},
        "query": "q",
        "content_hash": "c",
    }
    return identity(**(parts | changes))


def test_identity_is_of_the_parts_that_matter():
    others = [
        key(model="n"),
        key(prompt_hash="o"),
        key(parameters={"temperature": 1}),
        key(parameters={"temperature": 0, "seed": 1}),
        key(query="r"),
        key(content_hash="d"),
        key(replicate=1),
    ]
    assert len({key(), *others}) == len(others) + 1
    assert key() == key(replicate=0)
    assert key(parameters={"a": 1, "b": 2}) == key(parameters={"b": 2, "a": 1})


def test_content_is_title_text_and_picture(tmp_path):
    picture = tmp_path / "p.png"
    Image.new("1", (2, 2)).save(picture)
    hashes = [content_hash("a", "bc"), content_hash("ab", "c"), content_hash("a", "bc", picture)]
    Image.new("1", (2, 3)).save(picture)
    assert len({*hashes, content_hash("a", "bc", picture)}) == 4
    with pytest.raises(DataError, match=r"gone\.png: the page picture cannot be read: No such file"):
        content_hash("a", "b", tmp_path / "gone.png")
    picture.write_bytes(b"<html>")
    with pytest.raises(DataError, match=r"p\.png: the page picture cannot be read: the picture is damaged"):
        content_hash("a", "b", picture)


def pairs(**columns):
    return pd.DataFrame(
        {"query_id": ["q"], "doc_id": ["d"], "query": ["who"], "title": ["T"], "text": ["x"], **columns}
    )


def test_long_documents_are_cut_and_it_is_in_key_and_record(tmp_path):
    whole = judge_from("j", LOCAL, tmp_path)
    short = judge_from("j", {**LOCAL, "max_document_tokens": 5}, tmp_path)
    text = "one two three four five six seven eight"
    (cut,) = asked(short, pairs(text=[text]), 0)
    (uncut,) = asked(whole, pairs(text=[text]), 0)
    assert (cut.text, cut.cut, uncut.cut) == ("one two three four five", 3, 0)
    assert cut.key != uncut.key
    (same,) = asked(short, pairs(text=["one two three four five nine"]), 0)
    assert same.key == cut.key  # what is sent is the same
    (fits,) = asked(short, pairs(), 0)
    assert fits.key == next(asked(whole, pairs(), 0)).key


def test_missing_titles_are_empty_and_missing_columns_an_error(tmp_path):
    judge = judge_from("j", LOCAL, tmp_path)
    (pair,) = asked(judge, pairs(title=[None]), 0)
    assert pair.title == ""
    with pytest.raises(
        ValueError, match="pairs lack the column 'text'; found query_id, doc_id, query, title"
    ):
        list(asked(judge, pairs().drop(columns="text"), 0))


@pytest.mark.parametrize(
    "name", ["", ".hid", "a/b", "../../escaped", "a\\b", "a b", "a\nb", "a\x00b", "\u202eb"]
)
def test_names_that_are_no_file_names_are_refused(tmp_path, name):
    with pytest.raises(
        DataError, match=r"^judge '.*': a judge's name is the name of its file\. Give it no slash"
    ):
        judge_from(name, LOCAL, tmp_path)
    assert judge_from("gpt-4.1_é", LOCAL, tmp_path).name == "gpt-4.1_é"


@pytest.mark.parametrize("replicate", [-1, 2**31, 10**20])
def test_replicates_have_a_range(replicate):
    assert checked_replicate(2**31 - 1) == 2**31 - 1
    with pytest.raises(
        ValueError, match=f"^replicate is {replicate}; give a whole number from 0 to 2147483647"
    ):
        checked_replicate(replicate)
