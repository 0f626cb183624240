"""The page's own script in a real browser: sorting by pointer and keyboard, copying, long tables; and the policy."""

import json

import pandas as pd
import pytest
from browser import after_running

from poolkit.grid import table
from poolkit.resample import Interval
from poolkit.shell import dressing

FRAME = pd.DataFrame(
    {
        "n": [1200, 5, 30],
        "x": [0.25, None, -0.5],
        "rho": [Interval(0.9, 0.8, 1.0, 0.95, None), Interval(0.1, 0.0, 0.2, 0.95, None), None],
    },
    index=pd.Index(["s10", "s2|_&", "=1+1"], name="system"),
)
SPY = "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => {window.copied = text;}}});"


def acted(tmp_path, script, frame=FRAME, **options):
    """What a script finds after the page's own has run, as JSON in the title."""
    page = tmp_path / "page.html"
    page.write_text(
        f"<!DOCTYPE html><meta charset=utf-8><title></title>{table(frame, 'c', **options).markup}"
        f"<script>{SPY}</script><script>{dressing()['script']}</script>"
        "<script>const column = (n) => [...document.querySelector('tbody').rows].filter((r) => !r.hidden)"
        ".map((r) => r.cells[n].textContent), heads = document.querySelectorAll('th'), sort = (n) => "
        "heads[n].querySelector('button').click(), press = (t) => [...document.querySelectorAll('.tools button')]"
        f".find((b) => b.textContent.startsWith(t)).click();(async () => {{{script}}})()"
        ".then((found) => { document.title = JSON.stringify(found); });</script>",
        encoding="utf-8",
    )
    return json.loads(after_running(page, tmp_path)[0])


def test_sorting(tmp_path):
    found = acted(
        tmp_path,
        "const seen = [column(0)]; for (const n of [1, 1, 1, 2, 3, 0]) {sort(n); seen.push(column(0));} return seen;",
    )
    as_given, down, up, again, by_x, by_rho, by_name = found
    assert as_given == again == ["s10", "s2|_&", "=1+1"]
    assert down == ["s10", "=1+1", "s2|_&"]  # 1,200 30 5
    assert up == ["s2|_&", "=1+1", "s10"]
    assert by_x == ["s10", "=1+1", "s2|_&"]  # what is missing comes last
    assert by_rho == ["s10", "s2|_&", "=1+1"]
    assert by_name == ["=1+1", "s2|_&", "s10"]  # 2 before 10


def test_the_keyboard_and_a_screen_reader_are_told(tmp_path):
    script = (
        "const button = heads[1].querySelector('button'); button.focus();"
        "const focused = document.activeElement === button; button.click();"
        "const first = heads[1].getAttribute('aria-sort'); sort(0);"
        "return [focused, button.tagName, button.type, first, heads[1].getAttribute('aria-sort'),"
        "heads[0].getAttribute('aria-sort'), document.querySelector('[role=status]') !== null];"
    )
    assert acted(tmp_path, script) == [True, "BUTTON", "button", "descending", None, "ascending", True]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("CSV", "system,n,x,rho\ns10,1200,0.250,\"0.90 [0.80, 1.00]\"\ns2|_&,5,–,\"0.10 [0.00, 0.20]\"\n"
         "'=1+1,30,-0.500,–"),
        ("Markdown", "| system | n | x | rho |\n| --- | --: | --: | --: |\n"
         "| s10 | 1,200 | 0.250 | 0.90 \\[0.80, 1.00\\] |\n"
         "| s2\\|\\_\\& | 5 | – | 0.10 \\[0.00, 0.20\\] |\n| =1+1 | 30 | -0.500 | – |"),
        ("LaTeX", "\\begin{tabular}{lrrr}\n\\toprule\nsystem & n & x & rho \\\\\n\\midrule\n"
         "s10 & 1,200 & 0.250 & 0.90 [0.80, 1.00] \\\\\ns2|\\_\\& & 5 & -- & 0.10 [0.00, 0.20] \\\\\n"
         "=1+1 & 30 & -0.500 & -- \\\\\n\\bottomrule\n\\end{tabular}"),
    ],
)  # fmt: skip
def test_copying(tmp_path, form, text):
    said = "document.querySelector('[role=status]').textContent"
    script = f"press('{form}'); await null; await null; return [window.copied, {said}];"
    assert acted(tmp_path, script) == [text, "3 rows copied"]


def test_long_tables_sort_and_copy_as_a_whole(tmp_path):
    frame = pd.DataFrame({"x": range(50), "y": 1})
    script = (
        "const few = column(0).length; sort(0); const top = column(0); press('CSV'); await null; await null;"
        "const copied = window.copied.split('\\n').length; press('Show all 50 rows');"
        "return [few, top, copied, column(0).length, column(0)[49]];"
    )
    assert acted(tmp_path, script, frame, rows=3) == [3, ["49", "48", "47"], 51, 50, "0"]


def test_the_policy_stops_what_got_in(tmp_path):
    page = tmp_path / "page.html"
    evil = "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">"
    facts = dressing()
    policy = f'<meta http-equiv="Content-Security-Policy" content="{facts["policy"]}">'
    page.write_text(
        f"<!DOCTYPE html><meta charset=utf-8>{policy}<title>still</title><style>{facts['style']}</style>"
        f"{table(FRAME, 'c').markup}{evil}<script>{facts['script']}</script>",
        encoding="utf-8",
    )
    title, markup = after_running(page, tmp_path)
    assert title == "still"
    assert '<button type="button" class="sort">' in markup  # the page's own script is let through
