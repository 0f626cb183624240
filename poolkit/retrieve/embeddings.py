"""Embeddings from an OpenAI-compatible endpoint, through the door that judging uses: retries, rates, budget."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from poolkit.answers import Answer
from poolkit.dialect import MOST_TOKENS, Dialect
from poolkit.endpoint import Endpoint
from poolkit.price import Stop
from poolkit.progress import in_thread
from poolkit.tables import DataError

MOST_TEXTS, MOST_BYTES = 96, 250_000  # of a call: what the strictest well-known endpoints take
CONCURRENCY = 16
BYTES_A_TOKEN = 4  # likely, for the rate; a budget reckons with one


@dataclass(frozen=True)
class Text:
    """A text to embed: the key of its vector, whose it is, and what is sent."""

    key: bytes
    owner: str
    text: str


class Plain(Dialect):
    """Parameters of an embeddings call: there is no reply format, and what is refused is not sent again."""

    def form(self, response_format: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters to send; `response_format` holds those of this kind of text."""
        form = {**self.parameters, **response_format}
        return {name: value for name, value in form.items() if f"no {name}" not in self.learnt}


@dataclass(frozen=True)
class Embedded(Answer):
    """A reply with one vector a text, in the order of the texts."""

    vectors: np.ndarray | None = None


class Embedder(Endpoint):
    """An embeddings endpoint: texts go where a chat has its messages."""

    path: ClassVar[str] = "/embeddings"

    async def _paid(self, body: dict[str, Any], tokens: int) -> Answer:
        """One request, its worst cost held and its real cost settled."""
        return await super()._paid({"input": body.pop("messages"), **body}, tokens)

    def _read(self, reply: Any, body: Mapping[str, Any]) -> Answer:
        """Vectors and token count of a reply."""
        try:
            rows = sorted(reply["data"], key=lambda row: row.get("index", 0))
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
            used = (reply.get("usage") or {}).get("prompt_tokens")
            if not vectors.size:
                raise ValueError("no numbers")
        except (TypeError, KeyError, AttributeError, ValueError):
            raise ValueError(f"no embeddings in the reply: {self.scrubbed(str(reply), most=100)}") from None
        tokens = (used, 0, 0) if isinstance(used, int) and 0 <= used <= MOST_TOKENS else None
        return Embedded(tokens=tokens, vectors=vectors)


class Filling:
    """Texts that go to an endpoint, in batches side by side; what comes back is kept at once.

    A batch that is refused is halved until the endpoint takes it or one text is found guilty.

    Parameters
    ----------
    endpoint : Embedder
        Not yet open.
    texts : sequence of Text
    parameters : mapping
        Sent with these texts beside the model.
    size : int
        Length that the vectors must have; 0 where the first reply says it.
    keep : callable
        (keys, vectors) -> None: makes vectors durable.
    """

    def __init__(
        self, endpoint: Embedder, texts: Sequence[Text], parameters: Mapping[str, Any], *,
        size: int, keep: Callable[[list[bytes], np.ndarray], None],
    ) -> None:  # fmt: skip
        self.endpoint, self.todo, self.parameters = endpoint, deque(texts), parameters
        self.size, self.keep, self.most, self.total, self.done = size, keep, MOST_TEXTS, len(texts), 0
        self.halt: str | None = None
        self.error: BaseException | None = None
        self.tasks = set[asyncio.Task[None]]()

    def run(self) -> None:
        """Embed all; a DataError says why some are left. Ctrl-C, SIGTERM and SIGHUP let the calls in flight end."""
        in_thread(lambda: asyncio.run(self._main()), self._interrupt)  # a notebook has its own loop

    def _interrupt(self) -> None:
        """Send nothing more; when asked once more, drop what is in flight."""
        if self.halt:
            for task in self.tasks:
                self.loop.call_soon_threadsafe(task.cancel)
        self.halt = self.halt or "interrupted"

    async def _main(self) -> None:
        self.loop = asyncio.get_running_loop()
        async with self.endpoint:
            workers = min(self.endpoint.concurrency, len(self.todo))
            running = self.tasks = {asyncio.create_task(self._work()) for _ in range(workers)}
            while running:
                ended, running = await asyncio.wait(running, timeout=0.1)
                for task in ended:
                    if not task.cancelled() and (error := task.exception()):
                        self.error, self.halt = self.error or error, self.halt or "an error"
                if self.halt:
                    for task in running & self.endpoint.idle:
                        task.cancel()
        if self.error:
            raise self.error
        if self.done < self.total:
            so_far = f"{self.done:,} of {self.total:,} texts are embedded and kept"
            raise DataError(f"{self.halt}; {so_far}, run again to go on")

    async def _work(self) -> None:
        """Take one batch after another."""
        while self.todo and not self.halt:
            batch, length = list[Text](), 0
            while self.todo and len(batch) < self.most:
                length += len(self.todo[0].text.encode())
                if batch and length > MOST_BYTES:
                    break
                batch.append(self.todo.popleft())
            try:
                await self._embed(batch)
            except Stop as stop:
                self.halt = self.halt or str(stop)

    async def _embed(self, batch: list[Text]) -> None:
        """One call; halves of it where it is refused."""
        most = sum(len(x.text.encode()) for x in batch)  # no token is shorter than a byte
        tokens = (most / BYTES_A_TOKEN, most)
        sent = [x.text for x in batch]
        answer = await self.endpoint.chat(sent, response_format=self.parameters, tokens=tokens)
        if answer.failure == "too long" or (answer.failure and answer.note.startswith("HTTP 4")):
            if len(batch) == 1:
                hint = " max_document_tokens cuts long ones." if answer.failure == "too long" else ""
                raise DataError(f"the endpoint refuses the text of {batch[0].owner}: {answer.note}.{hint}")
            self.most = min(self.most, len(batch) // 2)
            while batch:
                some, batch = batch[: self.most], batch[self.most :]
                await self._embed(some)
            return
        vectors = answer.vectors if isinstance(answer, Embedded) else None
        if vectors is None:
            raise DataError(f"no embeddings came back: {answer.note}")
        self._check(batch, vectors)
        self.keep([x.key for x in batch], vectors)
        self.done += len(batch)

    def _check(self, batch: list[Text], vectors: np.ndarray) -> None:
        """Refuse vectors that cannot be those of the texts."""
        if len(vectors) != len(batch) or vectors.ndim != 2:
            raise DataError(f"{len(vectors)} vectors came back for {len(batch)} texts")
        self.size = self.size or vectors.shape[1]
        if vectors.shape[1] != self.size:
            raise DataError(
                f"a vector of {vectors.shape[1]} dimensions came back for {batch[0].owner}, "
                f"where {self.size} are wanted. Check model and dimensions."
            )
        broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(broken):
            raise DataError(f"the vector of {batch[broken[0]].owner} holds NaN or infinity")
