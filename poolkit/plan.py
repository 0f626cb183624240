"""What filling a pool would take: which pairs need a call, what that costs, why a pair is a hit or a miss."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from poolkit.identity import Judge, asked, checked_replicate, prompt_of, short_hash, shown
from poolkit.picture import PictureTokens, picture_tokens
from poolkit.price import REPLY_TOKENS, token_counts
from poolkit.records import copied, newest, no_records, read_records

CALL_SECONDS = {"endpoint": 1.5, "likelihood": 0.4}  # a forecast's guess
FRAME_TOKENS = 50  # fences and the chat's own marks
SAMPLE = 300  # texts whose tokens are counted


@dataclass(frozen=True)
class Forecast:
    """What filling would take: usd is None where the price is unknown."""

    calls: int
    tokens_in: int
    tokens_out: int
    usd: float | None
    minutes: float
    images: int = 0  # page pictures among the pairs
    image_tokens: int = 0  # of tokens_in
    image_guess: bool = False  # whether nobody says how the model counts them


@dataclass
class Plan:
    """What is to be done about each pair."""

    todo: list[list[int]]  # positions of pairs with one key: one call each
    copies: list[dict[str, Any]]  # rows for answers that are there, but not as this pair's newest
    known: int
    failed: int  # of the known


def plan_of(
    judge: Judge, pairs: pd.DataFrame, records: pd.DataFrame, *, replicate: int, retry_failed: bool
) -> Plan:
    """Compare the pairs' keys with the records: what is to be asked, and what only to be shown again."""
    wanted = records["status"].eq("ok") if retry_failed else records["key"].notna()
    order = records[wanted].assign(_ok=records["status"].eq("ok")).sort_values("_ok", kind="stable")
    by_key = dict(zip(order["key"], order.index, strict=True))
    current = newest(records[records["replicate"].eq(replicate)])
    visible = dict(zip(zip(current["query_id"], current["doc_id"], strict=True), current["key"], strict=True))
    groups: dict[str, list[int]] = {}
    seen: dict[tuple[str, str], str] = {}
    good = set(records.loc[records["status"].eq("ok"), "key"])
    copies, known, failed = [], 0, 0
    for position, pair in enumerate(asked(judge, pairs, replicate)):
        ids = (pair.query_id, pair.doc_id)
        if ids in seen:
            same = "twice" if seen[ids] == pair.key else "twice, with different texts"
            raise ValueError(f"pairs hold query {ids[0]} and document {ids[1]} {same}. Keep one.")
        seen[ids] = pair.key
        if pair.key not in by_key:
            groups.setdefault(pair.key, []).append(position)
            continue
        known, failed = known + 1, failed + (pair.key not in good)
        if visible.get(ids) != pair.key:
            copies.append(copied(dict(records.loc[by_key[pair.key]]), *ids))
    return Plan(list(groups.values()), copies, known, failed)


