"""One door to every OpenAI-compatible chat endpoint: retries, rates, deadlines, price and budget.

Calls go through the ``openai`` client (aiohttp transport), its own retries off: waiting is done here, as long
as the server asks. A call is hung up on at our own deadline. What servers say is scrubbed of the key.
"""

import asyncio
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

import aiohttp
import httpx2
import openai
from aiolimiter import AsyncLimiter
from tenacity import wait_random_exponential

from poolkit.answers import Answer, no_money, read_completion, refusal_of, said_of, scrubbed
from poolkit.dialect import OPENAI, Dialect, spoken
from poolkit.pace import Again, Gate, patiently, retry_after
from poolkit.price import Budget, Price, Stop

T = TypeVar("T")
PATIENCE = 1800.0  # seconds that one call may spend waiting and trying again
SERVICE_TIMEOUT = 900.0  # seconds that a file of 200 MB may take
BYTES_A_TOKEN = 4  # likely; a budget reckons with one
Tokens = tuple[float, int]
QUEUE_FULL = re.compile(r"enqueued|token_limit_exceeded", re.I)
_BROKEN = (openai.APIError, httpx2.HTTPError, aiohttp.ClientError, OSError, RecursionError)  # or a timeout
_BACKOFF = wait_random_exponential(multiplier=0.5, max=30)


class QueueFull(Exception):
    """The endpoint queues no more tokens until others are done."""


