"""How fast to ask and how long to go on: calls in flight, tries, and the rest that a server asks for."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

T = TypeVar("T")


class Again(Exception):
    """An attempt that failed in a way that trying again may mend."""

    def __init__(self, why: str, *, after: float | None = None, limited: bool = False):
        super().__init__(why)
        self.after, self.limited = after, limited


class Gate:
    """How many calls are in flight: one at first, doubling; fewer after a rate limit, then slowly more."""

    def __init__(self, most: int):
        self.most, self.limit, self.inside, self._growth = most, 1.0, 0, 1.0
        self._queue, self._shrunk = deque[asyncio.Future[None]](), 0.0

    async def enter(self) -> None:
        """Wait for a place."""
        while self.inside >= int(self.limit):
            place = asyncio.get_running_loop().create_future()
            self._queue.append(place)
            await place
        self.inside += 1

    def leave(self) -> None:
        """Give a place back, and call as many as there are places."""
        self.inside -= 1
        free = int(self.limit) - self.inside
        while free > 0 and self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1

    def grow(self) -> None:
        """After a good call."""
        self.limit = min(self.most, self.limit + (self._growth or 1 / self.limit))

    def shrink(self) -> None:
        """After a rate limit; those of one moment count once."""
        if time.monotonic() - self._shrunk > 1:
            self.limit, self._growth, self._shrunk = max(1.0, self.limit * 0.6), 0.0, time.monotonic()


async def patiently(
    attempt: Callable[..., Awaitable[T]],
    *arguments: Any,
    attempts: int,
    patience: float,
    wait: Callable[[RetryCallState], float],
    sleep: Callable[[float], Awaitable[None]],
) -> T:
    """Try again as long as that may help.

    Parameters
    ----------
    attempt : callable
        Raises `Again` where another try may help; any other exception ends it.
    *arguments
        Its arguments.
    attempts : int
        Tries, not counting those that a rate limit refused: they only cost time.
    patience : float
        Seconds after which no more is tried.
    wait, sleep : callable
        Seconds between tries where the server names none, and how to let them pass.

    Raises
    ------
    Again
        The last one, when attempts or patience have run out.
    """
    failures = 0

    def error_of(state: RetryCallState) -> BaseException | None:
        return state.outcome.exception() if state.outcome else None

    def enough(state: RetryCallState) -> bool:
        nonlocal failures
        failures += not getattr(error_of(state), "limited", False)
        return failures >= attempts or (state.seconds_since_start or 0) > patience

    def pause(state: RetryCallState) -> float:
        after = getattr(error_of(state), "after", None)
        return wait(state) if after is None else after * 1.02

    once_more = retry_if_exception_type(Again)
    retrying = AsyncRetrying(retry=once_more, stop=enough, wait=pause, sleep=sleep, reraise=True)
    return await retrying(attempt, *arguments)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the server asks, in milliseconds, seconds or as a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        for read in (lambda said, unit=unit: float(said) / unit, _until):
            try:
                seconds = read(value)
            except (ValueError, TypeError):
                continue
            if math.isfinite(seconds):
                return max(0.0, seconds)
    return None


def _until(date: str) -> float:
    """Seconds from now to a date."""
    return (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds()
