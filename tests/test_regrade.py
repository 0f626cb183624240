"""Labels taken away and given back: equal to scoring everything anew."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import worlds

from poolkit.labels import grades_on
from poolkit.pool import holes, own_members, pool
from poolkit.regrade import all_labels
from poolkit.score import measure, scores

MEASURES = [measure(m) for m in ("P@2", "nDCG@3", "AP", "R@2", "RR", "Success@1", "DCG@2", "nDCG")]


def plain(runs, grades, items):
    """Means and shares of holes with these items unlabelled, everything scored by the plain way."""
    relevance, judged = grades.relevance.copy(), grades.judged.copy()
    relevance[items], judged[items] = 0, False
    reduced = replace(grades, relevance=relevance, judged=judged)
    return scores(runs, reduced, MEASURES), judged


@given(worlds(), st.integers(1, 4), st.integers(0, 3))
def test_regraded_equals_scoring_anew(world, depth, which):
    runs, labels, _ = world
    grades, made = grades_on(runs, labels), pool(runs, depth=depth)
    own = np.arange(len(runs.systems)) == which % len(runs.systems)
    items = made.item[own_members(made, own)]
    full = all_labels(made, grades, MEASURES)
    without = full.regraded(items, keep=False, own=own)
    expected, judged = plain(runs, grades, items)
    returned = np.array([[(row < runs.n_items).sum() for row in system] for system in runs.item])
    for m in MEASURES:
        assert without.means()[str(m)] == pytest.approx(expected.values[str(m)].mean(axis=1), abs=1e-9)
    there = np.minimum(returned[:, grades.has], 2).sum(axis=1)
    kept = replace(runs, item=runs.item[:, grades.has])
    missing = holes(kept, judged, cutoff=2).to_numpy()
    share = np.divide(missing, there, out=np.zeros(len(there)), where=there > 0)
    assert without.unjudged(measure("P@2")) == pytest.approx(share)
    back = without.regraded(items, keep=True, own=own)
    for m in MEASURES:
        assert back.means()[str(m)] == pytest.approx(full.means()[str(m)], abs=1e-12)
        assert back.unjudged(m) == pytest.approx(full.unjudged(m))
