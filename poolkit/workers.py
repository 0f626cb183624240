"""Workers that ask an endpoint about pairs, and a writer that keeps what it answers."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pandas as pd

from poolkit import prompt as pr
from poolkit.dialect import Dialect
from poolkit.endpoint import Answer, Endpoint
from poolkit.identity import Asked, Judge, asked, prompt_of, short_hash, shown
from poolkit.price import Budget, Stop
from poolkit.progress import Meter, on_sigterm
from poolkit.records import SCHEMA, copied, now
from poolkit.store import Store

REPLIES = {"unreadable": 3, "out of scale": 3}  # replies asked for in all; of other kinds one
GIVE_UP = 20  # endpoint failures in a row
CHUNK = 256  # pairs made ready at once
GATHER = 0.004  # seconds between writes, so that answers share one
MESSAGE_TOKENS, IMAGE_TOKENS = 300, 10_000  # at most, beside the words
Task = tuple[Asked, list[int]]  # a pair, and the positions of all pairs with its key


class Workers:
    """One filling, in a thread and an event loop of its own.

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
        self.judge, self.prompt, self.pairs, self.store, self.todo = (
            judge,
            prompt_of(judge),
            pairs,
            store,
            todo,
        )
        self.replicate, self.meter = replicate, meter
        self.halt: str | None = None  # why nothing more is sent
        self.error: BaseException | None = None
        self.over = threading.Event()
        self.usd, self.calls, self.in_a_row = 0.0, 0, 0
        self.notes: dict[str, None] = {}
        self.lesson = f"learnt {judge.base_url} {judge.model}"
        self.endpoint = Endpoint(
            judge.model, judge.base_url, key, judge.key_env, judge.price, Budget(max_usd),
            Dialect(judge.parameters, list(store.note(self.lesson) or [])),
            judge.requests_per_minute, judge.tokens_per_minute,
            judge.concurrency, judge.timeout, judge.attempts,
        )  # fmt: skip

    def run(self) -> None:
        """Work until all is done or nothing more can be; Ctrl-C and SIGTERM let the calls in flight end."""
        with on_sigterm(self._interrupt):
            self._run()
        if self.error and not isinstance(self.error, asyncio.CancelledError):
            raise self.error

    def _run(self) -> None:
        thread = threading.Thread(target=self._thread, name="poolkit-judge", daemon=True)
        thread.start()
        while not self.over.is_set():  # Thread.join forgets a thread that Ctrl-C interrupts it on (bpo-45274)
            try:
                self.over.wait(0.2)
            except KeyboardInterrupt:
                self._interrupt()

    def _interrupt(self) -> None:
        """Send nothing more; when asked once more, drop what is in flight."""
        if self.halt:
            with suppress(AttributeError, RuntimeError):  # not begun, or over
                self.loop.call_soon_threadsafe(self.main.cancel)
        self.halt = self.halt or "interrupted"
        self.meter.say("finishing the calls in flight; Ctrl-C again drops them")

    def _thread(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self.error = self.error or error
        finally:
            self.over.set()

    async def _main(self) -> None:
        """Start workers and writer, and end them in order."""
        self.loop = asyncio.get_running_loop()
        self.main = asyncio.ensure_future(self._ask_all())
        self.queue: asyncio.Queue[list[dict[str, Any]] | None] = asyncio.Queue()
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

    async def _ask_all(self) -> None:
        """Keep the workers going; once halted, end those that only wait."""
        feed = self._feed()
        workers = {
            asyncio.create_task(self._work(feed)) for _ in range(min(self.judge.concurrency, len(self.todo)))
        }
        try:
            while workers:
                done, workers = await asyncio.wait(workers, timeout=0.1)
                for task in done:
                    if not task.cancelled() and (error := task.exception()):
                        self.error, self.halt = self.error or error, self.halt or "an error"
                if self.halt:
                    for task in workers & self.endpoint.idle:
                        task.cancel()
        finally:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    def _feed(self) -> Iterator[Task]:
        """Pairs to ask about, made ready a few at a time."""
        for at in range(0, len(self.todo), CHUNK):
            groups = self.todo[at : at + CHUNK]
            first = self.pairs.iloc[[group[0] for group in groups]]
            yield from zip(asked(self.judge, first, self.replicate), groups, strict=True)

    async def _work(self, feed: Iterator[Task]) -> None:
        """Ask about one pair after another; pairs of equal content share the answer."""
        while not self.halt:
            if self.unwritten >= self.judge.concurrency:  # the disk lags: buy nothing more until it is back
                await asyncio.sleep(GATHER)
                continue
            if (task := next(feed, None)) is None:
                return
            pair, positions = task
            try:
                record = await self._ask(pair)
            except Stop as stop:
                self.halt = self.halt or str(stop)
                return
            others = self.pairs.iloc[positions[1:]] if positions[1:] else self.pairs.iloc[:0]
            twins = zip(others["query_id"], others["doc_id"], strict=True)
            self.unwritten += 1
            self.queue.put_nowait([record, *(copied(record, *ids) for ids in twins)])
            self.in_a_row = self.in_a_row + 1 if record["status"] == "endpoint" else 0
            if self.in_a_row >= GIVE_UP:
                self.halt = self.halt or f"{GIVE_UP} calls in a row failed: {record['note']}"

    async def _ask(self, pair: Asked) -> dict[str, Any]:
        """One pair's record; asked again where the reply cannot be read."""
        prompt = self.prompt
        messages = pr.messages(prompt, query=pair.query, title=pair.title, text=pair.text, image=pair.image)
        words = (prompt.template, pair.query, pair.title, pair.text)
        most = sum(len(w.encode("utf-8", "replace")) for w in words)  # no token is shorter than a byte
        most += MESSAGE_TOKENS + IMAGE_TOKENS * (pair.image is not None)
        form = pr.reply_format(prompt.scale)
        reply, answer, calls, tokens, counted = pr.Reply(None, "", "endpoint"), Answer(), 0, (0, 0, 0), True
        while calls == 0 or calls < REPLIES.get(reply.status, 1):
            try:
                answer = await self.endpoint.chat(messages, response_format=form, tokens=most)
            except (Stop, asyncio.CancelledError) as stop:
                if calls == 0:
                    raise
                self.halt = self.halt or str(stop)  # what was paid for is kept, as the failure that it is
                break
            calls += 1
            if answer.failure:
                reply = pr.Reply(None, "", answer.failure)
            else:
                reply = pr.parse_reply(answer.text, finish_reason=answer.finish, scale=prompt.scale)
                counted = counted and answer.tokens is not None
            if answer.tokens:
                tokens = (
                    tokens[0] + answer.tokens[0],
                    tokens[1] + answer.tokens[1],
                    tokens[2] + answer.tokens[2],
                )
        return self._record(pair, reply, answer, calls, tokens if counted else None)

    def _record(
        self, pair: Asked, reply: pr.Reply, answer: Answer, calls: int, tokens: tuple[int, int, int] | None
    ) -> dict[str, Any]:
        """One line of the judgments file."""
        judge, tidy = self.judge, self.endpoint.scrubbed
        model = answer.model or judge.model
        if model != judge.model:
            self.notes[f"asked for {judge.model}, the server answered as {model}: pin that name."] = None
        usd = judge.price.usd(*tokens) if judge.price and tokens else None
        self.usd, self.calls = self.usd + (usd or 0.0), self.calls + calls
        said = "" if reply.status == "ok" else answer.note or tidy(answer.text or "")
        tokens_in, tokens_cached, tokens_out = tokens or (None, None, None)
        return {
            "schema": SCHEMA, "query_id": pair.query_id, "doc_id": pair.doc_id, "relevance": reply.grade,
            "thought": tidy(reply.thought, most=pr.LONGEST_THOUGHT), "status": reply.status, "note": said,
            "model": model, "asked": judge.model, "prompt_hash": self.prompt.hash,
            "query_hash": short_hash(pair.query), "text_hash": pair.text_hash,
            "parameters": shown(judge.parameters), "sent": answer.sent, "key": pair.key,
            "replicate": self.replicate, "calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out,
            "tokens_cached": tokens_cached, "usd": usd, "cut": pair.cut, "time": now(),
        }  # fmt: skip

    async def _write(self, disk: ThreadPoolExecutor) -> None:
        """Keep what has been answered, many at once when many wait, and only then show it as done."""
        more = True
        while more:
            batch = [await self.queue.get()]
            while not self.queue.empty():
                batch.append(self.queue.get_nowait())
            more = None not in batch
            records = [record for group in batch if group for record in group]
            if not records:
                continue
            try:
                await self.loop.run_in_executor(disk, self.store.put, records)
            except (OSError, sqlite3.Error) as error:
                self.halt = f"{self.store.path}: {len(records)} judgments could not be written: {error}"
                continue
            self.meter.add(records, self.usd if self.judge.price else None, self.endpoint.oldest())
            self.unwritten -= sum(group is not None for group in batch)
            if more:
                await asyncio.sleep(GATHER)
