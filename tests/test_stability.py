"""Repeats, other judges and changed snapshots: agreement by hand, by scikit-learn, and on real labels."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint
from toy import labels

from poolkit.compare import kappa, kappas
from poolkit.formats import read_qrels
from poolkit.labels import labels_from
from poolkit.stability import judges, repeats, snapshot
from poolkit.tables import DataError


def rng():
    return np.random.default_rng(4)


def records(rows):
    """Turn "q1 d1 1,2,x" into records of replicates 0, 1, 2, where x is a refused reply."""
    table = []
    for row in rows:
        query, doc, grades = row.split()
        for replicate, grade in enumerate(grades.split(",")):
            good = grade != "x"
            status = "ok" if good else "refused"
            table.append((query, doc, replicate, int(grade) if good else pd.NA, status))
    frame = pd.DataFrame(table, columns=["query_id", "doc_id", "replicate", "relevance", "status"])
    return frame.astype({"relevance": "Int64", "replicate": "Int64"})


TEN = records([
    "q1 d1 0,0", "q1 d2 0,1", "q1 d3 1,1", "q1 d4 2,2", "q1 d5 2,0",
    "q2 d1 0,0", "q2 d2 1,2", "q2 d3 2,2", "q2 d4 1,1", "q2 d5 0,0",
])  # fmt: skip


def test_shares_by_hand():
    found = repeats(TEN, n_resamples=50, rng=rng())
    # Exact: all but q1 d2, q1 d5, q2 d2. More than one apart: q1 d5. Binary at 1: q1 d2 and q1 d5 cross.
    assert (found.n, found.exact.value, found.within_one.value, found.binary.value) == (10, 0.7, 0.9, 0.8)
    assert found.flips.to_numpy().tolist() == [[3, 1, 0], [0, 2, 1], [1, 0, 2]]
    assert found.flip_matrix.loc[0].tolist() == [0.75, 0.25, 0]
    assert found.moves.to_dict() == {-2: 1, 0: 7, 1: 2}
    assert found.drift.value == pytest.approx(0)  # (1 + 1 - 2) / 10
    assert found.failed.empty
    assert (found.excluded, found.notes) == (0, ())


def test_wilson_by_formula():
    found = repeats(TEN, n_resamples=50, rng=rng()).exact
    z, p, n = 1.959963984540054, 0.7, 10
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert found.low == pytest.approx((middle - half) / (1 + z * z / n))
    assert found.high == pytest.approx((middle + half) / (1 + z * z / n))


@pytest.mark.parametrize("weights", [None, "quadratic"])
def test_kappa_is_scikit_learns(weights):
    found = repeats(TEN, n_resamples=50, rng=rng())
    pairs = found.pairs
    expected = cohen_kappa_score(pairs["left"], pairs["right"], weights=weights)
    assert (found.kappa_quadratic if weights else found.kappa).value == pytest.approx(expected)
    binary = cohen_kappa_score(pairs["left"] >= 1, pairs["right"] >= 1)
    assert found.kappa_binary.value == pytest.approx(binary)


def test_intervals_resample_queries():
    found = repeats(TEN, n_resamples=400, rng=rng())
    one, two = (repeats(TEN[TEN.query_id == q], n_resamples=9, rng=rng()) for q in ("q1", "q2"))
    # With two queries a resample is q1 twice, q2 twice, or both: three values and no others.
    expected = {round(x, 9) for x in (found.kappa.value, one.kappa.value, two.kappa.value)}
    assert {round(x, 9) for x in found.kappa.draws} == expected
    expected = {round(x, 9) for x in (found.drift.value, one.drift.value, two.drift.value)}
    assert {round(x, 9) for x in found.drift.draws} == expected
    again = repeats(TEN, n_resamples=400, rng=rng())
    assert np.array_equal(found.kappa.draws, again.kappa.draws)


def test_failures_are_left_out_and_counted():
    rows = ["q1 d1 0,0", "q1 d2 x,1", "q1 d3 1,x", "q1 d4 2,x,1", "q2 d1 2", "q2 d2 0,0"]
    found = repeats(records(rows), n_resamples=20, rng=rng())
    # d2 and d3 have one grade each; d4's second try counts; q2 d1 was never repeated.
    assert (found.n, found.excluded, found.failed.to_dict()) == (3, 2, {"refused": 3})
    grades = found.pairs.set_index("doc_id")[["left", "right"]].T.to_dict("list")
    assert grades == {"d1": [0, 0], "d2": [0, 0], "d4": [2, 1]}
    assert found.exact.value == pytest.approx(2 / 3)


def test_many_repeats_of_one_pair_weigh_as_one():
    found = repeats(records(["q1 d1 0,1,1,0,1", "q2 d1 1,1"]), n_resamples=20, rng=rng())
    # d1 agrees once in four, q2's always: (1/4 + 1) / 2.
    assert (found.n, len(found.pairs), found.exact.value) == (2, 5, 0.625)
    expected = proportion_confint(1.25, 2, method="wilson")
    assert (found.exact.low, found.exact.high) == pytest.approx(expected)
    assert found.flips.loc[0].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        (["q1 d1 0", "q2 d1 1"], "no pair was graded twice"),
        (["q1 d1 0,1", "q1 d2 1,1"], "fewer than two queries"),
        (["q1 d1 1,1", "q2 d2 1,1"], "only one grade was ever given"),
    ],
)
def test_what_cannot_be_known_is_said(rows, note):
    found = repeats(records(rows), n_resamples=20, rng=rng())
    assert any(note in said for said in found.notes)
    assert math.isnan(found.kappa.low)


def test_bad_records_are_refused():
    with pytest.raises(ValueError, match="records lack the column 'status'; found query_id"):
        repeats(TEN.drop(columns="status"), rng=rng())
    twice = pd.concat([TEN, TEN.iloc[:1]])
    with pytest.raises(
        DataError, match=r"query q1, document d1 has replicate 0 twice \(1 such rows\)\. Keep"
    ):
        repeats(twice, rng=rng())
    with pytest.raises(ValueError, match="level must lie between 0 and 1; got 2"):
        repeats(TEN, level=2, rng=rng())


def test_two_judges():
    other = labels(
        {"q1": {"d1": 2, "d2": 0, "d9": 1}, "q2": {"d4": 2, "d5": 2, "d1": 1}}, "other", human=False
    )
    found = judges(labels(), other, n_resamples=20, rng=rng())
    # Author grades q1 d1 2, d2 1; q2 d4 1, d5 2, d1 1: two of five differ, one of them across grade 1.
    assert (found.n, found.exact.value, found.binary.value, found.within_one.value) == (5, 0.6, 0.8, 1)
    assert (found.labels.only_left, found.labels.only_right) == (2, 1)
    assert found.labels.left == "author"
    assert found.drift.value == pytest.approx(0)
    assert np.isnan(found.flip_matrix.loc[0]).all()  # the author gave no 0 among these


def test_a_judge_agrees_with_itself():
    found = judges(labels(), labels(), n_resamples=20, rng=rng())
    assert (found.exact.value, found.kappa.value, found.drift.value) == (1, 1, 0)
    # nothing moved, so resampling has nothing to say; so many equal pairs leave rates up to 1 - 0.025^(1 / n)
    assert np.isnan([found.kappa.low, found.kappa_quadratic.high, found.drift.low, found.drift.high]).all()
    assert found.unseen == pytest.approx(1 - 0.025 ** (1 / found.n))
    assert any(note.startswith("no grade moved, so kappa and drift have no interval") for note in found.notes)


def test_what_repeats_do_not_exclude():
    other = labels({"q1": {"d1": 2, "d2": 0}, "q2": {"d4": 2, "d5": 2, "d1": 1}}, "other", human=False)
    found = judges(labels(), other, n_resamples=20, rng=rng())  # two of five differ
    # Clopper and Pearson: at the upper end, two or fewer of five have a chance of 0.025
    p = found.unseen
    assert (1 - p) ** 5 + 5 * p * (1 - p) ** 4 + 10 * p**2 * (1 - p) ** 3 == pytest.approx(0.025)
    assert not np.isnan(found.kappa.low)
    assert np.isnan(judges(labels(), labels({"q9": {"d1": 1}}), n_resamples=20, rng=rng()).unseen)


def noisy(share, n=400, shift=0, seed=0):
    """Turn n pairs of two queries into labels, of which a share is one grade off."""
    random = np.random.default_rng(seed)
    old = random.integers(0, 3, n)
    moves = random.random(n) < share
    new = (
        np.where(moves, np.where(old == 0, 1, old - 1), old)
        if not shift
        else np.where(moves, old + shift, old)
    )
    rows = pd.DataFrame(
        {"query_id": np.where(np.arange(n) % 2, "q1", "q2"), "doc_id": np.arange(n).astype(str)}
    )
    both = [
        labels_from(rows.assign(relevance=g), name, human=False) for g, name in ((old, "old"), (new, "new"))
    ]
    return judges(*both, n_resamples=200, rng=rng())


def test_snapshot_rule():
    steady, same, worse = noisy(0.05), noisy(0.06, seed=1), noisy(0.3, seed=2)
    assert snapshot(same, steady).stay is True
    assert snapshot(steady, worse).stay is True  # agreeing more than the repeats do
    found = snapshot(worse, steady)
    assert found.stay is False
    assert found.changed.high < found.repeats.low
    assert found.loss.value == pytest.approx(steady.exact.value - worse.exact.value)
    assert 0 < found.loss.low < found.loss.value < found.loss.high


def test_snapshot_says_when_grades_move_one_way():
    found = snapshot(noisy(0.05, shift=1), noisy(0.05))
    assert found.stay is True
    assert "moved one way" in found.notes[0]


def test_snapshot_without_repeats_is_undecided():
    none = repeats(records(["q1 d1 0"]), rng=rng())
    assert snapshot(noisy(0.05), none).stay is None
    assert snapshot(noisy(0.05), none).notes == ("there are no repeats, so it cannot be decided",)
    assert "both snapshots" in snapshot(none, noisy(0.05)).notes[0]


@given(st.lists(st.lists(st.integers(0, 6), min_size=9, max_size=9), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_many_kappas_are_each_kappa(cells):
    tables = np.array(cells).reshape(-1, 3, 3)
    for weights in (None, "linear", "quadratic"):
        expected = [kappa(t, weights=weights) for t in tables]
        assert kappas(tables, weights=weights) == pytest.approx(expected, nan_ok=True)


def test_unknown_kappa_weights_are_refused():
    with pytest.raises(ValueError, match="weights must be None, 'linear' or 'quadratic'; got 'cubic'"):
        kappas(np.eye(2), weights="cubic")


@pytest.fixture(scope="module")
def prompts(cases):
    files = sorted((cases / "judge-noise").glob("*.qrels.gz"))
    names = [f.name.removesuffix(".qrels.gz") for f in files]
    return {n: labels_from(read_qrels(f).strict(), n, human=False) for n, f in zip(names, files, strict=True)}


def test_real_prompts(prompts):
    found = judges(prompts["gpt-4o.prompt0"], prompts["gpt-4o.prompt24"], n_resamples=1000, rng=rng())
    assert found.n == 1854
    assert found.flips.to_numpy().sum() == 1854
    both = found.pairs
    assert found.exact.value == (both["left"] == both["right"]).mean()
    assert found.kappa.value == pytest.approx(cohen_kappa_score(both["left"], both["right"]))
    assert found.kappa.low < found.kappa.value < found.kappa.high
    # 1,397 of 1,854 exact; prompt 24 is the sterner one.
    assert found.exact.value == pytest.approx(0.7535, abs=5e-5)
    assert found.drift.high < 0


def test_real_models_differ_more_than_prompts(prompts):
    same = judges(prompts["gpt-4o.prompt0"], prompts["gpt-4o.prompt12"], n_resamples=200, rng=rng())
    other = judges(prompts["gpt-4o.prompt0"], prompts["llama3.2.prompt0"], n_resamples=200, rng=rng())
    assert other.n == 1854
    assert snapshot(other, same).stay is False
    # llama3.2's two prompts do not even agree beyond chance.
    weak = judges(prompts["llama3.2.prompt0"], prompts["llama3.2.prompt5"], n_resamples=500, rng=rng())
    assert weak.kappa.value < 0 < weak.kappa.high
    assert weak.drift.low > 0.7
