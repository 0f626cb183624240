"""Pages of executed notebooks: closed, escaped, with their answers; and the index of them."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from pages import check_closed, read

from poolkit.display import answer, missing, notes, picture, sentence
from poolkit.render import page_of, render, title_of

HOSTILE = "<script>alert(1)</script> & $x$ <img src=//evil>"
PATHS = [Path("00-summary.ipynb"), Path("01-pool.ipynb")]


def shown(**data):
    return new_output("display_data", {k.replace("__", "/"): v for k, v in data.items()})


def cell(source, *outputs, tags=()):
    return new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})


@pytest.fixture
def notebook():
    return new_notebook(
        cells=[
            new_markdown_cell("# Is it so?\n\nBecause it matters, and costs $5 or $6."),
            cell("secret_parameter = 1", tags=["parameters"]),
            cell("injected_parameter = 2", tags=["injected-parameters"]),
            cell("import hidden_import", tags=["remove-cell"]),
            cell("hidden_input()", shown(text__html=answer(HOSTILE)._repr_html_()), tags=["hide-input"]),
            cell("shown_input('<b>')", new_output("stream", name="stdout", text=HOSTILE)),
        ]
    )


@pytest.fixture
def page(notebook):
    return render(notebook, "Is it so?", "toy & <co>", "01-pool", PATHS)


def test_a_page_is_closed_and_its_text_is_text(page):
    check_closed(page)
    assert page.count("<script") == 1  # its own
    assert read(page)[2].count(HOSTILE) == 2


def test_code_is_one_click_away_and_setup_is_in_one_place(page):
    assert '<details class="code"><summary>code</summary><pre>shown_input(' in page
    assert '<details class="code"><summary>code</summary><pre>hidden_input()' in page
    [setup] = re.findall(r"<summary>parameters and setup</summary><pre>(.*?)</pre>", page, re.S)
    assert setup == "secret_parameter = 1\n\ninjected_parameter = 2\n\nimport hidden_import"
    assert page.index("secret_parameter") < page.index("hidden_input()")
    assert "open" not in re.findall(r"<details[^>]*>", page)


def test_newcomers_find_how_to_read_it_under_the_title(page):
    assert (
        page.index("costs $5 or $6.") < page.index("How to read these pages") < page.index("hidden_input()")
    )


def test_dollars_are_money_not_mathematics(page):
    assert "costs $5 or $6." in page
    assert "MathJax" not in page


def test_title_collection_and_place_among_the_pages(page):
    assert "<title>Is it so? · toy &amp; &lt;co&gt;</title>" in page
    assert '<a aria-current="page" href="01-pool.html">Pool</a>' in page
    assert '<a href="00-summary.html">Summary</a>' in page
    assert '<a href="index.html">Overview</a>' in page


@pytest.mark.parametrize(
    "output",
    [
        shown(text__plain=HOSTILE),
        shown(text__markdown=HOSTILE),
        shown(text__latex=HOSTILE),
        shown(application__javascript="alert(1)"),
        new_output("stream", name="stderr", text=HOSTILE),
        new_output("error", ename="Bad", evalue=HOSTILE, traceback=[HOSTILE]),
        new_output("display_data", {"image/svg+xml": "<svg/>"}, metadata={"image/svg+xml": {"alt": HOSTILE}}),
        new_output("display_data", {"image/png": '"><script>alert(1)</script>'}),
    ],
)
def test_outputs_of_every_kind_are_escaped(output):
    page = render(new_notebook(cells=[cell("x", output)]), "t", "c", "x", [])
    check_closed(page)


def test_pages_named_in_prose_are_linked_where_the_report_has_them():
    said = shown(text__html=sentence("See page Pool and page Choose.").markup)
    page = render(new_notebook(cells=[cell("x", said)]), "t", "c", "00-summary", PATHS)
    assert 'page <a href="01-pool.html">Pool</a> and page Choose.' in page


def test_what_an_index_tells_of_a_page(notebook):
    assert title_of(notebook) == "Is it so?"
    assert title_of(new_notebook(cells=[cell("x")])) == ""
    assert title_of(new_notebook(cells=[new_markdown_cell("")])) == ""
    found = page_of(notebook, Path("01-pool.html"))
    assert (found.title, found.answers) == ("Is it so?", (answer(HOSTILE)._repr_html_(),))
    assert found.caveats == found.figure == ""


def test_a_page_without_an_answer_tells_why():
    why = shown(text__html=missing("No labels.").markup)
    figure = shown(text__html=picture("<svg/>", "A figure.").markup)
    caveat = shown(text__html=f'<p class="next">Next: go.</p>{notes(["Mind this."]).markup}')
    cells = [
        new_markdown_cell("# Why?"),
        new_markdown_cell("## Answer"),
        cell("x", why),
        cell("y", caveat, figure),
    ]
    found = page_of(new_notebook(cells=cells), Path("x.html"))
    assert found.answers == ('<p class="hole">No labels.</p>',)
    assert found.caveats == '<ul class="notes"><li dir="auto">Mind this.</li></ul>'
    assert found.figure.startswith("<figure><figcaption>A figure.")


def test_sections_with_nothing_to_show_are_named_in_one_place():
    hole, good = shown(text__html=missing("Not shown.").markup), shown(text__html=answer("Yes.").markup)
    cells = [
        new_markdown_cell("# Why?"), new_markdown_cell("## Answer"), cell("a", hole),
        new_markdown_cell("## Empty?"), cell("b", hole), cell("c", shown(text__html="")),
        new_markdown_cell("## Full?"), cell("d", hole), cell("e", good), new_markdown_cell("## Prose?"),
        new_markdown_cell("## Limits"), cell("f", good),
    ]  # fmt: skip
    text = read(render(new_notebook(cells=cells), "t", "c", "x", []))[2]
    assert text.count("Empty?") == 1
    assert (
        text.index("Full?")
        < text.index("Not shown This collection lacks")
        < text.index("Empty?")
        < text.index("Limits")
    )
    assert text.count("Not shown.") == 2  # the answer's and the one beside something shown
    full = [new_markdown_cell("# Why?"), new_markdown_cell("## Full?"), cell("e", good)]
    assert "Not shown" not in render(new_notebook(cells=full), "t", "c", "x", [])


def test_a_rendered_notebook_is_left_as_it_was(notebook):
    before = nbformat.writes(notebook)
    render(notebook, "t", "c", "x", PATHS)
    assert nbformat.writes(notebook) == before