def forecast(
    judge: Judge,
    pairs: pd.DataFrame,
    *,
    judgments_path: Path | None = None,
    replicate: int = 0,
    retry_failed: bool = False,
    batch: bool = False,
) -> Forecast:
    """Calls, tokens, dollars and minutes that filling these pairs would take.

    Parameters
    ----------
    judge : Judge
    pairs : DataFrame
        As for `fill`.
    judgments_path : Path, optional
        Pairs judged there already are left out.
    replicate : int
    retry_failed : bool
    batch : bool
        At the price of the endpoint's batch service, which takes a day at most.

    Returns
    -------
    Forecast

    Notes
    -----
    Input tokens are counted in o200k_base on some 300 of the pairs and scaled by length; a reply is taken
    as 60 tokens, a page image by its size as `picture_tokens` says, a call as 1.5 s, a likelihood as 0.4 s.
    Provider-side caching and replies asked for twice are not foreseen.
    """
    prompt, replicate = prompt_of(judge), checked_replicate(replicate)
    known = judgments_path is not None and Path(judgments_path).exists()
    records = read_records(Path(judgments_path)) if judgments_path and known else no_records()
    plan = plan_of(judge, pairs, records, replicate=replicate, retry_failed=retry_failed)
    calls = len(plan.todo)
    if not calls:
        return Forecast(0, 0, 0, 0.0 if judge.price else None, 0.0)
    texts: list[str] = []
    characters, pictures = 0, list[PictureTokens]()
    for number, pair in enumerate(asked(judge, pairs.iloc[[group[0] for group in plan.todo]], replicate)):
        characters += len(prompt.template) + len(pair.query) + len(pair.title) + len(pair.text)
        if pair.image is not None:
            pictures.append(picture_tokens(pair.image, judge.model))
        if number % max(1, calls // SAMPLE) == 0:
            texts.append("\n".join((prompt.template, pair.query, pair.title, pair.text)))
    per_character = sum(token_counts(texts)) / sum(map(len, texts))
    seen = sum(picture.likely for picture in pictures)
    tokens_in = round(per_character * characters) + seen + FRAME_TOKENS * calls
    tokens_out = REPLY_TOKENS * calls if judge.kind == "endpoint" else 0
    usd = judge.price.usd(tokens_in, 0, tokens_out) if judge.price else None
    if batch:
        factor = judge.batch.price_factor
        return Forecast(calls, tokens_in, tokens_out, None if usd is None else usd * factor, 24 * 60.0)
    paces = [calls * CALL_SECONDS[judge.kind] / 60 / judge.concurrency]
    if judge.requests_per_minute:
        paces.append(calls / judge.requests_per_minute)
    if judge.tokens_per_minute:
        paces.append((tokens_in + tokens_out) / judge.tokens_per_minute)
    guess = any(picture.guess for picture in pictures)
    return Forecast(calls, tokens_in, tokens_out, usd, max(paces), len(pictures), seen, guess)


def time_of(ahead: Forecast, judge: Judge) -> str:
    """Minutes of a forecast in words, with what they rest on."""
    minutes = f"{ahead.minutes:,.1f} minutes" if ahead.minutes >= 1 else "under a minute"
    if judge.requests_per_minute or judge.tokens_per_minute:
        return f"{minutes} at the configured rate"
    return f"{minutes} if a call takes {CALL_SECONDS[judge.kind]:g} s, {judge.concurrency:,} at a time"


def explain(judge: Judge, row: Mapping[str, Any], store: Any, *, replicate: int = 0) -> dict[str, str]:
    """Parts of a pair's key, and whether its answer is known, or which part differs from the nearest that is.

    Parameters
    ----------
    judge : Judge
    row : mapping
        One row of the pairs of `fill`.
    store : Store or DataFrame
        An open store, or the records of `read_records`.
    replicate : int

    Returns
    -------
    dict
        model, prompt, parameters, query, text, replicate, key and verdict.
    """
    prompt, replicate = prompt_of(judge), checked_replicate(replicate)
    records = store if isinstance(store, pd.DataFrame) else store.records
    pair = next(asked(judge, pd.DataFrame([dict(row)]), replicate))
    wanted = {
        "asked": judge.model, "prompt_hash": prompt.hash, "parameters": shown(judge.parameters),
        "query_hash": short_hash(pair.query), "text_hash": pair.text_hash, "replicate": replicate,
    }  # fmt: skip
    named = {"asked": "model", "prompt_hash": "prompt", "query_hash": "query", "text_hash": "text"}
    parts = {named.get(name, name): str(value) for name, value in wanted.items()} | {"key": pair.key}
    hits = records[records["key"].eq(pair.key)]
    if len(hits):
        good = hits[hits["status"].eq("ok")]
        if len(good):
            return parts | {"verdict": f"hit: grade {good['relevance'].iloc[-1]}, {good['time'].iloc[-1]}"}
        return parts | {"verdict": f"hit: failed ({hits['status'].iloc[-1]}); --retry-failed asks again"}
    same = records[records["query_id"].eq(pair.query_id) & records["doc_id"].eq(pair.doc_id)]
    if same.empty:
        return parts | {"verdict": "miss: this query and document were never judged here"}
    differs = [[named.get(n, n) for n, v in wanted.items() if same[n].iloc[i] != v] for i in range(len(same))]
    least = min(reversed(differs), key=len)
    return parts | {"verdict": f"miss: judged before, but with another {' and '.join(least) or 'key'}"}
