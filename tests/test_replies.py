"""A pair as a record, before and after its answer."""

from dataclasses import replace

from loopback import MODEL
from test_judge import pairs

from poolkit.answers import Answer
from poolkit.identity import asked, judge_from
from poolkit.price import Price
from poolkit.records import FIELDS
from poolkit.replies import answered, messages_of, question, read_answer, tokens_of

KEY = "sk-secret-1234567890abcdef"


def asked_pair(tmp_path):
    judge = judge_from("j", {"model": MODEL, "base_url": "http://127.0.0.1:1/v1"}, tmp_path)
    return judge, next(asked(judge, pairs(1), 2))


def test_a_question_is_a_record_without_an_answer(tmp_path):
    judge, pair = asked_pair(tmp_path)
    record = question(judge, pair, 2)
    assert record.keys() == FIELDS.keys()
    assert (record["query_id"], record["doc_id"], record["replicate"]) == ("q0", "d0", 2)
    assert (record["relevance"], record["calls"], record["status"]) == (None, 0, "endpoint")


def test_an_answer_completes_it(tmp_path):
    judge, pair = asked_pair(tmp_path)
    answer = Answer('{"thought": "It does.", "relevance": 2}', "stop", "snapshot", (500, 100, 20), sent="a=1")
    reply = read_answer(answer, (0, 1, 2))
    record = answered(
        question(judge, pair, 0), reply, answer,
        calls=1, tokens=answer.tokens, price=Price(2, 1, 8), key=KEY,
    )  # fmt: skip
    assert record.keys() == FIELDS.keys()
    assert (record["relevance"], record["thought"], record["note"]) == (2, "It does.", "")
    assert (record["model"], record["asked"], record["sent"]) == ("snapshot", MODEL, "a=1")
    assert record["usd"] == (400 * 2 + 100 * 1 + 20 * 8) / 1e6


def test_a_failure_is_no_grade_and_its_words_hold_no_key(tmp_path):
    judge, pair = asked_pair(tmp_path)
    for answer in (Answer(failure="filtered", note="no"), Answer(f"what? {KEY}", "stop")):
        reply = read_answer(answer, (0, 1, 2))
        record = answered(
            question(judge, pair, 0), reply, answer, calls=1, tokens=None, price=Price(2, 1, 8), key=KEY
        )
        assert (record["relevance"], record["usd"]) == (None, None)
        assert record["status"] in ("filtered", "unreadable")
        assert record["note"] in ("no", "what? ***")


def test_no_pair_takes_more_tokens_than_are_held_for_it(tmp_path):
    judge, pair = asked_pair(tmp_path)
    words = sum(len(str(m["content"]).encode()) for m in messages_of(judge, pair))
    likely, most = tokens_of(judge, pair)
    assert most >= words >= likely
    tools = [{"type": "function", "function": {"description": "x" * 5000}}]
    assert tokens_of(replace(judge, parameters={"tools": tools}), pair)[1] > most + 5000
