"""Draws and intervals, against one-by-one forms and by hand."""

import numpy as np
import pytest

from poolkit.resample import (
    difference_bounds,
    interval,
    mean_draws,
    query_draws,
    share_above,
)


def rng():
    return np.random.default_rng(4)


def test_interval_by_hand():
    # 0..100: the 2.5th and 97.5th percentiles of 101 equally spaced values are themselves
    found = interval(50.0, np.arange(101.0))
    assert (found.low, found.high) == (pytest.approx(2.5), pytest.approx(97.5))
    assert (found.value, found.level, found.undefined) == (50, 0.95, 0)
    assert interval(50.0, np.arange(101.0), level=0.5).low == 25


def test_undefined_draws_are_left_out_and_counted():
    found = interval(1.0, np.array([np.nan, 1.0, 1.0, np.nan]))
    assert (found.low, found.high, found.undefined) == (1, 1, 2)
    nothing = interval(np.nan, np.full(3, np.nan))
    assert np.isnan([nothing.low, nothing.high]).all()
    assert nothing.undefined == 3


@pytest.mark.parametrize("level", [0, 1, -0.1, 95])
def test_level_is_a_share(level):
    with pytest.raises(ValueError, match=f"level must lie between 0 and 1; got {level}"):
        interval(1.0, np.ones(2), level=level)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        difference_bounds(np.ones((2, 2)), level=level)


def test_draws_hold_every_query_count():
    found = query_draws(7, n_resamples=50, rng=rng())
    assert found.shape == (50, 7)
    assert (found.sum(axis=1) == 7).all()
    np.testing.assert_array_equal(found, query_draws(7, n_resamples=50, rng=rng()))


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0)])
def test_draws_need_a_query_and_a_resample(sizes):
    with pytest.raises(
        ValueError, match=f"at least one query and one resample; got {sizes[0]} and {sizes[1]}"
    ):
        query_draws(sizes[0], n_resamples=sizes[1], rng=rng())


def test_means_of_draws_by_hand():
    # query 1 twice, query 2 once of three: (2 * 1 + 4) / 3 and (0 + 6) / 3
    found = mean_draws(np.array([[1.0, 4.0, 9.0], [0.0, 6.0, 9.0]]), np.array([[2.0, 1.0, 0.0]]))
    assert found.tolist() == [[2.0, 2.0]]


def test_draws_of_other_queries_are_refused():
    with pytest.raises(
        ValueError, match=r"draws are over 4 queries, scores over 3. Draw with query_draws\(3, ...\)"
    ):
        mean_draws(np.ones((2, 3)), np.ones((5, 4)))


def test_means_of_draws_are_means_of_resampled_scores():
    values, draws = rng().random((3, 5)), query_draws(5, n_resamples=20, rng=rng())
    for mean, counts in zip(mean_draws(values, draws), draws, strict=True):
        resampled = np.repeat(np.arange(5), counts.astype(int))
        np.testing.assert_allclose(mean, values[:, resampled].mean(axis=1))


def test_share_above_by_hand():
    # a > b, a = b, a < b, a > b: (2 + 1/2) / 4
    draws = np.array([[2.0, 1.0], [1.0, 1.0], [0.0, 1.0], [3.0, 1.0]])
    assert share_above(draws).tolist() == [[0.5, 0.625], [0.375, 0.5]]


def test_float_noise_is_a_tie():
    assert share_above(np.array([[0.1 + 0.2, 0.3]]))[0, 1] == 0.5


def test_share_above_equals_its_oracle():
    draws = rng().integers(0, 4, (200, 5)).astype(float)
    for a in range(5):
        for b in range(5):
            wanted = np.mean((draws[:, a] > draws[:, b]) + 0.5 * (draws[:, a] == draws[:, b]))
            assert share_above(draws)[a, b] == pytest.approx(wanted)


@pytest.mark.parametrize("n", [1, 2, 10, 333])
def test_difference_bounds_equal_one_interval_a_pair(n):
    draws = rng().random((n, 4))
    low, high = difference_bounds(draws, level=0.9)
    for a in range(4):
        for b in range(4):
            wanted = interval(0.0, draws[:, a] - draws[:, b], level=0.9)
            assert (low[a, b], high[a, b]) == (pytest.approx(wanted.low), pytest.approx(wanted.high))
