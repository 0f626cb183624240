"""A collection opened for analysis: choices, both sides, order, draws, and what cannot be opened."""

import dataclasses
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import toy

from poolkit.study import open_study, score_table
from poolkit.tables import DataError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return toy.toy_folder(tmp_path_factory.mktemp("study") / "toy")


@pytest.fixture(scope="module")
def study(folder):
    return open_study(folder)


def test_the_collection_decides_what_is_not_said(study):
    assert (study.depth, study.measures, study.measure) == (3, ("nDCG@3", "P@3", "AP@3"), "nDCG@3")
    assert (study.human.name, study.judge.name) == ("author", "robot")
    assert study.families == toy.FAMILIES


def test_choices_are_kept(folder):
    study = open_study(folder, depth=1, human="author", judge="author", measures=["P@1"])
    assert (study.depth, study.measures, study.judge.name) == (1, ("P@1",), "author")
    assert study.pool.unique == 4  # q1 d1 d2, q2 d3 d5


def test_unknown_labels_are_refused(folder):
    with pytest.raises(DataError, match="no labels 'gpt' in toy; there are: author, robot"):
        open_study(folder, judge="gpt")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("measures = []", 'measures is empty; leave it out or name one, such as "nDCG@10"'),
        ('measures = ["ndcg@3"]', "collection.toml: measure 'ndcg@3'"),
    ],
)
def test_odd_measures_of_the_collection_are_refused(folder, tmp_path, line, said):
    shutil.copytree(folder, tmp_path / "toy")
    toy.write_lines(tmp_path / "toy" / "collection.toml", ['name = "toy"', line])
    with pytest.raises(DataError, match=re.escape(said)):
        open_study(tmp_path / "toy")


def test_scores_of_either_side(study):
    # P@3 of dense: q1 d2 of d2 d4, q2 all three, (1/3 + 3/3) / 2 under both
    assert study.human_scores.mean("P@3")["dense"] == pytest.approx(2 / 3)
    assert study.judge_scores.mean("P@3")["dense"] == pytest.approx(2 / 3)
    assert study.scores is study.judge_scores
    assert study.grades is study.judge_grades
    assert [x.queries for x in study.both] == [("q1", "q2")] * 2


def test_the_order_is_the_human_one_then_the_judges_then_the_files(study, folder):
    # nDCG@3 under the author .702 .690 .430, under robot .668 .690 .430
    assert study.order() == ["bm25", "dense", "hybrid"]
    judged = dataclasses.replace(study, human=None)
    assert judged.order() == ["dense", "bm25", "hybrid"]
    assert dataclasses.replace(judged, judge=None).order() == list(study.collection.runs.systems)


def test_tables_have_the_order_of_the_report(study):
    # robot's order is dense bm25 hybrid, the report's bm25 dense hybrid
    table = pd.DataFrame({"x": [1, 2, 3]}, index=["hybrid", "dense", "bm25"])
    assert study.arranged(table)["x"].tolist() == [3, 2, 1]
    pairs = pd.DataFrame({"a": ["dense", "dense", "bm25"], "b": ["hybrid", "bm25", "hybrid"]})
    assert study.arranged(pairs, "a", "b").to_numpy().tolist() == [
        ["bm25", "hybrid"], ["dense", "bm25"], ["dense", "hybrid"],
    ]  # fmt: skip
    assert study.arranged(None) is None


def test_human_labels_stand_in_where_there_is_no_judge(study):
    alone = dataclasses.replace(study, judge=None)
    assert alone.scores is alone.human_scores
    assert alone.grades is alone.human_grades
    assert alone.both is None


def test_without_labels_there_is_no_score(study):
    bare = dataclasses.replace(study, human=None, judge=None)
    for name in ("scores", "grades"):
        with pytest.raises(DataError, match="toy has no labels yet; run `poolkit judge`"):
            getattr(bare, name)


def test_a_judge_that_only_failed_has_no_scores(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "toy")
    line = json.dumps(toy.judgment("q1", "d1", None, status="unreadable"))
    toy.write_lines(tmp_path / "toy" / "judgments" / "robot.jsonl", [line])
    study = open_study(tmp_path / "toy")
    assert study.judge_scores is None
    assert study.scores is study.human_scores


def test_both_sides_count_common_queries_only(study):
    part = dataclasses.replace(study, judge=toy.labels({"q2": toy.JUDGED["q2"]}, "part", human=False))
    assert [x.queries for x in part.both] == [("q2",)] * 2
    assert part.draws(n_resamples=5, rng=np.random.default_rng(1)).tolist() == [[1.0]] * 5
    other = dataclasses.replace(part, human=toy.labels({"q1": toy.GRADES["q1"]}))
    assert other.both is None


def test_one_seed_gives_the_same_draws(study):
    a, b = (study.draws(n_resamples=20, rng=np.random.default_rng(7)) for _ in range(2))
    assert a.tolist() == b.tolist()
    assert a.sum(axis=1).tolist() == [2.0] * 20


def test_score_table(study):
    table = score_table(study)
    assert list(table.columns) == [
        "system", "nDCG@3", "nDCG@3 all 0", "nDCG@3 all top", "P@3", "P@3 all 0", "P@3 all top", "AP@3",
        "AP@3 all 0", "AP@3 all top", "Judged@3", "epoch",
    ]  # fmt: skip
    # robot could not read q1 d4, which dense and hybrid rank: P@3 2/3 and 1/3 where it counts
    top = table.set_index("system")["P@3 all top"].to_dict()
    assert top == pytest.approx({"bm25": 1 / 2, "dense": 2 / 3 + 1 / 6, "hybrid": 1 / 3 + 1 / 6})
    assert table["P@3 all 0"].tolist() == table["P@3"].tolist()
    assert table.set_index("system").loc["dense", "Judged@3"] == pytest.approx((1 / 2 + 1) / 2)
    assert set(table["epoch"]) == {study.judge_grades.epoch}
    assert table.set_index("system")["P@3"].to_dict() == pytest.approx(
        {"bm25": 1 / 2, "dense": 2 / 3, "hybrid": 1 / 3}
    )
    rows = score_table(study, per_query=True)
    assert list(rows.columns[:2]) == ["system", "query_id"]
    assert len(rows) == 6
    # hybrid has no ranking for q2
    assert rows.set_index(["system", "query_id"]).loc[("hybrid", "q2"), "P@3"] == 0
    assert rows.set_index(["system", "query_id"]).loc[("hybrid", "q1"), "P@3 all top"] == 1
