"""Names of measures, and numerators and denominators by hand."""

import numpy as np
import pytest

from poolkit.measures import denominators, grade_counts, is_native, measure, numerators, ratio

LOG3 = np.log2(3)


@pytest.mark.parametrize(
    ("given", "canonical"),
    [("ndcg@10", None), ("nDCG@10", "nDCG@10"), ("NDCG@10", "nDCG@10"), ("MAP@5", "AP@5"), ("P(rel=2)@3", "P(rel=2)@3"),
     ("DCG@10", "DCG@10"), ("DCG", "DCG"), ("MRR@10", "RR@10")],
)  # fmt: skip
def test_names_are_those_of_ir_measures(given, canonical):
    if canonical is None:
        with pytest.raises(ValueError, match=r"measure 'ndcg@10': Did you mean nDCG@10\?"):
            measure(given)
    else:
        assert str(measure(given)) == canonical


@pytest.mark.parametrize(
    "given", ["P", "P@0", "DCG@x", "nDCG@-1", "", "1+1", "P(level=2)@5", "__import__('os')"]
)
def test_nonsense_is_refused(given):
    with pytest.raises(ValueError, match="measure "):
        measure(given)


def test_a_missing_cutoff_is_asked_for():
    with pytest.raises(ValueError, match=r"measure 'P': It needs a cutoff, such as P@10\."):
        measure("P")


def test_variants_that_are_no_quotient_go_to_ir_measures():
    assert is_native(measure("nDCG@10"))
    assert not is_native(measure("nDCG(dcg='exp-log2')@10"))
    assert not is_native(measure("P(judged_only=True)@5"))
    assert not is_native(measure("Bpref"))


def test_numerators_by_hand():
    # Ranking: grades 2, -1, unjudged, 1 and an empty fifth rank; the last item stands for no document.
    relevance, judged = np.array([2, -1, 0, 1, 0]), np.array([True, True, False, True, False])
    item = np.array([[0, 1, 2, 3, 4]])
    names = ["P@4", "DCG@4", "AP@4", "RR", "Success@1", "Judged@5", "P(rel=2)@4"]
    found = {k: v[0] for k, v in numerators(item, relevance, judged, [measure(m) for m in names]).items()}
    assert found["P@4"] == 2
    assert found["DCG@4"] == pytest.approx(2 + 1 / np.log2(5))
    assert found["AP@4"] == pytest.approx(1 + 2 / 4)  # P@1 + P@4
    assert found["RR"] == 1
    assert found["Success@1"] == 1
    assert found["Judged@5"] == pytest.approx(3 / 4)  # of the four documents there
    assert found["P(rel=2)@4"] == 1


def test_denominators_by_hand():
    # Query 0: grades 2, 1, 1; query 1: none relevant.
    counts = grade_counts(np.array([0, 0, 0, 1]), np.array([2, 1, 1, 0]), n_queries=2, top=2)
    assert counts.tolist() == [[2, 1], [0, 0]]
    found = denominators(
        counts, [measure(m) for m in ("nDCG@2", "nDCG", "AP@5", "R(rel=2)@5", "P@7", "RR", "R(rel=3)@5")]
    )
    assert found["nDCG@2"].tolist() == pytest.approx([2 + 1 / LOG3, 0])
    assert found["nDCG"].tolist() == pytest.approx([2 + 1 / LOG3 + 1 / 2, 0])
    assert found["AP@5"].tolist() == [3, 0]
    assert found["R(rel=2)@5"].tolist() == [1, 0]
    assert found["P@7"].tolist() == [7, 7]
    assert found["RR"].tolist() == [1, 1]
    assert found["R(rel=3)@5"].tolist() == [0, 0]


def test_a_query_without_relevant_documents_scores_zero():
    assert ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist() == [0.5, 0.0]
