"""Tables on a page: escaped, intervals in one column, explained; the page's script sorts and copies them."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from poolkit.display import Html, cell
from poolkit.glossary import meaning, words
from poolkit.plain import CELL, escaped
from poolkit.resample import Interval

ROWS = 40  # rows that are seen at first
MANY = 12  # columns beyond which heads are broken anywhere, to fit a sheet of paper
SHORT = 32  # characters that are kept on one line
HELD = 2_000  # rows that the page holds; the CSV has all


def table(
    frame: pd.DataFrame,
    caption: str,
    *,
    formats: Mapping[str, str] | None = None,
    rows: int = ROWS,
    sides: Mapping[str, str] | None = None,
) -> Html:
    """Table as escaped HTML, numbers to the right.

    Parameters
    ----------
    frame : DataFrame
        A named or non-trivial index becomes the first column. Columns x, x_low and x_high become one.
    caption : str
        What, n queries, interval kind, resamples; then the reading.
    formats : mapping of str to str
        Format specification by column, such as {"reuse": ".1%"}; one that begins with + signs an interval.
    rows : int
        Rows seen at first; the caption says how many there are.
    sides : mapping of str to str
        Titles of the labels that columns call human and judge.
    """
    if frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex):
        frame = frame.rename_axis(index=str(frame.index.name or "")).reset_index()
    frame = with_intervals(frame)
    forms = dict(formats or {})
    for name, column in frame.items():
        if pd.api.types.is_float_dtype(column) and str(name) not in forms and _whole(column):
            forms[str(name)] = ",.0f"
    if len(frame) > rows:
        caption += f" First {rows} of {len(frame):,} rows; the CSV has all."
    right = [_is_numeric(column) for _, column in frame.items()]
    heads = [words(c, sides) for c in frame.columns]
    told = [meaning(c, sides) for c in frame.columns]
    lines = ["\t".join(heads)]
    body = []
    for at, row in enumerate(frame.head(HELD).itertuples(index=False)):
        cells = [cell(v, forms.get(str(c), "")) for c, v in zip(frame.columns, row, strict=True)]
        if at < rows:
            lines.append("\t".join(cells))
        marks = (_mark(text, n) for text, n in zip(cells, right, strict=True))
        body.append(f"<tr{' hidden' if at >= rows else ''}>{''.join(marks)}</tr>")
    if not body:
        body = [f'<tr><td colspan="{max(1, len(heads))}">none</td></tr>']
    head = "".join(_head(h, why, n) for h, why, n in zip(heads, told, right, strict=True))
    wide = ' class="wide"' if len(heads) > MANY else ""
    first = f' data-all="Show the first {HELD:,} rows"' if len(frame) > HELD else ""
    markup = (
        f'<figure class="table"><figcaption>{escaped(caption)}</figcaption>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="table"><table{wide} data-rows="{rows}"{first}>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
        f"{_terms(zip(heads, told, strict=True))}</figure>"
    )
    return Html(markup, f"{caption}\n" + "\n".join(lines))


def with_intervals(frame: pd.DataFrame) -> pd.DataFrame:
    """Table in which a value and the two ends of its interval are one column.

    The ends of x are called x_low and x_high, or low and high right after it.
    """
    columns: dict[object, object] = {}
    names, taken = list(frame.columns), set[object]()
    for at, name in enumerate(names):
        if name in taken:
            continue
        low, high = f"{name}_low", f"{name}_high"
        if names[at + 1 : at + 3] == ["low", "high"]:
            low, high = "low", "high"
        if low not in names or high not in names:
            columns[name] = frame[name]
            continue
        taken |= {low, high}
        found = zip(*(frame[c].astype(float) for c in (name, low, high)), strict=True)
        made = [None if np.isnan(v) else Interval(v, a, b, np.nan, np.empty(0)) for v, a, b in found]
        columns[name] = pd.Series(made, index=frame.index, dtype=object)
    return pd.DataFrame(columns, index=frame.index)


def _is_numeric(column: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(column.dtype):
        return not pd.api.types.is_bool_dtype(column.dtype)
    return bool(column.map(lambda v: isinstance(v, Interval)).any())


def _whole(column: pd.Series) -> bool:
    """Whether numbers stored as floats, for want of some, are whole numbers and not shares."""
    values = column.dropna()
    return bool(len(values) and (values == values.round()).all() and values.abs().max() > 1)


def _mark(text: str, numeric: bool) -> str:
    """Cell; one that is not plain ASCII writes in its own direction."""
    way = "" if text.isascii() or numeric else ' dir="auto"'
    short = ' class="s"' if len(text) <= SHORT and not numeric else _right(numeric)
    return f"<td{short}{way}>{escaped(text, CELL)}</td>"


def _head(text: str, why: str, numeric: bool) -> str:
    said = escaped(text, CELL)
    if why:
        said = f'<abbr title="{escaped(why)}">{said}</abbr>'
    return f'<th scope="col"{_right(numeric)}>{said}</th>'


def _right(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


def _terms(told: Iterable[tuple[str, str]]) -> str:
    """What the columns mean, for those who have no pointer to rest on a head."""
    listed = [f"<dt>{escaped(head, CELL)}</dt><dd>{escaped(why)}</dd>" for head, why in told if why]
    if not listed:
        return ""
    return (
        f'<details class="terms"><summary>What the columns mean</summary><dl>{"".join(listed)}</dl></details>'
    )


def listed_rows(facts: Iterable[tuple[str, object]]) -> pd.DataFrame:
    """Facts as a table of two columns."""
    return pd.DataFrame([(name, value) for name, value in facts], columns=["fact", "value"])
