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
    assert said(steps.after_pool(1)).startswith(
        "grade the 1 query-document pair that has no grade yet; `poolkit"
    )
    assert said(steps.after_pool(1200)).startswith("grade the 1,200 query-document pairs that have no grade")
    assert said(steps.after_pool(0)).startswith("nothing to judge")


@pytest.mark.parametrize(
    ("failed", "unjudged", "repeated", "start"),
    [
        (3, 2, True, "grade the 2 query-document pairs"),
        (
            1,
            0,
            True,
            "ask again for the 1 query-document pair that failed: `poolkit judge DATA --retry-failed`",
        ),
        (0, 0, False, "see whether the judge repeats itself"),
        (0, 0, True, "see how far these grades can be trusted, on page Correlate"),
    ],
)
def test_judging(failed, unjudged, repeated, start):
    assert said(steps.after_judging(failed, unjudged, repeated)).startswith(start)


def correlation(value, high, same):
    return Result(
        rho=Result(value=value, high=high),
        ceiling=Result(spearman_brown=same),
        human="author grades",
        n_queries=48,
    )


def test_correlation():
    assert said(steps.after_correlation(None)).startswith("grade the pool of some queries by hand")
    # the interval ends below what other queries of this kind would reach
    assert said(steps.after_correlation(correlation(0.5, 0.7, 0.8))).startswith(
        "find out why, on page Disagree; new queries alone would move the order less:"
    )
    good = said(steps.after_correlation(correlation(0.9, 0.95, 0.8)))
    assert (
        "move the order more: under author grades, another 48 queries would give a rho of about 0.80" in good
    )
    assert good.endswith(", the judge gives 0.90.")
    assert "move the order about as much:" in said(steps.after_correlation(correlation(0.75, 0.95, 0.8)))
    for unknown in (correlation(NAN, NAN, 0.8), correlation(0.9, 0.95, NAN)):
        assert said(steps.after_correlation(unknown)).startswith("read which pairs")


@pytest.mark.parametrize(
    ("conflicts", "differ", "start"),
    [
        (2, 5, "read the 2 conflicts below"),
        (
            0,
            1,
            "nothing to settle. Only labels on more queries could say which system is better in the 1 pair that",
        ),
        (
            0,
            5,
            "nothing to settle. Only labels on more queries could say which system is better in the 5 pairs that",
        ),
        (0, 0, "nothing to settle."),
    ],
)
def test_disagreements(conflicts, differ, start):
    found = Result(counts={"conflict": conflicts, "different": differ})
    assert said(steps.after_disagreements(found)).startswith(start)
    assert steps.after_disagreements(None) == steps.after_correlation(None)


def test_leaving_out():
    flips = pd.DataFrame({"measure": ["AP", "AP", "P"], "gap": [0.002, 0.01, 0.9]})
    found = Result(flips=flips)
    told = said(steps.after_leaving_out(found, "AP"))
    assert told.startswith("never compare a newcomer before what it alone brings is judged: add its run")
    assert told.endswith(
        "The pairs that would change order are up to 0.0100 apart with all documents judged."
    )
    assert "The order held" in said(steps.after_leaving_out(found, "P@5"))
    assert said(steps.after_leaving_out(None, "AP")) == ""


def test_repeats():
    noise = Result(pairs=pd.DataFrame({"turned": [0.5, 0.05, 0.051]}))
    again = Result(n=40, exact=Result(value=0.95), unseen=0.16)
    still, alike = Result(pairs=noise.pairs * 0), Result(n=40, exact=Result(value=1), unseen=0.088)
    assert said(steps.after_repeats(noise, again)).startswith(
        "treat 2 of 3 pairs of systems, listed below, as undecided"
    )
    assert said(steps.after_repeats(still, again)).startswith(
        "nothing. The noise seen in 40 repeats turns no pair"
    )
    assert said(steps.after_repeats(still, alike)).startswith(
        "judge more of the pool again. 40 equal repeats exclude only that more than 8.8 % of grades move"
    )
    assert said(steps.after_repeats(None, again)) == ""
    for nothing in (steps.after_repeats(None, None), steps.after_repeats(noise, Result(n=0))):
        assert said(nothing).startswith("see whether the judge repeats itself: `poolkit judge DATA --sample")


def test_growth():
    found = Result(pairs=pd.DataFrame({"status": ["certified", "open", "open", "tied"]}))
    assert said(steps.after_growth(found)) == (
        "whenever systems are added, look again at the 2 pairs of systems that they could turn. Of 4 pairs of systems "
        "1 is certified: no later system can turn it, though other queries may. 1 is tied now."
    )
    firm = Result(pairs=pd.DataFrame({"status": ["certified", "certified"]}))
    assert said(steps.after_growth(firm)).startswith(
        "nothing to watch. Of 2 pairs of systems 2 are certified"
    )
    assert said(steps.after_growth(None)) == ""


def test_choice():
    assert said(steps.after_choice(Result(systems=("a",), best="a"))) == "take a."
    assert said(steps.after_choice(Result(systems=("a", "b", "c"), best="a"))).startswith(
        "choose among these 3"
    )
    assert said(steps.after_choice(None)).startswith("grade the pool")
