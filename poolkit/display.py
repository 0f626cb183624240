"""Results as tables and sentences for a notebook: decimals, counts, escaping."""

import base64
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from poolkit.plain import CELL, NAME, escaped, isolated, named, shortened, visible
from poolkit.resample import Interval

PASSAGE = 6_000  # characters of a document's text that a page holds
FOLD = 700  # a longer text opens on a click
_SIZE = re.compile(r'\b(width|height)="([\d.]+)pt"')  # of an SVG image, in points: 4 pixels are 3
OPENING = 160  # characters of it that are seen


@dataclass(frozen=True)
class Html:
    """Markup that a notebook renders; `text` is the same in plain words."""

    markup: str
    text: str

    def _repr_html_(self) -> str:
        return self.markup

    def __repr__(self) -> str:
        return self.text


def decimals_for(width: float, *, most: int = 4) -> int:
    """Decimals that an interval of this width supports: two significant digits of the width."""
    if not np.isfinite(width) or width <= 0:
        return most - 1
    return int(np.clip(1 - np.floor(np.log10(width)), 0, most))


def with_interval(found: Interval, *, sign: str = "") -> str:
    """Value and interval as text, decimals by the interval's width; sign "+" for differences.

    Examples
    --------
    >>> with_interval(Interval(0.6123, 0.5712, 0.6498, 0.95, np.empty(0)))
    '0.612 [0.571, 0.650]'
    """
    if np.isnan(found.value):
        return "undefined"
    places = decimals_for(found.high - found.low)
    if np.isnan(found.low):
        return f"{found.value:{sign}z.{places}f}"
    value, low, high = (f"{x:{sign}z.{places}f}" for x in (found.value, found.low, found.high))
    return f"{value} [{low}, {high}]"


def count(n: float, noun: str, plural: str = "") -> str:
    """Count with its noun, thousands parted.

    Examples
    --------
    >>> count(1, "pair"), count(1891, "pair"), count(2, "query", "queries")
    ('1 pair', '1,891 pairs', '2 queries')
    """
    return f"{n:,.0f} {noun if n == 1 else plural or noun + 's'}"


def form(n: float, one: str = "is", many: str = "are") -> str:
    """Form of a word that agrees with a number."""
    return one if n == 1 else many


def percent(share: float, places: int = 1) -> str:
    """Share as a percentage; the word undefined for NaN."""
    return "undefined" if np.isnan(share) else f"{100 * share:.{places}f} %"


def p_value(p: float) -> str:
    """P-value as text, never 0."""
    return "undefined" if np.isnan(p) else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def names(items: object, *, first: int = 5) -> str:
    """Names as a list in prose, the rest counted."""
    every = [named(x) for x in items]  # type: ignore[attr-defined]
    if not every:
        return "none"
    if len(every) > first:
        return f"{', '.join(every[:first])} and {len(every) - first} more"
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"


def sentence(text: str, *, kind: str = "reading") -> Html:
    """Text as a paragraph, escaped: names in it come from files. `kind` is the CSS class."""
    return Html(f'<p class="{kind}">{_prose(text)}</p>', visible(text))


def _prose(text: str) -> str:
    """Escaped text: numbers keep their percent sign, commands look like commands, "page Pool" may be linked."""
    markup = re.sub(r"(?<=\d) (?=%|\[[-+]?\d)", "\u00a0", escaped(text))
    markup = re.sub(r"(\[[-+]?[\d.]+,) (?=[-+]?[\d.]+\])", "\\1\u00a0", markup)
    markup = re.sub(r"`(poolkit [^`]*)`", r"<code>\1</code>", markup)
    return re.sub(r"(?<=\bpage )([A-Z][a-z]+)\b", r'<a class="page">\1</a>', markup)


def answer(verdict: str, text: str = "") -> Html:
    """What answers a notebook's question: the verdict in bold, then what it rests on."""
    markup = f"<strong>{_prose(verdict)}</strong> {_prose(text)}" if text else _prose(verdict)
    return Html(f'<p class="answer">{markup}</p>', visible(f"{verdict} {text}".strip()))


def together(*parts: Html) -> Html:
    """Several things to show as one, one below the other."""
    return Html("".join(p.markup for p in parts), "\n".join(p.text for p in parts if p.text))


