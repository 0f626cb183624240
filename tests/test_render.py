"""Pages of executed notebooks: closed, escaped, with their answers; and the index of them."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from pages import check_closed, read

from poolkit.display import answer
from poolkit.render import Page, answers_of, render, title_of, write_index

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
    assert "<script" not in page
    assert read(page)[2].count(HOSTILE) == 2


def test_hidden_cells_and_inputs_stay_hidden(page):
    for word in ("secret_parameter", "injected_parameter", "hidden_import", "hidden_input"):
        assert word not in page
    assert "<details><summary>code</summary><pre>shown_input(" in page


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


def test_title_and_answers(notebook):
    assert title_of(notebook) == "Is it so?"
    assert title_of(new_notebook(cells=[cell("x")])) == ""
    assert title_of(new_notebook(cells=[new_markdown_cell("")])) == ""
    assert list(answers_of(notebook)) == [answer(HOSTILE)._repr_html_()]


def test_index(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "b&c.csv").write_text("x")
    pages = [Page(tmp_path / "01-pool.html", HOSTILE, (answer("A & B")._repr_html_(), "second"))]
    pages.append(Page(tmp_path / "02-judge.html", "Without an answer?", ()))
    index = write_index(tmp_path, HOSTILE, pages)
    text = index.read_text(encoding="utf-8")
    assert index == tmp_path / "index.html"
    check_closed(text)
    addresses, _, words = read(text)
    assert addresses[-1] == "tables/b&c.csv"
    assert words.count(HOSTILE) == 3  # title, heading, card
    assert '<p class="answer">A &amp; B</p>' in text
    assert "second" not in text


def test_a_rendered_notebook_is_left_as_it_was(notebook):
    before = nbformat.writes(notebook)
    render(notebook, "t", "c", "x", PATHS)
    assert nbformat.writes(notebook) == before
