"""Judgments made elsewhere into a collection's own: by identity, and only of the texts that are there now."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from poolkit.collection import Collection, read_collection
from poolkit.display import count
from poolkit.identity import Judge, judge_from
from poolkit.outdated import other_settings, query_hashes, text_hashes
from poolkit.records import newest, read_records
from poolkit.store import Store
from poolkit.tables import DataError, listed

SAME = ["query_id", "doc_id", "replicate", "key", "status", "relevance", "time", "calls"]  # one row, not two
ORDER = ["query_id", "doc_id", "replicate", "time"]


def merge_judgments(other: Path, folder: Path, *, judge: str = "", sort: bool = False) -> list[str]:
    """Take the rows of another judgments file that are not there yet; all of them, or on an error none.

    Parameters
    ----------
    other : Path
        Made by the same judge, on another machine say. The judge's own file serves to sort it.
    folder : Path
        The collection.
    judge : str
        Whose judgments these are; else the file's name says it.
    sort : bool
        Put the judge's file in the order of query, document, replicate and time; no row is lost.

    Returns
    -------
    list of str
        What was done, in words.

    Raises
    ------
    DataError
        Where a row was made of another query or document text than the collection has now, or gives another
        grade than a row that is there to the same key.
    """
    name = judge or other.stem
    collection = read_collection(folder)
    settings = collection.config["judges"].get(name, {"kind": "none"})
    whose = judge_from(name, settings, folder)
    if name in collection.labels and collection.labels[name].human:
        raise DataError(
            f"judge {name!r}: the human labels in qrels/ have this name. Give another with --judge."
        )
    records, lines = _read(other)
    _refuse_other_texts(other, records, lines, collection, whose)
    path = folder / "judgments" / f"{name}.jsonl"
    with Store(folder / ".cache", path) as store:
        own, own_lines = _read(path)
        both = pd.concat([own, records], ignore_index=True)
        text = [line for _, line in (*own_lines, *lines)]
        fresh = ~both.duplicated(SAME) | (both.index < len(own))
        new = int(fresh.sum()) - len(own)
        _refuse_other_grades(other, records[fresh[len(own) :].to_numpy()], lines, own, path)
        kept = both[fresh].sort_values(ORDER, kind="stable", na_position="first") if sort else both[fresh]
        if new or sort:
            store.rewrite(text[at] for at in kept.index)
    said = [f"{path}: {count(new, 'row')} new, {len(records) - new:,} known already, from {other}"]
    said += ["sorted by query, document, replicate and time"] if sort else []
    if bare := int(records["text_hash"].isna().sum()):
        said.append(f"{count(bare, 'row')} without a text hash: nobody can say which text they judged")
    if old := int(other_settings(records, whose).sum()):
        said.append(f"{count(old, 'row')} of another model, prompt or parameters than {name} has now")
    return said


def _read(path: Path) -> tuple[pd.DataFrame, list[tuple[int, bytes]]]:
    """Records of a file, and each one's line as it stands, with its number."""
    records = read_records(path)
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    lines = [(number, line.rstrip(b"\r")) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    return records, lines[: len(records)]


def _refuse(other: Path, lines: list[tuple[int, bytes]], at: Iterable[int], what: str) -> None:
    numbers = [lines[i][0] for i in at]
    raise DataError(f"{other.name}, line {listed(numbers)}: {what}")


def _refuse_other_texts(
    other: Path, records: pd.DataFrame, lines: list[tuple[int, bytes]], collection: Collection, judge: Judge
) -> None:
    """Refuse rows that were made of other texts than the collection's, and rows that nobody can compare."""
    corpus = collection.corpus()
    ids = records.loc[records["text_hash"].notna(), "doc_id"]
    documents = text_hashes(judge, corpus.loc[corpus.index.isin(ids)], collection.folder)
    for column, file, now in (
        ("query_hash", "queries", query_hashes(collection.queries)),
        ("text_hash", "corpus.jsonl", documents),
    ):
        what, rows = column[:-5].replace("text", "doc"), records[records[column].notna()]
        found = rows[f"{what}_id"].map(now)
        if found.isna().any():
            at = rows.index[found.isna()]
            ids = rows[f"{what}_id"][at]
            _refuse(
                other, lines, at, f"{file} has no {listed(ids.unique())}, so its text cannot be compared."
            )
        if (found != rows[column]).any():
            at = rows.index[found != rows[column]]
            said = f"{listed(rows[f'{what}_id'][at].unique())} had another text when this was judged"
            _refuse(other, lines, at, f"{said}. Leave the row out, or put that text back.")


def _refuse_other_grades(
    other: Path, records: pd.DataFrame, lines: list[tuple[int, bytes]], own: pd.DataFrame, path: Path
) -> None:
    """Refuse a second grade for a key, or where a row has no key for its query, document and replicate."""

    def grades(rows: pd.DataFrame) -> pd.Series:
        good = rows[rows["status"].eq("ok")]
        ids = good["query_id"] + "\0" + good["doc_id"] + "\0" + good["replicate"].astype(str)
        return good["relevance"].set_axis(good["key"].fillna(ids))

    mine = grades(newest(own[own["key"].isna()])), grades(own[own["key"].notna()])
    known = pd.concat(mine)
    known = known[~known.index.duplicated()]
    theirs = grades(records)
    there = pd.Series(known.reindex(theirs.index).to_numpy(), records.index[records["status"].eq("ok")])
    differs = there.notna() & (there.to_numpy() != theirs.to_numpy())
    if differs.any():
        at = there.index[differs]
        first = records.loc[at[0]]
        what = f"query {first['query_id']}, document {first['doc_id']} has the grade {first['relevance']}"
        _refuse(
            other, lines, at, f"{what} here and {there[at[0]]} in {path.name} under one key. Leave one out."
        )
