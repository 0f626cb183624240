"""The door to an endpoint, against a real server that misbehaves."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from loopback import MODEL, Loopback, Say, completion, error, graded

from poolkit import endpoint as ep
from poolkit.dialect import Dialect
from poolkit.price import Budget, Price, Stop

KEY = "sk-secret-1234567890abcdef"
MESSAGES = [{"role": "user", "content": "x"}]
FORMAT = {"type": "json_schema", "json_schema": {"name": "j", "schema": {"type": "object"}}}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(ep, "_BACKOFF", lambda state: 0.01)


def scripted(*says):
    """A plan that says these things in turn, then grades."""
    return lambda request, number: says[number] if number < len(says) else graded(1)


def ask(plan, times=1, **settings):
    """Answers of one endpoint to so many calls at once, and the server."""
    settings = {"timeout": 2.0, "attempts": 3, "key": KEY, "key_env": "A_KEY", **settings}

    async def main(url):
        async with ep.Endpoint(settings.pop("model", MODEL), url, **settings) as endpoint:
            calls = (endpoint.chat(MESSAGES, response_format=FORMAT, tokens=(25, 100)) for _ in range(times))
            return await asyncio.gather(*calls)

    with Loopback(plan) as server:
        answers = asyncio.run(main(server.url))
    return (answers[0] if times == 1 else answers), server


def test_an_answer_with_what_the_server_counted():
    answer, server = ask(lambda r, n: graded(2, tokens=(500, 300, 20)), dialect=Dialect({"temperature": 0}))
    assert (answer.finish, answer.model, answer.tokens, answer.failure) == (
        "stop",
        MODEL,
        (500, 300, 20),
        None,
    )
    assert answer.sent == "response_format=json_schema temperature=0"
    assert server.requests[0]["temperature"] == 0
    assert server.keys == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    "fault",
    [
        error(500, "oops"),
        error(502, "bad gateway"),
        Say("<html>busy</html>", 503),
        error(529, "overloaded"),
        error(408, "slow"),
        Say(reset=True),
        Say(completion("{}"), half=True),
        Say("not json at all"),
        Say("<html>login</html>"),
        Say({"error": {"message": "upstream"}}),
        Say({"choices": []}),
        Say([1, 2]),
        Say({"choices": [{"message": None}]}),
        Say("[" * 100_000),
        Say(completion('{"thought": "", "relevance": 2}'), headers={"content-encoding": "gzip"}),
        Say(completion("{}"), headers={"x-long": "a" * 20_000}),
        Say(completion("{}"), headers={"transfer-encoding": "chunked"}),
        Say("{}", status="xx"),
        graded(2, finish="error"),
    ],
)
def test_passing_faults_are_tried_again(fault):
    answer, server = ask(scripted(fault))
    assert answer.failure is None
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("fault", "note"),
    [
        (error(500, "oops"), "HTTP 500: oops"),
        (Say(reset=True), "the connection or its reply broke"),
        (Say({"choices": []}), "the server's reply is not a chat completion"),
        (Say("hello"), "the server's reply is not a chat completion: hello"),
    ],
)
def test_lasting_faults_end_as_a_failure_with_a_reason(fault, note):
    answer, server = ask(lambda r, n: fault)
    assert answer.failure == "endpoint"
    assert note in answer.note
    assert len(server.requests) == 3


def test_a_call_that_never_returns_is_cut_and_sent_again():
    start = time.monotonic()
    answer, server = ask(scripted(Say(wait=60)), timeout=0.3)
    assert answer.failure is None
    assert len(server.requests) == 2
    assert time.monotonic() - start < 2
    answer, _ = ask(lambda r, n: Say(wait=60), timeout=0.1)
    assert (answer.failure, answer.note) == ("endpoint", "no answer within 0.1 s")


def test_rate_limits_cost_time_but_no_attempts():
    limited = error(429, "Rate limit reached", "rate_limit_exceeded")
    answer, server = ask(scripted(*[limited] * 10), attempts=2)
    assert answer.failure is None
    assert len(server.requests) == 11


def test_a_rate_limit_that_speaks_of_billing_is_no_empty_account():
    said = "Rate limit reached: Limit 3. Visit https://example.org/account/billing to add a payment method."
    limited = error(429, said, "rate_limit_exceeded", headers={"retry-after-ms": "5"})
    answer, server = ask(scripted(limited))
    assert (answer.failure, len(server.requests)) == (None, 2)


def test_an_error_that_sends_back_all_that_was_asked_teaches_nothing():
    """As gateways do it that check with pydantic: what was sent names every parameter."""
    dialect = Dialect({"temperature": 0, "max_tokens": 9})
    plan = lambda r, n: Say({"detail": [{"loc": ["body"], "msg": "bad", "input": r}]}, 422)  # noqa: E731
    answer, _ = ask(plan, dialect=dialect)
    assert (answer.failure, dialect.learnt) == ("endpoint", [])
    ask(lambda r, n: Say({"error": {"message": "bad", "code": "x", "request": r}}, 400), dialect=dialect)
    assert dialect.learnt == []


@pytest.mark.parametrize("form", ["1", "date", "ms"])
def test_retry_after_is_heeded_by_all_calls(form):
    times = []

    def plan(request, number):
        times.append(time.monotonic())
        if number:
            return graded(1)
        later = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
        header = {"1": {"retry-after": "1"}, "date": {"retry-after": later}, "ms": {"retry-after-ms": "900"}}[
            form
        ]
        return error(429, "slow down", headers=header)

    answers, _ = ask(plan, times=3)
    assert not any(a.failure for a in answers)
    assert min(times[1:]) - times[0] > 0.85


def test_retry_after_beyond_a_minute_is_waited_for(monkeypatch):
    naps = []

    async def nap(self, seconds):
        naps.append(seconds)
        self._resume = 0.0

    monkeypatch.setattr(ep.Endpoint, "_nap", nap)
    answer, _ = ask(scripted(error(429, "slow", headers={"retry-after": "120"})))
    assert answer.failure is None
    assert max(naps) >= 120


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            error(429, "You exceeded your current quota", "insufficient_quota"),
            "no money left at http.*top it up",
        ),
        (error(402, "Insufficient Balance"), "no money left"),
        (error(400, "Your credit balance is too low"), "no money left"),
        (
            error(401, f"Incorrect API key provided: {KEY}."),
            r"refused the key, taken from \$A_KEY \(HTTP 401.*\*\*\*",
        ),
        (error(403, "Country not supported"), "refused the key"),
        (error(404, "The model does not exist"), f"has no model '{MODEL}', or no /chat/completions"),
        (error(429, "busy", headers={"retry-after": "86400"}), "asks to wait 86400 s"),
    ],
)
def test_what_no_later_call_could_mend_stops_the_run(fault, message):
    with pytest.raises(Stop, match=message) as stop:
        ask(lambda r, n: fault)
    assert KEY not in str(stop.value)
    assert stop.value.__cause__ is None or KEY not in repr(stop.value.__cause__)


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        (error(400, "The response was filtered", "content_filter"), "filtered"),
        (error(400, "Azure OpenAI's content management policy"), "filtered"),
        (
            error(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
            "too long",
        ),
        (error(400, "prompt is too long: 210000 tokens > 200000 maximum"), "too long"),
        (
            error(400, "'max_tokens' is too large: 400. This model's maximum context length is 2048"),
            "too long",
        ),
        (error(400, "the request exceeds the available context size"), "too long"),
        (error(403, 'The model requires moderation and your input was flagged for "violence"'), "filtered"),
        (error(400, "Invalid prompt: your prompt was flagged as violating our usage policy"), "filtered"),
        (Say("<h1>Request Entity Too Large</h1>", 413), "too long"),
        (error(400, f"no idea what {KEY} wants"), "endpoint"),
        (error(422, "unprocessable"), "endpoint"),
    ],
)
def test_refusals_of_one_pair_are_named_and_not_repeated(fault, failure):
    answer, server = ask(lambda r, n: fault)
    assert answer.failure == failure
    assert len(server.requests) == 1
    assert KEY not in answer.note


def test_capabilities_are_learnt_once():
    """An endpoint that takes no temperature, another name for max_tokens, and no response format."""

    def plan(request, number):
        if "max_tokens" in request:
            return error(400, "'max_tokens' is not supported. Use 'max_completion_tokens' instead.")
        if "temperature" in request:
            return error(400, "'temperature' does not support 0 with this model.")
        if "response_format" in request:
            return error(500 if number < 3 else 400, "response_format json_schema: grammar not supported")
        return graded(1)

    dialect = Dialect({"temperature": 0, "max_tokens": 9})
    answers, server = ask(plan, times=20, dialect=dialect)
    assert {a.sent for a in answers} == {"max_completion_tokens=9"}
    assert len(server.requests) == 24  # four refusals, all met by the first call, which goes alone
    assert len(dialect.learnt) == 4


def test_an_endpoint_that_refuses_whatever_is_sent_is_given_up():
    answer, server = ask(
        lambda r, n: error(400, "max_tokens and max_completion_tokens"), dialect=Dialect({"max_tokens": 5})
    )
    assert answer.failure == "endpoint"
    assert "keeps refusing parameters" in answer.note
    assert len(server.requests) == 8


def test_fewer_calls_in_flight_after_rate_limits():
    def plan(request, number):
        return error(429, "slow", headers={"retry-after-ms": "50"}) if 100 < number < 110 else graded(1)

    answers, server = ask(plan, times=300, concurrency=16)
    assert not any(a.failure for a in answers)
    assert server.widest <= 16


def test_requests_per_minute_are_kept():
    start = time.monotonic()
    ask(scripted(), times=25, requests_per_minute=600)  # ten a second
    assert time.monotonic() - start > 1.3


@pytest.mark.parametrize(("times", "tokens_per_minute"), [(20, 12_000), (2, 900)])
def test_tokens_per_minute_are_kept(times, tokens_per_minute):
    """A call likely takes 25: 500 at 200 a second, of which a second's worth goes at once; 50 at 15 a second."""
    start = time.monotonic()
    ask(scripted(), times=times, tokens_per_minute=tokens_per_minute)
    assert time.monotonic() - start > 1.3


