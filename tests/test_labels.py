"""Labels from rows, and laid on runs by id."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from toy import GRADES, grades, labels, runs
from worlds import worlds

from poolkit.labels import grades_on, labels_from, mapped
from poolkit.tables import DataError


def rows(*given):
    return pd.DataFrame(given, columns=["query_id", "doc_id", "relevance"])


@pytest.mark.parametrize("grade", [1, 1.0, "1", "1.0", np.int8(1)])
def test_a_whole_number_is_a_grade(grade):
    assert labels_from(rows(("q", "d", grade)), "x").relevance["relevance"].tolist() == [1]


@pytest.mark.parametrize("grade", [0.5, "high", None, float("nan"), float("inf")])
def test_anything_else_is_refused(grade):
    said = r"labels x: query q, document d has the grade .*; a grade is a whole number \(1 such rows\)"
    with pytest.raises(DataError, match=said):
        labels_from(rows(("q", "d", grade), ("q", "e", 1)), "x")


def test_identical_repeats_are_dropped_and_counted_conflicts_refused():
    found = labels_from(rows(("q", "d", 1), ("q", "d", 1), ("q", "e", 0)), "x")
    assert len(found.relevance) == 2
    assert found.dropped == 1
    with pytest.raises(
        DataError, match=r"labels x: query q, document d has two different grades \(1 such pairs\)"
    ):
        labels_from(rows(("q", "d", 1), ("q", "d", 2)), "x")


def test_integer_ids_are_read_as_text():
    found = labels_from(rows((1, 7, 1)), "x")
    assert found.relevance.iloc[0].tolist() == ["1", "7", 1]


def test_ids_stay_to_the_byte():
    odd = ["007", "7", "NA", "null", "nan", "1e5", "True", "-", "é"]
    found = labels_from(rows(*[("q", d, 1) for d in odd]), "x")
    assert found.relevance["doc_id"].tolist() == odd


def test_titles_default_to_names():
    assert labels_from(rows(("q", "d", 1)), "gpt").title == "gpt"
    assert labels(title="author grades").title == "author grades"


def test_a_map_replaces_every_grade():
    found = mapped(labels({"q1": {"a": 0, "b": 2, "c": 3}}), {0: 0, 1: 1, 2: 2, 3: 2})
    assert found.relevance["relevance"].tolist() == [0, 2, 2]


def test_a_map_without_an_entry_is_refused():
    with pytest.raises(DataError, match="grade map for author: no entry for grade 2"):
        mapped(labels(), {0: 0, 1: 1})


def test_grades_lie_on_their_items():
    on = grades({"q1": {"d1": 2, "d4": 0, "new": 3}, "q2": {"d5": -1}, "q3": {"d1": 1}})
    items = runs().pairs(np.flatnonzero(on.judged[:-1]))
    assert items.to_numpy().tolist() == [["q1", "d1"], ["q1", "d4"], ["q2", "d5"]]
    assert on.relevance[:-1][on.judged[:-1]].tolist() == [2, 0, -1]
    assert (on.relevance[-1], on.judged[-1]) == (0, False)
    # "new" was ranked by nobody; q3 is no query of the collection.
    assert (on.beyond_query.tolist(), on.beyond_relevance.tolist()) == ([0], [3])
    assert on.strays == 1
    assert on.has.tolist() == [True, True]
    assert on.top == 3


def test_the_highest_grade_is_at_least_1():
    assert grades({"q1": {"d1": 0}}).top == 1


def test_labels_of_other_queries_are_refused():
    said = "labels author: none of their queries is in this collection; they say 1, 2, the collection says q1, q2"
    with pytest.raises(DataError, match=said):
        grades({"1": {"d1": 1}, "2": {"d1": 1}})


def test_no_labels_at_all_are_no_grades():
    empty = labels_from(rows(), "none")
    on = grades_on(runs(), empty)
    assert not on.judged.any()
    assert not on.has.any()


@given(worlds())
@settings(max_examples=20, deadline=None)
def test_grades_equal_a_lookup_by_id(world):
    found, given_labels, _ = world
    on = grades_on(found, given_labels)
    by_id = {(r.query_id, r.doc_id): r.relevance for r in given_labels.relevance.itertuples()}
    pairs = found.pairs(np.arange(found.n_items))
    for i, (query, document) in enumerate(pairs.itertuples(index=False)):
        assert on.judged[i] == ((query, document) in by_id)
        assert on.relevance[i] == by_id.pop((query, document), 0)
    assert sorted(on.beyond_relevance) == sorted(by_id.values())


@given(worlds())
@settings(max_examples=20, deadline=None)
def test_the_epoch_does_not_depend_on_row_order(world):
    found, given_labels, _ = world
    shuffled = labels_from(given_labels.relevance.sample(frac=1, random_state=1), "drawn")
    assert grades_on(found, shuffled).epoch == grades_on(found, given_labels).epoch


def test_the_epoch_changes_with_any_pair():
    more = {q: dict(d) for q, d in GRADES.items()}
    more["q1"]["elsewhere"] = 0
    assert grades(more).epoch != grades().epoch


def test_real_labels(dl21):
    found, by_name, _ = dl21
    human = by_name["human"].relevance
    assert len(human) == 10828
    assert human["relevance"].value_counts().to_dict() == {0: 4338, 1: 3063, 2: 2341, 3: 1086}
    on = grades_on(found, by_name["human"])
    assert on.has.all()
    assert on.judged.sum() + len(on.beyond_query) == 10828


@pytest.mark.parametrize("grade", [1001, -1001, 1e300, 2**62])
def test_grades_beyond_any_scale_are_refused(grade):
    said = (
        r"labels x: query q, document d has the grade .*; grades lie between -1000 and 1000 \(1 such rows\)"
    )
    with pytest.raises(DataError, match=said):
        labels_from(rows(("q", "d", grade), ("q", "e", 1)), "x")


@pytest.mark.parametrize("block", [1, 2, 1 << 15])
def test_marks_are_polynomials_however_many_at_a_time(monkeypatch, block):
    from poolkit import labels as room

    monkeypatch.setattr(room, "_BLOCK", block)
    texts = ["", "a", "doc-17", "\u00e9", "a" * 40]
    expected = [
        sum((b + 1) * int(room._ODD) ** (at + 1) for at, b in enumerate(t.encode())) % 2**64 for t in texts
    ]
    assert room._text_marks(pa.array(texts)).tolist() == expected
    assert room._text_marks(pa.array(["x", *texts]).slice(1)).tolist() == expected
    assert len(room._text_marks(pa.array([], pa.string()))) == 0
