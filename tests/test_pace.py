"""How fast to ask."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from poolkit.pace import Again, Gate, patiently, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "120"}, 120),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-4"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers, seconds):
    assert retry_after(headers) == seconds


def test_retry_after_as_a_date():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 85 < retry_after({"retry-after": later}) <= 90


def test_the_gate_opens_by_doubling_and_narrows_once_a_moment():
    gate = Gate(8)
    assert gate.limit == 1  # the first call goes alone: what it learns, all others know
    for _ in range(20):
        gate.grow()
    assert gate.limit == 8
    gate.shrink()
    gate.shrink()
    assert gate.limit == pytest.approx(4.8)
    gate.grow()
    assert gate.limit == pytest.approx(4.8 + 1 / 4.8)


def test_the_gate_never_lets_too_many_in_and_forgets_nobody():
    async def main():
        gate, inside, most, done = Gate(4), 0, 0, 0

        async def one():
            nonlocal inside, most, done
            await gate.enter()
            inside, most = inside + 1, max(most, inside + 1)
            await asyncio.sleep(0)
            inside -= 1
            gate.grow()
            gate.leave()
            done += 1

        await asyncio.gather(*(one() for _ in range(200)))
        return most, done

    assert asyncio.run(main()) == (4, 200)


def tried(why, *, attempts=3, patience=60.0):
    """How often something is tried that always fails, and how long the rests are."""
    tries, rests = [], []

    async def attempt():
        tries.append(1)
        raise why

    async def sleep(seconds):
        rests.append(seconds)
        await asyncio.sleep(0.01)

    with pytest.raises(type(why)):
        asyncio.run(
            patiently(attempt, attempts=attempts, patience=patience, wait=lambda state: 7.0, sleep=sleep)
        )
    return len(tries), rests


def test_patience_ends_by_tries_or_by_time():
    assert tried(Again("broke")) == (3, [7.0, 7.0])
    assert tried(Again("slow", after=100.0)) == (3, [102.0, 102.0])
    many, _ = tried(Again("limited", limited=True), patience=0.2)  # costs no tries, but time
    assert 3 < many < 50
    assert tried(ValueError("a bug")) == (1, [])
