"""Work that takes a while: progress on stderr, and an end that was asked for."""

import multiprocessing
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")
EVERY = 30  # seconds between lines
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, a scheduler, a terminal that is gone


class Meter:
    """Progress on stderr: a bar on a terminal, else a line every half minute and at the end."""

    def __init__(self, total: int, show: bool | None = None):
        self.total, self.counts, self._start, self._said = (
            total,
            Counter[str](),
            time.monotonic(),
            time.monotonic(),
        )
        self._show, self._last = show is not False and total > 0, "0 USD"
        self._bar = (
            tqdm(total=total, unit="pair", smoothing=0.1) if self._show and sys.stderr.isatty() else None
        )

    def add(self, records: Sequence[dict[str, Any]], usd: float | None, oldest: float) -> None:
        """Count records that are on disk; with none of them, only show how things stand."""
        self.counts.update(record["status"] for record in records)
        failed = self.counts.total() - self.counts["ok"]
        usd_so_far = "price unknown" if usd is None else f"{usd:.2f} USD"
        self._last = f"{usd_so_far}, oldest call {max(0.0, oldest):.0f} s"
        with self._heard_or_not():
            if self._bar is not None:
                self._bar.set_postfix_str(f"{failed:,} failed, {self._last}", refresh=False)
                self._bar.update(len(records))
            elif time.monotonic() - self._said > EVERY:
                self._line()

    def say(self, text: str) -> None:
        """Say one line."""
        with self._heard_or_not():
            if self._show:
                tqdm.write(text, file=sys.stderr)

    def close(self) -> None:
        """Show the last state."""
        with self._heard_or_not():
            if self._bar is not None:
                self._bar.close()
            else:
                self._line()

    @contextmanager
    def _heard_or_not(self) -> Iterator[None]:
        """Go on in silence where stderr is gone, a pipe that broke say: what is being paid for matters more."""
        try:
            yield
        except (OSError, ValueError):
            self._show, self._bar = False, None

    def _line(self) -> None:
        self._said = time.monotonic()
        done, seconds = self.counts.total(), max(1e-9, self._said - self._start)
        failed, rate = done - self.counts["ok"], done / seconds
        left = f"{rest((self.total - done) / rate)} left" if done else "no answer yet"
        self.say(f"judged {done:,} of {self.total:,}, {failed:,} failed, {rate:.1f}/s, {left}, {self._last}")


def watched(items: Collection[T], what: str) -> Iterable[T]:
    """Items one by one; where that lasts and somebody looks on, in a terminal or a notebook, a bar says how far.

    It is written to stderr and cleared at the end, so that no page keeps it.
    """
    seen = sys.stderr.isatty() or "ipykernel" in sys.modules
    main = multiprocessing.current_process().name == "MainProcess"  # of many jobs nobody wants many bars
    return tqdm(items, desc=what, delay=2, leave=False, disable=not (seen and main))


def rest(seconds: float) -> str:
    """A time to come, in the unit that suits it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def in_thread(work: Callable[[], None], interrupt: Callable[[], None]) -> None:
    """Do work in a thread of its own; Ctrl-C and the like do not break into it but call `interrupt`, each time."""
    errors, over, asked = list[BaseException](), threading.Event(), deque[None]()

    def whole() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            over.set()

    with on_stop(lambda: asked.append(None)):  # only noted: a handler breaks into anything, itself too
        threading.Thread(target=whole, name="poolkit-judge", daemon=True).start()
        while not over.wait(0.1):
            while asked:
                asked.popleft()
                interrupt()
    if errors:
        raise errors[0]


@contextmanager
def on_stop(act: Callable[[], None]) -> Iterator[None]:
    """Act on a signal to stop instead of dying of it, where this is the main thread and nobody ignores it."""
    main = threading.current_thread() is threading.main_thread()
    now = {which: signal.getsignal(which) for which in STOPS if main}
    old = {which: handler for which, handler in now.items() if handler not in (None, signal.SIG_IGN)}
    for which in old:
        signal.signal(which, lambda *_: act())
    try:
        yield
    finally:
        for which, handler in old.items():
            signal.signal(which, handler)
