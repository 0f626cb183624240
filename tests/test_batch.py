"""Filling by batches, end to end against a server that has a Batch API and breaks it."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from batches import BatchLoopback, Fault
from loopback import MODEL, Say, error, grade_of, graded
from test_judge import KEY, Place, pairs

from poolkit import batch
from poolkit import endpoint as ep
from poolkit.records import read_judgments, read_records
from poolkit.tables import DataError
from poolkit.waiting import waiting_of

COST = (500 * 2 + 20 * 8) / 1e6  # of one pair, alone


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(ep, "_BACKOFF", lambda state: 0.01)
    monkeypatch.setattr(batch, "POLL", (0.01, 0.02))
    monkeypatch.setenv("A_KEY", KEY)


class Batched(Place):
    """A judge whose batches cost half."""

    def __init__(self, tmp_path, server, *, terms=None, **settings):
        terms = {"price_factor": 0.5, **(terms or {})}
        super().__init__(tmp_path, server, batch=terms, **settings)

    def fill(self, table, **options):
        return super().fill(table, **{"batch": True, **options})

    def waiting(self):
        return waiting_of(self.cache / "j").names()

    def truth(self, server):
        """The grade that the server always gives, by document."""
        return {
            json.dumps(r["messages"][-1]["content"]).split("text of document ")[1].split()[0]: grade_of(r)
            for r in server.requests
        }

    def is_right(self, server, n):
        """Every pair has the grade that the server gave, and no answer was bought twice."""
        assert self.grades() == {f"d{i}": self.truth(server)[str(i)] for i in range(n)}
        assert self.waiting() == []
        assert max(server.answered.values()) == 1


def test_every_pair_once_for_half_the_price(tmp_path):
    with BatchLoopback() as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(60))
        assert (outcome.judged, outcome.failed, outcome.remaining, outcome.stopped) == (60, {}, 0, None)
        assert outcome.usd == pytest.approx(COST * (1 + 59 / 2))  # the first was asked alone
        assert [b["request_counts"]["total"] for b in server.batches.values()] == [59]
        place.is_right(server, 60)
        records = read_records(place.path)
        assert records["usd"].sum() == pytest.approx(outcome.usd)
        assert records["sent"].str.endswith("batch=batch_0").sum() == 59
        again = place.fill(pairs(60))
        assert (again.known, again.calls, len(server.batches)) == (60, 0, 1)
        place.fill(pairs(70))  # nobody is asked alone where the judge is known to be good
        assert [b["request_counts"]["total"] for b in server.batches.values()] == [59, 10]
        assert server.keys == {f"Bearer {KEY}"}


def test_requests_are_those_of_a_call(tmp_path):
    with BatchLoopback() as server:
        Batched(tmp_path, server, parameters={"temperature": 0.5}).fill(pairs(3))
        alone, *batched = server.requests
        lines = [json.loads(line) for line in server.files["file_0"].splitlines()]
        assert {line["url"] for line in lines} == {"/v1/chat/completions"}
        assert {len(line["custom_id"]) for line in lines} == {64}
        assert [line["body"] for line in lines] == batched
        assert batched[0].keys() == alone.keys()
        assert batched[0] | {"messages": 0} == alone | {"messages": 0}


@pytest.mark.parametrize(
    ("terms", "sizes"),
    [
        ({"requests": 20}, [20, 20, 19]),
        ({"megabytes": 0.06}, None),
        ({"queued_tokens": 15_000}, None),
    ],
)
def test_split_by_count_bytes_and_queued_tokens(tmp_path, terms, sizes):
    waiting = []

    def fault(one):
        open_ones = [b for b in server.batches.values() if b["status"] in ("validating", "in_progress")]
        waiting.append(len(open_ones))  # this one among them
        return Fault()

    with BatchLoopback(fault=fault) as server:
        place = Batched(tmp_path, server, terms=terms)
        place.fill(pairs(60))
        place.is_right(server, 60)
        counts = [b["request_counts"]["total"] for b in server.batches.values()]
        files = [len(server.files[b["input_file_id"]]) for b in server.batches.values()]
        most = max(files)
    assert len(counts) > 1
    assert sum(counts) == 59
    if sizes:
        assert counts == sizes
    if "megabytes" in terms:
        assert most <= 60_000 < most * 2
        assert max(waiting) > 1  # side by side
    if "queued_tokens" in terms:
        assert most <= 60_000
        assert max(waiting) == 1  # one after the other


def test_a_queue_that_is_full_takes_less(tmp_path):
    full = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": None}]

    def fault(one):
        many = one["request_counts"]["total"] > 40
        return Fault("failed", errors=full) if many else Fault()

    with BatchLoopback(fault=fault) as server:
        place = Batched(tmp_path, server)
        assert place.fill(pairs(100)).judged == 100
        place.is_right(server, 100)
        assert [b["status"] for b in server.batches.values()].count("failed") >= 1


def test_a_queue_that_is_full_at_once_takes_less(tmp_path):
    """As gateways do it: no batch is made."""
    sizes = []

    def door(method, path, number):
        if (method, path) == ("POST", "/files"):
            sizes.append(1)
        if (method, path) == ("POST", "/batches") and len(sizes) == 1:
            return error(429, "Enqueued token limit reached for this model")
        return None

    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server)
        assert place.fill(pairs(100)).judged == 100
        place.is_right(server, 100)
        assert len(server.batches) >= 2


def test_a_queue_that_takes_nothing_stops_the_run(tmp_path):
    full = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": None}]
    with BatchLoopback(fault=lambda one: Fault("failed", errors=full)) as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(100))
        assert "queues nothing more" in outcome.stopped
        assert (outcome.judged, outcome.remaining, place.waiting()) == (1, 99, [])


def test_a_refused_batch_stops_the_run_with_its_reason(tmp_path):
    errors = [{"code": "model_not_found", "message": f"no such model, key {KEY}", "line": 1}]
    with BatchLoopback(fault=lambda one: Fault("failed", errors=errors)) as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(30))
        assert "refused it (model_not_found: no such model, key ***)" in outcome.stopped
        assert (outcome.remaining, place.waiting()) == (29, [])
        assert place.fill(pairs(30), batch=False).judged == 29  # the other door is open


def test_completed_with_an_error_file_alone(tmp_path):
    def plan(request, number):
        return error(500, "server_error") if 0 < number < 10 else graded(grade_of(request))

    with BatchLoopback(plan) as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(10))
        assert server.batches["batch_0"]["output_file_id"] is None
        assert (outcome.judged, outcome.failed) == (10, {})  # pair by pair
        place.is_right(server, 10)


def test_failures_of_a_pair_are_kept_and_those_of_the_server_asked_again(tmp_path):
    faults = {
        5: error(400, "filtered", "content_filter"),
        6: error(400, "the prompt is too long", "context_length_exceeded"),
        7: error(429, "slow"),
        8: error(503, "overloaded"),
        9: Say("no completion", 200),
        10: Say({"error": "odd"}, 200),
    }
    with BatchLoopback(lambda r, n: faults.get(n, graded(grade_of(r)))) as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(30))
        assert (outcome.judged, outcome.failed) == (28, {"filtered": 1, "too long": 1})
        records = read_judgments(place.path)
        assert set(records.loc[records["status"].ne("ok"), "status"]) == {"filtered", "too long"}
        assert records.loc[records["status"].ne("ok"), "relevance"].isna().all()
        assert max(server.bought.values()) == 1 or set(server.bought.values()) <= {1}


def test_unreadable_replies_are_paid_for_kept_and_asked_again_alone(tmp_path):
    def plan(request, number):
        return Say(json.loads(json.dumps(graded(9).body))) if number in (3, 4) else graded(grade_of(request))

    with BatchLoopback(plan) as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(20))
        assert (outcome.judged, outcome.failed, outcome.remaining) == (20, {}, 0)
        records = read_records(place.path)
        assert records["status"].value_counts().to_dict() == {"ok": 20, "out of scale": 2}
        assert records["usd"].sum() == pytest.approx(outcome.usd)
        assert outcome.usd == pytest.approx(COST * (1 + 19 / 2 + 2))
        assert read_judgments(place.path)["status"].eq("ok").all()


def test_what_a_batch_expired_on_goes_into_another(tmp_path):
    with BatchLoopback(fault=lambda b: Fault("expired", 0.5) if b["id"] == "batch_0" else Fault()) as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(41))
        assert (outcome.judged, outcome.remaining) == (41, 0)
        assert [b["request_counts"]["total"] for b in server.batches.values()] == [40, 20]
        place.is_right(server, 41)


def test_what_expires_twice_is_asked_alone(tmp_path):
    with BatchLoopback(fault=lambda b: Fault("expired", 0.0)) as server:
        place = Batched(tmp_path, server)
        assert place.fill(pairs(21)).judged == 21
        assert [b["request_counts"]["total"] for b in server.batches.values()] == [20, 20]
        place.is_right(server, 21)


def test_a_cancelled_batch_stops_the_run_and_what_it_did_is_kept(tmp_path):
    ends = iter([Fault("cancelled", 0.25), Fault("cancelled", 0.0), Fault()])
    with BatchLoopback(fault=lambda b: next(ends)) as server:
        place = Batched(tmp_path, server)
        first = place.fill(pairs(41))
        assert "batch batch_0: it was cancelled at the endpoint" in first.stopped
        assert (first.judged, first.remaining, place.waiting()) == (11, 30, [])
        second = place.fill(pairs(41))
        assert (second.judged, second.remaining) == (0, 30)
        assert place.fill(pairs(41)).judged == 30
        place.is_right(server, 41)


def mangled(lines):
    """Answers cut, doubled, in another order, and lines of somebody else."""
    rows = lines.splitlines()
    random.Random(3).shuffle(rows)
    first = json.loads(rows[0])
    first["response"]["body"]["choices"][0]["message"]["content"] = '{"thought": "", "relevance": 0}'
    strange = json.dumps({**first, "custom_id": "somebody's"}).encode()
    return b"\n".join([b"", b"[1]", b"null", strange, *rows[:-1], json.dumps(first).encode(), rows[-1][:50]])


def test_a_strange_file_of_answers(tmp_path):
    with BatchLoopback(fault=lambda b: Fault(mangle=mangled)) as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(31))
        assert (outcome.judged, outcome.failed, outcome.remaining) == (31, {}, 0)
        assert "batch batch_0: 5 lines are no answer of ours" in outcome.notes
        assert place.grades() == {f"d{i}": place.truth(server)[str(i)] for i in range(31)}


def test_the_budget_holds(tmp_path):
    with BatchLoopback() as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(400), max_usd=0.1)
        assert "the budget of 0.1 USD is used up" in outcome.stopped
        assert 0.05 < outcome.usd <= 0.1
        spent = read_records(place.path)["usd"].sum()
        assert spent == pytest.approx(outcome.usd)
        assert len(server.batches) < 12  # no batch of a few pairs, day after day
        assert place.waiting() == []
        assert place.fill(pairs(400)).remaining == 0
        place.is_right(server, 400)


def test_waiting_batches_are_not_bought_twice_by_the_other_door(tmp_path):
    with BatchLoopback(steps=10**9) as server:
        place = Batched(tmp_path, server)
        first = interrupted(place, pairs(40), server)
        assert "--batch run again collects them" in first.stopped
        assert str(waiting_of(place.cache / "j").folder) in first.stopped
        assert (first.judged, first.remaining, len(place.waiting())) == (1, 39, 1)
        with pytest.raises(DataError, match="1 batches wait at the endpoint"):
            place.fill(pairs(40), batch=False)
        server.steps = 0
        second = place.fill(pairs(50))  # ten pairs are new
        assert (second.judged, second.remaining) == (49, 0)
        assert [b["request_counts"]["total"] for b in server.batches.values()] == [39, 10]
        place.is_right(server, 50)


def interrupted(place, table, server):
    """A filling that gets Ctrl-C while its batch waits."""
    import threading

    def act():
        while not any(b["looks"] for b in server.batches.values()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=act).start()
    return place.fill(table)


def test_answers_for_pairs_that_left_the_pool_are_kept(tmp_path):
    with BatchLoopback(steps=10**9) as server:
        place = Batched(tmp_path, server)
        interrupted(place, pairs(30), server)
        server.steps = 0
        outcome = place.fill(pairs(10))
        assert (outcome.judged, outcome.remaining) == (9, 0)
        assert outcome.calls == 29
        place.is_right(server, 30)


def test_equal_content_is_bought_once(tmp_path):
    table = pairs(20, title=["same"] * 20, text=["text of document 0 "] * 20, query=["who"] * 20)
    with BatchLoopback() as server:
        place = Batched(tmp_path, server)
        place.fill(pairs(1))
        outcome = place.fill(table.assign(doc_id=[f"x{i}" for i in range(20)]))
        assert (outcome.judged, outcome.calls) == (20, 1)


def test_a_batch_made_on_a_connection_that_broke_is_found(tmp_path):
    broke = []

    def door(method, path, number):
        if (method, path) == ("POST", "/batches") and not broke:
            broke.append(1)
            return Say(reset=True)
        return None

    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server)
        assert place.fill(pairs(30)).judged == 30
        assert len(server.batches) == 1
        place.is_right(server, 30)


def test_a_batch_made_just_before_the_end_is_found_by_the_next_run(tmp_path):
    def door(method, path, number):
        after = any(call == "POST /batches" for call in server.calls[:-1])
        if dead and (method, path) == ("POST", "/batches"):
            return Say(reset=True)
        return error(503, "down") if dead and after else None

    dead = True
    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server)
        first = place.fill(pairs(30))
        assert "could not make a batch" in first.stopped
        assert len(place.waiting()) == 1
        dead = False
        assert place.fill(pairs(30)).judged == 29
        assert len(server.batches) == 1
        place.is_right(server, 30)


def test_a_lost_cache_finds_the_batch_in_the_endpoints_list(tmp_path):
    import shutil

    with BatchLoopback(steps=10**9) as server:
        place = Batched(tmp_path, server)
        interrupted(place, pairs(30), server)
        shutil.rmtree(place.cache)
        server.steps = 0
        assert place.fill(pairs(30)).judged == 29
        assert len(server.batches) == 1
        place.is_right(server, 30)


@pytest.mark.parametrize("path", ["/files", "/batches"])
def test_an_endpoint_without_a_batch_service(tmp_path, path):
    door = lambda method, said, number: error(404, "no such path") if said == path else None  # noqa: E731
    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(10))
        assert "refused to" in outcome.stopped
        assert "(HTTP 404: no such path)" in outcome.stopped
        assert place.waiting() == []
        assert place.fill(pairs(10), batch=False).judged == 9


def test_a_service_that_stumbles(tmp_path):
    """Every other request to it fails, in all ways."""
    faults = [error(500, "x"), error(429, "x", headers={"retry-after-ms": "5"}), Say(reset=True), Say("<p>")]

    def door(method, path, number):
        return faults[number // 2 % len(faults)] if number % 2 == 0 else None

    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server, terms={"requests": 7}, attempts=6)
        assert place.fill(pairs(30)).judged == 30
        place.is_right(server, 30)


def test_the_first_pair_shows_that_the_judge_is_good(tmp_path):
    with BatchLoopback(lambda r, n: error(500, "broken")) as server:
        outcome = Batched(tmp_path, server).fill(pairs(30))
        assert "the first pair, asked alone before any batch, failed" in outcome.stopped
        assert not server.batches


def test_retry_failed_sends_a_new_batch(tmp_path):
    with BatchLoopback() as server:
        place = Batched(tmp_path, server)
        server.plan = lambda r, n: graded(grade_of(r)) if n == 0 else error(400, "x", "content_filter")
        assert place.fill(pairs(5)).failed == {"filtered": 4}
        server.plan = lambda r, n: graded(grade_of(r))
        assert place.fill(pairs(5)).known == 5
        assert place.fill(pairs(5), retry_failed=True).judged == 4
        assert len(server.batches) == 2
        place.is_right(server, 5)


def test_a_pair_that_got_its_grade_elsewhere_meanwhile(tmp_path):
    """The batch's answer is paid for and counted; one key never has two grades."""
    with BatchLoopback(steps=10**9) as server:
        place = Batched(tmp_path, server)
        interrupted(place, pairs(10), server)
        (row,) = waiting_of(place.cache / "j").rows(place.waiting()[0])[:1]
        other = row["record"] | {
            "relevance": 2,
            "status": "ok",
            "calls": 1,
            "usd": 0.001,
            "thought": "elsewhere",
        }
        with place.path.open("a") as file:
            file.write(json.dumps(other) + "\n")
        server.steps = 0
        server.plan = lambda r, n: graded(1)
        outcome = place.fill(pairs(10))
        records = read_records(place.path)
        assert (outcome.remaining, place.waiting()) == (0, [])
        assert place.grades()[other["doc_id"]] == 2
        assert records["note"].str.contains("a second answer").sum() == 1
        assert records["usd"].sum() == pytest.approx(0.001 + COST * (1 + 9 / 2))


