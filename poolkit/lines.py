"""Lines of text to columns, and every problem by line.

A clean file is parsed fast. Where the fast parser balks, the file is read line by line, which either
names every problem or, where the file is merely untidy, returns its rows after all.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from poolkit.plain import foreign
from poolkit.tables import DataError

T = TypeVar("T")
BOM = b"\xef\xbb\xbf"
FIRST = 3
MOST = 1000  # problems listed per file


@dataclass(frozen=True)
class Problem:
    """One thing wrong or odd in a file."""

    path: Path
    line: int | None
    text: str
    warning: bool = False

    def __str__(self) -> str:
        folder = self.path.parent.name
        where = f"{folder}/{self.path.name}" if folder in ("runs", "qrels", "judgments") else self.path.name
        where += "" if self.line is None else f", line {self.line}"
        return f"{where}: {self.text}".encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True)
class Read(Generic[T]):
    """What a file holds, or why it cannot be read, and what is odd about it."""

    rows: T | None
    problems: list[Problem] = field(default_factory=list)

    def strict(self) -> T:
        """Return the rows, or raise one DataError that names the first problems and counts the rest."""
        errors = [p for p in self.problems if not p.warning]
        if self.rows is None or errors:
            rest = len(errors) - FIRST
            more = f"; and {rest} more. `poolkit check` lists them all." if rest > 0 else ""
            raise DataError("; ".join(str(p) for p in errors[:FIRST]) + more)
        return self.rows


def read_bytes(path: Path) -> bytes:
    """Content of a text file, unpacked if its first bytes say gzip, without a byte order mark.

    Refused: what is not UTF-8 by its first bytes, and a byte 0 anywhere, which no text holds.
    """
    if not path.is_file():
        what = "Is a directory" if path.is_dir() else "a broken link or a pipe"
        raise DataError(f"{path.name}: {what}, where a file is expected. Put a file here.")
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise DataError(f"{path.name}: the gzip data is damaged or cut short") from None
    if fault := foreign(data):
        raise DataError(f"{path.name}: {fault}")
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        said = "a byte 0, which no text holds. Is it a binary file, or UTF-16? Save it as UTF-8."
        raise DataError(f"{path.name}, line {line}: {said}")
    return data.removeprefix(BOM)


def lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Line numbers from 1, and the lines that are not blank."""
    for number, line in enumerate(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), start=1):
        if line.strip():
            yield number, line


def read_lines(path: Path) -> Read[list[tuple[int, str]]]:
    """Lines of a text file that are not blank, with their numbers; only line ends part lines."""
    try:
        data = read_bytes(path)
    except DataError as error:
        return Read(None, unreadable(path, error))
    rows, problems = [], []
    for number, line in lines(data):
        try:
            rows.append((number, line.decode("utf-8")))
        except UnicodeDecodeError:
            problems.append(Problem(path, number, "not UTF-8. Save the file as UTF-8."))
    return Read(rows, problems)


@dataclass(frozen=True)
class Form:
    """How a table of text lines is laid out."""

    columns: tuple[str, ...]
    keep: dict[str, pa.DataType]
    tabs_only: bool = False
    header: bool = False


PAIR = {"query_id": pa.string(), "doc_id": pa.string()}
RUN = Form(
    ("query_id", "Q0", "doc_id", "rank", "score", "tag"),
    PAIR | {"rank": pa.float64(), "score": pa.float64()},
)
TREC_QRELS = Form(("query_id", "iteration", "doc_id", "relevance"), PAIR | {"relevance": pa.float64()})
BEIR_QRELS = Form(("query_id", "doc_id", "relevance"), PAIR | {"relevance": pa.float64()}, True, True)


def _tidy(data: bytes, form: Form) -> bytes:
    """Columns apart by one space and no space at the ends, unless tabs alone part the columns."""
    return data if form.tabs_only else re.sub(rb"(?m)^ | $", b"", re.sub(rb"[ \t]+", b" ", data))


