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


def test_pool():
    assert said(poolstory.pool_story(pool(25, 48, 12000, 3000))) == (
        "25 systems returned 12,000 documents within depth 10 for 48 queries; the pool holds 3,000 different ones. "
        "Judging each once saves 75.0 % of the judgments: judging every system by itself would cost 4.0 times as much."
    )
    assert said(poolstory.pool_story(pool(1, 1, 1, 1))).startswith(
        "1 system returned 1 document within depth 10 for 1 query;"
    )


def arrivals(*new):
    index = [f"s{i}" for i in range(len(new))]
    return pd.DataFrame({"new": new, "share": [n / 10 for n in new]}, index=index)


def test_arrivals():
    assert said(poolstory.arrival_story(arrivals(10, 1000, 1))) == (
        "The last system to arrive, s2, brings 1 new document (10.0 % of what it returns). After the first, the "
        "costliest arrival is s1 with 1,000 new documents."
    )
    assert said(poolstory.arrival_story(arrivals(10))) == "s0 is the only system: all its documents are new."
    assert "s1 with 0 new documents" in said(poolstory.arrival_story(arrivals(10, 0)))


def test_judging():
    assert said(poolstory.judging_story("reader", 740, 1, 1000)) == (
        "reader: 740 of 1,000 pooled pairs graded (74.0 %), 1 failed, 259 unjudged."
    )
    assert "0 of 1 pooled pair graded (0.0 %)" in said(poolstory.judging_story("No judge", 0, 0, 1))


def orders(reversals, gaps=(), worst=0.8, violations=0):
    return Result(
        measure="P@5", reversals=np.array(reversals), orders=np.zeros((len(reversals), 3)), share=0.25, low=0.05,
        high=0.7, fragile=pd.DataFrame({"final_gap": gaps}), worst_tau=worst, checked=1200, violations=violations,
    )  # fmt: skip


def test_growth():
    assert said(poolstory.growth_story(orders([0, 2, 0, 0], gaps=[0.001, 0.02]))) == (
        "Not for every pair: in 1 of 4 random orders of arrival (25.0 %, 95 % interval 5.0 % to 70.0 %) some pair of "
        "systems stood, for a while, the other way round than finally, by mean P@5. The final gap of the 2 such pairs "
        "is at most 0.0200. With three or more systems present, the lowest tau-b with the final order was 0.800."
    )
    assert "The final gap of the 1 such pair is 0.0010." in said(
        poolstory.growth_story(orders([1], gaps=[0.001]))
    )
    assert said(poolstory.growth_story(orders([0, 0], worst=NAN))).endswith(
        "any pair of systems stood, for a while, the other way round than finally, by mean P@5."
    )
    assert said(poolstory.growth_story(orders([0, 0]))).startswith(
        "So far it does: in none of 2 random orders"
    )


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
        "systems cannot be reversed; 2 can, and 1 is tied now. The most fragile needs 1 further relevant document "
        "per query, half of the open ones 4 or fewer."
    )
    text = certificates(("open", 3), further=1)
    assert "with at most 1 further relevant document per query, 0 of 1 pair" in text
    assert text.endswith("0 are tied now. The most fragile needs 3 further relevant documents per query.")
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
