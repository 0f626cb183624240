"""Pairs of systems and rank correlations in draws, against the plain forms and by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolkit.compare import kendall, spearman, tau_ap
from poolkit.orders import aligned, ceiling, correlation_draws, pair_table, rank_draws, rank_p_values
from poolkit.tables import DataError


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7).flatmap(lambda n: st.lists(
    st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 2), min_size=1, max_size=4
)))  # fmt: skip
def test_correlations_in_draws_equal_the_plain_ones(rows):
    left, right = (np.array(side, dtype=float) for side in zip(*rows, strict=True))
    found = correlation_draws(left, right)
    for name, plain in (("rho", spearman), ("tau", kendall), ("tau_ap", tau_ap)):
        wanted = [plain(a, b) for a, b in zip(left, right, strict=True)]
        np.testing.assert_allclose(found[name], wanted, atol=1e-12)


def test_correlations_in_draws_without_ties():
    rng = np.random.default_rng(1)
    left = rng.random((20, 40))
    right = left + 0.2 * rng.random((20, 40))
    found = correlation_draws(left, right)
    for name, plain in (("rho", spearman), ("tau", kendall), ("tau_ap", tau_ap)):
        wanted = [plain(a, b) for a, b in zip(left, right, strict=True)]
        np.testing.assert_allclose(found[name], wanted, atol=1e-12)


def test_float_noise_is_a_tie_in_draws():
    # 0.1 + 0.2 is not 0.3 in floats, yet the two systems are tied for rank 1.5
    assert rank_draws(np.array([[0.3, 0.1 + 0.2, 0.1]])).tolist() == [[1.5, 1.5, 3.0]]


def test_a_constant_side_has_no_correlation_in_draws():
    found = correlation_draws(np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([[1.0, 2.0], [1.0, 2.0]]))
    assert {k: [str(x) for x in v] for k, v in found.items()} == {
        k: ["nan", "1.0"] for k in ("rho", "tau", "tau_ap")
    }


def test_one_system_has_no_correlation():
    assert np.isnan(correlation_draws(np.ones((2, 1)), np.ones((2, 1)))["rho"]).all()


def table(rows, queries):
    return pd.DataFrame(rows, index=queries).T


def test_alignment_goes_by_label_in_the_left_order():
    left = table({"x": [1, 2, 3], "y": [4, 5, 6]}, ["q3", "q1", "q2"])
    right = table({"z": [9, 9, 9], "y": [10, 20, 30], "x": [40, 50, 60]}, ["q1", "q2", "q4"])
    a, b = aligned(left, right)
    assert list(a.index) == list(b.index) == ["x", "y"]
    assert list(a.columns) == list(b.columns) == ["q1", "q2"]
    assert a.to_numpy().tolist() == [[2, 3], [5, 6]]
    assert b.to_numpy().tolist() == [[40, 50], [10, 20]]


def test_nothing_in_common_is_refused():
    left = table({"x": [1]}, ["q1"])
    with pytest.raises(DataError, match=r"no query is scored on both sides: one has q1, the other q2"):
        aligned(left, table({"x": [1]}, ["q2"]))
    with pytest.raises(DataError, match=r"no system is scored on both sides: one has x, the other y"):
        aligned(left, table({"y": [1]}, ["q1"]))


def test_pairs_by_hand():
    left = pd.Series({"x": 0.50, "y": 0.70, "z": 0.70, "w": 0.20})
    right = pd.Series({"w": 0.30, "z": 0.41, "y": 0.40, "x": 0.4005})
    found = pair_table(left, right)
    # under left y = z, and z is ahead under right: z, y, x, w
    assert list(zip(found["a"], found["b"], found["order"], found["near_tie"], strict=True)) == [
        ("z", "y", "tied", True),  # 0 under left
        ("z", "x", "same", False),  # .20 and .0095
        ("z", "w", "same", False),
        ("y", "x", "different", True),  # .20 and -.0005
        ("y", "w", "same", False),
        ("x", "w", "same", False),
    ]
    assert found["left"].to_list() == pytest.approx([0, 0.2, 0.5, 0.2, 0.5, 0.3])
    assert found["right"].to_list() == pytest.approx([0.01, 0.0095, 0.11, -0.0005, 0.1, 0.1005])


def test_a_gap_of_the_near_tie_itself_is_no_near_tie():
    # 0.5 - 0.499 is 0.001 and a rounding error, as is 0.4 - 0.399
    found = pair_table(pd.Series({"x": 0.5, "y": 0.499}), pd.Series({"x": 0.4, "y": 0.399}), near_tie=0.001)
    assert not found["near_tie"].any()


def test_pairs_of_one_system_are_an_empty_table():
    one = pd.Series({"x": 1.0})
    assert pair_table(one, one).empty


def test_the_input_order_of_systems_does_not_matter():
    rng = np.random.default_rng(3)
    left, right = (pd.Series(rng.random(6), list("abcdef")) for _ in range(2))
    turned = left.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(pair_table(left, right), pair_table(turned, right))


def test_p_values():
    # Kendall, 4 systems in full agreement: 2 of 4! = 24 orders are as extreme, 2/24
    rho_p, tau_p = rank_p_values(np.arange(4), np.arange(4))
    assert (rho_p, tau_p) == (pytest.approx(0), pytest.approx(2 / 24))
    assert all(np.isnan(rank_p_values(np.arange(2), np.arange(2))))
    assert all(np.isnan(rank_p_values(np.arange(4), np.ones(4))))


def test_ceiling_of_queries_that_agree_is_one():
    found = ceiling(np.array([[3.0] * 5, [2.0] * 5, [1.0] * 5]), rng=np.random.default_rng(0))
    assert (found.rho, found.spearman_brown, len(found.draws)) == (1, 1, 1000)


def test_ceiling_by_hand():
    # Two queries that order three systems 3 > 2 > 1 and 3 > 1 > 2: rho = 1 - 6 * 2 / (3 * 8) = 0.5 for every
    # halving, and Spearman-Brown makes 2 * 0.5 / 1.5 of it
    found = ceiling(np.array([[3.0, 3.0], [2.0, 1.0], [1.0, 2.0]]), rng=np.random.default_rng(0))
    assert (found.rho, found.spearman_brown) == (pytest.approx(0.5), pytest.approx(2 / 3))


def test_ceiling_equals_halves_taken_one_by_one():
    values = np.random.default_rng(5).random((6, 7))
    found = ceiling(values, rng=np.random.default_rng(2))
    rng, wanted = np.random.default_rng(2), []
    for half in rng.permuted(np.tile(np.arange(7) < 3, (1000, 1)), axis=1):
        wanted.append(spearman(values[:, half].mean(axis=1), values[:, ~half].mean(axis=1)))
    np.testing.assert_allclose(found.draws, wanted, atol=1e-12)
    assert found.rho == pytest.approx(np.mean(wanted))


def test_no_ceiling_for_one_query_or_constant_scores():
    assert np.isnan(ceiling(np.ones((3, 1)), rng=np.random.default_rng(0)).rho)
    found = ceiling(np.ones((3, 4)), rng=np.random.default_rng(0))
    assert np.isnan([found.rho, found.spearman_brown]).all()
