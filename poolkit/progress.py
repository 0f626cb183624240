"""Work that takes a while: progress on stderr, and an end that was asked for."""

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm


class Meter:
    """Progress on stderr: a bar on a terminal, else a line every half minute and at the end."""

    def __init__(self, total: int, show: bool | None = None):
        self.total, self.counts, self._start, self._said = (
            total,
            Counter[str](),
            time.monotonic(),
            time.monotonic(),
        )
        self._show, self._usd = show is not False and total > 0, ""
        self._bar = (
            tqdm(total=total, unit="pair", smoothing=0.1) if self._show and sys.stderr.isatty() else None
        )

    def add(self, records: list[dict[str, Any]], usd: float | None, oldest: float) -> None:
        """Count records that are on disk."""
        self.counts.update(record["status"] for record in records)
        failed = self.counts.total() - self.counts["ok"]
        self._usd = "price unknown" if usd is None else f"{usd:.2f} USD"
        if self._bar is not None:
            self._bar.set_postfix_str(
                f"{failed} failed, {self._usd}, oldest call {oldest:.0f} s", refresh=False
            )
            self._bar.update(len(records))
        elif time.monotonic() - self._said > 30:
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
        left = f"{(self.total - done) / rate / 60:.1f} min left" if done else "no answer yet"
        so_far = f"judged {done:,} of {self.total:,}, {failed:,} failed"
        self.say(f"{so_far}, {rate:.1f}/s, {left}, {self._usd or '0 USD'}")


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
