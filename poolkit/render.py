"""Executed notebooks to pages: one file each, no script, no address outside itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import nbformat
from nbconvert import HTMLExporter
from traitlets.config import Config

import poolkit

PACKAGE = Path(poolkit.__file__).parent
UNKNOWN = "<p>Cannot be known from what this collection holds; the page says what is missing.</p>"
HIDDEN = {"parameters", "injected-parameters", "remove-cell"}


@dataclass(frozen=True)
class Page:
    """One executed notebook of a report."""

    path: Path
    title: str
    answers: tuple[str, ...]


def title_of(found: nbformat.NotebookNode) -> str:
    """Return the heading of a notebook's first text cell."""
    first = next((c.source for c in found.cells if c.cell_type == "markdown"), "")
    return str(first).splitlines()[0].lstrip("# ").strip() if first else ""


def answers_of(found: nbformat.NotebookNode) -> Iterator[str]:
    """Sentences that `display.answer` made, already escaped there."""
    for cell in found.cells:
        for output in cell.get("outputs", []):
            markup = output.get("data", {}).get("text/html", "")
            if markup.startswith('<p class="answer">'):
                yield markup


def render(
    found: nbformat.NotebookNode, title: str, collection: str, current: str, paths: Sequence[Path]
) -> str:
    """Page of an executed notebook: one file, no script, no address outside itself."""
    settings = Config()
    settings.TagRemovePreprocessor.enabled = True
    settings.TagRemovePreprocessor.remove_cell_tags = HIDDEN
    settings.TagRemovePreprocessor.remove_input_tags = {"hide-input"}
    exporter = HTMLExporter(
        config=settings, template_name="report", extra_template_basedirs=[str(PACKAGE / "templates")],
        exclude_anchor_links=True,
    )  # fmt: skip
    facts = {
        "title": title, "collection": collection, "version": poolkit.__version__, "style": _style(),
        "pages": _links(paths, current),
    }  # fmt: skip
    body, _ = exporter.from_notebook_node(found, resources={"poolkit": facts})
    return str(body)


def _style() -> str:
    return (PACKAGE / "templates" / "style.css").read_text(encoding="utf-8")


def _links(paths: Sequence[Path], current: str = "index") -> list[dict[str, Any]]:
    links: list[dict[str, Any]] = [{"href": "index.html", "label": "Overview", "current": current == "index"}]
    for path in paths:
        label = path.stem[3:].replace("-", " ").capitalize()
        links.append({"href": f"{path.stem}.html", "label": label, "current": path.stem == current})
    return links


def write_index(out: Path, name: str, pages: Sequence[Page], lead: Sequence[str] = ()) -> Path:
    """Index page: every notebook's question and answer, then the files."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PACKAGE / "templates"), autoescape=True, trim_blocks=True
    )
    cards = [
        {"href": p.path.name, "title": p.title, "answer": p.answers[0] if p.answers else UNKNOWN}
        for p in pages
    ]
    kinds = ("figures", "tables")
    files = [str(f.relative_to(out)) for k in kinds for f in sorted((out / k).glob("*")) if f.is_file()]
    text = environment.get_template("folder.html.j2").render(
        title=name, style=_style(), pages=_links([p.path for p in pages]), cards=cards, files=files,
        version=poolkit.__version__, made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        lead=list(lead),
    )  # fmt: skip
    index = out / "index.html"
    index.write_text(text, encoding="utf-8")
    return index
