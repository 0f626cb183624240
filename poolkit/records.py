"""Judgments on file: a JSONL line each, read fast and strictly; which of them count."""

import io
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.json

from poolkit.plain import foreign
from poolkit.tables import DataError, listed

SCHEMA, LARGE = 1, 2**63
BLOCK = 1 << 26  # bytes read at once
TEXT = ("query_id", "doc_id", "thought", "status", "note", "model", "asked")
HASHES = ("prompt_hash", "query_hash", "text_hash")
COUNTS = ("calls", "tokens_in", "tokens_cached", "tokens_out")
FIELDS: dict[str, pa.DataType] = {
    **{name: pa.string() for name in (*TEXT, *HASHES, "parameters", "sent", "key", "time")},
    **{name: pa.int64() for name in ("schema", "relevance", "replicate", "cut", *COUNTS)},
    "usd": pa.float64(),
}
FAILURES = ("unreadable", "out of scale", "truncated", "refused", "filtered", "too long", "endpoint")


def read_records(path: Path) -> pd.DataFrame:
    """Every line of a judgments file, in order, checked: one row a line, with the columns of `FIELDS`.

    Parameters
    ----------
    path : Path
        A .jsonl file; only query_id, doc_id and relevance must be in it.

    Returns
    -------
    DataFrame

    Notes
    -----
    A last line that is cut off is left out with a warning; any other fault is a DataError with its line.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            tail, whole = last_line(file)
            if not tail.strip() or is_record(tail):
                whole += len(tail)
            else:
                line = 1 + sum(block.count(b"\n") for block in _blocks(file, whole))
                text = f"{path.name}, line {line}: the last line is cut off and left out. "
                warnings.warn(f"{text}`poolkit judge` mends it.", stacklevel=2)
            table, lines = _fast(file, whole), None
            if table is None:  # slow, but it knows the lines and says what is wrong with them
                table, lines = _read_lines(path.name, b"".join(_blocks(file, whole)))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}.") from None
    frame = _frame(table)
    frame["replicate"] = frame["replicate"].fillna(0)
    frame["status"] = frame["status"].where(frame["status"].notna() | frame["relevance"].isna(), "ok")
    _check(path.name, frame, lines)
    return frame


def _fast(file: BinaryIO, end: int) -> pa.Table | None:
    """Records up to a place; None where a line is blank, or is not what it should be."""
    options = pa.json.ParseOptions(pa.schema(FIELDS.items()), unexpected_field_behavior="ignore")
    tables = [pa.table({name: pa.array([], kind) for name, kind in FIELDS.items()})]
    for block in _blocks(file, end):
        try:
            table = pa.json.read_json(
                pa.BufferReader(block), pa.json.ReadOptions(block_size=1 << 23), options
            )
            for column in table.columns:
                column.validate(full=True)  # is it UTF-8
        except pa.ArrowInvalid:
            return None
        if table.num_rows != block.count(b"\n") + (not block.endswith(b"\n")):
            return None
        tables.append(table)
    return pa.concat_tables(tables)


def _blocks(file: BinaryIO, end: int) -> Iterator[bytes]:
    """Content of a file up to a place, many whole lines at a time."""
    rest, left = b"", end - file.seek(0)
    while left > 0 and (block := file.read(min(BLOCK, left))):
        left -= len(block)
        cut = block.rfind(b"\n") + 1 if left else len(block)
        if cut:
            yield rest + block[:cut]
            rest = b""
        rest += block[cut:]
    if rest:
        yield rest


def last_line(file: BinaryIO) -> tuple[bytes, int]:
    """What follows the last newline of a file, and where it starts; a file in another encoding is refused."""
    file.seek(0)
    if (head := file.read(4)).strip(b"\0") and (fault := foreign(head)):  # zeros alone: a crash left them
        raise DataError(f"{Path(file.name).name}: {fault}")
    start = file.seek(0, io.SEEK_END)
    tail = b""
    while start > 0 and b"\n" not in tail:
        step = min(1 << 16, start)
        start = file.seek(start - step)
        tail = file.read(step) + tail
    cut = tail.rfind(b"\n") + 1
    return tail[cut:], start + cut


def read_judgments(path: Path) -> pd.DataFrame:
    """The judgments that count: of each query, document and replicate the newest.

    Parameters
    ----------
    path : Path

    Returns
    -------
    DataFrame
        As `read_records`; relevance is missing where the judgment failed, never 0.
    """
    return newest(read_records(path))


def no_records() -> pd.DataFrame:
    """A table of records without a row."""
    return _frame(pa.table({name: pa.array([], kind) for name, kind in FIELDS.items()}))


def copied(record: Mapping[str, Any], query_id: str, doc_id: str) -> dict[str, Any]:
    """A known answer for another pair of the same content, or shown again: it cost nothing."""
    bare = {name: value.item() if isinstance(value, np.generic) else value for name, value in record.items()}
    plain = {name: None if pd.isna(value) else value for name, value in bare.items()}
    free = {"calls": 0, "tokens_in": 0, "tokens_cached": 0, "tokens_out": 0, "usd": 0.0}
    return {**plain, **free, "query_id": query_id, "doc_id": doc_id, "time": now()}


def newest(records: pd.DataFrame) -> pd.DataFrame:
    """Of each query, document and replicate one record: of its newest key the newest grade, else failure."""
    pair = ["query_id", "doc_id", "replicate"]
    twice = records.duplicated(pair, keep=False)
    if not twice.any():
        return records.reset_index(drop=True)
    key, at = records["key"].fillna(""), records["time"].fillna("")
    many = (
        records[twice]
        .assign(_key=key, _at=at, _ok=records["status"].eq("ok"))
        .sort_values("_at", kind="stable")
    )
    current = many[many["_key"].eq(many.groupby(pair)["_key"].transform("last"))]
    best = current.sort_values(["_ok", "_at"], kind="stable").drop_duplicates(pair, keep="last")
    return records.loc[np.sort(records.index[~twice].append(best.index))].reset_index(drop=True)


def _frame(table: pa.Table) -> pd.DataFrame:
    """As a DataFrame whose whole numbers stay whole where some are missing."""
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get, self_destruct=True)


def _check(name: str, frame: pd.DataFrame, lines: Sequence[int] | None) -> None:
    """Refuse records that cannot be what they claim to be, with their lines."""

    def refuse(wrong: pd.Series, what: str) -> None:
        if wrong.any():
            at = np.flatnonzero(wrong.to_numpy(dtype=bool, na_value=False))
            where = [lines[int(i)] if lines else int(i) + 1 for i in at]
            raise DataError(f"{name}, line {listed(where)}: {what}")

    status, grade = frame["status"], frame["relevance"]
    refuse(
        frame["schema"].fillna(SCHEMA).gt(SCHEMA),
        f"written by a newer poolkit; this one knows schema {SCHEMA}.",
    )
    for column in ("query_id", "doc_id"):
        refuse(frame[column].isna() | frame[column].eq(""), f"{column} is missing.")
    refuse(
        status.isna(),
        "neither a relevance nor a status. Give relevance, or a status that says why there is none.",
    )
    known = ("ok", *FAILURES)
    refuse(~status.isin(known), f"unknown status; known are {', '.join(known)}.")
    refuse(status.eq("ok") & grade.isna(), "status is 'ok' but relevance is null.")
    refuse(
        status.ne("ok") & grade.notna(),
        "a failed judgment has a relevance. A failure is never a grade: make it null.",
    )
    for column in ("replicate", *COUNTS, "usd"):
        refuse(frame[column].lt(0), f"{column} is negative. Mend or delete it.")
    refuse(frame["usd"].eq(math.inf), "usd is infinite.")
    graded = frame.loc[status.eq("ok") & frame["key"].notna(), ["key", "relevance"]]
    if graded["key"].duplicated().any():
        odd = graded.groupby("key")["relevance"].transform("nunique").gt(1)
        wrong = pd.Series(frame.index.isin(graded.index[odd]))
        refuse(
            wrong, "one key with different grades. Keep one of them, or give the other a replicate number."
        )


def _read_lines(name: str, data: bytes) -> tuple[pa.Table, list[int]]:
    """Records line by line, and the number of each one's line."""
    rows, lines = [], []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            record = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            what = "UTF-8" if isinstance(error, UnicodeDecodeError) else "JSON"
            raise DataError(
                f"{where}: not {what}: {line[:60].decode('utf-8', 'replace')!r}. Mend or delete it."
            ) from None
        if not isinstance(record, dict):
            raise DataError(f"{where}: not an object: {line[:60].decode('utf-8', 'replace')!r}.")
        rows.append({field: _value(where, field, kind, record.get(field)) for field, kind in FIELDS.items()})
        lines.append(number)
    return pa.Table.from_pylist(rows, schema=pa.schema(FIELDS.items())), lines


def _value(where: str, field: str, kind: pa.DataType, value: Any) -> Any:
    """A field's value in its kind."""
    if value is None:
        return value
    if kind == pa.string() and isinstance(value, str):
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise DataError(f"{where}: {field} holds half a character (a lone surrogate). Mend or delete it.")
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool) and -LARGE <= value < LARGE
    if kind == pa.float64() and number:
        return float(value)
    if kind == pa.int64() and number and value == int(value):
        return int(value)
    wanted = {pa.string(): "text in quotes", pa.int64(): "a whole number or null"}.get(
        kind, "a number or null"
    )
    shown = repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:40]}.."
    most = ", below 2**63" if type(value) in (int, float) and not abs(value) < LARGE else ""
    raise DataError(f"{where}: {field} is {shown}; it must be {wanted}{most}.")


def is_record(line: bytes) -> bool:
    """Whether a line is a whole JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def now() -> str:
    """Time in UTC, as records write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
