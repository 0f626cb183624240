"""Pairs made up into batches."""

import pytest
from loopback import MODEL
from test_judge import pairs

from poolkit.endpoint import Endpoint
from poolkit.identity import judge_from
from poolkit.parcels import Parcels
from poolkit.price import Budget, Price, Stop

PRICE = Price(1.0, 1.0, 4.0)


def parcels(tmp_path, n, *, limit=None, **terms):
    judge = judge_from("j", {"model": MODEL, "base_url": "http://127.0.0.1:1/v1", "batch": terms}, tmp_path)
    endpoint = Endpoint(MODEL, budget=Budget(limit))
    return Parcels(judge, pairs(n), [[i] for i in range(n)], 0, endpoint, PRICE)


def positions(part):
    return [one.positions[0] for one in part]


def test_all_in_order_once(tmp_path):
    made = parcels(tmp_path, 600, requests=250)
    parts = [made.next_part(0) for _ in range(4)]
    assert [len(part) for part in parts] == [250, 250, 100, 0]
    assert [i for part in parts for i in positions(part)] == list(range(600))
    assert len({one.key for part in parts for one in part}) == 600


def test_a_batch_is_never_larger_than_the_endpoint_takes(tmp_path):
    made = parcels(tmp_path, 40, megabytes=0.02)
    parts = list(iter(lambda: made.next_part(0), []))
    sizes = [sum(len(one.line) for one in part) for part in parts]
    assert max(sizes) <= 20_000
    assert all(a + len(b[0].line) > 20_000 for a, b in zip(sizes, parts[1:], strict=False))


def test_nothing_more_is_sent_while_the_queue_is_full(tmp_path):
    made = parcels(tmp_path, 40, queued_tokens=5_000)  # 20 kB
    part = made.next_part(0)
    size = sum(len(one.line) for one in part)
    assert 0 < size <= 20_000
    assert made.next_part(size) == []
    assert positions(made.next_part(0))[0] == len(part)


def test_a_pair_larger_than_any_queue_goes_alone(tmp_path):
    made = parcels(tmp_path, 3, queued_tokens=1)
    assert [len(made.next_part(0)) for _ in range(4)] == [1, 1, 1, 0]


def test_what_came_back_goes_first_and_in_smaller_batches(tmp_path):
    made = parcels(tmp_path, 300)
    part = made.next_part(0)
    size = sum(len(one.line) for one in part)
    made.put_back([one.positions for one in part], queued=0, size=size, why="full")
    half = made.next_part(0)
    assert len(half) == pytest.approx(150, abs=2)
    assert positions(half)[0] == 0
    with pytest.raises(Stop, match="queues nothing more"):
        made.put_back([[0]], queued=0, size=100, why="full")


def test_the_worst_case_of_a_batch_fits_the_budget(tmp_path):
    made = parcels(tmp_path, 100, limit=0.1)
    part = made.next_part(0)
    assert 0.09 < sum(one.row["usd"] for one in part) <= 0.1
    assert made.next_part(0)  # nothing was held yet
    with pytest.raises(Stop, match="budget of 1e-06 USD is used up"):
        parcels(tmp_path, 5, limit=1e-6).next_part(0)


def test_no_batch_of_a_few_pairs_at_the_end_of_the_budget(tmp_path):
    made = parcels(tmp_path, 2000, limit=1.0)
    budget, first = made.endpoint.budget, made.next_part(0)
    one = first[0].row["usd"]
    budget.spent = 1.0 - 3.5 * one  # room for three more
    assert len(first) > 30
    assert made.next_part(1000) == []  # what is in flight may free more
    with pytest.raises(Stop, match="used up"):
        made.next_part(0)
    budget.spent = 0.0
    assert positions(made.next_part(0))[0] == len(first)  # none was lost


def test_one_pair_that_no_queue_takes_is_not_sent_for_ever(tmp_path):
    made = parcels(tmp_path, 3)
    with pytest.raises(Stop, match="queues nothing more"):
        made.put_back([[0]], queued=0, size=10**7, why="full")
