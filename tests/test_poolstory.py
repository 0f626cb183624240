"""Sentences about the pool: numbers by hand, the right number of each noun, words where nothing is known."""

from types import SimpleNamespace as Result

import numpy as np
import pandas as pd
import pytest

from poolkit import poolstory

NAN = float("nan")


def said(found):
    text = str(found)
    assert "nan" not in text.lower().split()
    assert "None" not in text
    return text


@pytest.mark.parametrize(
    "tell",
    [
        poolstory.growth_story,
        poolstory.worst_story,
        poolstory.invariant_story,
        poolstory.certificate_story,
        poolstory.given_order_story,
    ],
)
def test_what_is_unknown_is_said(tell):
    found = tell(None)
    assert said(found).endswith(".")
    assert found.markup.startswith('<p class="hole">')


def pool(systems, queries, independent, unique):
    runs = Result(systems=range(systems), queries=range(queries))
    share = {"reuse": 1 - unique / independent, "cost_factor": independent / unique}
    return Result(runs=runs, depth=10, independent=independent, unique=unique, **share)


def arrivals(*new):
    index = [f"s{i}" for i in range(len(new))]
    return pd.DataFrame({"new": new, "share": [n / 10 for n in new]}, index=index)


def test_pool():
    assert said(poolstory.pool_story(pool(25, 48, 12000, 3000), arrivals(10, 1000, 1))) == (
        "It holds 3,000 query-document pairs. 25 systems returned 12,000 documents within depth 10 for 48 queries. "
        "Judging each pair once saves 75.0 % of the judgments: system by system they would be 4.0 times as many. After "
        "the first, each system added 1 to 1,000 pairs that no earlier one had."
    )
    assert said(poolstory.pool_story(pool(1, 1, 1, 1), arrivals(1))) == (
        "It holds 1 query-document pair. 1 system returned 1 document within depth 10 for 1 query. Judging each pair "
        "once saves 0.0 % of the judgments: system by system they would be 1.0 times as many."
    )
    assert "each system added 1 pair that" in said(poolstory.pool_story(pool(2, 1, 2, 2), arrivals(1, 1)))


def test_arrivals():
    assert said(poolstory.arrival_story(arrivals(10, 1000, 1))) == (
        "The last system to arrive, s2, brings 1 new document (10.0 % of what it returns). After the first, the "
        "costliest arrival is s1 with 1,000 new documents."
    )
    assert said(poolstory.arrival_story(arrivals(10))) == "s0 is the only system: all its documents are new."
    assert "s1 with 0 new documents" in said(poolstory.arrival_story(arrivals(10, 0)))


def test_judging():
    assert said(poolstory.judging_story("reader", 740, 1, 1000)) == (
        "74.0 % of it, by reader. 740 of 1,000 query-document pairs have a grade, 1 failed, 259 are left to judge."
    )
    assert said(poolstory.judging_story("No judge", 0, 0, 1)) == (
        "Not at all. 0 of 1 query-document pair have a grade, 0 failed, 1 are left to judge."
    )


@pytest.mark.parametrize(
    ("calls", "usd", "end"),
    [
        (1200, 3.456, "The judge took 1,200 calls, for 3.46 dollars, repeats included."),
        (1, NAN, "The judge took 1 call, for a price that is not known, repeats included."),
        (0, NAN, "No cost is on record: no endpoint was called."),
    ],
)
def test_what_judging_cost(calls, usd, end):
    text = said(poolstory.judging_story("reader", 10, 0, 10, pd.Series({"calls": calls, "usd": usd})))
    assert text == f"Wholly: all of its 10 query-document pairs, by reader. {end}"


def orders(reversals, gaps=(), worst=0.8, violations=0):
    return Result(
        measure="P@5", reversals=np.array(reversals), orders=np.zeros((len(reversals), 3)), share=0.25, low=0.05,
        high=0.7, fragile=pd.DataFrame({"final_gap": gaps}), worst_tau=worst, checked=1200, violations=violations,
    )  # fmt: skip


def test_growth():
    assert said(poolstory.growth_story(orders([0, 2, 0, 0], gaps=[0.001, 0.02]))) == (
        "For 1 of 3 pairs of systems it does. They never changed order in 4 random orders of arrival. Of the other 2, "
        "at least one did for a while in 1 of the orders (25.0 %, 95 % interval 5.0 % to 70.0 %); in the end they are "
        "at most 0.0200 apart in mean P@5."
    )
    assert said(poolstory.growth_story(orders([1], gaps=[0.001]))).endswith(
        "The other one did for a while, in 1 of the orders (25.0 %, 95 % interval 5.0 % to 70.0 %); in the end it is "
        "0.0010 apart in mean P@5."
    )
    assert said(poolstory.growth_story(orders([0, 0]))) == (
        "So far it does. In none of 2 random orders of arrival did two systems ever stand the other way round than "
        "finally, by mean P@5 (25.0 %, 95 % interval 5.0 % to 70.0 %)."
    )


def test_the_worst_order():
    assert said(poolstory.worst_story(orders([0], worst=1 / 3))).startswith(
        "With three or more systems present, the lowest tau-b with the final order was 0.333."
    )
    assert said(poolstory.worst_story(orders([0], worst=NAN))).startswith("Not known: ")


def test_invariant():
    assert said(poolstory.invariant_story(orders([0]))).endswith("checked 1,200 times, never violated.")
    assert said(poolstory.invariant_story(orders([0], violations=1))).endswith(
        "checked 1,200 times, violated 1 time."
    )


def certificates(*rows, further=None):
    pairs = pd.DataFrame(list(rows), columns=["status", "smallest"]).astype({"smallest": "Int64"})
    return said(poolstory.certificate_story(Result(further=further, pairs=pairs)))


def test_certificates():
    assert certificates(("certified", None), ("open", 1), ("open", 4), ("tied", None)) == (
        "Whatever systems come later, with any number of further relevant documents per query, 1 of 4 pairs of "
        "systems cannot be reversed; 2 can, and 1 is tied now. To turn the most fragile takes 1 further relevant "
        "document per query; for half of those that can, 4 or fewer suffice."
    )
    text = certificates(("open", 3), further=1)
    assert "with at most 1 further relevant document per query, 0 of 1 pair" in text
    assert text.endswith(
        "0 are tied now. To turn the most fragile takes 3 further relevant documents per query."
    )
    assert certificates(("certified", None), further=2).endswith("reversed; 0 can, and 0 are tied now.")


def test_the_given_order():
    grown = Result(arrivals=pd.DataFrame({"tau": [NAN, 1.0, 0.5]}), reversals=range(1))
    assert said(poolstory.given_order_story(grown)) == (
        "In the given order 1 pair ever stood the other way round than finally; the lowest tau-b with the final "
        "order was 0.500."
    )
    tied = Result(arrivals=pd.DataFrame({"tau": [NAN, NAN]}), reversals=[])
    assert said(poolstory.given_order_story(tied)) == (
        "In the given order no pair ever stood the other way round than finally."
    )


def test_hostile_names_are_escaped():
    found = poolstory.arrival_story(
        pd.DataFrame({"new": [1, 1], "share": [1.0, 1.0]}, index=["a", "<script>$x$"])
    )
    assert "<script>$x$" in found.text
    assert "&lt;script&gt;$x$" in found.markup
    assert "<script" not in found.markup
