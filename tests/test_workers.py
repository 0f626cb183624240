"""The workers' bounds; what they do is tested whole, in test_judge."""

import campaign
import pytest
from loopback import Loopback, graded
from test_judge import Place, pairs

from poolkit import endpoint as ep


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


def test_a_campaign_of_faults_and_deaths(tmp_path):
    """A little of `make campaign`: a tenth each of 429, 500, reset, hang, garbage, filter; three kills -9."""
    found = campaign.run(tmp_path, n=150, kills=3, quick=True, life_s=0.3)
    assert (found.judged, found.failed, found.kills) == (150, 0, 3)
    assert (found.lost, found.twice, found.wrong) == (0, 0, 0)
    assert found.undelivered + found.unwritten <= 4 * campaign.CONCURRENCY
    assert set(found.requests) == {"grade", *campaign.FAULTS}


@pytest.mark.parametrize("transport", ["aiohttp", "default"])
def test_the_benchmark_measures_what_it_says(transport, monkeypatch):
    import openai
    from benchmarks import judging

    ours, used = openai.DefaultAioHttpClient, []
    theirs = openai.DefaultAsyncHttpxClient
    monkeypatch.setattr(
        openai, "DefaultAioHttpClient", lambda **given: used.append("aiohttp") or ours(**given)
    )
    monkeypatch.setattr(
        openai, "DefaultAsyncHttpxClient", lambda **given: used.append("default") or theirs(**given)
    )
    with judging.server(0.001) as url:
        found = judging.fill_once(url, transport, 40, 8)
    assert used == [transport]
    assert found["seconds"] > 0
