"""Tables as markup: escaped, intervals in one column, explained; no winner stands out."""

import numpy as np
import pandas as pd

from poolkit.grid import HELD, listed_rows, table, with_intervals

SCRIPT = "<script>alert(1)</script>$x$"


def test_hostile_text_is_escaped_everywhere():
    frame = pd.DataFrame({SCRIPT: [SCRIPT]}, index=pd.Index([SCRIPT], name="<b>"))
    shown = table(frame, SCRIPT, sides={"judge": SCRIPT}).markup
    assert "<script" not in shown
    assert "<b>" not in shown
    assert shown.count("&lt;script") == 4  # caption, head, two cells


def test_an_index_becomes_the_first_column_and_numbers_go_right():
    frame = pd.DataFrame({"n_pairs": [1], "ok": [True], "x": [np.nan]}, index=["a"])
    shown = table(frame, "c", formats={"n_pairs": "03d"})
    assert shown.text == "c\n\tn pairs\tok\tx\na\t001\tyes\t\u2013"
    assert shown.markup.count('class="n"') == 4  # two heads, two cells; a truth value is a word
    assert listed_rows([("a", 1)]).to_dict("records") == [{"fact": "a", "value": 1}]


def test_long_tables_hold_more_than_they_show_and_say_so():
    shown = table(pd.DataFrame({"x": range(50)}), "Things.", rows=10)
    assert shown.markup.count("<tr>") == 11
    assert shown.markup.count("<tr hidden>") == 40
    assert 'data-rows="10"' in shown.markup
    assert shown.text.splitlines()[0] == "Things. First 10 of 50 rows; the CSV has all."
    assert len(shown.text.splitlines()) == 12
    assert table(pd.DataFrame({"x": range(HELD + 5)}), "c").markup.count("<tr") == HELD + 1


def test_no_rows_are_none():
    assert '<td colspan="2">none</td>' in table(pd.DataFrame({"a": [], "b": []}), "c").markup


def test_a_value_and_its_ends_are_one_column_with_decimals_by_the_width():
    frame = pd.DataFrame(
        {"human": [0.12345, np.nan], "human_low": [0.1, np.nan], "human_high": [0.15, np.nan],
         "difference": [-0.5, 0.2], "low": [-1.0, 0.1], "high": [0.0, 0.3], "p": [0.5, 0.01]}
    )  # fmt: skip
    made = with_intervals(frame)
    assert list(made.columns) == ["human", "difference", "p"]
    assert made["human"][1] is None
    lines = table(
        frame, "c", formats={"difference": "+.3f"}, sides={"human": "author grades"}
    ).text.splitlines()
    assert lines[1] == "author grades\tdifference\tp"
    # widths 0.05, 1 and 0.2: two significant digits of the width
    assert lines[2].replace("\u00a0", " ") == "0.123 [0.100, 0.150]\t-0.5 [-1.0, +0.0]\t0.500"
    assert lines[3].replace("\u00a0", " ") == "\u2013\t+0.20 [+0.10, +0.30]\t0.010"
    assert list(with_intervals(made).columns) == list(made.columns)


def test_heads_are_explained_twice():
    shown = table(pd.DataFrame({"p_holm": [0.1], "zzz": [1]}), "c").markup
    assert '<abbr title="the same p after Holm' in shown
    assert "<dt>p holm</dt><dd>the same p after Holm" in shown
    assert "<dt>zzz</dt>" not in shown
    assert "details" not in table(pd.DataFrame({"zzz": [1]}), "c").markup


def test_nothing_is_bold_so_no_winner_is():
    frame = pd.DataFrame({"mean": [0.9, 0.1], "in_set": [True, False]}, index=["best", "worst"])
    assert "<b>" not in table(frame, "c").markup
    assert "<strong" not in table(frame, "c").markup


def test_cells_write_in_their_own_direction_and_end():
    frame = pd.DataFrame({"a": ["שלום", "plain", "w" * 100_000, "\u202eevil"]})
    shown = table(frame, "c").markup
    assert '<td class="s" dir="auto">שלום</td>' in shown
    assert '<td class="s">plain</td>' in shown
    assert "\u202e" not in shown
    assert len(shown) < 2_500
