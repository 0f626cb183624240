"""States of the growing pool: counts, and the per-query invariant that is checked, not assumed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import worlds

from poolkit import states
from poolkit.labels import grades_on
from poolkit.pool import pool
from poolkit.score import grade_counts


@given(worlds(), st.integers(1, 5), st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_counts_equal_those_of_each_smaller_pool(world, depth, random):
    found, labels, _ = world
    on, p = grades_on(found, labels), pool(found, depth=depth)
    order = list(range(len(found.systems)))
    random.shuffle(order)
    source = states.sources(p, on, reads=depth)
    state = states.arrived(source, np.array(order))
    got = states.counts(source, state, n_states=len(order))
    for t in range(len(order)):
        part = pool(found.select([found.systems[s] for s in order[: t + 1]]), depth=depth)
        n = len(found.queries)
        expected = grade_counts(part.query, on.relevance[part.item], n_queries=n, top=on.top)
        assert np.array_equal(got[:, t], expected)
    assert states.unseen(source, np.array(order), state) == 0


def test_a_document_read_beyond_the_pool_is_seen_to_be_missing():
    from toy import grades, runs

    # Depth 1 pools q1 d1 (bm25), d2 (dense, hybrid); q2 d3, d5. Reading 2 ranks, bm25 needs q1 d2 and q2 d5,
    # which only dense brings later; hybrid, last, needs q1 d1: there already.
    source = states.sources(pool(runs(), depth=1), grades(), reads=2)
    order = np.array([0, 1, 2])
    assert states.unseen(source, order, states.arrived(source, order)) == 2


def test_means_by_hand():
    above = np.array([[1.0, 2.0], [0.0, 1.0]])
    below = np.array([[1.0, 2.0], [0.0, 4.0]])
    # State 0: query 1 counts 0 for all: (1/1 + 0) / 2; state 1: (1/2 + 2/4) / 2.
    assert states.means(above, below) == pytest.approx(np.array([[0.5, 0.5], [0.0, 0.125]]))


def test_contradictions_are_found_where_there_are_any():
    order = np.array([0, 1])
    # One common denominator: never. N finally orders 1 below 0 in both queries.
    above = np.array([[2.0, 3.0], [1.0, 1.0]])
    assert states.contradictions(above, np.array([[1.0, 5.0], [1.0, 9.0]]), order, noise=1e-12) == 0
    # Nothing judged yet in state 0: everybody has 0 there, which contradicts nothing.
    late = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert states.contradictions(above, late, order, noise=1e-12) == 0
    # A tolerance below every difference makes each later system's cell a hit: 2 queries x 1 state with both.
    assert states.contradictions(above, late, order, noise=-9.0) >= 2


def plain_contradictions(above, below, order, noise):
    """Every system's score in every state against those of the finally lower systems present."""
    found, (n, queries) = 0, above.shape
    weight = [[1 / d if d > 0 else 0.0 for d in row] for row in below]
    arrival = {int(s): t for t, s in enumerate(order)}
    for q in range(queries):
        ranked = sorted(range(n), key=lambda s: above[s][q] * weight[q][-1])
        for t in range(below.shape[1]):
            best = 0.0
            for s in ranked:
                if arrival[s] <= t:
                    value = above[s][q] * weight[q][t]
                    found += value < best - noise
                    best = max(best, value)
    return found


@given(st.integers(0, 2**32 - 1))
def test_contradictions_equal_the_plain_count(seed):
    rng = np.random.default_rng(seed)
    above = rng.choice([0.0, 0.1, 0.1 + 1e-16, 0.3, 1.0, 1.0 + 1e-9], size=(4, 3))
    below = rng.choice([0.0, 0.3, 1.0, 3.0, 1e-3], size=(3, 4))  # need not grow: then there are some
    below[:, -1] *= rng.choice([0, 1], size=3)
    order = rng.permutation(4)
    for noise in (0.0, 1e-12):
        fast = states.contradictions(above, below, order, noise=noise)
        assert fast == plain_contradictions(above, below, order, noise)
