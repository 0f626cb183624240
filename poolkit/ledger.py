"""A collection's judging: what is to be judged, what it costs, and where it stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from poolkit import tally
from poolkit.collection import Collection, read_collection
from poolkit.display import count
from poolkit.identity import BUILT_IN, FILLED, Judge, judge_from
from poolkit.judge import Outcome, explain, fill, forecast
from poolkit.labels import items_of
from poolkit.plan import time_of
from poolkit.pool import Pool, pool
from poolkit.records import no_records, read_records
from poolkit.tables import DataError
from poolkit.waiting import waiting_of

FIRST = 10  # rows of a list that words show


@dataclass(frozen=True)
class Job:
    """Pairs of a pool for one judge, with their texts."""

    collection: Collection
    pool: Pool
    judge: Judge
    pairs: pd.DataFrame

    @property
    def path(self) -> Path:
        """Where the judge's answers are kept for ever."""
        return self.collection.folder / "judgments" / f"{self.judge.name}.jsonl"

    @property
    def cache(self) -> Path:
        """Where the crash-safe working copy is."""
        return self.collection.folder / ".cache"


def job_of(folder: Path, name: str, *, depth: int = 0, sample: int = 0, seed: int = 1) -> Job:
    """Pairs of a collection's pool, or a seeded sample of them, for one judge.

    Parameters
    ----------
    folder : Path
    name : str
        Of the judge: a table of collection.toml, or a built-in one.
    depth : int
        0 takes collection.toml's.
    sample, seed : int
        A sample of 0 takes the whole pool.
    """
    if sample < 0 or seed < 0:
        raise ValueError(f"sample is {sample}, seed {seed}; give numbers from 0, a sample of 0 for all pairs")
    collection = read_collection(folder)
    judge = judge_from(name, collection.config["judges"].get(name), folder)
    if name in collection.labels and collection.labels[name].human:
        raise DataError(
            f"judge {name!r}: the human labels in qrels/ have this name. Rename the judge, or that file."
        )
    made = pool(collection.runs, depth=depth or collection.config["depth"])
    pairs = collection.runs.pairs(made.item)
    if sample:
        rng = np.random.default_rng(seed)
        at = np.sort(rng.choice(len(pairs), size=min(sample, len(pairs)), replace=False))
        pairs = pairs.iloc[at].reset_index(drop=True)
    return Job(collection, made, judge, _with_texts(collection, pairs))


def _with_texts(collection: Collection, pairs: pd.DataFrame) -> pd.DataFrame:
    """Pairs with query, title, text and image; a document without text cannot be judged."""
    corpus = collection.corpus()
    lost = ~pairs["doc_id"].isin(corpus.index)
    if lost.any():
        first = pairs.loc[lost, "doc_id"].iloc[0]
        raise DataError(
            f"corpus.jsonl: {int(lost.sum())} pooled documents have no text, the first is {first}. "
            "A judge needs the text; add it, or lower the depth."
        )
    texts = corpus.loc[pairs["doc_id"]].reset_index(drop=True)
    pairs = pairs.assign(query=collection.queries.loc[pairs["query_id"], "text"].to_numpy())
    pairs = pd.concat([pairs.reset_index(drop=True), texts], axis=1)
    images = [str(collection.folder / x) if x else "" for x in pairs["image"]]
    return pairs.assign(image=images)


def filled(
    job: Job, *, max_usd: float | None, replicate: int, retry_failed: bool, batch: bool = False
) -> Outcome:
    """Judge what is unjudged; see `judge.fill`."""
    return fill(
        job.judge, job.pairs, cache_folder=job.cache, judgments_path=job.path, max_usd=max_usd,
        replicate=replicate, retry_failed=retry_failed, batch=batch,
    )  # fmt: skip


