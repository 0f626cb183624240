"""Index pages: of one report, the choice first and how far to trust it; and of a folder of reports."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2

from poolkit.shell import TEMPLATES, dressing, links

UNKNOWN = "<p>Cannot be known from what this collection holds; the page says what is missing.</p>"
ANSWERED = re.compile(
    r'">([^<]+)</a></(?:h2|dt)>\s*(?:<dd>)?(<p class="answer">.*?</p>)', re.S
)  # question, answer
CHOICE = "choose"  # the notebook whose answer leads
GROUPS = {
    "How far to trust it": ("correlate", "disagree", "bias", "stability", "growth"),
    "What it rests on": ("pool", "judge", "summary"),
}


@dataclass(frozen=True)
class Page:
    """One executed notebook of a report: its answers, its caveats and its first figure, as markup."""

    path: Path
    title: str
    answers: tuple[str, ...]
    caveats: str = ""
    figure: str = ""


@dataclass(frozen=True)
class Failure:
    """A notebook that failed: where it is kept, its question, and what went wrong in one line."""

    path: Path
    title: str
    said: str


def write_index(out: Path, name: str, pages: Sequence[Page | Failure], lead: Sequence[str] = ()) -> Path:
    """Index page of one report: the choice, how far to trust it, what it rests on, then the files."""
    good = [p for p in pages if isinstance(p, Page)]
    failed = [
        {"href": p.path.name, "title": p.title, "said": p.said} for p in pages if isinstance(p, Failure)
    ]
    cards = {_subject(p): _card(p) for p in good}
    first = cards.pop(CHOICE, None)
    groups = [(title, [cards.pop(s) for s in subjects if s in cards]) for title, subjects in GROUPS.items()]
    groups.append(("More", list(cards.values())))
    kinds = ("figures", "tables")
    files = [f.relative_to(out).as_posix() for k in kinds for f in sorted((out / k).glob("*")) if f.is_file()]
    return _write(
        out / "index.html", "folder.html.j2", title=name, pages=links([p.path for p in good]), first=first,
        groups=[(title, shown) for title, shown in groups if shown], failed=failed, files=files, lead=list(lead),
    )  # fmt: skip


def write_contents(out: Path) -> Path:
    """Index page of a folder of reports: each with its answer, read from its own index page.

    A report has its executed notebooks beside its pages; a folder of pages alone is a copy, and not listed.
    """
    reports = []
    for path in sorted(p for p in out.glob("*/index.html") if any(p.parent.glob("*.ipynb"))):
        text = path.read_text(encoding="utf-8")
        title = re.search(r"<title>(.*?)</title>", text, re.S)
        answers = [f"<h3>{question}</h3>{said}" for question, said in ANSWERED.findall(text)[:2]]
        folder = path.parent.name
        reports.append(
            {"href": f"{folder}/index.html", "folder": folder, "answers": answers or [UNKNOWN],
             "title": html.unescape(title[1]) if title else folder}
        )  # fmt: skip
    return _write(out / "index.html", "contents.html.j2", title="Reports", reports=reports)


def _subject(page: Page) -> str:
    return re.sub(r"^\d\d-", "", page.path.stem)


def _card(page: Page) -> dict[str, Any]:
    return {
        "href": page.path.name, "title": page.title, "answer": page.answers[0] if page.answers else UNKNOWN,
        "caveats": page.caveats, "figure": page.figure,
    }  # fmt: skip


def _write(path: Path, template: str, **facts: Any) -> Path:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True
    )
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = environment.get_template(template).render(**dressing(), made=made, **facts)
    path.write_text(text, encoding="utf-8")
    return path
