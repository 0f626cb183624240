"""A filling by a small language model on this machine: what `workers` is for an endpoint."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from poolkit.identity import Asked, Judge, asked
from poolkit.likelihood import graded
from poolkit.llama import Odds, Reader, by_document
from poolkit.progress import Meter, in_thread
from poolkit.records import copied, now
from poolkit.replies import question
from poolkit.store import Store


class Local:
    """One filling, in a thread of its own, one pair after another.

    Parameters
    ----------
    judge : Judge
        Of kind likelihood.
    pairs : DataFrame
    store : Store
        Open.
    todo : sequence of list of int
        Positions in pairs; those of one list have one key and are one call.
    replicate : int
    meter : Meter
    folder : Path
        Where a model is put together that its package holds in pieces.
    """

    def __init__(
        self, judge: Judge, pairs: pd.DataFrame, store: Store, todo: Sequence[list[int]], *,
        replicate: int, meter: Meter, folder: Path,
    ):  # fmt: skip
        self.judge, self.pairs, self.store, self.meter, self.todo = judge, pairs, store, meter, todo
        self.replicate = replicate
        self.halt: str | None = None  # why nothing more is read
        self.usd: float | None = 0.0
        self.calls, self.notes = 0, dict[str, None]()
        self.reader = Reader(str(judge.weights or judge.model), folder)

    def run(self) -> None:
        """Work until all is done; Ctrl-C and SIGTERM end it after the pair in hand."""
        in_thread(self._fill, self._interrupt)

    def _interrupt(self) -> None:
        self.halt = "interrupted"

    def _fill(self) -> None:
        """Grade pair by pair; each is on disk before it is shown as done."""
        first = self.pairs.iloc[[group[0] for group in self.todo]]
        try:
            for at in by_document(first):
                known = list(asked(self.judge, first.iloc[at], self.replicate))
                found = self.reader.odds(known[0].title, known[0].text, [pair.query for pair in known])
                for place, pair, odds in zip(at, known, found, strict=True):
                    self._keep(self._record(pair, odds), self.todo[place][1:])
                    if self.halt:
                        return
        finally:
            self.meter.close()
            self.store.release()

    def _keep(self, record: dict[str, Any], twins: list[int]) -> None:
        others = self.pairs.iloc[twins]
        ids = zip(others["query_id"], others["doc_id"], strict=True)
        records = [record, *(copied(record, *pair) for pair in ids)]
        self.store.put(records)
        self.calls += 1
        self.meter.add(records, 0.0, 0.0)

    def _record(self, pair: Asked, odds: Odds) -> dict[str, Any]:
        """One line of the judgments file."""
        cuts, known = self.judge.parameters["thresholds"], np.isfinite(odds.score)
        if pair.image:
            self.notes["a likelihood judge reads text alone: page pictures were not looked at."] = None
        ladder = ", ".join(f"from {cut:.3f} grade {grade}" for grade, cut in enumerate(cuts, start=1))
        grade = {
            "relevance": int(graded(np.array(odds.score), cuts)), "status": "ok",
            "thought": f"log odds {odds.score:+.3f} a query token; {ladder}",
        }  # fmt: skip
        failure = {"status": "unreadable", "note": "the query has no tokens"}
        free = {"calls": 1, "tokens_in": odds.tokens, "tokens_out": 0, "tokens_cached": 0, "usd": 0.0}
        return {
            **question(self.judge, pair, self.replicate), **(grade if known else failure), **free,
            "sent": f"fitted on {self.judge.provenance['fitted_on']}", "cut": odds.cut, "time": now(),
        }  # fmt: skip
