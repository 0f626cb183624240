"""Workers that ask an endpoint about pairs, one at a time each."""

import asyncio
from collections.abc import Iterator
from typing import Any

from poolkit import prompt as pr
from poolkit.answers import Answer
from poolkit.filling import GATHER, Filling
from poolkit.identity import Asked, asked
from poolkit.price import Stop
from poolkit.replies import answered, messages_of, question, read_answer, tokens_of

REPLIES = {"unreadable": 3, "out of scale": 3}  # replies asked for in all; of other kinds one
GIVE_UP = 20  # endpoint failures in a row
CHUNK = 256  # pairs made ready at once
Task = tuple[Asked, list[int]]  # a pair, and the positions of all pairs with its key


class Workers(Filling):
    """Pairs asked one by one, many at a time."""

    async def _work_all(self) -> None:
        """Keep the workers going; once halted, end those that only wait."""
        self.in_a_row, feed = 0, self._feed()
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
                self._tell()
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
            others: list[tuple[str, str]] = []
            if len(positions) > 1:  # slow to look up, and rare
                twins = self.pairs.iloc[positions[1:]]
                others = list(zip(twins["query_id"], twins["doc_id"], strict=True))
            self._keep(record, others)
            self.in_a_row = self.in_a_row + 1 if record["status"] == "endpoint" else 0
            if self.in_a_row >= GIVE_UP:
                self.halt = self.halt or f"{GIVE_UP} calls in a row failed: {record['note']}"

    async def _ask(self, pair: Asked) -> dict[str, Any]:
        """One pair's record; asked again where the reply cannot be read."""
        judge, messages, tokens_in = self.judge, messages_of(self.judge, pair), tokens_of(self.judge, pair)
        form = pr.reply_format(self.prompt.scale)
        reply, answer, calls, tokens, counted = pr.Reply(None, "", "endpoint"), Answer(), 0, (0, 0, 0), True
        while calls == 0 or calls < REPLIES.get(reply.status, 1):
            try:
                answer = await self.endpoint.chat(messages, response_format=form, tokens=tokens_in)
            except (Stop, asyncio.CancelledError) as stop:
                if calls == 0:
                    raise
                self.halt = self.halt or str(stop)  # what was paid for is kept, as the failure that it is
                break
            calls += 1
            reply = read_answer(answer, self.prompt.scale)
            counted = counted and (answer.tokens is not None or answer.failure is not None)
            if answer.tokens:
                tokens = (
                    tokens[0] + answer.tokens[0],
                    tokens[1] + answer.tokens[1],
                    tokens[2] + answer.tokens[2],
                )
        return answered(
            question(judge, pair, self.replicate), reply, answer, calls=calls,
            tokens=tokens if counted else None, price=judge.price, key=self.endpoint.key,
        )  # fmt: skip