def missing(text: str) -> Html:
    """Why something is not shown, in its place; a page gathers sections that have nothing else."""
    return sentence(text, kind="hole")


def notes(found: object) -> Html:
    """Sentences about what cannot be known, each once, as a list; nothing if there are none."""
    return facts(dict.fromkeys(str(x) for x in found), kind="notes")  # type: ignore[attr-defined]


def facts(found: object, *, kind: str = "facts") -> Html:
    """Sentences as a list, escaped; `kind` is the CSS class."""
    lines = [str(x) for x in found]  # type: ignore[attr-defined]
    if not lines:
        return Html("", "")
    items = "".join(f'<li dir="auto">{_prose(x)}</li>' for x in lines)
    return Html(f'<ul class="{kind}">{items}</ul>', visible("\n".join(lines)))


def cell(value: object, form: str) -> str:
    """One table cell as text. Missing numbers are a dash."""
    if isinstance(value, Interval):
        sign = "+" if form.startswith("+") else ""
        return with_interval(value, sign=sign).replace(" ", "\u00a0")  # never broken over lines
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or value is pd.NA or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "\u2013"
    if isinstance(value, int | np.integer):
        return format(int(value), form or ",")
    if isinstance(value, float | np.floating):
        return format(float(value), form or ".3f").replace("%", "\u00a0%")
    return str(value)


def level(value: object) -> str:
    """Level of a factor as text: 64.0 is 64, and an empty cell is called so."""
    text = format(value, ".6g") if isinstance(value, float) else str(value)
    return "(empty)" if text in ("", "nan") else text


def picture(svg: str, caption: str) -> Html:
    """SVG image as a data address, so that a page needs no other file, with its caption."""
    data = base64.b64encode(svg.encode()).decode()
    said = escaped(caption)
    size = "".join(
        f' {k}="{round(float(n) * 4 / 3)}"'
        for k, n in _SIZE.findall(svg[: svg.find(">", svg.find("<svg")) + 1])
    )
    image = f'<img loading="lazy"{size} alt="{said}" src="data:image/svg+xml;base64,{data}">'
    markup = f"<figure><figcaption>{said}</figcaption>{image}</figure>"
    return Html(markup, f"[figure] {caption}")


def passages(pairs: pd.DataFrame, corpus: pd.DataFrame, caption: str, *, rows: int = 6) -> Html:
    """Documents of a table of pairs with their texts, escaped; ids alone where there is no text.

    Parameters
    ----------
    pairs : DataFrame
        Columns query_id and doc_id, then whatever is to be shown beside the text.
    corpus : DataFrame
        By doc_id: title, text.
    """
    blocks, lines = [], [caption]
    for row in pairs.head(rows).to_dict("records"):
        doc = str(row["doc_id"])
        title, text = ("", "(no text in this collection)")
        if doc in corpus.index:
            title, text = str(corpus.at[doc, "title"]), str(corpus.at[doc, "text"])
        said = [(str(k).replace("_", " "), cell(v, "")) for k, v in row.items() if k != "doc_id"]
        facts = " \u00b7 ".join(f"{k} {shortened(v, CELL)}" for k, v in said)
        blocks.append(
            f"<article><h4>{isolated(doc, NAME)} {isolated(title, CELL)}</h4>"
            f'<p class="facts">{isolated(facts)}</p>{folded(text)}</article>'
        )
        lines.append(f"{doc} {title} ({facts}): {text}")
    markup = f'<figure class="passages"><figcaption>{escaped(caption)}</figcaption>{"".join(blocks)}</figure>'
    return Html(markup, visible("\n".join(shortened(line, PASSAGE) for line in lines)))


def folded(text: str) -> str:
    """Markup of a document's text, escaped: a long one opens on a click, an endless one is cut."""
    cut = text if len(text) <= PASSAGE else f"{text[:PASSAGE]}\u2026"
    said = f'<p dir="auto">{escaped(cut, PASSAGE + 1)}</p>'
    if len(text) <= FOLD:
        return said
    size = f"{len(text):,} characters" + (f", the first {PASSAGE:,} shown" if cut is not text else "")
    start = isolated(f"{text[:OPENING].rsplit(' ', 1)[0]}\u2026")
    return f'<details class="text"><summary>{start} <small>{size}</small></summary>{said}</details>'
