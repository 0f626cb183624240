"""Runs as columns and back."""

import json

import numpy as np
from hypothesis import given
from worlds import worlds

from poolkit.columns import from_columns, to_columns


@given(worlds())
def test_runs_come_back_as_they_were(world):
    runs, _, _ = world
    back, notes = from_columns(to_columns(runs, [("runs/a.run", 3, "odd")]))
    assert json.dumps(notes) == '[["runs/a.run", 3, "odd"]]'
    assert (back.systems, back.queries, back.strays) == (runs.systems, runs.queries, runs.strays)
    for name in ("item", "tied", "query_of", "document_of", "documents"):
        one, two = getattr(back, name), getattr(runs, name)
        assert one.dtype == two.dtype
        assert np.array_equal(one, two)