def test_answers_that_come_after_completed_are_waited_for(tmp_path):
    looks = []

    def door(method, path, number):
        if path != "/batches/batch_0" or len(looks) > 4:
            return None
        batch = server._look("batch_0")
        looks.append(batch["status"])
        return Say(batch | {"output_file_id": None})

    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server)
        assert place.fill(pairs(10)).judged == 10
        assert looks.count("completed") > 2
        place.is_right(server, 10)


def test_answers_that_never_come_stop_the_run(tmp_path):
    def door(method, path, number):
        return Say(server._look("batch_0") | {"output_file_id": None}) if path == "/batches/batch_0" else None

    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server)
        assert "completed, and its answers are not there" in place.fill(pairs(10)).stopped
        server.door = lambda *_: None
        assert place.fill(pairs(10)).judged == 9
        place.is_right(server, 10)


def test_a_batch_made_unheard_and_a_queue_that_it_fills(tmp_path):
    """Made, the connection broke, the list lags, and the second try finds the queue full: nothing is forgotten."""
    posts = []

    def door(method, path, number):
        if (method, path) == ("GET", "/batches") and len(posts) < 2:
            return Say({"data": [], "has_more": False})
        if (method, path) == ("POST", "/batches"):
            posts.append(1)
            return {1: Say(reset=True), 2: error(429, "Enqueued token limit reached")}.get(len(posts))
        return None

    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server)
        assert place.fill(pairs(30)).stopped
        assert len(place.waiting()) == 1
        assert place.fill(pairs(30)).judged == 29
        assert len(server.batches) == 1
        place.is_right(server, 30)


