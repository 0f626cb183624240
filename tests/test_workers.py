"""The workers' bounds; what they do is tested whole, in test_judge."""

import random

import pytest
from loopback import Loopback, Say, error, grade_of, graded
from test_judge import Place, pairs

from poolkit import endpoint as ep
from poolkit.records import read_records


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(ep, "_BACKOFF", lambda state: 0.01)
    monkeypatch.setenv("A_KEY", "sk-secret-1234567890abcdef")


def test_the_first_call_goes_alone_and_never_too_many_do(tmp_path):
    with Loopback(latency=0.01) as server:
        seen = []
        server.plan = lambda r, n: seen.append(server.inside) or graded(1)
        Place(tmp_path, server, concurrency=8).fill(pairs(100))
        assert seen[0] == 1
        assert 2 < server.widest <= 8


def test_a_campaign_of_faults(tmp_path):
    """150 pairs, a tenth each of 429, 500, reset, hang, garbage and filter: none lost, none wrong."""
    rng, truth = random.Random(7), {}

    def plan(request, number):
        content = request["messages"][-1]["content"]
        truth[content.split("text of document ")[1].split()[0]] = grade_of(request)
        faults = [
            error(429, "slow", headers={"retry-after-ms": "20"}),
            error(500, "oops"),
            Say(reset=True),
            Say(wait=30),
            Say("garbage"),
            error(400, "filtered", "content_filter"),
        ]
        draw = rng.random()
        return faults[int(draw * 10)] if draw < 0.6 else graded(grade_of(request))

    with Loopback(plan) as server:
        place = Place(tmp_path, server, timeout=1.0, attempts=30)
        outcome = place.fill(pairs(150))
        assert outcome.stopped is None
        assert set(outcome.failed) == {"filtered"}
        while place.fill(pairs(150), retry_failed=True).failed:
            pass
        assert max(server.answered.values()) == 1  # nothing was bought twice
    records = read_records(place.path)
    good = records[records["status"].eq("ok")]
    assert len(good) == 150
    assert good["relevance"].tolist() == [truth[d[1:]] for d in good["doc_id"]]
