"""Executed notebooks to pages: one file each, nothing runs but its own script, no address outside itself."""

import copy
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from nbconvert import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from traitlets.config import Config

from poolkit.index import Page
from poolkit.shell import TEMPLATES, dressing, links

SETUP = {"parameters", "injected-parameters", "remove-cell"}
CAVEATS = re.compile(r'<ul class="notes">.*?</ul>', re.S)
KEPT = ("Answer", "Limits")  # sections that stay whatever they hold


def title_of(found: NotebookNode) -> str:
    """Return the heading of a notebook's first text cell."""
    first = next((c.source for c in found.cells if c.cell_type == "markdown"), "")
    return str(first).splitlines()[0].lstrip("# ").strip() if first else ""


def page_of(found: NotebookNode, path: Path) -> Page:
    """What an index page tells of an executed notebook; markup that `display` made and escaped."""
    markup = list(chain.from_iterable(map(_markup, found.cells)))
    answers = tuple(x for x in markup if x.startswith('<p class="answer">'))
    first = next((_markup(c)[0] for c in _section(found, "Answer") if _markup(c)), "")
    caveats = next((notes[0] for x in markup if (notes := CAVEATS.search(x))), "")
    figure = next((x for x in markup if x.startswith("<figure><figcaption>")), "")
    return Page(path, title_of(found) or path.stem, answers or ((first,) if first else ()), caveats, figure)


def render(found: NotebookNode, title: str, collection: str, current: str, paths: Sequence[Path]) -> str:
    """Page of an executed notebook: one file, its own script only, no address outside itself."""
    exporter = HTMLExporter(
        config=Config(), template_name="report", extra_template_basedirs=[str(TEMPLATES)],
        exclude_anchor_links=True,
    )  # fmt: skip
    facts = dressing() | {
        "title": title, "collection": collection, "pages": links(paths, current), "notebook": f"{current}.ipynb",
    }  # fmt: skip
    body, _ = exporter.from_notebook_node(_arranged(found), resources={"poolkit": facts})
    return _linked(str(body), {page["label"]: page["href"] for page in facts["pages"]})


def _linked(body: str, pages: dict[str, str]) -> str:
    """Page whose words for other pages lead there; to one that this report lacks they stay words."""

    def way(found: re.Match[str]) -> str:
        href = pages.get(found[1])
        return f'<a href="{href}">{found[1]}</a>' if href else found[1]

    return re.sub(r'<a class="page">(\w+)</a>', way, body)


def _arranged(found: NotebookNode) -> NotebookNode:
    """Copy for the page: setup in one cell, and sections that have nothing to show named in one place."""
    arranged = copy.deepcopy(found)
    cells: list[NotebookNode] = []
    setup = [c.source for c in arranged.cells if SETUP & set(c.metadata.get("tags", []))]
    for cell in arranged.cells:
        if not SETUP & set(cell.metadata.get("tags", [])):
            cells.append(cell)
    if cells and cells[0].cell_type == "markdown":
        cells[0].metadata["tags"] = ["title"]
        if setup:
            cells.insert(1, new_code_cell("\n\n".join(setup), metadata={"tags": ["setup"]}))
    arranged.cells, empty = _told(cells)
    if empty:
        at = next((i for i, c in enumerate(arranged.cells) if _heading(c) == "Limits"), len(arranged.cells))
        listed = "\n".join(f"- {heading}" for heading in empty)
        said = f"## Not shown\n\nThis collection lacks what these sections need:\n\n{listed}"
        arranged.cells.insert(at, new_markdown_cell(said))
    return arranged


def _told(cells: Sequence[NotebookNode]) -> tuple[list[NotebookNode], list[str]]:
    """Cells of the sections that show something, and the headings of the others."""
    sections: list[list[NotebookNode]] = [[]]
    for cell in cells:
        if _heading(cell):
            sections.append([])
        sections[-1].append(cell)
    kept, empty = [], []
    for section in sections:
        heading = _heading(section[0]) if section else ""
        code = [c for c in section if c.cell_type == "code"]
        if heading and heading not in KEPT and code and all(_is_hole(c) for c in code):
            empty.append(heading)
        else:
            kept += section
    return kept, empty


def _heading(cell: NotebookNode) -> str:
    """Text of a cell's `##` heading; empty where it has none."""
    lines = cell.source.splitlines() if cell.cell_type == "markdown" else []
    return lines[0].removeprefix("## ").strip() if lines and lines[0].startswith("## ") else ""


def _section(found: NotebookNode, heading: str) -> Iterator[NotebookNode]:
    """Cells of the section with this heading."""
    inside = False
    for cell in found.cells:
        inside = _heading(cell) == heading if _heading(cell) else inside
        if inside:
            yield cell


def _markup(cell: NotebookNode) -> list[str]:
    """HTML that a cell shows."""
    shown = (output.get("data", {}).get("text/html", "") for output in cell.get("outputs", []))
    return [str(markup) for markup in shown if markup]


def _is_hole(cell: NotebookNode) -> bool:
    """Whether a cell shows nothing but why it shows nothing."""
    shown = [o for o in cell.outputs if o.get("name") != "stderr"]
    html = [str(o.get("data", {}).get("text/html", "no")) for o in shown]
    return all(not x or x.startswith('<p class="hole">') for x in html)