@pytest.mark.parametrize("gone", [Say(b""), error(404, "no such file")])
def test_a_file_of_answers_that_is_empty_or_gone(tmp_path, gone):
    door = lambda method, path, number: gone if path == "/files/file_1/content" else None  # noqa: E731
    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server)
        outcome = place.fill(pairs(10))
        assert (outcome.judged, outcome.remaining, place.waiting()) == (10, 0, [])


def test_a_page_that_echoes_the_key_shows_no_part_of_it(tmp_path, monkeypatch):
    key = "0123456789abcdefghijkl" * 4
    monkeypatch.setenv("A_KEY", key)
    door = lambda method, path, number: Say(f"<p>{key}") if path == "/batches" else None  # noqa: E731
    with BatchLoopback(door=door) as server:
        outcome = Batched(tmp_path, server).fill(pairs(10))
        assert "could not list batches" in outcome.stopped
        assert key[:8] not in outcome.stopped


def test_one_lost_batch_does_not_keep_others_from_being_collected(tmp_path):
    door = lambda method, path, number: error(404, "gone") if path == "/batches/batch_0" else None  # noqa: E731
    with BatchLoopback(door=door) as server:
        place = Batched(tmp_path, server, terms={"requests": 10})
        outcome = place.fill(pairs(31))
        assert "batch batch_0: " in outcome.stopped
        assert (outcome.judged >= 1, len(place.waiting()) <= 3) == (True, True)
        place.fill(pairs(31))
        assert (len(place.grades()), place.waiting().__len__()) == (21, 1)


