"""Work that takes a while: progress on stderr, and an end that was asked for."""

import multiprocessing
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")
EVERY = 30  # seconds between lines


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
        if self._bar is not None:
            self._bar.set_postfix_str(f"{failed:,} failed, {self._last}", refresh=False)
            self._bar.update(len(records))
        elif time.monotonic() - self._said > EVERY:
            self._line()

    def say(self, text: str) -> None:
        """Say one line."""
        if self._show:
            tqdm.write(text, file=sys.stderr)

    def close(self) -> None:
        """Show the last state."""
        if self._bar is not None:
            self._bar.close()
        else:
            self._line()

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
    """Do work in a thread of its own; Ctrl-C and SIGTERM do not break into it but call `interrupt`."""
    errors, over = list[BaseException](), threading.Event()

    def whole() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            over.set()

    with on_sigterm(interrupt):
        thread = threading.Thread(target=whole, name="poolkit-judge", daemon=True)
        try:
            thread.start()
        except KeyboardInterrupt:
            interrupt()
            over.wait(1)
            if not (over.is_set() or thread.is_alive()):
                raise  # it had not begun
        while not over.is_set():  # Thread.join forgets a thread that Ctrl-C interrupts it on (bpo-45274)
            try:
                over.wait(0.2)
            except KeyboardInterrupt:
                interrupt()
    if errors:
        raise errors[0]


@contextmanager
def on_sigterm(act: Callable[[], None]) -> Iterator[None]:
    """Act on SIGTERM instead of dying of it, where this is the main thread and nobody ignores it."""
    old = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or old in (None, signal.SIG_IGN):
        yield
        return
    signal.signal(signal.SIGTERM, lambda *_: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)
