"""One door to every OpenAI-compatible chat endpoint: retries, rates, deadlines, price and budget.

Calls go through the ``openai`` client (aiohttp transport) and its own retries are off: waiting is done
here, as long as the server asks. A call is hung up on at our own deadline. What servers say is scrubbed of
the key before anybody sees it.
"""

import asyncio
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2
import openai
from aiolimiter import AsyncLimiter
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from poolkit.dialect import MOST_TOKENS, Dialect, spoken
from poolkit.pace import Gate, retry_after
from poolkit.price import OPENAI, Budget, Price, Stop

PATIENCE = 1800.0  # seconds that one call may spend waiting and trying again
BYTES_A_TOKEN = 4  # for the rate; a budget reckons with one
_TOO_LONG = re.compile(
    r"context.?(length|window|size)|too many (input )?tokens|(prompt|input) is too long", re.I
)
_FILTERED = re.compile(r"content.?(filter|policy|management)|responsible.?ai", re.I)
_NO_MONEY = re.compile(r"insufficient.?(quota|balance|funds)|credit balance|billing", re.I)
_BACKOFF = wait_random_exponential(multiplier=0.5, max=30)


class Again(Exception):
    """An attempt that failed in a way that trying again may mend."""

    def __init__(self, why: str, *, after: float | None = None, limited: bool = False):
        super().__init__(why)
        self.after, self.limited = after, limited


@dataclass(frozen=True)
class Answer:
    """One reply, or a failure's kind and reason; tokens are None where the server did not count them."""

    text: str | None = None
    finish: str | None = None
    model: str | None = None
    tokens: tuple[int, int, int] | None = None  # input, cached input, output
    failure: str | None = None
    note: str = ""
    sent: str = ""  # parameters that the endpoint accepted


@dataclass
class Endpoint:
    """A chat endpoint; used as ``async with``, opened and closed in one event loop."""

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
        rpm, tpm = self.requests_per_minute, self.tokens_per_minute
        self._calls = AsyncLimiter(max(1.0, rpm / 60), max(1.0, 60 / rpm)) if rpm else None
        self._tokens = AsyncLimiter(tpm, 60) if tpm else None
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def chat(
        self, messages: Sequence[Mapping[str, Any]], *, response_format: Mapping[str, Any], tokens: int
    ) -> Answer:
        """One answer: tried again as long as that may help, else a failure with its reason.

        Parameters
        ----------
        messages : sequence of mapping
        response_format : mapping
            The json_schema asked for, where the endpoint takes one.
        tokens : int
            Input tokens at most: what is held of the budget and taken from the rate.

        Returns
        -------
        Answer

        Raises
        ------
        Stop
            When no later call could succeed: budget, quota, key, model.
        """
        failures = 0  # but for rate limits, which only cost time

        def enough(state: RetryCallState) -> bool:
            nonlocal failures
            error = state.outcome.exception() if state.outcome else None
            failures += not getattr(error, "limited", False)
            return failures >= self.attempts or (state.seconds_since_start or 0) > PATIENCE

        def pause(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            after = getattr(error, "after", None)
            return _BACKOFF(state) if after is None else after * 1.02

        once_more, nap = retry_if_exception_type(Again), self._nap
        retrying = AsyncRetrying(retry=once_more, stop=enough, wait=pause, sleep=nap, reraise=True)
        try:
            return await retrying(self._attempt, messages, response_format, tokens)
        except Again as error:
            return Answer(failure="endpoint", note=self.scrubbed(str(error)))

    def scrubbed(self, text: str, *, most: int = 300) -> str:
        """Text without the key, on one line of bounded length."""
        safe = text.replace(self.key, "***") if len(self.key) > 3 else text
        safe = re.sub(r"\b(sk-|Bearer )[\w*-]{8,}", "***", safe)
        return " ".join(safe.encode("utf-8", "replace").decode().split())[:most]

    def oldest(self) -> float:
        """Seconds that the oldest call in flight has taken."""
        return time.monotonic() - min(self._sent.values(), default=time.monotonic())

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

    async def _attempt(self, messages: Sequence[Any], wanted: Mapping[str, Any], tokens: int) -> Answer:
        """Send once, or a few times where the endpoint first has to teach what it takes."""
        with self._idle():
            for limiter, amount in ((self._calls, 1.0), (self._tokens, tokens / BYTES_A_TOKEN)):
                if limiter:
                    await limiter.acquire(min(amount, limiter.max_rate))
            await self._gate.enter()
        try:
            while (left := self._resume - time.monotonic()) > 0:
                await self._nap(left)
            for _ in range(8):
                form, answer = self.dialect.form(wanted), None
                body = {"model": self.model, "messages": messages, **form}
                try:
                    answer = await self._paid(body, tokens)
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
                reply = await self._client.post("/chat/completions", cast_to=object, body=body)
            answer = self._read(reply, body)
            if self.price and answer.tokens:
                cost = self.price.usd(*answer.tokens)
            return answer
        except openai.APIStatusError:
            cost = 0.0
            raise
        except (openai.APIError, httpx2.HTTPError, OSError, ValueError):  # a TimeoutError is an OSError
            late = f"no answer within {self.timeout:g} s"
            raise Again(late if deadline.expired() else "the connection or its reply broke") from None
        finally:
            self.budget.settle(worst, cost)
            self._sent.pop(task, None)

    def _read(self, reply: Any, body: Mapping[str, Any]) -> Answer:
        """A chat completion as an Answer."""
        try:
            choice, usage = reply["choices"][0], reply.get("usage") or {}
            message, finish, model = choice["message"], choice.get("finish_reason"), reply.get("model")
            text, refusal = message.get("content"), message.get("refusal")
            details = usage.get("prompt_tokens_details") or {}
            cached = details.get("cached_tokens") or 0
            counts = (usage.get("prompt_tokens"), cached, usage.get("completion_tokens"))
        except (TypeError, KeyError, IndexError, AttributeError):
            said = reply.get("error") if isinstance(reply, dict) else reply
            said = self.scrubbed(str(said), most=100)  # before it is cut: no half key stays
            raise Again(f"the server's reply is not a chat completion: {said}") from None
        known = all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts)
        known = known and cached <= usage["prompt_tokens"]  # else a call would cost less than nothing
        return Answer(
            text=text if isinstance(text, str) else None,
            finish="refusal" if refusal and finish == "stop" else str(finish or ""),
            model=self.scrubbed(str(model or self.model)),
            tokens=counts if known else None,  # type: ignore[arg-type]
            sent=spoken({name: value for name, value in body.items() if name not in ("model", "messages")}),
        )

    def _refused(self, error: openai.APIStatusError, form: Mapping[str, Any]) -> Answer | None:
        """What an error status means: an Answer, None to send again in another form, Again or Stop."""
        status, said = error.status_code, f"{error.code} {error.body or error.message}"
        words = error.body.get("message") if isinstance(error.body, dict) else error.body
        note = self.scrubbed(f"HTTP {status}: {words or error.message}")
        if status == 402 or (status in (400, 403, 429) and _NO_MONEY.search(said)):
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
        if status in (401, 403):
            variable = f"${self.key_env}" if self.key_env else "no variable: set key_env"
            raise Stop(f"{self.base_url} refused the key, taken from {variable} ({note})")
        if status == 404:
            raise Stop(f"{self.base_url} has no model {self.model!r}, or no chat completions ({note})")
        if _TOO_LONG.search(said):
            return Answer(failure="too long", note=note)
        if _FILTERED.search(said):
            return Answer(failure="filtered", note=note)
        return None if self.dialect.learn(said, form) else Answer(failure="endpoint", note=note)
