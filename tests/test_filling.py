"""The frame of a filling; what is done in it is tested whole, in test_judge and test_batch."""

import asyncio

import pytest
from loopback import Loopback
from test_judge import KEY, Place, pairs

from poolkit.filling import Filling
from poolkit.identity import asked
from poolkit.progress import Meter
from poolkit.records import read_records
from poolkit.replies import question
from poolkit.store import Store


def test_a_writer_that_breaks_ends_the_run(tmp_path, monkeypatch):
    """It was waited for, for ever."""
    monkeypatch.setenv("A_KEY", KEY)

    def broken(self, records):
        raise UnicodeEncodeError("utf-8", "x", 0, 1, "surrogates not allowed")

    monkeypatch.setattr(Store, "put", broken)
    with Loopback() as server, pytest.raises(UnicodeEncodeError):
        Place(tmp_path, server).fill(pairs(500))
    assert len(server.requests) < 300


class Odd(Filling):
    """Answers without asking."""

    async def _work_all(self):
        for pair in asked(self.judge, self.pairs, 0):
            record = question(self.judge, pair, 0) | {"calls": 1, "usd": 0.5, "time": "2026-01-01T00:00:00Z"}
            self._keep(record, [("other", pair.doc_id)], shown=pair.doc_id != "d1")
        await asyncio.sleep(0)
        if self.replicate:
            raise RuntimeError("a bug")


@pytest.mark.parametrize("bug", [0, 1])
def test_all_that_was_kept_is_on_disk_when_it_ends(tmp_path, monkeypatch, bug):
    monkeypatch.setenv("A_KEY", KEY)
    with Loopback() as server:
        place = Place(tmp_path, server)
        meter = Meter(8, False)
        with Store(place.cache, place.path) as store:
            filling = Odd(place.judge, pairs(4), store, [], replicate=bug, key=KEY, max_usd=None, meter=meter)
            if bug:
                with pytest.raises(RuntimeError, match="a bug"):
                    filling.run()
            else:
                filling.run()
        records = read_records(place.path)
    assert records["calls"].tolist() == [1, 0] * 4  # a copy costs nothing
    assert (filling.calls, filling.usd) == (4, 2.0)
    assert meter.counts == {"endpoint": 6}  # one pair is asked for again: kept, not counted
