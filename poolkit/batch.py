"""Filling by batches: many pairs in one file, answered within a day, at a lower price.

A batch is on disk before it is sent, and named by a digest of what it asks. Whatever moment the process
dies at, the next run finds the batch by that name, on disk or in the endpoint's own list, and collects what
was paid for instead of asking again. What a batch could not answer is asked pair by pair.
"""

import asyncio
import hashlib
import time
from dataclasses import dataclass, replace
from typing import Any

from poolkit import bulk
from poolkit.answers import Answer
from poolkit.endpoint import QUEUE_FULL, QueueFull
from poolkit.filling import GATHER
from poolkit.identity import asked
from poolkit.parcels import CHUNK, Parcels, Request, ids_of
from poolkit.price import Stop
from poolkit.prompt import Reply
from poolkit.replies import answered, read_answer
from poolkit.waiting import waiting_of
from poolkit.workers import REPLIES, Workers

PATIENT = 10  # looks for the answers of a batch that is said to be completed
POLL = (5.0, 60.0)  # seconds between two looks: at first, at last


@dataclass
class Flight:
    """A batch at the endpoint."""

    name: str
    batch: str
    bytes: int
    held: float | None = None  # of the budget
    said: str = ""
    empty: int = 0  # looks at which it had ended, and its answers were not there yet


