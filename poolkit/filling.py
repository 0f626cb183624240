"""The frame of every filling: a thread and a loop of its own, an end that was asked for, a writer."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pandas as pd

from poolkit.dialect import Dialect
from poolkit.endpoint import Endpoint
from poolkit.identity import Judge, prompt_of
from poolkit.price import Budget
from poolkit.progress import Meter, in_thread
from poolkit.records import copied
from poolkit.store import Store

GATHER = 0.004  # seconds between writes, so that answers share one


class Filling(ABC):
    """One filling, in a thread and an event loop of its own; what is done there, `_work_all` says.

    Parameters
    ----------
    judge : Judge
    pairs : DataFrame
    store : Store
        Open.
    todo : sequence of list of int
        Positions in pairs; those of one list have one key and are one call.
    replicate : int
    key : str
        The secret; empty for none.
    max_usd : float or None
    meter : Meter
    """

    def __init__(
        self, judge: Judge, pairs: pd.DataFrame, store: Store, todo: Sequence[list[int]], *,
        replicate: int, key: str, max_usd: float | None, meter: Meter,
    ):  # fmt: skip
        self.judge, self.prompt, self.pairs, self.store = judge, prompt_of(judge), pairs, store
        self.todo, self.replicate, self.meter = todo, replicate, meter
        self.halt: str | None = None  # why nothing more is sent
        self.error: BaseException | None = None
        self.calls = 0
        self.usd: float | None = 0.0 if judge.price else None  # None: nobody knows
        self.notes: dict[str, None] = {}
        self.lesson = f"learnt {judge.base_url} {judge.model}"
        self.endpoint = Endpoint(
            judge.model, judge.base_url, key, judge.key_env, judge.price, Budget(max_usd),
            Dialect(judge.parameters, list(store.note(self.lesson) or [])),
            judge.requests_per_minute, judge.tokens_per_minute,
            judge.concurrency, judge.timeout, judge.attempts,
        )  # fmt: skip

    def run(self) -> None:
        """Work until all is done or nothing more can be; Ctrl-C, SIGTERM and SIGHUP let the calls in flight end."""
        self.store.hold_back(2 * self.endpoint.concurrency)  # in flight, and not yet written
        try:
            in_thread(lambda: asyncio.run(self._main()), self._interrupt)
        except BaseException as error:
            self.error = self.error or error
        if self.error and not isinstance(self.error, asyncio.CancelledError):
            raise self.error

    def _interrupt(self) -> None:
        """Send nothing more; when asked once more, drop what is in flight."""
        if self.halt:
            with suppress(AttributeError, RuntimeError):  # not begun, or over
                self.loop.call_soon_threadsafe(self.main.cancel)
        self.halt = self.halt or "interrupted"
        self.meter.say("finishing the calls in flight; Ctrl-C again drops them")

    async def _main(self) -> None:
        """Start workers and writer, and end them in order."""
        self.loop = asyncio.get_running_loop()
        self.main = asyncio.ensure_future(self._work_all())
        self.queue: asyncio.Queue[tuple[list[dict[str, Any]], bool] | None] = asyncio.Queue()
        self.unwritten = 0  # answers that a sudden death would lose
        with ThreadPoolExecutor(1) as disk:
            writer = asyncio.create_task(self._write(disk))
            try:
                async with self.endpoint:
                    await self.main
            finally:
                self.queue.put_nowait(None)
                await writer
                self.meter.close()
                if self.endpoint.dialect.learnt:
                    await self.loop.run_in_executor(
                        disk, self.store.note, self.lesson, self.endpoint.dialect.learnt
                    )
                await self.loop.run_in_executor(disk, self.store.release)

    @abstractmethod
    async def _work_all(self) -> None:
        """Ask about all that is to be done, until it is or `halt` says why not."""

    def _keep(self, record: dict[str, Any], others: Iterable[tuple[str, str]], *, shown: bool = True) -> None:
        """Hand an answer to the writer, with a copy for each other pair of the same content.

        Parameters
        ----------
        record : dict
        others : iterable of (query_id, doc_id)
        shown : bool
            Whether the pair is done with: a reply that is asked for again is kept, but not counted.
        """
        if record["model"] != record["asked"]:
            found = f"asked for {record['asked']}, the server answered as {record['model']}"
            self.notes[f"{found}: pin that name before you judge more."] = None
        known = self.usd is not None and record["usd"] is not None
        self.usd, self.calls = self.usd + record["usd"] if known else None, self.calls + record["calls"]
        self.unwritten += 1
        self.queue.put_nowait(([record, *(copied(record, *ids) for ids in others)], shown))

    async def _write(self, disk: ThreadPoolExecutor) -> None:
        """Keep what has been answered, many at once when many wait, and only then show it as done."""
        more = True
        while more:
            batch = [await self.queue.get()]
            while not self.queue.empty():
                batch.append(self.queue.get_nowait())
            more = None not in batch
            groups = [group for group in batch if group]
            records = [record for group, _ in groups for record in group]
            if not records:
                continue
            try:
                await self.loop.run_in_executor(disk, self.store.put, records)
            except Exception as error:  # whatever it is: buy nothing more
                self.halt = f"{self.store.path}: {len(records)} judgments could not be written: {error}"
                if not isinstance(error, OSError):
                    self.error = self.error or error
                continue
            self.halt = self.halt or self.store.full or None
            done = [record for group, shown in groups if shown for record in group]
            self._tell(done)
            self.unwritten -= len(groups)
            if more:
                await asyncio.sleep(GATHER)

    def _tell(self, done: Sequence[dict[str, Any]] = ()) -> None:
        """Show how things stand, with records that are on disk now."""
        self.meter.add(done, self.usd, self.endpoint.oldest())