def forecast_lines(job: Job, *, replicate: int, retry_failed: bool, batch: bool = False) -> list[str]:
    """What judging would take, in words."""
    path = job.path if job.path.exists() else None
    ahead = forecast(
        job.judge, job.pairs, judgments_path=path, replicate=replicate, retry_failed=retry_failed, batch=batch
    )
    price = "price unknown" if ahead.usd is None else f"${ahead.usd:,.2f}"
    time = "in batches, each within a day" if batch else time_of(ahead, job.judge)
    lines = [
        f"judge {job.judge.name} ({job.judge.model}): {ahead.calls:,} of {len(job.pairs):,} pairs to judge",
        f"about {ahead.tokens_in:,} input and {ahead.tokens_out:,} output tokens, {price}, {time}",
    ]
    if ahead.images:
        guess = f"by area, a guess: how {job.judge.model} counts is not known here"
        how = guess if ahead.image_guess else "by their sizes"
        lines.append(f"of the input {ahead.image_tokens:,} for {count(ahead.images, 'page picture')}, {how}")
    return lines


def outcome_lines(outcome: Outcome) -> list[str]:
    """What judging did, in words."""
    usd = "cost unknown" if outcome.usd is None else f"${outcome.usd:,.4f}"
    known = f"{outcome.known:,} known already"
    if outcome.failed_before:
        known += f" (of them {outcome.failed_before:,} failed: --retry-failed asks again)"
    lines = [f"{outcome.judged:,} judged now, {known}, {outcome.calls:,} calls, {usd}"]
    lines += [f"failed ({kind}): {n:,}" for kind, n in outcome.failed.items()]
    if outcome.remaining:
        again = "" if "run again" in str(outcome.stopped) else " Run again to go on."
        lines.append(f"{outcome.remaining:,} pairs remain: {outcome.stopped}.{again}")
    return [*lines, *outcome.notes]


def explained(job: Job, query_id: str, doc_id: str, *, replicate: int) -> Mapping[str, str]:
    """Why a pair's answer is known, or which part of its key is new."""
    at = (job.pairs["query_id"] == query_id) & (job.pairs["doc_id"] == doc_id)
    if not at.any():
        raise DataError(f"query {query_id}, document {doc_id} is not in the pool at depth {job.pool.depth}")
    records = read_records(job.path) if job.path.exists() else no_records()
    row = {str(k): v for k, v in job.pairs[at].iloc[0].items()}
    return explain(job.judge, row, records, replicate=replicate)


def status_of(folder: Path, *, depth: int = 0) -> dict[str, Any]:
    """Where a collection stands: pool, reuse, and each judge's progress and cost.

    Returns
    -------
    dict
        systems, queries, depth, independent, unique, reuse; judges: a list with judged, failed, unjudged,
        outdated (judged, of another query text or setting than now), batches_waiting, calls, tokens, usd and
        usd_per_grade (None where a price is unknown), failed_by (kind, system, query), by_day and by_system
        (lists of rows, as `tally` says); next: what to do now.
    """
    collection = read_collection(folder, keep=False)  # a short look: the next call changes the file
    return status_in(collection, pool(collection.runs, depth=depth or collection.config["depth"]))


def status_in(collection: Collection, made: Pool) -> dict[str, Any]:
    """As `status_of`, of a collection that is open."""
    judges = [_judge_status(collection, made, n) for n, found in collection.labels.items() if not found.human]
    return {
        "collection": collection.config["name"],
        "systems": len(collection.runs.systems),
        "queries": len(collection.runs.queries),
        "depth": made.depth,
        "independent": made.independent,
        "unique": made.unique,
        "reuse": made.reuse,
        "judges": judges,
        "next": _next_step(collection.folder, collection, judges),
    }


