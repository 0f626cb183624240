"""Kappa, rho, tau and label agreement: by hand, and against scipy and scikit-learn."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import toy
from sklearn.metrics import cohen_kappa_score

from poolkit.compare import (
    agreement,
    confusion,
    kappa,
    kappas,
    kendall,
    order_signs,
    settled,
    spearman,
    tau_ap,
)


def test_rho_and_tau_by_hand():
    # ranks 1 2 3 4, 2 1 3 4: d^2 = 2, rho = 1 - 6 * 2 / (4 * 15) = 0.8; 5 of 6 pairs agree: (5 - 1) / 6
    assert spearman([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(0.8)
    assert kendall([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(4 / 6)


def test_tau_b_with_a_tie_by_hand():
    # pairs of (3, 2, 1) and (3, 3, 1): one tied right, two agree: 2 / sqrt(3 * 2)
    assert kendall([3, 2, 1], [3, 3, 1]) == pytest.approx(2 / np.sqrt(6))


@pytest.mark.parametrize("of", [spearman, kendall, tau_ap])
def test_an_ordering_against_itself_its_reverse_and_nothing(of):
    x = np.array([0.3, 0.1, 0.7, 0.2])
    assert of(x, x) == pytest.approx(1)
    assert of(x, -x) == pytest.approx(-1)
    assert np.isnan(of(x, np.ones(4)))
    assert np.isnan(of([1.0], [1.0]))


@pytest.mark.parametrize("of", [spearman, kendall])
def test_float_noise_is_no_order(of):
    assert of([0.1 + 0.2, 0.3, 0.1], [2, 1, 0]) == of([0.3, 0.3, 0.1], [2, 1, 0])


def test_tau_ap_by_hand():
    # truth a > b > c > d; estimate b a c d: rank 2 (a): 0 of 1; rank 3: 2 of 2; rank 4: 3 of 3.
    # 2 / 3 * (0 + 1 + 1) - 1 = 1/3
    assert tau_ap([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(1 / 3)
    # estimate a b d c: 1 of 1, 2 of 2, 2 of 3 -> 2 / 3 * (8/3) - 1 = 7/9: a swap lower down costs less
    assert tau_ap([4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(7 / 9)


def test_tau_ap_of_tied_estimates_is_the_mean_over_their_orders():
    truth, estimate = np.array([5, 3, 4, 1, 2]), np.array([2, 2, 2, 1, 0])
    broken = [tau_ap(truth, np.array([*(2 + 0.1 * np.array(p)), 1, 0])) for p in permutations(range(3))]
    assert tau_ap(truth, estimate) == pytest.approx(np.mean(broken))


def test_order_signs():
    assert order_signs([1.0, 2.0, 2.0]).tolist() == [[0, -1, -1], [1, 0, 0], [1, 0, 0]]
    assert settled([0.1 + 0.2])[0] == 0.3


def test_kappa_by_hand():
    # exact (20 + 15) / 50 = .7; by chance (25 * 30 + 25 * 20) / 2500 = .5; (.7 - .5) / .5
    assert kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)


def test_quadratic_kappa_by_hand():
    # grades 0 1 2; one pair each: (0,0), (1,1), (2,0). Squared steps seen: 4. By chance: rows 1 1 1,
    # columns 2 1 0 over 3: (2 * (0 + 1 + 4) + 1 * (1 + 0 + 1)) / 3 = 4; 1 - 4 / 4 = 0
    assert kappa(np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0]]), weights="quadratic") == pytest.approx(0)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappas_equal_scikit_learn(weights):
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 3, (2, 10, 40))
    tables = np.stack([confusion(a, b, range(3)).to_numpy() for a, b in zip(left, right, strict=True)])
    wanted = [
        cohen_kappa_score(a, b, labels=range(3), weights=weights) for a, b in zip(left, right, strict=True)
    ]
    assert kappas(tables, weights=weights) == pytest.approx(wanted)
    assert [kappa(t, weights=weights) for t in tables] == pytest.approx(wanted)


def test_kappa_is_undefined_for_one_grade_or_no_pair():
    tables = np.array([[[7, 0], [0, 0]], [[0, 0], [0, 0]]])
    assert np.isnan(kappas(tables)).all()
    assert np.isnan([kappa(t) for t in tables]).all()


def test_kappas_refuse_unknown_weights():
    with pytest.raises(ValueError, match="weights must be None, 'linear' or 'quadratic'; got 'cubic'"):
        kappas(np.ones((2, 2)), weights="cubic")


JUDGE = {"q1": {"d1": 1, "d2": 1, "d3": 2}, "q2": {"d4": 0, "d5": 2, "d3": 1}, "q3": {"d1": 2}}


def test_agreement_by_hand():
    # pairs both graded (author, judge): q1 d1 (2, 1), d2 (1, 1); q2 d4 (1, 0), d5 (2, 2), d3 (0, 1)
    found = agreement(toy.labels(), toy.labels(JUDGE, name="gpt", human=False))
    assert (found.left, found.right, found.n, found.only_left, found.only_right) == ("author", "gpt", 5, 2, 2)
    assert found.confusion.to_numpy().tolist() == [[0, 1, 0], [1, 1, 0], [0, 1, 1]]
    assert (found.exact, found.within_one, found.binary) == (2 / 5, 1, 3 / 5)
    assert (found.relevant_left, found.relevant_right) == (4 / 5, 4 / 5)
    assert found.moves.to_dict() == {-1: 2, 0: 2, 1: 1}
    # chance: rows 1 2 2, columns 1 3 1: (1 + 6 + 2) / 25; (.4 - .36) / .64
    assert found.kappa == pytest.approx(0.04 / 0.64)
    # binary: seen .6, chance .2 * .2 + .8 * .8 = .68
    assert found.kappa_binary == pytest.approx((0.6 - 0.68) / 0.32)


def test_recall_by_grade():
    found = agreement(toy.labels(), toy.labels(JUDGE))
    assert found.recall.to_dict() == {0: 0, 1: 1 / 2, 2: 1 / 2}
    unused = agreement(toy.labels({"q1": {"d1": 2}}), toy.labels({"q1": {"d1": 2}}))
    assert unused.recall.isna().tolist() == [True, True, False]


def test_relevant_documents_per_query():
    found = agreement(toy.labels(), toy.labels(JUDGE)).per_query
    assert found.T.to_dict("list") == {
        # graded, left, right, left_all, right_all
        "q1": [2, 2, 2, 2, 3],
        "q2": [3, 2, 2, 3, 2],
        "q3": [0, 0, 0, 0, 1],
    }
    strict = agreement(toy.labels(), toy.labels(JUDGE), threshold=2).per_query
    assert strict[["left_all", "right_all"]].to_numpy().tolist() == [[1, 1], [1, 1], [0, 1]]


def test_agreement_with_oneself():
    found = agreement(toy.labels(), toy.labels())
    assert (found.exact, found.kappa, found.kappa_quadratic, found.kappa_binary) == (1, 1, 1, 1)


def test_agreement_on_nothing():
    found = agreement(toy.labels({"q1": {"d1": 2}}), toy.labels({"q1": {"d2": 2}}))
    assert (found.n, found.only_left, found.only_right) == (0, 1, 1)
    assert np.isnan([found.exact, found.binary, found.kappa, found.relevant_left]).all()
    assert found.recall.isna().all()


def test_agreement_on_real_labels(dl21):
    _, labels, _ = dl21
    found = agreement(labels["human"], labels["gpt4o.umbrela"], threshold=2)
    assert (found.n, found.only_left, found.only_right) == (10828, 0, 0)
    assert round(found.kappa_binary, 3) == 0.5  # published with the data
    pairs = found.pairs
    wanted = cohen_kappa_score(pairs["left"], pairs["right"], weights="quadratic")
    assert found.kappa_quadratic == pytest.approx(wanted)
    assert found.per_query["left_all"].equals(found.per_query["left"])
    pd.testing.assert_series_equal(
        found.per_query["left"].sort_index(),
        (pairs["left"] >= 2).groupby(pairs["query_id"]).sum().sort_index(),
        check_names=False,
    )


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_is_never_below_its_least(weights):
    # All grades the other way round, 4 pairs of each: rounding alone would say -1.0000000000000004.
    assert kappa(np.array([[0, 0, 4], [0, 4, 0], [4, 0, 0]]), weights=weights) >= -1