def test_the_budget_holds_with_64_calls_in_flight():
    """A call may cost 0.001 (100 tokens in and 900 out at $1 a million) and costs 0.00052."""
    budget = Budget(0.02)

    async def main(url):
        settings = {"price": Price(1, 1, 1), "budget": budget, "dialect": Dialect({"max_tokens": 900})}
        async with ep.Endpoint(MODEL, url, key=KEY, concurrency=64, **settings) as endpoint:
            calls = (endpoint.chat(MESSAGES, response_format=FORMAT, tokens=(25, 100)) for _ in range(200))
            return await asyncio.gather(*calls, return_exceptions=True)

    with Loopback(latency=0.01) as server:
        results = asyncio.run(main(server.url))
    served = sum(server.answered.values())
    assert served * 520e-6 == pytest.approx(budget.spent)
    assert 0.02 - 0.001 - 520e-6 < budget.spent <= 0.02
    assert sum(isinstance(r, Stop) for r in results) == 200 - served


@pytest.mark.parametrize("cut", [Say(wait=60), error(504, "upstream timed out")])
def test_a_call_cut_off_counts_as_spent(cut):
    budget = Budget(1.0)
    ask(scripted(cut), timeout=0.2, price=Price(1, 1, 1), budget=budget)
    assert budget.spent == pytest.approx(100e-6 + 520e-6)