def _parsed(data: bytes, form: Form) -> pa.Table | None:
    """Columns as they stand: no quoting, no missing values, ids to the byte. None where cells are empty."""
    table = pacsv.read_csv(
        pa.BufferReader(data),
        pacsv.ReadOptions(column_names=list(form.columns), block_size=8 << 20, use_threads=False),
        pacsv.ParseOptions(delimiter="\t" if form.tabs_only else " ", quote_char=False),
        pacsv.ConvertOptions(
            column_types={name: form.keep.get(name, pa.binary()) for name in form.columns},
            null_values=[],
            strings_can_be_null=False,
        ),
    )
    texts = (column for column in table.columns if column.type != pa.float64())
    if not form.tabs_only and any(pc.min(pc.binary_length(column)).as_py() == 0 for column in texts):
        return None
    return table.select(list(form.keep))


def _fast(data: bytes, form: Form) -> pa.Table:
    """Rows by the fast parser; a space too many shows as an empty cell or as one cell too many."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if form.header:
        data = data.partition(b"\n")[2]
    if form.tabs_only or b"\t" not in data:
        with suppress(pa.ArrowInvalid):
            table = _parsed(data, form)
            if table is not None:
                return table
    table = _parsed(_tidy(data, form), form)
    if table is None:
        raise pa.ArrowInvalid("empty cells")
    return table


def _slow(path: Path, data: bytes, form: Form) -> Read[pa.Table]:
    """Line by line: every problem, or the rows after all."""
    problems: list[Problem] = []
    rows: list[dict[str, str | float]] = []
    last = data.count(b"\n") + 1
    for number, line in lines(data):
        if form.header and number == 1:
            continue
        if len(problems) >= MOST:
            problems.append(
                Problem(path, number, f"{MOST} problems so far; the rest of the file was not read")
            )
            break
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            problems.append(Problem(path, number, "not UTF-8. Save the file as UTF-8."))
            continue
        cells = text.split("\t") if form.tabs_only else re.split("[ \t]+", text.strip(" \t"))
        if len(cells) != len(form.columns):
            cut = " The last line looks cut off." if number == last and len(cells) < len(form.columns) else ""
            wanted = ", ".join(form.columns)
            said = f"{len(cells)} columns where {len(form.columns)} are expected ({wanted}).{cut}"
            problems.append(Problem(path, number, said))
            continue
        row: dict[str, str | float] = {}
        for name, cell in zip(form.columns, cells, strict=True):
            if form.keep.get(name) == pa.float64():
                try:
                    row[name] = float(cell)
                except ValueError:
                    problems.append(Problem(path, number, f"{name} is {cell!r}, which is not a number"))
            elif name in form.keep:
                row[name] = cell
        if len(row) == len(form.keep):
            rows.append(row)
    return Read(
        None if problems else pa.Table.from_pylist(rows, pa.schema(list(form.keep.items()))), problems
    )


def read_columns(path: Path, data: bytes, form: Form) -> Read[pa.Table]:
    """Rows of a table of text lines."""
    if not data.strip() or (form.header and not data.partition(b"\n")[2].strip()):
        return Read(None, [Problem(path, None, "the file is empty")])
    try:
        table = _fast(data, form)
    except pa.ArrowInvalid:
        return _slow(path, data, form)
    if any(table[name].null_count for name in form.keep):
        return _slow(path, data, form)
    return Read(table)


def unreadable(path: Path, error: Exception) -> list[Problem]:
    """Problem of a file that could not be read, with its line where the error names one."""
    said, line = str(error), None
    if found := re.match(
        rf"{re.escape(path.name)}(?:, line (\d+)(?:, ([\d, ]+(?: and \d+ more)?))?)?: ", said
    ):
        line = int(found[1]) if found[1] else None
        said = said[found.end() :] + (f" Also line {found[2]}." if found[2] else "")
    return [Problem(path, line, said)]
