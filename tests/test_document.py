"""One JSON document with every number, valid under its published schema, whatever a collection lacks."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
import toy
from folders import DEGRADED, conflict_folder, trec_folder, without

import poolkit
from poolkit.analyse import correlation, left_out
from poolkit.document import SCHEMA, analysis, as_json
from poolkit.resample import Interval
from poolkit.study import open_study
from poolkit.tables import DataError

SCHEMA_FILE = Path(poolkit.__file__).parent / "schemas" / "analyse.json"
FEW = {"n_resamples": 200, "n_orders": 10}


@pytest.fixture(scope="module")
def valid():
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    def check(document):
        text = json.dumps(document, allow_nan=False)  # NaN is no JSON
        wrong = [(list(e.absolute_path), e.message) for e in validator.iter_errors(json.loads(text))]
        assert not wrong, wrong[:3]
        return document

    return check


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return open_study(toy.toy_folder(tmp_path_factory.mktemp("document") / "toy"))


@pytest.fixture(scope="module")
def document(study):
    return analysis(study, **FEW)


def said(document):
    """Return everything that the document says in words."""
    if isinstance(document, dict):
        own = [x for k, v in document.items() if k in ("notes", "lacks") for x in v]
        return own + [x for v in document.values() for x in said(v)]
    return [x for v in document for x in said(v)] if isinstance(document, list) else []


def test_the_toy_world(document, valid):
    valid(document)
    assert document["schema"] == SCHEMA
    assert document["labels"] == {"human": "author", "judge": "robot"}
    assert document["lacks"] == []
    pool = document["pool"]
    # q1: d1 d2 d3 d4; q2: d1 d3 d4 d5. Returned: bm25 3 + 2, dense 2 + 3, hybrid 3.
    assert (pool["unique"], pool["independent"], pool["nominal"]) == (8, 13, 18)
    assert pool["reuse"] == pytest.approx(1 - 8 / 13)
    assert [r["new"] for r in pool["arrival"]] == [5, 3, 0]
    # Judge, P@3: bm25 (d1, d2 | none of d3, d5 but d5) = (2/3 + 1/3) / 2.
    judged = document["scores"]["judge"]
    p3 = {r["system"]: r for r in judged["means"] if r["measure"] == "P@3"}
    assert {s: r["mean"] for s, r in p3.items()} == pytest.approx(
        {"bm25": 1 / 2, "dense": (1 / 3 + 1) / 2, "hybrid": 1 / 3}
    )
    # The judge failed on q1 d4: 0 as it stands, and at the top grade a third more for dense and hybrid in q1.
    assert {s: r["all_0"] for s, r in p3.items()} == {s: r["mean"] for s, r in p3.items()}
    assert {s: r["all_top"] for s, r in p3.items()} == pytest.approx(
        {"bm25": 1 / 2, "dense": (2 / 3 + 1) / 2, "hybrid": 1 / 2}
    )
    assert p3["dense"]["judged"] == pytest.approx((1 / 2 + 1) / 2)
    assert (judged["labels"], judged["unjudged"]["P@3"], judged["top"]) == ("robot", 1, 2)
    assert judged["epoch"] != document["scores"]["human"]["epoch"]
    # Both graded six pairs: q1 d1, d2; q2 d1, d3, d4, d5. They differ in q2 d4 alone, 1 against 2.
    assert (document["agree"]["agreement"]["n"], document["agree"]["exact"]["value"]) == (6, 5 / 6)
    # Replicate 1 differs in q1 d2 and q2 d4, two of seven.
    assert document["stability"]["n"] == 7
    assert document["stability"]["exact"]["value"] == pytest.approx(5 / 7)
    assert document["factors"]["mode"]["others"] == []
    assert len(document["factors"]["mode"]["contrasts"]) == 3
    assert [r["recall"] for r in document["by_grade"]] == pytest.approx([1, 2 / 3, 1])
    assert {(r["measure"], r["human_rel"], r["judge_rel"]) for r in document["thresholds"]} == {
        (m, x, y) for m in ("P@3", "AP@3") for x in (1, 2) for y in (1, 2)
    }
    assert document["bias_by_system"]["by"] == "system"
    assert [r["group"] for r in document["bias_by_system"]["groups"]] == ["bm25", "dense", "hybrid"]
    assert len(document["versus"]["pairs"]) == 3
    (one,) = document["evidence"]
    assert (one["a"], one["b"], one["verdict"]) == ("bm25", "dense", "within noise")
    # q2 d4 alone is graded by both, 1 and 2: dense ranks it second, bm25 not at all.
    assert one["documents"][0] == {
        "query_id": "q2", "doc_id": "d4", "rank_a": None, "rank_b": 2, "human": 1, "judge": 2,
    }  # fmt: skip


def test_a_conflict(tmp_path, valid):
    found = valid(analysis(open_study(conflict_folder(tmp_path / "conflict")), **FEW))
    (one,) = found["evidence"]
    assert (one["verdict"], one["human"], one["judge"], len(one["queries"])) == ("strong conflict", 1, -1, 4)
    assert found["versus"]["pairs"][0]["verdict"] == "win"  # of bad, under the judge


def test_a_negative_ceiling_has_no_spearman_brown(tmp_path, valid):
    folder = toy.toy_folder(tmp_path / "toy")
    # One good query each: halves of the queries turn the order round, rho is -1 in every halving.
    toy.write_lines(folder / "qrels" / "author.qrels", ["q1 0 d1 2", "q1 0 d2 0", "q2 0 d4 2", "q2 0 d3 0"])
    without("runs/hybrid.run")(folder)
    found = valid(analysis(open_study(folder), **FEW))["correlate"]
    assert found["ceiling"] == {"rho": -1, "spearman_brown": None}
    assert any("Spearman-Brown's formula has no meaning for a negative rho" in x for x in found["notes"])


def test_the_same_seed_gives_the_same_document_and_the_numbers_of_the_analyses(study, document):
    assert analysis(study, **FEW) == document
    rho = correlation(study, n_resamples=FEW["n_resamples"]).rho
    assert (rho.value, rho.low, rho.high) == tuple(
        document["correlate"]["rho"][k] for k in ("value", "low", "high")
    )
    assert left_out(study).effects["flips"].tolist() == [r["flips"] for r in document["bias"]["effects"]]


def test_a_second_judge(tmp_path, valid):
    folder = toy.toy_folder(tmp_path / "two")
    rows = [toy.judgment(q, d, g) for q, ds in toy.GRADES.items() for d, g in ds.items()]
    toy.write_lines(folder / "judgments" / "other.jsonl", [json.dumps(r) for r in rows])
    found = valid(analysis(open_study(folder, judge="robot"), **FEW))
    assert list(found["judges"]) == ["other"]
    assert found["judges"]["other"]["labels"]["n"] == 6
    assert found["judges"]["other"]["rankings"]["measure"] == "nDCG@3"


@pytest.mark.parametrize("name", DEGRADED)
def test_degraded_worlds_say_what_they_lack(name, tmp_path, valid):
    change, words = DEGRADED[name]
    folder = toy.toy_folder(tmp_path / "toy")
    change(folder)
    found = valid(analysis(open_study(folder), **FEW))
    assert any(words in line for line in said(found)), said(found)


def test_without_labels_only_the_pool_is_known(tmp_path):
    folder = toy.toy_folder(tmp_path / "toy")
    DEGRADED["only queries and runs"][0](folder)
    found = analysis(open_study(folder), **FEW)
    empty = {k for k, v in found.items() if v in (None, {})}
    assert empty == set(found) - {
        "schema", "collection", "parameters", "labels", "lacks", "pool", "scores", "evidence",
    }  # fmt: skip
    assert (found["scores"], found["evidence"]) == ({"human": None, "judge": None}, [])


def test_draws_and_pairs_stay_out(document):
    text = json.dumps(document)
    assert "draws" not in text
    assert "doc_id" not in json.dumps({k: v for k, v in document.items() if k != "evidence"})


def test_as_json():
    interval = Interval(0.5, float("nan"), float("inf"), 0.95, np.zeros(3))
    assert as_json(interval) == {"value": 0.5, "low": None, "high": None, "level": 0.95, "undefined": 0}
    table = pd.DataFrame({"n": [1, 2], "x": [0.5, np.nan]}, index=["a", "b"])
    assert as_json(table) == [{"row": "a", "n": 1, "x": 0.5}, {"row": "b", "n": 2, "x": None}]
    assert as_json({1: (np.int64(2), np.bool_(True), pd.NA, pd.Series([1.5], index=["k"]))}) == {
        "1": [2, True, None, {"k": 1.5}]
    }


def test_measures_of_collection_toml_are_checked(tmp_path):
    folder = toy.toy_folder(tmp_path / "toy")
    (folder / "collection.toml").write_text('measures = ["nDCGG@10"]\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"^collection\.toml: measure 'nDCGG@10'"):
        open_study(folder)
    (folder / "collection.toml").write_text("measures = []\n", encoding="utf-8")
    with pytest.raises(DataError, match="measures is empty; leave it out or name one"):
        open_study(folder)


def test_dl21(cases, tmp_path, valid):
    folder = trec_folder(cases / "dl21", tmp_path / "dl21", judge="gpt4o.umbrela")
    study = open_study(folder)
    found = valid(analysis(study, n_resamples=500, n_orders=5))
    # cases/README.md: Spearman 0.993, Kendall 0.939; 7,447 pooled by score.
    assert round(found["correlate"]["rho"]["value"], 3) == 0.993
    assert round(found["correlate"]["tau"]["value"], 3) == 0.939
    assert (found["pool"]["systems"], found["pool"]["queries"]) == (63, 53)
    assert found["pool"]["unique"] == 7447
    assert found["agree"]["agreement"]["n"] == 10828
    assert len(found["disagree"]["pairs"]) == 63 * 62 // 2
    assert found["growth_orders"]["violations"] == 0
    assert found["stability"] is None


def test_dl21_by_rank_and_mapped(cases, tmp_path):
    mapped = "{ 0 = 0, 1 = 1, 2 = 2, 3 = 2 }"
    folder = trec_folder(
        cases / "dl21", tmp_path / "dl21", judge="gpt4o.umbrela", order="rank", grade_map=mapped
    )
    study = open_study(folder)
    assert study.pool.unique == 7225
    assert (study.human_grades.top, study.judge_grades.top) == (2, 2)
    assert correlation(study, n_resamples=10).rho.value > 0.97


def test_treccovid(cases, tmp_path, valid):
    folder = trec_folder(cases / "treccovid-r1", tmp_path / "treccovid-r1")
    found = valid(analysis(open_study(folder, measures=["nDCG@10"]), n_resamples=100, n_orders=2))
    assert (found["pool"]["systems"], found["pool"]["queries"]) == (143, 30)
    assert found["scores"]["judge"] is None
    assert len(found["scores"]["human"]["means"]) == 143
    assert found["lacks"] == ["No judge has graded this pool; scores are those under human."]
