"""Sentences about scores and choices say the numbers of their results."""

from dataclasses import replace
from types import SimpleNamespace as Result

import pandas as pd
from folders import conflict_folder
from test_choose import draws, world
from toy import labels, runs

from poolkit import advice, analyse
from poolkit.bounds import bounds
from poolkit.choose import best_set, tradeoff
from poolkit.factors import each_once, matched
from poolkit.labels import grades_on
from poolkit.pool import pool
from poolkit.score import scores
from poolkit.study import open_study
from poolkit.versus import versus

CATALOGUE = pd.DataFrame(
    {"family": ["f"] * 4, "mode": ["sparse", "dense", "sparse", "dense"], "size": [1, 1, 2, 2],
     "price": [1.0, 3.0, 1.0, 2.0]}, index=["a", "b", "c", "d"],
)  # fmt: skip


def test_bounds():
    on = grades_on(runs(), labels())
    found = bounds(pool(runs(), depth=3), on, scores(runs(), on, ["P@3"]), top=2)
    # q1 d3 alone has no grade; at 2 it is a sixth more for bm25, and nothing for the others.
    assert advice.bounds_story(found, None).text == (
        "Under author 1 document that could count for P@3 has no grade. With all of them at 0 the means are those "
        "shown; with all at 2, the top grade, means would move by +0.000 to +0.167."
    )
    full = grades_on(runs(), labels({"q2": {"d1": 1, "d3": 0, "d4": 0, "d5": 2}}))
    judged = bounds(pool(runs(), depth=3), full, scores(runs(), full, ["P@3"]), top=2)
    assert advice.bounds_story(judged).text == (
        "Under author every document that could count for P@3 has a grade."
    )
    assert "There are no labels yet" in advice.bounds_story(None, None).text


def test_what_is_taken_apart(tmp_path):
    found = analyse.disagreements(open_study(conflict_folder(tmp_path / "conflict")), n_resamples=50)
    assert advice.carried_story(found, 1).text == "1 conflict to read."
    assert "nothing to lay side by side" in advice.carried_story(found, 0).text
    assert "nothing to lay side by side" in advice.carried_story(None, 0).text
    assert "that the parameter pair names" in advice.carried_story(found, 1, pair=["good", "bad"]).text


def test_any_two_systems():
    found, best = versus(world(), "P@1", draws=draws()), best_set(world(), "P@1", draws=draws())
    needed = found.closest("b", ["c"])[1]
    assert advice.versus_story(found, best).text == (
        "Of 6 pairs of systems, 2 are decided, each by itself, 1 is a tie within 0.001 and 3 are inconclusive on 4 "
        f"queries. Of those that cannot be told from b, c would take the fewest queries: {needed:,}, at the difference "
        "and variance seen here and 80 % power."
    )
    assert advice.versus_story(found, None).text.endswith("are inconclusive on 4 queries.")
    won = replace(
        found, pairs=found.pairs.assign(verdict="win")
    )  # of b over d, a and c; d and c are in the set
    assert (
        "2 of the decided are pairs of b and a system of the best set: they count as undecided there, for that set "
        "corrects for 3 comparisons and this count for none." in advice.versus_story(won, best).text
    )
    one = versus(world({"a": [0.1], "b": [0.9]}), "P@1", draws=draws(1))
    assert "takes labels, two systems and two queries" in advice.versus_story(one, best).text
    assert "takes labels" in advice.versus_story(None, None).text


def effects(*held):
    found = {f: matched(world(), CATALOGUE, "P@1", factor=f, draws=draws(), factors=held) for f in held}
    return each_once(found)


def test_factors():
    # Two factors of two levels: a contrast each, and one interaction, not one under either.
    text = advice.factors_story(effects("mode", "size")).text
    assert text.startswith("2 contrasts and 1 interaction were looked at: ")
    assert "of 3 intervals" in text
    assert text.endswith("by chance alone about 0 would.")
    spoiled = advice.factors_story(effects("mode", "price")).text
    assert "No two systems differ in mode alone" in spoiled
    assert "No column of systems.csv varies" in advice.factors_story({}).text


def contrasts(*rows):
    names = ["from_level", "to_level", "difference", "low", "high"]
    return Result(contrasts=pd.DataFrame(list(rows), columns=names).assign(n_pairs=2))


def test_the_widest_effect_of_each_factor():
    found = {
        "mode": contrasts(("dense", "hybrid", 0.06, 0.04, 0.08), ("dense", "sparse", 0.01, -0.1, 0.1)),
        "size": contrasts((256.0, 64.0, -0.09, -0.13, -0.05)),
        "unclear": contrasts(("a", "b", 0.5, -0.1, 0.9)),
    }
    assert advice.widest_story(found).text == (
        "Most is bought by 256 over 64 (size, 2 matched pairs): +0.090 [+0.050, +0.130]. Then hybrid over dense "
        "(mode, 2 matched pairs): +0.060 [+0.040, +0.080]. These are differences of means; as the widest of 4 "
        "contrasts they are likely overstated."
    )
    assert advice.widest_story({"unclear": found["unclear"]}).text == (
        "No single choice buys more than the noise of these queries. In matched pairs of systems, 1 interval holds "
        "zero."
    )
    assert advice.widest_story({}).text == advice.widest_story({"none": contrasts()}).text == ""


def test_cost():
    best = best_set(world(), "P@1", draws=draws())
    assert advice.tradeoff_story(tradeoff(best, CATALOGUE, "price")).text == (
        "c has the lowest price (1) of the 3 systems in the best set, with a mean of 0.400."
    )
    nobody = tradeoff(best, CATALOGUE.assign(price=""), "price")
    assert (
        "No system of the best set has a price, so none can be picked." in advice.tradeoff_story(nobody).text
    )
    assert "No cost column was chosen." in advice.tradeoff_story(None).text
