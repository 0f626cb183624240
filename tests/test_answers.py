"""What an endpoint said."""

import pytest
from loopback import MODEL, completion

from poolkit.answers import Answer, read_completion, refusal_of, scrubbed
from poolkit.prompt import parse_reply

KEY = "sk-secret-1234567890abcdef"


def test_a_completion():
    reply = completion("yes", tokens=(500, 300, 20))
    expected = Answer("yes", "stop", MODEL, (500, 300, 20), sent="temperature=0")
    assert read_completion(reply, model="asked", sent="temperature=0") == expected


def test_a_model_that_is_not_named_is_the_one_asked_for():
    assert read_completion(completion("x") | {"model": None}, model="asked").model == "asked"


def test_a_refusal_beside_the_text():
    assert read_completion(completion("I cannot", refusal="no"), model="m").finish == "refusal"
    assert read_completion(completion("I", finish="length", refusal="no"), model="m").finish == "length"
    for finish in (None, "tool_calls", ""):  # a refusal is none less for that
        assert read_completion(completion("I", finish=finish, refusal="no"), model="m").finish == "refusal"


@pytest.mark.parametrize(
    ("finish", "status"),
    [
        ("max_tokens", "truncated"),
        ("MAX_TOKENS", "truncated"),
        ("model_length", "truncated"),
        ("SAFETY", "filtered"),
        ("recitation", "filtered"),
        ("eos", "ok"),
        (None, "ok"),
    ],
)
def test_an_end_in_other_words(finish, status):
    read = read_completion(completion('{"relevance": 2}', finish=finish), model="m")
    assert parse_reply(read.text, finish_reason=read.finish, scale=(0, 1, 2)).status == status


@pytest.mark.parametrize("finish", ["error", "abort", "insufficient_system_resource"])
def test_a_reply_that_broke_off_is_no_answer(finish):
    with pytest.raises(ValueError, match="the server's reply broke off: "):
        read_completion(completion('{"relevance": 2}', finish=finish), model="m")


@pytest.mark.parametrize(
    "content", [[{"type": "text", "text": '{"relevance": 2}'}], {"relevance": 2}, 2, True]
)
def test_content_that_is_no_text_is_no_grade(content):
    read = read_completion(completion(content), model="m")
    assert parse_reply(read.text, finish_reason=read.finish, scale=(0, 1, 2)).status == "unreadable"


def test_words_of_an_error_obey_no_terminal():
    assert scrubbed("\x1b[2Jbad\x07 \x9b key", "") == "[2Jbad key"


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 5, "completion_tokens": None},
        {"prompt_tokens": -5, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": 10**30, "completion_tokens": 1},
        {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 6}},
        {},
        "many",
        {"prompt_tokens": 5, "completion_tokens": None, "prompt_tokens_details": "x"},
    ],
)
def test_counts_that_cannot_be_are_unknown(usage):
    assert read_completion(completion("x") | {"usage": usage}, model="m").tokens is None


@pytest.mark.parametrize(
    "reply", [None, [], "<html>", {}, {"choices": []}, {"choices": [{}]}, {"error": KEY}]
)
def test_what_is_no_completion_says_what_came_but_no_key(reply):
    with pytest.raises(ValueError, match="not a chat completion") as info:
        read_completion(reply, model="m", key=KEY)
    assert KEY not in str(info.value)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("context_length_exceeded", "too long"),
        ("prompt is too long: 210000 tokens", "too long"),
        ("content_filter", "filtered"),
        ("ResponsibleAIPolicyViolation", "filtered"),
        ("server overloaded", None),
    ],
)
def test_refusals_by_kind(said, kind):
    assert refusal_of(said) == kind


def test_no_key_stays_not_even_half_of_one():
    assert scrubbed(f"a {KEY} b", KEY) == "a *** b"
    assert scrubbed("sk-another-key-of-somebody", "") == "***"
    assert KEY[:5] not in scrubbed("x" * 95 + KEY, KEY, most=100)
    assert scrubbed("ab \n ab", "ab") == "ab ab"  # too short to be told from words
