"""Tables that gather what several rooms know, by hand on the toy world."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import toy

from poolkit import analyse, boards
from poolkit.study import open_study
from poolkit.tables import DataError


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return open_study(toy.toy_folder(tmp_path_factory.mktemp("boards") / "toy"))


def test_inventory(study):
    facts = boards.inventory(study.collection, study.pool).set_index("fact")["value"]
    assert facts.to_dict() == {
        "systems": 3, "families": 2, "queries": 2, "different documents in the runs, at any depth": 5,
        "depth of the pool": 3,
        "documents returned within the depth": 13, "systems x queries x depth": 18,
        "query-document pairs in the pool, each judged once": 8, "run rows left out: query not in the collection": 0,
        "queries that some system does not answer": 1,  # hybrid has nothing for q2
        "rankings shorter than the depth": 3,  # dense q1, bm25 q2, hybrid q2
        "places within the depth that ties decide": 0, "notes from reading the files": 0,
    }  # fmt: skip


def test_score_board(study):
    board = boards.score_board(study)
    assert list(board.index) == ["bm25", "dense", "hybrid"]
    sides = ("human", "judge", "human all top", "judge all top")
    assert list(board.columns) == [
        "family", *(f"{m} {side}" for m in ("nDCG@3", "P@3", "AP@3") for side in sides),
        "Judged@3 human", "Judged@3 judge",
    ]  # fmt: skip
    assert board.loc["bm25", "P@3 human all top"] == pytest.approx((1 + 1 / 3) / 2)  # q1 d3 at 2
    assert board.loc["bm25", "P@3 judge all top"] == board.loc["bm25", "P@3 judge"]  # robot failed on q1 d4
    assert board.loc["bm25", "P@3 human"] == pytest.approx(1 / 2)  # d1 d2 of three, d5 of three
    assert board.loc["bm25", "Judged@3 human"] == pytest.approx((2 / 3 + 1) / 2)  # q1 d3 has no grade
    assert board.loc["hybrid", "Judged@3 judge"] == pytest.approx(
        2 / 3 / 2
    )  # q1 d4 failed; q2 has no ranking
    assert list(boards.score_board(dataclasses.replace(study, human=None)).columns)[1] == "nDCG@3 judge"
    assert boards.score_board(dataclasses.replace(study, human=None, judge=None)) is None


def test_calibration_table(study):
    table = boards.calibration_table(analyse.correlation(study, n_resamples=20))
    assert list(table.index) == ["bm25", "dense", "hybrid"]  # best under the author first
    assert table["percent"].to_numpy() == pytest.approx(
        100 * (table["judge"] / table["human"] - 1).to_numpy()
    )
    assert table.loc["dense", "percent"] == pytest.approx(0, abs=1e-9)  # .690 and .690
    assert boards.calibration_table(None) is None


def test_by_grade(study):
    table = boards.by_grade(analyse.label_agreements(study, n_resamples=20))
    # Both graded: q1 d1 2 2, d2 1 1; q2 d1 1 1, d3 0 0, d4 1 2, d5 2 2.
    assert table[["human", "judge"]].to_numpy().tolist() == [[1, 1], [3, 2], [2, 3]]
    assert table["human_share"].tolist() == pytest.approx([1 / 6, 3 / 6, 2 / 6])
    assert table["recall"].tolist() == pytest.approx([1, 2 / 3, 1])
    assert boards.by_grade(None) is None


def test_relevant_documents_per_query(study):
    table = boards.relevant_per_query(analyse.label_agreements(study, n_resamples=20))
    assert list(table.columns) == ["graded", "human", "judge", "human_all", "judge_all"]
    assert table.loc["q1"].tolist() == [2, 2, 2, 2, 2]  # both graded d1 and d2; author d4 0, robot d3 0
    assert boards.relevant_per_query(None) is None


def test_the_score_board_refuses_two_epochs(study):
    part = dataclasses.replace(study, human=toy.labels({"q1": toy.GRADES["q1"]}, "robot"))
    with pytest.raises(DataError, match=r"robot: scores of two pool epochs .* do not belong in one table"):
        boards.score_board(part)


def test_counts_of_pairs_of_systems(study):
    """The toy world's three pairs: METHOD 6 on two queries can call none of them different."""
    found = analyse.disagreements(study, n_resamples=40)
    table = boards.counts_table(found).set_index("order_or_verdict")
    assert table["pairs of systems"].to_dict() == {
        "all": 3, "same order": 2, "tied": 0, "different order": 1, "different: near-tied": 0,
        "different: within noise": 1, "different: in conflict": 0, "conflict: strong": 0,
    }  # fmt: skip
    assert table.at["different: within noise", "meaning"].startswith("author grades cannot say")
    assert boards.counts_table(None) is None


