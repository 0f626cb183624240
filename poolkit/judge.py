"""Fill a pool with judgments; the only room that spends money."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from poolkit.identity import Judge, checked_replicate, content_hash, identity, judge_from, prompt_of
from poolkit.plan import Forecast, explain, forecast, plan_of
from poolkit.progress import Meter
from poolkit.store import Store
from poolkit.tables import DataError
from poolkit.tally import ledger
from poolkit.waiting import waiting_of

if TYPE_CHECKING:
    from poolkit.filling import Filling
    from poolkit.local import Local

__all__ = [
    "Forecast",
    "Judge",
    "Outcome",
    "content_hash",
    "explain",
    "fill",
    "forecast",
    "identity",
    "judge_from",
    "ledger",
]


@dataclass(frozen=True)
class Outcome:
    """What a filling did."""

    judged: int  # pairs that were graded
    failed: dict[str, int]  # pairs that were not, by kind of failure
    known: int  # pairs whose answer, or failure, was there already
    remaining: int  # pairs not tried
    calls: int
    usd: float | None  # as the endpoint counted; None where it did not, or the price is unknown
    stopped: str | None = None  # why pairs remain
    notes: tuple[str, ...] = ()
    failed_before: int = 0  # of the known, and not asked again


def fill(
    judge: Judge,
    pairs: pd.DataFrame,
    *,
    cache_folder: Path,
    judgments_path: Path,
    max_usd: float | None = None,
    replicate: int = 0,
    retry_failed: bool = False,
    batch: bool = False,
    progress: bool | None = None,
) -> Outcome:
    """Judge every pair that has no answer yet; each answer is on disk before it is shown as done.

    Parameters
    ----------
    judge : Judge
    pairs : DataFrame
        Columns query_id, doc_id, query, title, text, and optionally image: the path of a page picture.
    cache_folder, judgments_path : Path
        See `poolkit.store.Store`.
    max_usd : float, optional
        Never spend more in this run; needs a known price.
    replicate : int
        From 0; another number judges the same pairs again, past every earlier answer.
    retry_failed : bool
        Ask again where the last answer was a failure.
    batch : bool
        Send the pairs through the endpoint's batch service: answered within a day, at a lower price.
    progress : bool, optional
        False shows none; else a bar on a terminal's stderr, or a line now and then.

    Returns
    -------
    Outcome
        With a reason in `stopped` when pairs remain: budget, quota, key, Ctrl-C. Run again to go on.
    """
    prompt_of(judge)
    replicate = checked_replicate(replicate)
    if max_usd is not None and judge.price is None:
        raise DataError(
            f"judge {judge.name!r}: the price of {judge.model!r} is unknown, so no budget can be kept. Give "
            "price = {input = ..., output = ...} in USD per million tokens, or set no budget."
        )
    if max_usd is not None and not max_usd > 0:
        raise ValueError(f"max_usd is {max_usd}; it must be above 0.")
    if batch and judge.kind == "likelihood":
        raise ValueError(
            f"judge {judge.name!r} runs on this machine: there is no batch service. Leave out --batch."
        )
    with Store(cache_folder, judgments_path) as store:
        plan = plan_of(judge, pairs, store.records, replicate=replicate, retry_failed=retry_failed)
        if plan.copies:
            store.put(plan.copies)
        total, waiting = sum(map(len, plan.todo)), waiting_of(store.folder).names()
        if waiting and total and not batch:
            raise DataError(
                f"judge {judge.name!r}: {len(waiting)} batches wait at the endpoint, and asking now could buy "
                "their pairs twice. Run with --batch to collect them."
            )
        if not total and not (batch and waiting):
            return Outcome(0, {}, plan.known, 0, 0, 0.0 if judge.price else None, failed_before=plan.failed)
        key = os.environ.get(judge.key_env, "").strip() if judge.key_env else ""
        if judge.key_env and not key:
            raise DataError(f"judge {judge.name!r}: no key. Set the environment variable {judge.key_env}.")
        if not re.fullmatch(r"[!-~]*", key):
            raise DataError(
                f"judge {judge.name!r}: the key in {judge.key_env} holds a space, a line break or a letter that no "
                "header can carry. Copy it anew."
            )
        meter = Meter(total, progress)
        workers = _workers(
            judge, pairs, store, plan.todo, cache_folder,
            replicate=replicate, key=key, max_usd=max_usd, batch=batch, meter=meter,
        )  # fmt: skip
        workers.run()
    failed = {status: n for status, n in meter.counts.items() if status != "ok"}
    return Outcome(
        judged=meter.counts["ok"],
        failed=failed,
        known=plan.known,
        remaining=total - meter.counts.total(),
        calls=workers.calls,
        usd=workers.usd,
        stopped=workers.halt,
        notes=tuple(workers.notes),
        failed_before=plan.failed,
    )


def _workers(
    judge: Judge, pairs: pd.DataFrame, store: Store, todo: Sequence[list[int]], folder: Path, *,
    replicate: int, key: str, max_usd: float | None, batch: bool, meter: Meter,
) -> "Filling | Local":  # fmt: skip
    """Who works through the pairs; loaded, slowly, only where there is work."""
    if judge.kind == "likelihood":
        from poolkit.local import Local

        return Local(judge, pairs, store, todo, replicate=replicate, meter=meter, folder=folder)
    from poolkit.batch import BatchWorkers
    from poolkit.workers import Workers

    kind: type[Filling] = BatchWorkers if batch else Workers
    return kind(judge, pairs, store, todo, replicate=replicate, key=key, max_usd=max_usd, meter=meter)