def test_no_call_in_flight_is_none_old():
    async def main():
        async with ep.Endpoint(MODEL, "http://127.0.0.1:1/v1") as endpoint:
            return endpoint.oldest()

    assert f"{asyncio.run(main()):.0f}" == "0"  # it was -0


def test_the_key_is_nowhere_to_be_seen():
    assert KEY not in repr(ep.Endpoint(MODEL, key=KEY))
    answer, _ = ask(lambda r, n: graded(1, model=KEY) if False else Say({**completion("{}"), "model": KEY}))
    assert KEY not in repr(answer)


@pytest.mark.parametrize("tokens", [(10**30, 0, 5), (5, 0, 10**9 + 1), (-1, 0, 5), (5, 6, 5)])
def test_counts_that_cannot_be_are_unknown(tokens):
    answer, _ = ask(lambda r, n: graded(1, tokens=tokens))
    assert (answer.failure, answer.tokens) == (None, None)


def test_short_keys_are_scrubbed_and_never_cut_in_half():
    endpoint = ep.Endpoint(MODEL, key="ab12")
    assert endpoint.scrubbed("your key ab12 is bad") == "your key *** is bad"
    secret = "plain-secret-of-the-house"
    answer, _ = ask(lambda r, n: Say({"error": "x" * 85 + secret}), key=secret, attempts=1)
    assert "secret" not in answer.note
    assert "plain" not in answer.note