def test_a_text_that_changed_meanwhile_keeps_its_newer_grade(tmp_path):
    with BatchLoopback(steps=10**9) as server:
        place = Batched(tmp_path, server)
        interrupted(place, pairs(4), server)
        server.steps = 0
        time.sleep(0.01)
        changed = pairs(4, text=["text of document 9 changed"] * 4)
        server.plan = lambda r, n: graded(2 if "changed" in json.dumps(r) else 0)
        place.fill(changed)
        assert {place.grades()[f"d{i}"] for i in range(1, 4)} == {2}


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import test_batch
from poolkit import batch
batch.POLL = (0.01, 0.02)
server = type("Server", (), {{"url": {url!r}}})
place = test_batch.Batched(Path({folder!r}), server, terms={{"requests": 40}})
print(place.fill(test_batch.pairs({n}), progress=True))
"""


def test_kill_9_at_any_moment(tmp_path):
    """Batches of 40 of 200 pairs, killed again and again: nothing is lost, nothing bought twice."""
    rng = random.Random(5)
    with BatchLoopback(steps=8, latency=0.01) as server:
        place = Batched(tmp_path, server, terms={"requests": 40})
        place.fill(
            pairs(1)
        )  # asked alone: a kill in the midst of that one call would lose an answer on its way
        program = PROGRAM.format(tests=os.path.dirname(__file__), url=server.url, folder=str(tmp_path), n=200)
        for _ in range(8):
            process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
            time.sleep(1.0 + rng.random() * 1.5)
            process.kill()
            process.wait()
        place.fill(pairs(200))
        assert place.fill(pairs(200)).known == 200
        place.is_right(server, 200)
        assert read_records(place.path)["calls"].sum() == len(server.requests)
        assert set(read_records(place.path)["model"]) == {MODEL}
