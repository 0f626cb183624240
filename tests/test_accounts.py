"""Tables of what was judged: counts by hand on the toy world."""

import dataclasses

import numpy as np
import pytest
import toy

from poolkit import accounts
from poolkit.study import open_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return open_study(toy.toy_folder(tmp_path_factory.mktemp("accounts") / "toy"))


def test_judging(study):
    assert accounts.judging(study.collection, study.pool, study.judge) == ("robot", 7, 1, 8)
    assert accounts.judging(study.collection, study.pool, None) == ("No judge", 0, 0, 8)


def test_labels_table(study):
    table = accounts.labels_table(study.collection, study.pool).set_index("labels")
    # author: 2 1 0 | 1 2 1 0, without q1 d3; robot: 2 1 0 | 1 0 2 2, q1 d4 failed
    assert table.loc["author", ["judged", "failed", "unjudged", "beyond the pool"]].tolist() == [7, 0, 1, 0]
    assert table.loc["robot", ["judged", "failed", "unjudged", "beyond the pool"]].tolist() == [7, 1, 0, 0]
    assert table.loc["author", ["grade 0", "grade 1", "grade 2"]].tolist() == pytest.approx(
        [2 / 7, 3 / 7, 2 / 7]
    )
    assert table.loc["robot", ["grade 0", "grade 1", "grade 2"]].tolist() == pytest.approx(
        [2 / 7, 2 / 7, 3 / 7]
    )
    assert table["kind"].to_dict() == {"author": "qrels", "robot": "judge"}
    assert "about" not in table
    told = {"labels": {"author": {"about": "of the authors"}}}
    said = dataclasses.replace(study.collection, config=study.collection.config | told)
    assert accounts.labels_table(said, study.pool)["about"].tolist() == ["of the authors", ""]


def test_labels_beyond_the_pool_are_counted(study):
    shallow = dataclasses.replace(study, depth=1)
    table = accounts.labels_table(study.collection, shallow.pool).set_index("labels")
    # pool: q1 d1 d2, q2 d3 d5, all graded by the author
    assert table.loc["author", ["judged", "unjudged", "beyond the pool"]].tolist() == [4, 0, 3]


def test_what_the_collection_says_of_a_judge(study):
    assert accounts.provenance_lines(study.collection, study.judge) == ["kind: reader", "model: robot-1"]
    assert accounts.provenance_lines(study.collection, study.human) == [
        "collection.toml says nothing about author."
    ]
    assert accounts.provenance_lines(study.collection, None)[0].startswith(
        "No judge has graded this pool yet"
    )


def test_spending(study):
    row = accounts.spending(study.collection, study.judge).iloc[0]
    # 7 grades, a failure, 7 repeats, each 100 tokens and $0.001
    assert (row["model"], row["day"], row["calls"], row["tokens_in"], row["tokens_out"]) == (
        "robot-1", "2026-01-01", 15, 1500, 150,
    )  # fmt: skip
    assert row["usd"] == pytest.approx(0.015)
    assert accounts.spending(study.collection, None) is None
    assert accounts.spending(study.collection, study.human) is None


def test_spending_by_judge_and_system(study):
    row = accounts.judges_spending(study.collection).loc["robot"]
    assert row[["calls", "usd", "usd_per_grade"]].tolist() == pytest.approx([15, 0.015, 0.015 / 14])
    assert accounts.judges_spending(dataclasses.replace(study.collection, records={})) is None
    table = accounts.systems_spending(study.collection, study.pool, study.judge)
    assert table["calls"].to_dict() == {"bm25": 5, "dense": 3, "hybrid": 0, "(judged again)": 7}
    assert accounts.systems_spending(study.collection, study.pool, study.human) is None
    assert accounts.systems_spending(study.collection, study.pool, None) is None


def test_what_one_judge_took_in_all(study):
    table = accounts.judges_spending(study.collection)
    found = accounts.spent_in_all(study.collection, study.judge)
    assert found["calls"] == table.loc[study.judge.name, "calls"]
    assert accounts.spent_in_all(study.collection, study.human) is None
    assert accounts.spent_in_all(study.collection, None) is None


def test_examples(study):
    drawn = accounts.examples(study.collection, study.pool, study.judge, n=3, rng=np.random.default_rng(1))
    assert list(drawn.columns) == ["query_id", "query", "doc_id", "grade", "thought"]
    for row in drawn.itertuples():
        assert toy.JUDGED[row.query_id][row.doc_id] == row.grade
        assert row.query == f"what is {row.query_id}"
    every = accounts.examples(study.collection, study.pool, study.judge, n=99, rng=np.random.default_rng(1))
    assert len(every) == 7  # no failure, no repeat
    for nobody in (None, study.human):
        assert accounts.examples(
            study.collection, study.pool, nobody, n=3, rng=np.random.default_rng(1)
        ).empty


def test_failures(study):
    rows = accounts.failures(study.pool, study.judge).to_numpy().tolist()
    assert rows == [
        ["kind", "unreadable", 1],
        ["system", "dense", 1],
        ["system", "hybrid", 1],
        ["query", "q1", 1],
    ]
    assert len(accounts.failures(study.pool, study.judge, n=1)) == 3
    assert accounts.failures(study.pool, None) is None
