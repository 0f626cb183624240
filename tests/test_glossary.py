"""Words of a page: heads by the labels' own titles, meanings for what a newcomer cannot guess."""

import pytest

from poolkit.glossary import COLUMNS, MEASURES, NEWCOMERS, meaning, words

SIDES = {"human": "author grades", "judge": "claude"}


def test_heads_name_the_labels():
    assert words("human_p", SIDES) == "author grades p"
    assert words("nDCG@10 judge", SIDES) == "nDCG@10 claude"
    assert words("humane_judgement", SIDES) == "humane judgement"
    assert words("human", {"human": r"\1 \g<0>"}) == r"\1 \g<0>"


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("p_holm", "the same p after Holm's"),
        ("near ties", "of the flips, pairs of systems closer"),
        ("nDCG@10 human", "how well the top is ordered"),
        ("P(rel=2)@10", "share of the top documents"),
        ("AP", "average precision"),
        ("human_p", "share of resamples of queries in which a is above b, under author grades"),
        ("system", "name of a run"),
        ("nDCG@10 judge all top", "nDCG@10 claude were every failed"),
        ("grade 2", "share of the graded pairs"),
        ("1", "pairs with this grade when judged again"),
        ("collection demo", "the quantity in this collection"),
        ("$x_{", ""),
    ],
)
def test_meanings(column, said):
    assert meaning(column, SIDES).startswith(said)
    assert bool(meaning(column, SIDES)) == bool(said)


def test_without_titles_the_sides_have_general_names():
    assert meaning("conflicts") == (
        "pairs of systems that the reference labels can call and the judge orders the other way"
    )


def test_meanings_are_short_and_end_without_a_stop():
    for said in (*COLUMNS.values(), *MEASURES.values()):
        assert len(said) < 130
        assert not said.endswith(".")
    assert all(said.endswith(".") for _, said in NEWCOMERS)
