"""The next step from every result: each branch, its numbers, and words that agree with them."""

from types import SimpleNamespace as Result

import pandas as pd
import pytest

from poolkit import steps

NAN = float("nan")


def said(found):
    assert found.text == "" or found.text.startswith("Next: ")
    assert found.text == "" or found.markup.startswith('<p class="next">Next: ')
    return found.text.removeprefix("Next: ")


def test_pool():
    assert said(steps.after_pool(1)).startswith("grade the 1 pair that has no grade yet; `poolkit judge DATA")
    assert said(steps.after_pool(1200)).startswith("grade the 1,200 pairs that have no grade")
    assert said(steps.after_pool(0)).startswith("nothing to buy")


@pytest.mark.parametrize(
    ("failed", "unjudged", "repeated", "start"),
    [
        (3, 2, True, "grade the 2 pairs"),
        (1, 0, True, "ask again for the 1 pair that failed: `poolkit judge DATA --retry-failed`"),
        (0, 0, False, "see whether the judge repeats itself"),
        (0, 0, True, "nothing to buy."),
    ],
)
def test_judging(failed, unjudged, repeated, start):
    assert said(steps.after_judging(failed, unjudged, repeated)).startswith(start)


def correlation(value, high, same):
    return Result(rho=Result(value=value, high=high), ceiling=Result(spearman_brown=same))


def test_correlation():
    assert said(steps.after_correlation(None)).startswith("grade the pool of some queries by hand")
    # the interval ends below what other queries of this kind would reach
    assert said(steps.after_correlation(correlation(0.5, 0.7, 0.8))).startswith("find out why.")
    assert "rho about 0.80" in said(steps.after_correlation(correlation(0.9, 0.95, 0.8)))
    for unknown in (correlation(NAN, NAN, 0.8), correlation(0.9, 0.95, NAN)):
        assert said(steps.after_correlation(unknown)).startswith("read which pairs")


@pytest.mark.parametrize(
    ("conflicts", "differ", "start"),
    [
        (2, 5, "read the 2 conflicts below"),
        (0, 1, "nothing to settle. Only more labelled queries could call the 1 pair that differs."),
        (0, 5, "nothing to settle. Only more labelled queries could call the 5 pairs that differ."),
        (0, 0, "nothing to settle."),
    ],
)
def test_disagreements(conflicts, differ, start):
    found = Result(counts={"conflict": conflicts, "different": differ})
    assert said(steps.after_disagreements(found)).startswith(start)
    assert steps.after_disagreements(None) == steps.after_correlation(None)


def test_leaving_out():
    effects = pd.DataFrame({"measure": ["AP", "AP", "P@5"], "flips": [1, 0, 0]})
    assert "placed wrongly" in said(steps.after_leaving_out(Result(effects=effects), "AP"))
    assert "The order held" in said(steps.after_leaving_out(Result(effects=effects), "P@5"))
    assert said(steps.after_leaving_out(None, "AP")) == ""


def test_repeats():
    noise = Result(pairs=pd.DataFrame({"turned": [0.5, 0.05, 0.051]}))
    assert said(steps.after_repeats(noise)).startswith("call the 2 pairs of systems that its noise may turn")
    assert said(steps.after_repeats(Result(pairs=noise.pairs * 0))).startswith("nothing;")
    assert said(steps.after_repeats(None)) == ""


def test_growth():
    found = Result(pairs=pd.DataFrame({"status": ["certified", "open", "open", "tied"]}))
    assert (
        "no later system turns the 1 certified pair, though other queries may; look again at the 2 open ones"
        in said(steps.after_growth(found))
    )
    assert said(steps.after_growth(None)) == ""


def test_choice():
    assert said(steps.after_choice(Result(systems=("a",), best="a"))) == "take a."
    assert said(steps.after_choice(Result(systems=("a", "b", "c"), best="a"))).startswith(
        "choose among these 3"
    )
    assert said(steps.after_choice(None)).startswith("grade the pool")
