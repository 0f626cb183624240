"""A whole folder: what is read, what is counted, what is refused."""

import dataclasses
import json

import pytest
from toy import toy_folder

from poolkit.check import check
from poolkit.collection import read_collection
from poolkit.tables import DataError


@pytest.fixture
def folder(tmp_path):
    """Two systems, two queries, three documents, labels of both kinds."""
    write(tmp_path, "queries.jsonl", '{"_id": "q1", "text": "one"}\n{"_id": "q2", "text": "two"}\n')
    write(
        tmp_path,
        "corpus.jsonl",
        "".join(f'{{"_id": "d{i}", "title": "", "text": "t{i}"}}\n' for i in (1, 2, 3)),
    )
    write(tmp_path, "runs/a.run", "q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq2 Q0 d1 1 1 t\n")
    write(tmp_path, "runs/b.run", "q1 Q0 d3 1 2 t\n")
    write(tmp_path, "systems.csv", "system,family\nb,y\na,x\n")
    write(tmp_path, "qrels/human.qrels", "q1 0 d1 3\nq1 0 d1 3\nq2 0 d1 0\nq9 0 d1 1\n")
    records = [
        {"query_id": "q1", "doc_id": "d1", "relevance": 2, "status": "ok", "replicate": 0},
        {"query_id": "q1", "doc_id": "d1", "relevance": 1, "status": "ok", "replicate": 1},
        {"query_id": "q1", "doc_id": "d2", "relevance": None, "status": "unreadable", "replicate": 0},
    ]
    write(tmp_path, "judgments/m.jsonl", "".join(json.dumps(r) + "\n" for r in records))
    write(tmp_path, "collection.toml", "title = 'T'\n[grade_maps.human]\n0 = 0\n1 = 1\n3 = 2\n")
    return tmp_path


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_everything_is_read(folder):
    found = read_collection(folder)
    assert found.runs.systems == ("b", "a")  # the catalogue's order
    assert found.runs.queries == ("q1", "q2")
    assert found.families == {"b": "y", "a": "x"}
    assert found.human.dropped == 1
    assert found.human.relevance["relevance"].tolist() == [2, 0, 1]  # 3 -> 2 as the map says
    assert found.judge.relevance.to_numpy().tolist() == [["q1", "d1", 2]]
    assert found.judge.failed.to_numpy().tolist() == [["q1", "d2", "unreadable"]]
    assert found.corpus().loc["d3", "text"] == "t3"
    assert check(folder) == []


def test_only_queries_and_runs_are_needed(folder):
    for name in ("systems.csv", "qrels/human.qrels", "judgments/m.jsonl", "collection.toml", "corpus.jsonl"):
        (folder / name).unlink()
    found = read_collection(folder)
    assert found.families == {"a": "a", "b": "b"}
    assert found.human is None
    assert found.judge is None
    assert found.corpus().empty
    assert [p.path.name for p in check(folder)] == ["collection.toml", "systems.csv", "corpus.jsonl"]


def test_every_problem_of_every_file_is_listed(folder):
    write(folder, "runs/a.run", "q1 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n")
    write(folder, "runs/b.run", "q1 Q0 d3 1 t\n")
    write(folder, "qrels/human.qrels", "q1 0 d1 0.5\n")
    write(folder, "collection.toml", "deep = 3\n")
    write(folder, "corpus.jsonl", '{"_id": "d1"}\n')
    said = [str(p) for p in check(folder)]
    starts = (
        "collection.toml: ",
        "runs/a.run, line 2: ",
        "runs/b.run, line 1: ",
        "qrels/human.qrels, line 1: ",
    )
    for start in (*starts, "corpus.jsonl, line 1: "):
        assert any(s.startswith(start) for s in said), (start, said)
    with pytest.raises(DataError, match="and 1 more"):
        read_collection(folder)


def test_queries_that_match_nothing_are_refused(folder):
    write(folder, "queries.jsonl", '{"_id": "Q1", "text": "one"}\n')
    with pytest.raises(
        DataError, match=r"no query of the runs is among the 1 queries: runs say q1, queries say Q1"
    ):
        read_collection(folder)


def test_queries_that_match_in_part_are_counted(folder):
    write(folder, "queries.jsonl", '{"_id": "q1", "text": "one"}\n')
    assert read_collection(folder).runs.strays == 1
    assert "1 rows belong to queries that are not in the queries file" in str(check(folder)[-1])


def test_documents_without_text(folder):
    write(folder, "corpus.jsonl", '{"_id": "d1", "text": "x"}\n')
    (note,) = check(folder)
    assert note.warning
    assert note.text == "2 of 3 documents of the runs have no text here: d2, d3"
    write(folder, "corpus.jsonl", '{"_id": "D1", "text": "x"}\n')
    (error,) = check(folder)
    assert not error.warning


