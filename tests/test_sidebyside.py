"""Two systems side by side: which queries decide, what either ranks, what is said about each document."""

import dataclasses

import numpy as np
import pytest
import toy

from poolkit import analyse, exhibits
from poolkit.sidebyside import chosen, deciding, show, side_by_side
from poolkit.study import open_study
from poolkit.tables import DataError


@pytest.fixture
def study(tmp_path):
    return open_study(toy.toy_folder(tmp_path / "toy"), measures=["nDCG@3"])


def test_queries_that_decide_come_first(study):
    found = side_by_side(study, "bm25", "dense", most=1)
    # q1: bm25 1 under both, dense (1 / 1) / (2 + 1 / log2 3) under both: the sides do not differ.
    # q2: the ideal is 2 + 1 / log2 3 + 1 / 2 under author grades, 2 + 2 / log2 3 + 1 / 2 under the judge
    assert list(found.queries.index) == ["q2", "q1"]
    third = 1 / np.log2(3)
    row = found.queries.loc["q2"]
    assert row["human_a"] == pytest.approx(2 * third / (2.5 + third))
    assert row["judge_a"] == pytest.approx(2 * third / (2.5 + 2 * third))
    assert row["human"] == pytest.approx(row["human_a"] - row["human_b"])
    assert found.queries.loc["q1", "human"] == pytest.approx(found.queries.loc["q1", "judge"])
    table = found.rankings
    assert set(table["query_id"]) == {"q2"}
    assert table.loc[table["system"] == "bm25", "doc_id"].tolist() == ["d3", "d5"]
    assert table.loc[table["system"] == "dense", ["doc_id", "human", "judge"]].values.tolist() == [
        ["d5", 2, 2], ["d4", 1, 2], ["d1", 1, 1],
    ]  # fmt: skip


def test_with_one_side_the_widest_difference_decides(study):
    alone = dataclasses.replace(study, judge=None)
    found = side_by_side(alone, "bm25", "hybrid")
    # hybrid answers q1 with d2 d1 d4: (1 + 2 / log2 3) / (2 + 1 / log2 3) = .860, so .140 behind; q2 .403 behind
    assert list(found.queries.index) == ["q2", "q1"]
    assert "judge" not in found.queries
    assert "judge" not in found.rankings


def test_what_is_shown(study):
    shown = show(study, side_by_side(study, "bm25", "dense"), verdicts={("bm25", "dense"): "within noise"})
    assert shown.markup.count("<article>") == 2
    assert shown.markup.count('<li class="both">') == 4  # d2 in q1 and d5 in q2, in both lists
    assert "(author grades 2, robot 2)" in shown.markup
    assert "(<b><bdi>author grades \u2013, robot 0</bdi></b>)" in shown.markup  # d3 of q1: no author grade
    # a thought is seen, a text opens on a click
    assert '</details><p class="thought" dir="auto">It says so.</p></li>' in shown.markup
    assert "bm25 (left) against dense (right), within noise: " in shown.markup
    assert " under author grades and " in shown.markup
    assert "The 2 of 2 queries that decide most, top 3." in shown.markup
    assert "open" not in shown.markup.split("<details")[1][:6]


def test_the_pair_named_comes_before_the_pairs_found(study):
    found = exhibits.verdicts(exhibits.exhibits(study, analyse.disagreements(study, n_resamples=200)))
    assert found == {("bm25", "dense"): "within noise"}
    (one,) = chosen(study, ["dense", "hybrid"], list(found))
    assert (one.a, one.b) == ("dense", "hybrid")
    several = [("bm25", "dense"), ("bm25", "hybrid"), ("dense", "hybrid"), ("dense", "bm25")]
    assert [(p.a, p.b) for p in chosen(study, [], several)] == several[:3]
    assert chosen(study, [], [()]) == ()
    assert chosen(dataclasses.replace(study, human=None, judge=None), ["bm25", "dense"], []) == ()


def test_queries_of_all_pairs_in_one_table(study):
    pairs = chosen(study, [], [("bm25", "dense"), ("bm25", "hybrid")])
    table = deciding(pairs)
    assert list(table.columns)[:4] == ["a", "b", "query_id", "query"]
    assert table[["b", "query_id"]].to_numpy().tolist()[0] == ["dense", "q2"]
    assert len(table) == 4
    assert deciding(()) is None


def test_nothing_to_show_is_said(study):
    assert show(study).markup.startswith('<p class="hole">')


def test_what_is_refused(study):
    with pytest.raises(DataError, match=r"^no system 'x' in toy; name two of its runs$"):
        side_by_side(study, "bm25", "x")
    with pytest.raises(ValueError, match="two different systems are needed; got bm25 twice"):
        side_by_side(study, "bm25", "bm25")
    with pytest.raises(ValueError, match=r"pair is \['bm25'\]; name two systems, or none"):
        chosen(study, ["bm25"], [])