class BatchWorkers(Workers):
    """Pairs sent in batches; those that a batch cannot answer are asked one by one."""

    async def _work_all(self) -> None:
        """Send, wait and collect; then ask for the rest."""
        price = self.judge.price
        self.price = price.times(self.judge.batch.price_factor) if price else None
        self.parcels = Parcels(self.judge, self.pairs, self.todo, self.replicate, self.endpoint, self.price)
        self.book = waiting_of(self.store.folder)
        self.flights: dict[str, Flight] = {}
        self.positions: dict[str, list[int]] = {}  # of the pairs of every key that is in a batch
        self.alone: list[list[int]] = []  # pairs that are to be asked one by one
        good = self.store.records["status"].eq("ok")
        self.graded = set(self.store.records.loc[good, "key"])
        self.late: set[str] = set()  # keys that a batch expired on
        failures = self.store.records["status"].ne("ok")
        self.tries = self.store.records.loc[failures, "key"].value_counts().to_dict()
        try:
            await self._resume()
            await self._ask_one_alone()
            await self._send_and_collect()
        except Stop as stop:
            self.halt = self.halt or str(stop)
        if not self.halt:
            self.todo = self.alone
            await super()._work_all()
        elif waiting := len(self.book.names()):
            self.halt += (
                f"; batches that wait at the endpoint: {waiting}, --batch run again collects them "
                f"(to give one up, delete its files in {self.book.folder})"
            )

    async def _resume(self) -> None:
        """Find the batches of earlier runs again, and leave out what they ask."""
        for name in self.book.names():
            batch = self.book.batch_of(name) or await bulk.find(self.endpoint, name)
            if not batch:
                self.book.forget(name)  # it was never made
                continue
            rows = self.book.rows(name)
            self.flights[name] = Flight(name, batch, sum(row["bytes"] for row in rows))
            self.positions.update((row["record"]["key"], []) for row in rows)
            self.meter.say(f"batch {self._safe(batch)} of an earlier run: {len(rows):,} pairs")
        if self.positions and self.todo:
            first = self.pairs.iloc[[group[0] for group in self.todo]]
            self.parcels.pending.clear()
            for pair, group in zip(asked(self.judge, first, self.replicate), self.todo, strict=True):
                if pair.key in self.positions:
                    self.positions[pair.key] = group
                else:
                    self.parcels.pending.append(group)

    async def _ask_one_alone(self) -> None:
        """Before the first batch ask for one pair: key, model, prompt and parameters are shown to be good."""
        records = self.store.records
        good = records["status"].eq("ok") & records["asked"].eq(self.judge.model)
        pending = self.parcels.pending
        if self.halt or not pending or (good & records["prompt_hash"].eq(self.prompt.hash)).any():
            return
        self.todo = [pending.popleft()]
        await super()._work_all()
        if self.in_a_row and not self.halt:
            self.halt = "the first pair, asked alone before any batch, failed: see its note in the judgments"

    async def _send_and_collect(self) -> None:
        """Keep the endpoint's queue full, and collect what is ready."""
        pause = POLL[0]
        while not self.halt:
            while not self.halt and (part := self.parcels.next_part(self._queued())):
                if await self._send(part):
                    pause = POLL[0]
            if not self.flights:
                return
            until = time.monotonic() + pause
            while not self.halt and time.monotonic() < until:
                await asyncio.sleep(min(0.1, pause))
            pause = min(POLL[1], pause * 1.5)
            await self._look_at_all()

    async def _look_at_all(self) -> None:
        """Collect what is ready, also behind a batch that cannot be had; then say why that one cannot."""
        why: Stop | None = None
        for flight in list(self.flights.values()):
            try:
                if not self.halt:
                    await self._look(flight)
            except Stop as stop:
                why = why or Stop(f"batch {self._safe(flight.batch)}: {stop}")
        if why:
            raise why

    async def _send(self, part: list[Request]) -> bool:
        """Remember a batch, and only then send it; False where the endpoint's queue is full."""
        keys = "\n".join(f"{one.key} {self.tries.get(one.key, 0)}" for one in part)
        name = hashlib.sha256(keys.encode()).hexdigest()[:32]
        usd, size = sum(one.row["usd"] for one in part), sum(len(one.line) for one in part)
        self.book.write(name, (one.row for one in part))
        self.positions.update((one.key, one.positions) for one in part)
        await self.endpoint.budget.hold(usd)
        try:
            batch = await bulk.make(self.endpoint, name, [one.line for one in part])
        except QueueFull as full:
            self._dismiss(name, usd)
            groups = [self.positions.pop(one.key) for one in part]
            self.parcels.put_back(groups, queued=self._queued(), size=size, why=str(full))
            return False
        except bulk.Unsure:
            raise
        except Stop:
            self._dismiss(name, usd)
            raise
        self.book.note(name, batch)
        self.flights[name] = Flight(name, batch, size, usd)
        self.meter.say(f"batch {self._safe(batch)}: {len(part):,} pairs sent")
        return True

    def _queued(self) -> int:
        """Bytes of the batches at the endpoint."""
        return sum(flight.bytes for flight in self.flights.values())

    def _dismiss(self, name: str, held: float | None, usd: float = 0.0) -> None:
        """Forget a batch that is over, and settle what it cost."""
        self.book.forget(name)
        self.flights.pop(name, None)
        if held is not None:  # that of an earlier run was held there
            self.endpoint.budget.settle(held, usd)

    async def _look(self, flight: Flight) -> None:
        """See how far a batch is; collect it when it has ended."""
        state = await bulk.look(self.endpoint, flight.batch)
        if state.said != flight.said:
            self.meter.say(self._safe(f"batch {flight.batch}: {state.said}"))
            flight.said = state.said
        if state.status == "completed" and state.request_counts.completed and not state.output_file_id:
            flight.empty += 1
            if flight.empty > PATIENT:
                raise Stop("it is completed, and its answers are not there; run again later")
        elif state.status == "failed" and not state.files:
            keys = [row["record"]["key"] for row in self.book.rows(flight.name)]
            self._dismiss(flight.name, flight.held)
            if not QUEUE_FULL.search(state.why):
                raise Stop(f"{self.judge.base_url} refused it ({self._safe(state.why)})")
            groups = [positions for key in keys if (positions := self.positions.pop(key, []))]
            self.parcels.put_back(groups, queued=self._queued(), size=flight.bytes, why=self._safe(state.why))
        elif state.status in bulk.ENDED:
            await self._collect(flight, state)

    async def _collect(self, flight: Flight, state: bulk.Batch) -> None:
        """Keep every answer of a batch; what has none is asked for again."""
        rows = {row["record"]["key"]: row for row in self.book.rows(flight.name)}
        on_file, kept, late = self._collected_before(flight.batch), set[str](), set[str]()
        strange, cost = 0, 0.0
        for file in state.files:
            for line in await bulk.fetch(self.endpoint, file):
                back = bulk.read_line(line, self.endpoint)
                strange += back.key not in rows
                if back.late:
                    late.add(back.key)
                elif back.key in rows and back.answer and back.key not in kept and back.key not in on_file:
                    kept.add(back.key)
                    cost += self._take_in(rows[back.key], back.answer, flight.batch)
                    await self._written(CHUNK)
        await self._written(1)
        if self.halt and self.unwritten:  # the disk is full: nothing is forgotten
            return
        if strange:
            self.notes[f"batch {self._safe(flight.batch)}: {strange:,} lines are no answer of ours"] = None
        for key in rows:
            positions = self.positions.pop(key, [])
            if key in kept or not positions or state.status == "cancelled":
                continue
            if (key in late or state.status == "expired") and key not in self.late:
                self.late.add(key)
                self.parcels.pending.append(positions)
            else:
                self.alone.append(positions)
        self._dismiss(flight.name, flight.held, cost)
        if state.status == "cancelled":
            raise Stop("it was cancelled at the endpoint; what it did is kept")

    def _collected_before(self, batch: str) -> set[str]:
        """Keys whose answers from this batch are on file: an earlier run died while it collected."""
        sent = self.store.records["sent"].fillna("")
        return set(self.store.records.loc[sent.str.endswith(f" batch={self._safe(batch)}"), "key"])

    def _take_in(self, row: dict[str, Any], answer: Answer, batch: str) -> float:
        """Keep one answer; what it cost, at most where the endpoint did not count."""
        record, reply = row["record"], read_answer(answer, tuple(row["scale"]))
        positions = self.positions.get(record["key"], [])
        ids = ids_of(self.pairs, positions) or [(record["query_id"], record["doc_id"]), *row["others"]]
        tokens = answer.tokens or ((0, 0, 0) if answer.failure else None)
        if (
            record["key"] in self.graded and reply.grade is not None
        ):  # judged elsewhere meanwhile, and imported
            reply = Reply(None, "", "unreadable")
            answer = replace(
                answer, note="a second answer for a pair that has its grade: paid for, not counted"
            )
        answer = replace(answer, sent=f"{record['sent']} batch={self._safe(batch)}")
        record = answered(
            {**record, "query_id": ids[0][0], "doc_id": ids[0][1]}, reply, answer,
            calls=1, tokens=tokens, price=self.price, key=self.endpoint.key,
        )  # fmt: skip
        record["time"] = row["record"]["time"]  # of asking: of two texts the one asked later is the newer
        again = bool(positions) and reply.status in REPLIES and record["key"] not in self.graded
        if again:
            self.alone.append(positions)
        self._keep(record, ids[1:], shown=bool(positions) and not again)
        return row["usd"] if record["usd"] is None else record["usd"]

    async def _written(self, few: int) -> None:
        """Wait until fewer than so many answers are not on disk, or cannot be written."""
        while self.unwritten >= few and not self.halt:
            await asyncio.sleep(GATHER)

    def _safe(self, text: str) -> str:
        """What the endpoint says, without the key."""
        return self.endpoint.scrubbed(text)
