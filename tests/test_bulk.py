"""The Batch API's lines and lists; the whole way is in test_batch."""

import asyncio
import json
import time

import pytest
from batches import BatchLoopback
from loopback import MODEL, Say, completion

from poolkit import bulk
from poolkit import endpoint as ep
from poolkit.endpoint import Endpoint
from poolkit.price import Stop

DOOR = Endpoint(MODEL, key="sk-secret-1234567890abcdef")


def line(**parts):
    return json.dumps({"custom_id": "k", "response": None, "error": None, **parts}).encode()


def test_a_request():
    made = json.loads(bulk.request_line("k", {"model": "m"}))
    assert made == {"custom_id": "k", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}}


def test_an_answer():
    back = bulk.read_line(line(response={"status_code": 200, "body": completion("yes")}), DOOR)
    assert (back.key, back.answer.text, back.late) == ("k", "yes", False)


def test_a_refusal_that_lies_in_the_pair_is_its_answer():
    body = {"error": {"code": "content_filter", "message": f"see {DOOR.key}"}}
    back = bulk.read_line(line(response={"status_code": 400, "body": body}), DOOR)
    assert back.answer.failure == "filtered"
    assert DOOR.key not in back.answer.note


@pytest.mark.parametrize(
    ("parts", "late"),
    [
        ({"response": {"status_code": 500, "body": {}}}, False),
        ({"response": {"status_code": 200, "body": "<html>"}}, False),
        ({"error": {"code": "batch_expired", "message": "too late"}}, True),
        ({"error": {"code": "batch_cancelled", "message": "context"}}, False),
        ({}, False),
    ],
)
def test_no_answer(parts, late):
    assert bulk.read_line(line(**parts), DOOR) == bulk.Returned("k", None, late)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b'{"custom_id": "k", "response": []}', b'"x"', b"\xff"]
)
def test_what_is_no_line_of_answers(data):
    assert bulk.read_line(data, DOOR).answer is None


def listed(pages, name="mine"):
    """What `find` finds in these pages of the endpoint's list."""
    number = iter(range(99))

    def door(method, path, _):
        return Say(pages[next(number)])

    async def main(url):
        async with Endpoint(MODEL, url, attempts=2) as endpoint:
            return await bulk.find(endpoint, name), next(number)

    with BatchLoopback(door=door) as server:
        return asyncio.run(main(server.url))


def batch(name, status="in_progress", *, completed=0, age=0.0, id="b"):
    counts = {"completed": completed, "total": 9}
    made = {"id": id, "status": status, "created_at": time.time() - age, "request_counts": counts}
    return made | {"metadata": {"poolkit": name} if name else None}


def test_a_batch_is_found_by_its_name():
    pages = [
        {"data": [batch(None), batch("other")], "has_more": True},
        {"data": [batch("mine", id="c")], "has_more": True},
    ]
    assert listed(pages) == ("c", 2)


@pytest.mark.parametrize(
    ("status", "completed", "found"),
    [("failed", 0, ""), ("expired", 0, ""), ("expired", 3, "b"), ("cancelled", 0, ""), ("cancelled", 1, "b")],
)
def test_a_batch_that_holds_nothing_is_not_found(status, completed, found):
    assert listed([{"data": [batch("mine", status, completed=completed)]}])[0] == found


def test_older_batches_are_not_looked_through():
    assert listed([{"data": [batch("other", age=4 * 86_400)], "has_more": True}]) == ("", 1)


@pytest.mark.parametrize("page", ["<p>", {"data": 3}, {"data": [{"id": 5}]}, []])
def test_a_strange_list_is_not_taken_for_an_empty_one(page, monkeypatch):
    monkeypatch.setattr(ep, "_BACKOFF", lambda state: 0.01)
    with pytest.raises(Stop, match="could not list batches"):
        listed([page, page])


def test_a_list_that_never_ends_is_not_read_for_ever(monkeypatch):
    monkeypatch.setattr(ep, "_BACKOFF", lambda state: 0.01)
    page = {"data": [batch("other") | {"created_at": None}], "has_more": True}
    del page["data"][0]["created_at"]
    with pytest.raises(Stop, match="begins anew at each page"):
        listed([page] * 9)


@pytest.mark.parametrize(
    "odd", [{"id": 7}, {"id": "x", "status": None}, 3, None, batch("y") | {"metadata": []}]
)
def test_what_others_left_in_the_list_is_passed_over(odd):
    assert listed([{"data": [odd, batch("mine", id="c")], "has_more": False}])[0] == "c"


def test_other_spellings_of_a_status():
    assert bulk.Batch(id="b", status="CANCELED").status == "cancelled"
