"""Pairs made up into batches: as many as one batch, the endpoint's queue and the budget have room for."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from poolkit import prompt as pr
from poolkit.bulk import request_line
from poolkit.dialect import spoken
from poolkit.endpoint import BYTES_A_TOKEN, Endpoint
from poolkit.identity import Judge, asked, prompt_of
from poolkit.price import Price, Stop
from poolkit.records import now
from poolkit.replies import messages_of, question, tokens_of

CHUNK = 256  # pairs made ready at once
TOO_FEW = 0.1  # of the pairs sent before: a budget that leaves room for no more is used up
SMALLEST = 100_000  # bytes: a queue that takes no batch of this size takes none


@dataclass(frozen=True, slots=True)
class Request:
    """One pair, ready to be sent."""

    key: str
    line: bytes
    row: dict[str, Any]  # to be remembered: what the answer completes
    positions: list[int]


class Parcels:
    """What is still to be sent.

    Parameters
    ----------
    judge : Judge
    pairs : DataFrame
    groups : iterable of list of int
        Positions in pairs; those of one list have one key.
    replicate : int
    endpoint : Endpoint
        For its dialect and budget.
    price : Price or None
        Of the batch service.
    """

    def __init__(
        self, judge: Judge, pairs: pd.DataFrame, groups: Iterable[list[int]], replicate: int,
        endpoint: Endpoint, price: Price | None,
    ):  # fmt: skip
        self.judge, self.pairs, self.replicate = judge, pairs, replicate
        self.endpoint, self.price, self.scale = endpoint, price, prompt_of(judge).scale
        self.pending, self._ready = deque(groups), deque[Request]()
        self._room = judge.batch.queued_tokens * BYTES_A_TOKEN
        self._sent = 0

    def next_part(self, queued: int) -> list[Request]:
        """Requests of the next batch; none where room must be waited for, or all are sent.

        Parameters
        ----------
        queued : int
            Bytes of the batches at the endpoint.

        Raises
        ------
        Stop
            The budget has no room, and nothing is at the endpoint that could free some.
        """
        terms, part, size, usd, poor = self.judge.batch, list[Request](), 0, 0.0, False
        free = self.endpoint.budget.free()
        while len(part) < terms.requests:
            if not self._ready:
                self._make_ready()
            if not self._ready:
                break
            one = self._ready[0]
            size, usd = size + len(one.line), usd + one.row["usd"]
            if poor := usd > free:
                break
            if (part or queued) and (size > terms.megabytes * 1e6 or queued + size > self._room):
                break  # what no batch can hold goes alone: the endpoint decides
            part.append(self._ready.popleft())
        if poor and len(part) <= TOO_FEW * self._sent:  # not worth a day
            self._ready.extendleft(reversed(part))
            if not queued:
                raise Stop(self.endpoint.budget.used_up(usd))
            return []
        self._sent += len(part)
        return part

    def put_back(self, groups: Sequence[list[int]], *, queued: int, size: int, why: str) -> None:
        """Send these again later, and queue less: what is queued already, or half of what was too much."""
        if not queued and (size < SMALLEST or len(groups) == 1):
            raise Stop(f"{self.judge.base_url} queues nothing more ({why}); run again later")
        self._room = queued or size / 2
        self._sent -= len(groups)
        self.pending.extendleft(reversed(groups))

    def _make_ready(self) -> None:
        """Make requests of the next pairs."""
        judge, form = self.judge, self.endpoint.dialect.form(pr.reply_format(self.scale))
        out = form.get("max_tokens", form.get("max_completion_tokens", 0))
        groups = [self.pending.popleft() for _ in range(min(CHUNK, len(self.pending)))]
        first = self.pairs.iloc[[group[0] for group in groups]]
        for pair, group in zip(asked(judge, first, self.replicate), groups, strict=True):
            line = request_line(
                pair.key, {"model": judge.model, "messages": messages_of(judge, pair), **form}
            )
            row = {
                "record": {**question(judge, pair, self.replicate), "sent": spoken(form), "time": now()},
                "scale": self.scale, "others": ids_of(self.pairs, group[1:]), "bytes": len(line),
                "usd": self.price.usd(tokens_of(judge, pair)[1], 0, out) if self.price else 0.0,
            }  # fmt: skip
            self._ready.append(Request(pair.key, line, row, group))


def ids_of(pairs: pd.DataFrame, positions: list[int]) -> list[tuple[str, str]]:
    """Query and document of the pairs at these positions."""
    rows = pairs.iloc[positions]
    return list(zip(rows["query_id"], rows["doc_id"], strict=True))
