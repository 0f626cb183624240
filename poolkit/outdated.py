"""Grades that were given to something else than is there now: another text, prompt, model or setting."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from poolkit import prompt as pr
from poolkit.display import count
from poolkit.identity import BUILT_IN, FILLED, FREE, Judge, asked, judge_from, short_hash, shown
from poolkit.tables import DataError, listed

CAUSES = {
    "query": "another query text",
    "document": "another document text",
    "judge": "another model, prompt or parameters",
}
COMPARED = ["query_id", "doc_id", "query_hash", "text_hash", "asked", "parameters", "prompt_hash"]


def query_hashes(queries: pd.DataFrame) -> dict[str, str]:
    """Hash of each query's text, as records keep it."""
    return {str(query): short_hash(str(text)) for query, text in queries["text"].items()}


def text_hashes(judge: Judge | None, corpus: pd.DataFrame, folder: Path) -> dict[str, str]:
    """Hash of what is sent of each document of a corpus, as records keep it."""
    pairs = corpus.reset_index(names="doc_id").assign(query_id="", query="")
    pairs["image"] = [str(folder / image) if image else "" for image in pairs["image"]]
    if judge is None or judge.kind not in FILLED:  # made outside: of the whole text
        judge = Judge("", prompt=pr.read_prompt(pr.DEFAULT))
    return {pair.doc_id: pair.text_hash for pair in asked(judge, pairs, 0)}


def other_settings(records: pd.DataFrame, judge: Judge) -> pd.Series:
    """Which records a judge made with another model, prompt or parameters than it has now."""
    now = {"asked": judge.model, "parameters": shown(judge.parameters)} if judge.kind in FILLED else {}
    if judge.prompt is not None:
        now["prompt_hash"] = judge.prompt.hash
    differs = pd.Series(False, records.index)
    for column, value in now.items():
        differs |= records[column].notna() & records[column].ne(value)
    return differs


def outdated(
    judgments: pd.DataFrame,
    queries: Mapping[str, str],
    judge: Judge | None,
    documents: Mapping[str, str] | None = None,
) -> pd.Series:
    """What has changed since each grade was given.

    Parameters
    ----------
    judgments : DataFrame
        As `records.newest` gives them.
    queries : mapping of str to str
        Hash of each query now (`query_hashes`).
    judge : Judge or None
        As it is now; None compares texts alone.
    documents : mapping of str to str, optional
        Hash of each document now (`text_hashes`); absent compares none.

    Returns
    -------
    Series of str
        Of the rows that hold a grade: a key of `CAUSES`, or empty where nothing is known to have changed. What no
        row says, or what is no longer there, cannot be compared.
    """
    rows = judgments.loc[judgments["status"].eq("ok"), COMPARED]
    found = pd.Series("", rows.index, dtype=object)
    if judge is not None:
        found[other_settings(rows, judge)] = "judge"
    for cause, (column, ids, now) in {
        "document": ("text_hash", "doc_id", documents or {}),
        "query": ("query_hash", "query_id", queries),
    }.items():
        said = rows[rows[column].notna()] if now else rows[:0]
        here = said[ids].map(now)
        found[said.index[here.notna() & here.ne(said[column])]] = cause
    return found


def outdated_lines(judgments: pd.DataFrame, causes: pd.Series) -> list[str]:
    """Outdated grades in words, a sentence for each cause."""
    said = []
    for cause, words in CAUSES.items():
        at = causes.index[causes.eq(cause)]
        if not len(at):
            continue
        ids = {"query": "query_id", "document": "doc_id"}.get(cause)
        which = f" ({listed(judgments.loc[at, ids].unique())})" if ids else ""
        verb = "was" if len(at) == 1 else "were"
        said.append(
            f"{count(len(at), 'grade')} {verb} given to {words} than now{which}; they count until judged again"
        )
    return said


def judge_now(name: str, settings: Mapping[str, Any] | None, folder: Path) -> Judge | None:
    """Judge as collection.toml describes it, or None where nothing usable does: `check` says why."""
    settings = BUILT_IN.get(name) if settings is None else settings
    if settings is None:
        return None
    if settings.get("kind", "endpoint") == "endpoint":
        settings = {**settings, "price": FREE}  # looking prices up takes longer than all the rest
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return judge_from(name, settings, folder)
        except DataError:
            return None
