"""How fast to ask: calls in flight, and how long a server wants to be left alone."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


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