def test_labels_are_chosen_by_name(folder):
    write(folder, "qrels/second.qrels", "q1 0 d1 1\n")
    write(folder, "collection.toml", "human = 'second'\n[labels.second]\ntitle = 'second reading'\n")
    assert read_collection(folder).human.title == "second reading"
    write(folder, "collection.toml", "human = 'third'\n")
    with pytest.raises(DataError, match="labels 'third' are named, but there is no such file"):
        read_collection(folder)


def test_one_name_for_two_label_files_is_refused(folder):
    write(folder, "qrels/m.qrels", "q1 0 d1 1\n")
    with pytest.raises(DataError, match="labels 'm' exist already; rename one of the files"):
        read_collection(folder)


def test_a_grade_map_must_be_complete(folder):
    write(folder, "collection.toml", "[grade_maps.human]\n0 = 0\n")
    with pytest.raises(DataError, match="grade map for human: no entry for grade 1, 3"):
        read_collection(folder)


def test_a_missing_folder_says_what_a_collection_is(tmp_path):
    with pytest.raises(DataError, match=r"no such folder \(.*nowhere\); a collection is a folder with"):
        read_collection(tmp_path / "nowhere")


def test_many_systems(tmp_path):
    write(tmp_path, "queries.tsv", "q1\tone\nq2\ttwo\n")
    for i in range(130):
        write(tmp_path, f"runs/s{i:03}.run", f"q{i % 2 + 1} Q0 d{i} 1 1 t\n")
    found = read_collection(tmp_path)
    assert len(found.runs.systems) == 130
    assert found.runs.returned.sum() == 130
    assert (found.runs.returned == 0).sum() == 130  # each system misses one query


@pytest.mark.parametrize(
    ("case", "systems", "queries", "rows"), [("dl21", 63, 53, 332_500), ("treccovid-r1", 143, 30, 0)]
)
def test_real_runs_read_without_a_special_case(cases, tmp_path, case, systems, queries, rows):
    (tmp_path / "runs").symlink_to(cases / case / "runs")
    write(tmp_path, "queries.tsv", "".join(f"{i}\ttopic {i}\n" for i in range(1, 31)))
    if case == "dl21":
        (tmp_path / "queries.tsv").write_text((cases / case / "topics.tsv").read_text())
    found = read_collection(tmp_path)
    assert len(found.runs.systems) == systems
    assert len(found.runs.queries) == queries
    assert found.runs.returned.sum() >= rows


def test_a_run_of_unknown_queries_is_named(folder):
    write(folder, "runs/b.run", "q8 Q0 d3 1 2 t\n")
    with pytest.raises(
        DataError, match=r"run b: none of its queries is in the queries file; it says q8, the file"
    ):
        read_collection(folder)


def test_settings_of_labels_that_are_not_there_are_noted(folder):
    maps = "[grade_maps.gone]\n0 = 0\n[labels.lost]\ntitle = 't'\n[labels.later]\ntitle = 'x'\n"
    write(folder, "collection.toml", maps + "[judges.later]\nmodel = 'm-2026-01-01'\n")
    assert [(p.text.partition(":")[0], p.warning) for p in check(folder)] == [
        ("[labels.lost] is not used", True),
        ("[grade_maps.gone] is not used", True),
    ]


def test_shapes_that_settings_cannot_have_do_not_stop_the_check(folder):
    text = "measures = [1]\n[labels]\nhuman = 'x'\n[grade_maps]\nhuman = 'x'\n[judges]\nm = 'x'\n"
    write(folder, "collection.toml", text)
    assert len([p for p in check(folder) if p.path.name == "collection.toml"]) == 4


def test_grades_of_judges_beyond_any_scale_are_refused(folder):
    row = {"query_id": "q1", "doc_id": "d1", "relevance": 10**9, "status": "ok", "replicate": 1}
    write(folder, "judgments/m.jsonl", json.dumps(row) + "\n")
    with pytest.raises(
        DataError, match=r"^judgments/m\.jsonl, line 1: grade 1000000000; grades lie between -1000 and"
    ):
        read_collection(folder)


def test_judgments_that_are_no_folder_are_named(folder):
    (folder / "judgments" / "m.jsonl").unlink()
    (folder / "judgments").rmdir()
    write(folder, "judgments", "x")
    with pytest.raises(DataError, match=r"judgments: not a folder\. Move it away or make it one\."):
        read_collection(folder)


def test_labels_are_laid_on_the_runs_once(tmp_path):
    found = read_collection(toy_folder(tmp_path / "toy"))
    robot = found.labels["robot"]
    assert found.grades(robot) is found.grades(robot)
    other = dataclasses.replace(robot, relevance=robot.relevance.head(2))  # of the same name
    assert found.grades(other).judged.sum() == 2
    assert found.grades(robot).judged.sum() == len(robot.relevance)