def test_the_best_has_no_difference_from_itself(study):
    found = analyse.best_systems(study, n_resamples=40)
    table = boards.best_table(study, found)
    assert list(table.index) == study.order()
    assert table.loc[found.best, ["difference", "low", "high"]].isna().all()
    rest = table.drop(index=found.best)
    assert (rest["difference"] == found.table.loc[rest.index, "difference"]).all()
    assert boards.best_table(study, None) is None


def test_judges_table(study):
    labels = study.collection.labels | {
        "second": toy.labels(toy.GRADES, "second"), "empty": toy.labels({}, "empty", human=False),
    }  # fmt: skip
    wide = dataclasses.replace(study, collection=dataclasses.replace(study.collection, labels=labels))
    table = boards.judges_table(analyse.other_judges(wide, n_resamples=20)).set_index("labels")
    assert table["graded_by_both"].to_dict() == {"second": 6, "empty": 0}
    assert table.loc["second", "exact"].value == 5 / 6
    assert table.loc["second", "rho"].value == pytest.approx(1 / 2)
    assert table.loc["empty", "rho"] is None
    assert boards.judges_table({}) is None


def test_contrasts_and_interactions(study):
    effects = analyse.factor_effects(study, n_resamples=20)
    table = boards.contrasts_table(effects)
    assert list(table.columns)[:4] == ["factor", "from_level", "to_level", "n_pairs"]
    assert table["factor"].tolist() == ["mode"] * 3
    assert boards.interactions_table(effects) is None  # one factor alone
    sizes = effects["mode"].contrasts.assign(from_level=64.0, to_level=np.nan)
    named = boards.contrasts_table({"size": dataclasses.replace(effects["mode"], contrasts=sizes)})
    assert named[["from_level", "to_level"]].iloc[0].tolist() == ["64", "(empty)"]
    assert boards.contrasts_table({}) is None


def test_tradeoff(study):
    best = analyse.best_systems(study, n_resamples=20)
    priced = study.collection.catalogue.assign(cost=[3.0, 2.0, 1.0])
    wide = dataclasses.replace(study, collection=dataclasses.replace(study.collection, catalogue=priced))
    assert boards.tradeoff_of(wide, best, "cost").pick == "hybrid"  # two queries tell nobody apart
    assert boards.tradeoff_of(wide, best, "") is None
    assert boards.tradeoff_of(wide, None, "cost") is None
    with pytest.raises(ValueError, match="unknown cost 'euro'; the catalogue has family, mode"):
        boards.tradeoff_of(study, best, "euro")


def test_drops_are_sentences_in_the_right_number(study):
    assert boards.drops(study) == [
        "1 ranking missing on queries with author grades scores 0",
        "1 ranking missing on queries with robot scores 0",
    ]
    grades = {"q1": {"d1": 0}}
    part = dataclasses.replace(study, human=toy.labels(grades, title="few grades"), judge=None)
    assert boards.drops(part) == [
        "1 query without few grades dropped",
        "1 query without a relevant document under few grades scores 0",
    ]


def test_two_missing_rankings_score_0(study):
    runs = toy.runs({"bm25": {"q1": ["d1"]}, "dense": {"q1": ["d1"]}, "hybrid": toy.RANKINGS["hybrid"]})
    part = dataclasses.replace(study, judge=None, collection=dataclasses.replace(study.collection, runs=runs))
    assert boards.drops(part) == ["3 rankings missing on queries with author grades score 0"]
    assert isinstance(boards.score_board(part), pd.DataFrame)


def test_what_is_laid_beside_the_best_is_no_twin_of_it():
    table = pd.DataFrame(
        {"difference": [0.0, 0.0, 0.0, 0.1], "low": [0.0, 0.0, -0.1, 0.1], "high": [0.0, 0.0, 0.1, 0.1]},
        index=list("abcd"),
    )
    assert boards.contenders(SimpleNamespace(best="a", table=table)) == [("a", "c")]
    assert boards.contenders(SimpleNamespace(best="a", table=table.iloc[[0, 1, 3]])) == [("a", "d")]
    assert boards.contenders(SimpleNamespace(best="a", table=table.iloc[:2])) == []
    assert boards.contenders(None) == []


def test_pairs_that_leaving_out_turns_and_the_queries_tell_apart(study):
    found = SimpleNamespace(turned=lambda measure: {frozenset("ab"), frozenset("cd")})
    pairs = pd.DataFrame({"a": ["b", "c", "e"], "b": ["a", "d", "f"], "verdict": ["win", "tie", "win"]})
    assert boards.told_apart(found, "P@3", SimpleNamespace(pairs=pairs, draws=[0])) == 1
    assert boards.told_apart(found, "P@3", SimpleNamespace(pairs=pairs, draws=[])) is None
    assert boards.told_apart(None, "P@3", None) is None
