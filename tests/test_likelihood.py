"""The likelihood judge: its table, its thresholds, its grades."""

from pathlib import Path

import numpy as np
import pytest

from poolkit.identity import judge_from
from poolkit.likelihood import PROMPT_HASH, auc, graded, thresholds
from poolkit.tables import DataError

TABLE = {
    "kind": "likelihood",
    "model": "gemma-3-270m-q4_k_m",
    "thresholds": [1, 3.5],
    "fitted_on": "20 of 90 pairs, labels human, seed 1",
}


def test_a_table_makes_a_free_judge_without_a_key(tmp_path):
    judge = judge_from("weak", TABLE, tmp_path)
    assert (judge.kind, judge.model, judge.key_env, judge.weights) == (
        "likelihood", "gemma-3-270m-q4_k_m", "", None,
    )  # fmt: skip
    assert judge.parameters == {"thresholds": [1.0, 3.5]}
    assert (judge.prompt.scale, judge.prompt.hash) == ((0, 1, 2), PROMPT_HASH)
    assert judge.price.usd(10**6, 0, 10**6) == 0


def test_a_model_file_lies_in_the_collection_and_gives_the_name(tmp_path):
    judge = judge_from("weak", {**TABLE, "model": "models/my-model.Q4.gguf"}, tmp_path)
    assert (judge.model, judge.weights) == ("my-model.Q4", tmp_path / "models/my-model.Q4.gguf")
    absolute = judge_from("weak", {**TABLE, "model": "/models/x.gguf"}, tmp_path)
    assert absolute.weights == Path("/models/x.gguf")


ASCENDING = "give one number a grade above 0, ascending"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prompt": "graded"}, "has no key 'prompt'. Known: model, thresholds, fitted_on, provenance"),
        ({"model": " "}, "model is ' '; give a model's name or GGUF file"),
        ({"fitted_on": 3}, "fitted_on is '3'; give the sample of labels that the thresholds were fitted on"),
        ({"thresholds": []}, rf"thresholds is \[\]; {ASCENDING}"),
        ({"thresholds": [2, 1]}, rf"thresholds is \[2, 1\]; {ASCENDING}"),
        ({"thresholds": [1, 1]}, rf"thresholds is \[1, 1\]; {ASCENDING}"),
        ({"thresholds": [1, float("nan")]}, rf"thresholds is \[1, nan\]; {ASCENDING}"),
        ({"thresholds": [True]}, rf"thresholds is \[True\]; {ASCENDING}"),
        ({"thresholds": 1.5}, f"thresholds is 1.5; {ASCENDING}"),
        ({"thresholds": ["a"]}, rf"thresholds is \['a'\]; {ASCENDING}"),
    ],
)
def test_tables_that_are_refused(tmp_path, change, said):
    with pytest.raises(DataError, match=f"^judge 'weak': .*{said}"):
        judge_from("weak", {**TABLE, **change}, tmp_path)


@pytest.mark.parametrize("key", ["model", "thresholds", "fitted_on"])
def test_what_is_missing_is_named_and_how_to_get_it(tmp_path, key):
    table = {k: v for k, v in TABLE.items() if k != key}
    with pytest.raises(DataError, match=rf"^judge 'weak': no {key}; give .*`python -m poolkit\.fit DATA"):
        judge_from("weak", table, tmp_path)


def test_thresholds_that_part_the_grades_are_found():
    scores = np.array([0.0, 0.1, 0.2, 0.9, 1.0, 2.0, 2.2])
    grades = np.array([0, 0, 0, 1, 1, 2, 2])
    cuts = thresholds(scores, grades)
    assert cuts == [pytest.approx(0.55), pytest.approx(1.5)]
    assert graded(scores, cuts).tolist() == grades.tolist()
    assert graded(np.array(cuts), cuts).tolist() == [1, 2]


def test_labels_of_two_grades_give_one_threshold():
    assert thresholds(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 0, 0, 1])) == [2.5]


@pytest.mark.parametrize("top", [1, 2])
def test_thresholds_are_the_best_by_kappa(top):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    grades = rng.integers(0, top + 1, 25)
    scores = grades + rng.normal(0, 1.0, 25)

    def kappa(*some):
        given = graded(scores, list(some))
        return metrics.cohen_kappa_score(grades, given, labels=[0, 1, 2], weights="quadratic")

    value = np.sort(scores)
    cuts = (value[1:] + value[:-1]) / 2
    pairs = [(a, b) for i, a in enumerate(cuts) for b in cuts[i + 1 :]] if top == 2 else [(a,) for a in cuts]
    most = max(kappa(*some) for some in pairs)
    assert kappa(*thresholds(scores, grades)) == pytest.approx(most, abs=1e-12)


def test_thresholds_refuse_what_cannot_be_fitted():
    with pytest.raises(DataError, match="need grades 0, 1, 2, at least two of them"):
        thresholds(np.array([1.0, 2.0, 3.0]), np.array([1, 1, 1]))
    with pytest.raises(DataError, match="need grades 0, 1, 2"):
        thresholds(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 3]))
    with pytest.raises(DataError, match="need three different scores; found 2"):
        thresholds(np.array([1.0, 2.0, 2.0]), np.array([0, 1, 2]))


def test_auc_by_hand():
    # Relevant 0.5 and 0.9 against 0.1 and 0.5: 1 + 1/2 + 1 + 1 of 4 pairs.
    scores, relevant = np.array([0.5, 0.9, 0.1, 0.5]), np.array([True, True, False, False])
    assert auc(scores, relevant) == 3.5 / 4
    assert np.isnan(auc(scores, np.ones(4, dtype=bool)))
