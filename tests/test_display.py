"""Numbers, sentences and tables as a reader sees them; hostile text stays text."""

import numpy as np
import pandas as pd
import pytest

from poolkit.display import (
    cell,
    count,
    decimals_for,
    facts,
    form,
    level,
    listed_rows,
    names,
    notes,
    p_value,
    passages,
    percent,
    picture,
    sentence,
    table,
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
    frame = pd.DataFrame({SCRIPT: [SCRIPT]}, index=pd.Index([SCRIPT], name="<b>"))
    corpus = pd.DataFrame({"title": [SCRIPT], "text": [SCRIPT]}, index=["d"])
    pairs = pd.DataFrame({"query_id": [SCRIPT], "doc_id": ["d"], "why": [SCRIPT]})
    for shown in (sentence(SCRIPT), notes([SCRIPT]), table(frame, SCRIPT), passages(pairs, corpus, SCRIPT)):
        assert "<script" not in shown._repr_html_()
        assert "&lt;script" in shown._repr_html_()


def test_long_tables_say_how_long():
    shown = table(pd.DataFrame({"x": range(50)}), "Things.", rows=10)
    assert shown._repr_html_().count("<tr>") == 11
    assert "First 10 of 50 rows" in shown.text


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


def test_nothing_to_note_is_nothing():
    assert notes([]).markup == ""
    assert repr(notes(["one", "two"])) == "one\ntwo"


def test_a_picture_needs_no_other_file():
    shown = picture("<svg/>", 'A "figure" & more')
    assert 'alt="A &quot;figure&quot; &amp; more" src="data:image/svg+xml;base64,PHN2Zy8+"' in shown.markup


def test_an_index_becomes_the_first_column_and_numbers_go_right():
    frame = pd.DataFrame({"n_pairs": [1], "ok": [True], "x": [np.nan]}, index=["a"])
    shown = table(frame, "c", formats={"n_pairs": "03d"})
    assert shown.text == "c\n\tn pairs\tok\tx\na\t001\tyes\t\u2013"
    assert shown.markup.count('class="n"') == 4  # two heads, two cells; a truth value is a word
    assert listed_rows([("a", 1)]).to_dict("records") == [{"fact": "a", "value": 1}]


def test_cells_of_intervals_and_whole_numbers():
    assert cell(Interval(0.5, 0.4, 0.6, 0.95, np.empty(0)), "") == "0.50\u00a0[0.40,\u00a00.60]"
    assert cell(np.int64(-1234), "") == "-1,234"
    assert cell(np.bool_(False), "") == "no"
    assert cell(pd.NA, "") == "\u2013"


def test_facts_and_notes_differ_in_class_only():
    assert facts(["a <b>"]).markup == '<ul class="facts"><li>a &lt;b&gt;</li></ul>'
    assert notes(["a"]).markup == '<ul class="notes"><li>a</li></ul>'
    assert facts([]).markup == ""
