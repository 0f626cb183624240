"""Numbers, sentences and tables as a reader sees them; hostile text stays text."""

import numpy as np
import pandas as pd
import pytest

from poolkit.display import (
    answer,
    cell,
    count,
    decimals_for,
    facts,
    folded,
    form,
    level,
    missing,
    names,
    notes,
    p_value,
    passages,
    percent,
    picture,
    sentence,
    together,
    with_interval,
)
from poolkit.resample import Interval

SCRIPT = "<script>alert(1)</script>$x$"


@pytest.mark.parametrize(("width", "places"), [(0.5, 2), (0.08, 3), (0.004, 4), (20, 0), (0, 3), (np.nan, 3)])
def test_decimals_follow_the_width(width, places):
    assert decimals_for(width) == places


def test_an_undefined_value_is_called_so():
    nothing = np.empty(0)
    assert with_interval(Interval(np.nan, np.nan, np.nan, 0.95, nothing)) == "undefined"
    assert with_interval(Interval(0.5, np.nan, np.nan, 0.95, nothing)) == "0.500"
    assert percent(np.nan) == "undefined"
    assert p_value(np.nan) == "undefined"
    assert p_value(0.0) == "p < 0.001"


def test_names_are_counted():
    assert names([]) == "none"
    assert names("a") == "a"
    assert names("ab") == "a and b"
    assert names("abcdefg") == "a, b, c, d, e and 2 more"


@pytest.mark.parametrize(
    ("value", "said"),
    [(True, "yes"), (None, "\u2013"), (np.nan, "\u2013"), (1234, "1,234"), (0.12345, "0.123"), ("x", "x")],
)
def test_cells(value, said):
    assert cell(value, "") == said


def test_hostile_text_is_escaped_everywhere():
    corpus = pd.DataFrame({"title": [SCRIPT], "text": [SCRIPT]}, index=["d"])
    pairs = pd.DataFrame({"query_id": [SCRIPT], "doc_id": ["d"], "why": [SCRIPT]})
    for shown in (
        sentence(SCRIPT),
        notes([SCRIPT]),
        missing(SCRIPT),
        picture("", SCRIPT),
        passages(pairs, corpus, SCRIPT),
    ):
        assert "<script" not in shown._repr_html_()
        assert "&lt;script" in shown._repr_html_()


def test_commands_and_pages_in_prose_are_marked_and_nothing_else():
    shown = sentence(
        "Next: `poolkit import A.run DATA --set a=<b>`, then page Choose; `rm -rf` and Page Judge stay."
    )
    assert "<code>poolkit import A.run DATA --set a=&lt;b&gt;</code>" in shown.markup
    assert 'page <a class="page">Choose</a>;' in shown.markup
    assert "`rm -rf` and Page Judge stay." in shown.markup
    assert "`poolkit import A.run" in shown.text
    assert facts(["`poolkit check`"]).markup.count("<code>poolkit check</code>") == 1


def test_a_picture_keeps_its_place_before_it_is_drawn():
    svg = '<svg height="90pt" version="1.1" viewBox="0 0 36 90" width="36.75pt"><rect width="999pt"/></svg>'
    assert '<img loading="lazy" height="120" width="49" alt="c"' in picture(svg, "c").markup
    assert '<img loading="lazy" alt="c"' in picture("<svg/>", "c").markup


def test_an_answer_opens_with_its_verdict():
    assert answer("No.", "By 5 %.").markup == '<p class="answer"><strong>No.</strong> By 5\u00a0%.</p>'
    assert answer("No.", "By 5 %.").text == "No. By 5 %."
    assert answer("All unknown.").markup == '<p class="answer">All unknown.</p>'
    assert "<script" not in answer(SCRIPT, SCRIPT).markup


def test_documents_without_text_are_shown_by_id():
    pairs = pd.DataFrame({"query_id": ["q"], "doc_id": ["d"]})
    assert (
        "(no text in this collection)" in passages(pairs, pd.DataFrame({"title": [], "text": []}), "c").text
    )


def test_words_agree_with_their_number():
    assert [form(n) for n in (0, 1, 2)] == ["are", "is", "are"]
    assert form(1, "has", "have") == "has"
    assert [count(n, "query", "queries") for n in (0, 1, 1000)] == ["0 queries", "1 query", "1,000 queries"]


@pytest.mark.parametrize(
    ("value", "said"),
    [(64.0, "64"), (0.5, "0.5"), (np.nan, "(empty)"), ("", "(empty)"), ("nano", "nano"), (3, "3")],
)
def test_levels_of_a_factor(value, said):
    assert level(value) == said


def test_together_is_one_below_the_other():
    shown = together(sentence("a"), notes([]), sentence("b"))
    assert shown.text == "a\nb"
    assert shown.markup == sentence("a").markup + sentence("b").markup


def test_nothing_to_note_is_nothing():
    assert notes([]).markup == ""
    assert repr(notes(["one", "two"])) == "one\ntwo"


def test_a_picture_needs_no_other_file():
    shown = picture("<svg/>", 'A "figure" & more')
    assert 'alt="A &quot;figure&quot; &amp; more" src="data:image/svg+xml;base64,PHN2Zy8+"' in shown.markup


def test_cells_of_intervals_and_whole_numbers():
    assert cell(Interval(0.5, 0.4, 0.6, 0.95, np.empty(0)), "") == "0.50\u00a0[0.40,\u00a00.60]"
    assert cell(np.int64(-1234), "") == "-1,234"
    assert cell(np.bool_(False), "") == "no"
    assert cell(pd.NA, "") == "\u2013"


def test_facts_and_notes_differ_in_class_only():
    assert facts(["a <b>"]).markup == '<ul class="facts"><li dir="auto">a &lt;b&gt;</li></ul>'
    assert notes(["a"]).markup == '<ul class="notes"><li dir="auto">a</li></ul>'
    assert facts([]).markup == ""


def test_a_difference_has_its_sign_and_no_negative_zero():
    found = Interval(-0.0001, -0.02, 0.03, 0.95, np.empty(0))
    assert with_interval(found) == "0.000 [-0.020, 0.030]"
    assert with_interval(found, sign="+") == "+0.000 [-0.020, +0.030]"


def test_short_texts_are_open_long_ones_fold_and_endless_ones_are_cut():
    assert folded("a <b>") == '<p dir="auto">a &lt;b&gt;</p>'
    long = folded("word " * 200)
    assert long.startswith('<details class="text"><summary><bdi>word word')
    assert "1,000 characters</small>" in long
    endless = folded("x" * 100_000)
    assert "100,000 characters, the first 6,000 shown" in endless
    assert len(endless) < 7_000


def test_control_characters_and_endless_names_in_prose():
    said = sentence(f"\x1b[31m{'n' * 100_000}")
    assert "\x1b" not in said.markup + said.text
    assert len(said.markup) < 4_100
    assert len(names(["n" * 100_000, "b"])) < 80