def _judge_status(collection: Collection, made: Pool, name: str) -> dict[str, Any]:
    records, judgments = collection.records[name], collection.judgments[name]
    systems = tally.by_system(made, records, judgments)
    judged, failed = (
        int(systems[column].head(len(made.runs.systems)).sum()) for column in ("judged", "failed")
    )
    failures = tally.failed_by(made, collection.labels[name].failed)
    now_other = collection.outdated[name][lambda cause: cause.ne("")].index
    changed = judgments.loc[now_other].query("replicate == 0")
    return {
        "judge": name,
        "judged": judged,
        "failed": failed,
        "unjudged": made.unique - judged - failed,
        "outdated": int(np.isin(items_of(made.runs, changed), made.item).sum()),
        **tally.spent(records, judgments),
        "batches_waiting": len(waiting_of(collection.folder / ".cache" / name).names()),
        "failed_by": {by: pairs.to_dict() for by, pairs in failures.items()},
        "by_day": _rows(tally.ledger(records)),
        "by_system": _rows(systems.reset_index()),
    }


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of plain values; what is not known is None."""
    return table.astype(object).where(table.notna(), None).to_dict("records")  # type: ignore[return-value]


def status_lines(found: Mapping[str, Any]) -> list[str]:
    """Where a collection stands, in words; of long lists the first rows."""
    lines = [f"{k.replace('_', ' ')}: {_shown(v)}" for k, v in found.items() if k not in ("judges", "next")]
    for judge in found["judges"]:
        plain = {k: v for k, v in judge.items() if k != "judge" and not isinstance(v, dict | list)}
        lines.append(f"judge {judge['judge']}: {_told(plain)}")
        lines += [f"  failed by {by}: {_told(n, FIRST)}" for by, n in judge["failed_by"].items() if n]
        if not judge["calls"]:
            continue
        for by, rows in (("day", judge["by_day"]), ("system", judge["by_system"])):
            names = [
                (" ".join(str(r[k]) for k in (("day", "model") if by == "day" else (by,))), r) for r in rows
            ]
            wanted = ("judged", "calls", "tokens_in", "tokens_cached", "tokens_out", "usd")
            lines += [f"  {name}: {_told({k: r[k] for k in wanted if k in r})}" for name, r in names[:FIRST]]
            if len(names) > FIRST:
                lines.append(f"  and {count(len(names) - FIRST, by)} more; --json has all")
    return [*lines, f"next: {found['next']}"]


def _told(facts: Mapping[str, Any], first: int = 99) -> str:
    """Facts on one line."""
    said = [f"{str(k).replace('_', ' ')} {_shown(v)}" for k, v in facts.items()]
    more = f" and {len(said) - first:,} more" if len(said) > first else ""
    return ", ".join(said[:first]) + more


def _shown(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _next_step(folder: Path, collection: Collection, judges: list[dict[str, Any]]) -> str:
    """One command to run now."""
    chosen = collection.judge.name if collection.judge else ""
    mine = next((j for j in judges if j["judge"] == chosen), None)
    if mine is None:
        return f"poolkit judge {folder} --dry-run"
    settings = collection.config["judges"].get(chosen, {} if chosen in BUILT_IN else {"kind": "none"})
    if settings.get("kind", "endpoint") not in FILLED and mine["unjudged"] + mine["failed"]:
        pairs = count(mine["unjudged"] + mine["failed"], "query-document pair")
        return f"grade {pairs} as {chosen}, outside poolkit, into judgments/{chosen}.jsonl"
    if mine["batches_waiting"]:
        return (
            f"poolkit judge {folder} --judge {chosen} --batch (batches that wait: {mine['batches_waiting']})"
        )
    if mine["unjudged"] or mine["outdated"]:
        why = {"no grade yet": mine["unjudged"], "a grade of another text or setting": mine["outdated"]}
        said = "; ".join(f"{what}: {count(n, 'pair')}" for what, n in why.items() if n)
        return f"poolkit judge {folder} --judge {chosen} ({said})"
    if mine["failed"]:
        return f"poolkit judge {folder} --judge {chosen} --retry-failed (failed: {count(mine['failed'], 'pair')})"
    return f"poolkit report {folder}"
