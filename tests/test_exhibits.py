"""What carries a conflict: on a world that has one, on one that has none, and where nothing can be shown."""

import dataclasses

import pandas as pd
import pytest
import toy
from folders import conflict_folder, trec_folder

from poolkit import analyse, exhibits
from poolkit.study import open_study


@pytest.fixture(scope="module")
def conflict(tmp_path_factory):
    return open_study(conflict_folder(tmp_path_factory.mktemp("exhibits") / "conflict"))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return open_study(toy.toy_folder(tmp_path_factory.mktemp("exhibits") / "toy"))


def shown_of(study, **options):
    return exhibits.exhibits(study, analyse.disagreements(study, n_resamples=50), **options)


def test_a_conflict_with_all_that_carries_it(conflict):
    (one,) = shown_of(conflict)
    # P(rel=2)@1: people 1 for good and 0 for bad on every query, the judge the other way round.
    assert (one.a, one.b, one.verdict, one.human, one.judge) == ("good", "bad", "strong conflict", 1, -1)
    assert one.queries["query"].tolist() == [f"what is q{i}" for i in range(1, 5)]
    assert one.queries["contribution"].tolist() == [-2] * 4
    assert one.queries["share"].tolist() == [1 / 4] * 4
    # The first three queries' documents that either ranks first and whose grades differ; never x, rank 2.
    documents = one.documents.astype(object).where(one.documents.notna(), None)
    assert documents[["doc_id", "rank_a", "rank_b", "human", "judge"]].to_numpy().tolist() == [
        [f"{d}{i}", *rest] for i in (1, 2, 3) for d, rest in (("b", [None, 1, 0, 2]), ("g", [1, None, 2, 0]))
    ]


def test_without_a_conflict_the_strongest_disagreement_is_shown(study):
    found = analyse.disagreements(study, n_resamples=50)
    assert found.counts[["different", "conflict"]].tolist() == [1, 0]
    (one,) = exhibits.exhibits(study, found)
    assert (one.a, one.b, one.verdict) == ("bm25", "dense", "within noise")
    # q2 carries all of it: d4 (1 and 2); q1 d3 and d4 are graded by one side only
    assert one.queries["share"].to_dict() == pytest.approx({"q2": 1.0, "q1": 0.0})
    assert one.documents[["query_id", "doc_id"]].to_numpy().tolist() == [
        ["q2", "d4"],
        ["q1", "d4"],
        ["q1", "d3"],
    ]


def test_the_strongest_conflicts_come_first(conflict):
    found = analyse.disagreements(conflict, n_resamples=50)
    row = found.pairs.iloc[0].to_dict()
    weaker = row | {"verdict": "conflict", "human_p": 0.99}
    noise = row | {"verdict": "within noise", "human_p": 0.6}
    wide = row | {"verdict": "conflict", "human_p": 0.99, "human": 2.0}
    many = dataclasses.replace(found, pairs=pd.DataFrame([noise, weaker, wide, row]))
    shown = exhibits.exhibits(conflict, many)
    assert [(e.verdict, e.human) for e in shown] == [("strong conflict", 1), ("conflict", 2), ("conflict", 1)]
    assert len(exhibits.exhibits(conflict, many, most=2)) == 2
    assert exhibits.verdicts(shown[:1]) == {("good", "bad"): "strong conflict"}


def test_nothing_to_show(study):
    found = analyse.disagreements(study, n_resamples=50)
    same = dataclasses.replace(found, pairs=found.pairs[found.pairs["order"] == "same"])
    for nothing in (exhibits.exhibits(study, None), exhibits.exhibits(study, same)):
        assert nothing == ()
        assert exhibits.verdicts(nothing) == {}


def test_real_conflicts(cases, tmp_path):
    # llama3.2 grades the pool so differently that people contradict it surely.
    study = open_study(trec_folder(cases / "dl21", tmp_path / "dl21", judge="llama32.binary"))
    found = analyse.disagreements(study, n_resamples=1_000)
    conflicts = found.verdict("conflict", "strong conflict")
    assert len(conflicts) > 20
    shown = exhibits.exhibits(study, found)
    assert len(shown) == 10
    strong = conflicts["verdict"].eq("strong conflict").sum()
    assert [e.verdict for e in shown[:strong]] == ["strong conflict"] * min(10, strong)
    for e in shown:
        row = conflicts.set_index(["a", "b"]).loc[(e.a, e.b)]
        assert e.queries["human"].mean() == pytest.approx(row["human"])
        assert e.queries["judge"].mean() == pytest.approx(row["judge"])
        assert e.queries["share"].sum() == pytest.approx(1)
