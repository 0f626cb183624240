"""Results as tables and sentences for a notebook: decimals, counts, escaping."""

import base64
import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from poolkit.resample import Interval

ROWS = 40  # a page shows this many rows of a long table; the CSV has all


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


def with_interval(found: Interval) -> str:
    """Value and interval as text, decimals by the interval's width.

    Examples
    --------
    >>> with_interval(Interval(0.6123, 0.5712, 0.6498, 0.95, np.empty(0)))
    '0.612 [0.571, 0.650]'
    """
    if np.isnan(found.value):
        return "undefined"
    places = decimals_for(found.high - found.low)
    if np.isnan(found.low):
        return f"{found.value:.{places}f}"
    return f"{found.value:.{places}f} [{found.low:.{places}f}, {found.high:.{places}f}]"


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
    every = [str(x) for x in items]  # type: ignore[attr-defined]
    if not every:
        return "none"
    if len(every) > first:
        return f"{', '.join(every[:first])} and {len(every) - first} more"
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"


def sentence(text: str, *, kind: str = "reading") -> Html:
    """Text as a paragraph, escaped: names in it come from files. `kind` is the CSS class."""
    return Html(f'<p class="{kind}">{html.escape(text)}</p>', text)


def answer(text: str) -> Html:
    """The sentence that answers a notebook's question."""
    return sentence(text, kind="answer")


def notes(found: object) -> Html:
    """Sentences about what cannot be known, as a list; nothing if there are none."""
    return facts(found, kind="notes")


def facts(found: object, *, kind: str = "facts") -> Html:
    """Sentences as a list, escaped; `kind` is the CSS class."""
    lines = [str(x) for x in found]  # type: ignore[attr-defined]
    if not lines:
        return Html("", "")
    items = "".join(f"<li>{html.escape(x)}</li>" for x in lines)
    return Html(f'<ul class="{kind}">{items}</ul>', "\n".join(lines))


def cell(value: object, form: str) -> str:
    """One table cell as text. Missing numbers are a dash."""
    if isinstance(value, Interval):
        return with_interval(value).replace(" ", "\u00a0")  # never broken over lines
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or value is pd.NA or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "\u2013"
    if isinstance(value, int | np.integer):
        return format(int(value), form or ",")
    if isinstance(value, float | np.floating):
        return format(float(value), form or ".3f")
    return str(value)


def level(value: object) -> str:
    """Level of a factor as text: 64.0 is 64, and an empty cell is called so."""
    text = format(value, ".6g") if isinstance(value, float) else str(value)
    return "(empty)" if text in ("", "nan") else text


def table(
    frame: pd.DataFrame, caption: str, *, formats: Mapping[str, str] | None = None, rows: int = ROWS
) -> Html:
    """Table as escaped HTML, numbers to the right.

    Parameters
    ----------
    frame : DataFrame
        A named or non-trivial index becomes the first column.
    caption : str
        What, n queries, interval kind, resamples; then the reading.
    formats : mapping of str to str
        Format specification by column, such as {"reuse": ".1%"}.
    rows : int
        Rows shown; the caption says how many there are.
    """
    if frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex):
        frame = frame.rename_axis(index=str(frame.index.name or "")).reset_index()
    forms = dict(formats or {})
    for name, column in frame.items():
        if pd.api.types.is_float_dtype(column) and str(name) not in forms and _whole(column):
            forms[str(name)] = ",.0f"
    shown = frame.head(rows)
    if len(frame) > rows:
        caption += f" First {rows} of {len(frame):,} rows; the CSV has all."
    numeric = [pd.api.types.is_numeric_dtype(t) and not pd.api.types.is_bool_dtype(t) for t in frame.dtypes]
    heads = [str(c).replace("_", " ") for c in frame.columns]
    head = "".join(
        f'<th scope="col"{_right(n)}>{html.escape(h)}</th>' for h, n in zip(heads, numeric, strict=True)
    )
    body, lines = [], ["\t".join(heads)]
    for row in shown.itertuples(index=False):
        cells = [cell(v, forms.get(str(c), "")) for c, v in zip(frame.columns, row, strict=True)]
        lines.append("\t".join(cells))
        marks = (f"<td{_right(n)}>{html.escape(c)}</td>" for c, n in zip(cells, numeric, strict=True))
        body.append(f"<tr>{''.join(marks)}</tr>")
    markup = (
        f'<figure class="table"><figcaption>{html.escape(caption)}</figcaption><div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div></figure>"
    )
    return Html(markup, f"{caption}\n" + "\n".join(lines))


def _whole(column: pd.Series) -> bool:
    """Whether numbers stored as floats, for want of some, are whole numbers and not shares."""
    values = column.dropna()
    return bool(len(values) and (values == values.round()).all() and values.abs().max() > 1)


def picture(svg: str, caption: str) -> Html:
    """SVG image as a data address, so that a page needs no other file, with its caption."""
    data = base64.b64encode(svg.encode()).decode()
    said = html.escape(caption)
    image = f'<img alt="{said}" src="data:image/svg+xml;base64,{data}">'
    markup = f"<figure><figcaption>{said}</figcaption>{image}</figure>"
    return Html(markup, f"[figure] {caption}")


def _right(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


def listed_rows(facts: Iterable[tuple[str, object]]) -> pd.DataFrame:
    """Facts as a table of two columns."""
    return pd.DataFrame([(name, value) for name, value in facts], columns=["fact", "value"])


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
        facts = " \u00b7 ".join(f"{k} {v}" for k, v in said)
        blocks.append(
            f"<article><h4>{html.escape(doc)} {html.escape(title)}</h4>"
            f'<p class="facts">{html.escape(facts)}</p>'
            f"<p>{html.escape(text)}</p></article>"
        )
        lines.append(f"{doc} {title} ({facts}): {text}")
    markup = (
        f'<figure class="passages"><figcaption>{html.escape(caption)}</figcaption>{"".join(blocks)}</figure>'
    )
    return Html(markup, "\n".join(lines))