@dataclass
class Endpoint:
    """A chat endpoint; used as ``async with``, opened and closed in one event loop."""

    path: ClassVar[str] = "/chat/completions"
    model: str
    base_url: str = OPENAI
    key: str = field(default="", repr=False)
    key_env: str = ""
    price: Price | None = None
    budget: Budget = field(default_factory=Budget)
    dialect: Dialect = field(default_factory=Dialect)
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int = 64
    timeout: float = 120.0
    attempts: int = 6

    async def __aenter__(self) -> Self:
        limits = httpx2.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
        self._client = openai.AsyncOpenAI(
            api_key=self.key or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=self.timeout + 5,
            http_client=openai.DefaultAioHttpClient(limits=limits),
        )
        self._gate, self._resume = Gate(self.concurrency), 0.0
        self.idle, self._sent = set[asyncio.Task[Any] | None](), dict[asyncio.Task[Any] | None, float]()
        self._calls, self._tokens = (
            AsyncLimiter(max(1.0, most / 60), max(1.0, 60 / most)) if most else None
            for most in (self.requests_per_minute, self.tokens_per_minute)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def chat(
        self, messages: Sequence[Any], *, response_format: Mapping[str, Any], tokens: Tokens
    ) -> Answer:
        """One answer: tried again as long as that may help, else a failure with its reason.

        Parameters
        ----------
        messages : sequence of mapping
        response_format : mapping
            The json_schema asked for, where the endpoint takes one.
        tokens : (float, int)
            Input tokens, likely and at most: what is taken from the rate, and what is held of the budget.

        Returns
        -------
        Answer

        Raises
        ------
        Stop
            When no later call could succeed: budget, quota, key, model.
        """
        try:
            return await self._patiently(self._attempt, messages, response_format, tokens)
        except Again as error:
            return Answer(failure="endpoint", note=self.scrubbed(str(error)))

    async def service(self, what: str, call: Callable[[openai.AsyncOpenAI], Awaitable[T]]) -> T:
        """Any other request, such as for files and batches: as patient as a chat call, and free.

        Parameters
        ----------
        what : str
            What it is, in words: "upload the requests".
        call : callable
            Makes the request with this client.

        Raises
        ------
        Stop
            When the endpoint refuses it, or patience ran out.
        """

        async def attempt() -> T:
            try:
                return await call(self._client.with_options(timeout=SERVICE_TIMEOUT))
            except openai.APIStatusError as error:
                note = self._words(error)
                if QUEUE_FULL.search(str(error.body or error.message)):
                    raise QueueFull(note) from None
                if error.status_code not in (404, 405):
                    self._refused(error, {})  # raises Again or Stop where it knows better
                raise Stop(f"{self.base_url} refused to {what} ({note})") from None
            except _BROKEN:
                raise Again("the connection or its reply broke") from None
            except ValueError as error:  # pydantic's words may hold a part of the key
                plain = type(error) is ValueError
                raise Again(str(error) if plain else "the server's reply has another form") from None

        try:
            return await self._patiently(attempt)
        except Again as error:
            raise Stop(f"{self.base_url} could not {what}: {self.scrubbed(str(error))}") from None

    async def _patiently(self, attempt: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        """Try again as long as that may help."""
        return await patiently(
            attempt, *arguments, attempts=self.attempts, patience=PATIENCE, wait=_BACKOFF, sleep=self._nap
        )

    def scrubbed(self, text: str, *, most: int = 300) -> str:
        """Text without the key, on one line of bounded length."""
        return scrubbed(text, self.key, most=most)

    def oldest(self) -> float:
        """Seconds that the oldest call in flight has taken."""
        return max(0.0, time.monotonic() - min(self._sent.values(), default=math.inf))

    @contextmanager
    def _idle(self) -> Iterator[None]:
        """Mark this task as waiting, with nothing sent: it may be cancelled without loss."""
        task = asyncio.current_task()
        self.idle.add(task)
        try:
            yield
        finally:
            self.idle.discard(task)

    async def _nap(self, seconds: float) -> None:
        """Sleep, idle."""
        with self._idle():
            await asyncio.sleep(seconds)

    async def _attempt(self, messages: Sequence[Any], wanted: Mapping[str, Any], tokens: Tokens) -> Answer:
        """Send once, or a few times where the endpoint first has to teach what it takes."""
        with self._idle():
            for limiter, amount in ((self._calls, 1.0), (self._tokens, tokens[0])):
                while limiter and amount > 0:  # a second's worth at most at once
                    await limiter.acquire(piece := min(amount, limiter.max_rate))
                    amount -= piece
            await self._gate.enter()
        try:
            while (left := self._resume - time.monotonic()) > 0:
                await self._nap(left)
            for _ in range(8):
                form, answer = self.dialect.form(wanted), None
                body = {"model": self.model, "messages": messages, **form}
                try:
                    answer = await self._paid(body, tokens[1])
                except openai.APIStatusError as error:
                    answer = self._refused(error, form)
                if answer is not None:
                    self._gate.grow()
                    return answer
        finally:
            self._gate.leave()
        learnt = ", ".join(self.dialect.learnt)
        return Answer(failure="endpoint", note=f"the endpoint keeps refusing parameters; learnt: {learnt}")

    async def _paid(self, body: dict[str, Any], tokens: int) -> Answer:
        """One request, its worst cost held and its real cost settled."""
        out = body.get("max_tokens", body.get("max_completion_tokens", 0))
        worst = self.price.usd(tokens, 0, out) if self.price else 0.0
        with self._idle():
            await self.budget.hold(worst)
        task = asyncio.current_task()
        self._sent[task] = time.monotonic()
        cost = worst  # of a call cut off: the provider may bill it
        try:
            async with asyncio.timeout(self.timeout) as deadline:
                reply = await self._client.post(self.path, cast_to=object, body=body)
            try:
                answer = self._read(reply, body)
            except ValueError as error:
                raise Again(str(error)) from None
            if self.price and answer.tokens:
                cost = self.price.usd(*answer.tokens)
            return answer
        except openai.APIStatusError as error:
            cost = worst if error.status_code in (504, 524) else 0.0  # a gateway's patience ended
            raise
        except (*_BROKEN, ValueError):
            late = f"no answer within {self.timeout:g} s"
            raise Again(late if deadline.expired() else "the connection or its reply broke") from None
        finally:
            self.budget.settle(worst, cost)
            self._sent.pop(task, None)

    def _read(self, reply: Any, body: Mapping[str, Any]) -> Answer:
        """A reply as an Answer; a ValueError where it is none."""
        sent = spoken({n: value for n, value in body.items() if n not in ("model", "messages")})
        return read_completion(reply, model=self.model, key=self.key, sent=sent)

    def _words(self, error: openai.APIStatusError) -> str:
        """An error status and what the server says of it."""
        words = error.body.get("message") if isinstance(error.body, dict) else error.body
        return self.scrubbed(f"HTTP {error.status_code}: {words or error.message}")

    def _refused(self, error: openai.APIStatusError, form: Mapping[str, Any]) -> Answer | None:
        """What an error status means: an Answer, None to send again in another form, Again or Stop."""
        status, said = error.status_code, said_of(error.body, error.message)
        note = self._words(error)
        if no_money(status, said, error.code):
            raise Stop(f"no money left at {self.base_url} ({note}); top it up and run again, nothing is lost")
        if status >= 500 and self.dialect.learn(said, form, only_format=True):
            return None
        if status in (408, 409, 429) or status >= 500:
            after = retry_after(error.response.headers)
            if after is not None and after > PATIENCE:
                raise Stop(f"{self.base_url} asks to wait {after:.0f} s ({note}); run again then")
            self._resume = max(self._resume, time.monotonic() + (after or 0.0))
            if status == 429:
                self._gate.shrink()
            raise Again(note, after=after, limited=status == 429)
        if status not in (401, 404) and (kind := "too long" if status == 413 else refusal_of(said)):
            return Answer(failure=kind, note=note)
        if status in (401, 403):
            variable = f"${self.key_env}" if self.key_env else "no variable: set key_env"
            raise Stop(f"{self.base_url} refused the key, taken from {variable} ({note})")
        if status == 404:
            raise Stop(f"{self.base_url} has no model {self.model!r}, or no {self.path} ({note})")
        return None if self.dialect.learn(said, form) else Answer(failure="endpoint", note=note)
