"""Worlds drawn anew: the same however they are shared out."""

import numpy as np
import pytest
from worlds import dense

from poolkit.labels import grades_on
from poolkit.redraw import Judged, redrawn
from poolkit.score import measure, scores


def world(m):
    runs, labels = dense(3, systems=3, queries=4, documents=9, ranks=6)
    grades = grades_on(runs, labels)
    on = np.flatnonzero(grades.judged)
    query = np.concatenate([runs.query_of[on], grades.beyond_query])
    given = np.concatenate([grades.relevance[on], grades.beyond_relevance])
    item = runs.item[:, grades.has]
    return runs, grades, Judged(item, on, query, given, grades.judged, grades.has, 2, measure(m)), given


@pytest.mark.parametrize("m", ["nDCG@3", "AP@5", "P@2"])
def test_grades_as_they_stand_give_the_scores(m):
    runs, grades, judged, given = world(m)
    assert judged.means(given) == pytest.approx(scores(runs, grades, [m]).mean(m).to_numpy(), abs=1e-12)


def test_a_world_depends_on_its_own_generator_alone():
    _, _, judged, given = world("nDCG@3")
    reached = np.cumsum([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]], axis=1)[:, :-1]
    rngs = np.random.default_rng(5).spawn(4)
    together = redrawn(judged, np.random.default_rng(5).spawn(4), given, reached, np.arange(3))
    apart = [redrawn(judged, [r], given, reached, np.arange(3))[0] for r in rngs]
    assert together == pytest.approx(np.array(apart), abs=0)
