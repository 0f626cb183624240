"""Folders of others become collections that the checks accept."""

import gzip
import json
import re

import pytest
from typer.testing import CliRunner

from poolkit.check import check
from poolkit.cli import app
from poolkit.collection import read_collection
from poolkit.formats import read_toml
from poolkit.imports import import_collection
from poolkit.tables import DataError


@pytest.fixture
def beir(tmp_path):
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": f"q {i}", "text": f"text {i}", "metadata": {}} for i in range(5)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "t", "text": "x"}\n{"_id": "d2", "text": "y"}\n'
    )
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq 1\td1\t1\nq 2\td2\t0\n")
    return folder


def test_beir(beir, tmp_path):
    made = import_collection(str(beir), tmp_path / "new")
    assert made[0] == f"{tmp_path / 'new'}: 5 queries, 2 documents, 0 runs"
    assert made[1:] == [
        "labels test: 2 of 2 queries: 1 of grade 0, 1 of grade 1; grades as they came",
        "5 ids hold white space, now written as %20: q 0, q 1, q 2 and 2 more",
        "licence: not stated by the source; write it here",
        "put one TREC run a system into runs/, or declare systems.toml and run `poolkit retrieve`",
    ]
    (tmp_path / "new" / "runs" / "a.run").write_text("q\tQ0 d1 1 1 t\n")
    with pytest.raises(DataError, match="no query of the runs is among"):
        read_collection(tmp_path / "new")


def test_a_sample_of_queries_is_drawn_among_the_judged(beir, tmp_path):
    import_collection(str(beir), tmp_path / "new", queries=2, seed=3)
    kept = (tmp_path / "new" / "queries.jsonl").read_text().splitlines()
    assert [json.loads(r)["_id"] for r in kept] == ["q%201", "q%202"]


def test_trec_files(tmp_path):
    folder = tmp_path / "trec"
    folder.mkdir()
    (folder / "topics.tsv").write_text("1\tone\n")
    (folder / "human.qrels").write_text("1 0 d1 2\n")
    (folder / "a.run").write_text("1 Q0 d1 1 1 t\n")
    (folder / "systems.csv").write_text("system,family,team\na,bm25,us\n")
    (folder / "llm").mkdir()
    (folder / "LICENSE.txt").write_text("\nCC BY 4.0\n")
    made = import_collection(str(folder), tmp_path / "new")
    assert made[0].endswith(": 1 queries, 0 documents, 1 runs")
    assert made[1:] == [
        "labels human: 1 of 1 queries: 1 of grade 2; grades as they came",
        "not read: llm",
        "licence: CC BY 4.0 (the source's LICENSE.txt)",
    ]
    assert read_collection(tmp_path / "new").catalogue.loc["a", "team"] == "us"
    assert not [p for p in check(tmp_path / "new") if not p.warning]
    assert read_collection(tmp_path / "new").human.relevance.to_numpy().tolist() == [["1", "d1", 2]]


def test_refusals(beir, tmp_path):
    import_collection(str(beir), tmp_path / "new")
    with pytest.raises(DataError, match="holds a collection already; name a new folder"):
        import_collection(str(beir), tmp_path / "new")
    with pytest.raises(DataError, match=r"no such folder|neither a folder"):
        import_collection(str(tmp_path / "nowhere"), tmp_path / "other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no queries found \(queries\.jsonl, queries\.tsv, topics\.tsv, "):
        import_collection(str(tmp_path / "empty"), tmp_path / "other")


def test_names_and_texts_of_any_script_survive(beir, tmp_path):
    (beir / "queries.jsonl").write_text('{"_id": 7, "text": "Größe \\ud83d\\ude00 \\"quoted\\""}\n')
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n7\td1\t1\n")
    import_collection(str(beir), tmp_path / "größe 😀")
    (tmp_path / "größe 😀" / "runs" / "a.run").write_text("7 Q0 d1 1 1 t\n")
    found = read_collection(tmp_path / "größe 😀")
    assert found.config["name"] == "größe 😀"
    assert found.config["source"] == "beir", "the name of the folder, not where it lay"
    assert found.queries["text"].tolist() == ['Größe 😀 "quoted"']


def test_rows_without_their_fields_are_named(beir, tmp_path):
    (beir / "corpus.jsonl").write_text('{"_id": "d1", "text": "x"}\n{"_id": "d2", "body": "y"}\n')
    with pytest.raises(DataError, match=r"^corpus\.jsonl, line 2: no 'text'; found _id, body$"):
        import_collection(str(beir), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_folder_is_not_imported_into_itself(tmp_path):
    folder = tmp_path / "trec"
    folder.mkdir()
    (folder / "topics.tsv").write_text("1\tone\n")
    (folder / "a.run").write_text("1 Q0 d1 1 1 t\n")
    with pytest.raises(DataError, match="is the folder to import from; name a new folder"):
        import_collection(str(folder), folder)
    assert sorted(p.name for p in folder.iterdir()) == ["a.run", "topics.tsv"]
    with pytest.raises(ValueError, match=r"^queries is -1; give how many to keep, or 0 for all$"):
        import_collection(str(folder), tmp_path / "new", queries=-1)


def test_formulations_and_images_come_along_and_folders_stay(beir, tmp_path):
    (beir / "queries.jsonl").write_text(
        '{"_id": "q", "text": "a\u2028b", "keyword": "k"}\n', encoding="utf-8"
    )
    (beir / "corpus.jsonl").write_text('{"_id": "d", "text": "x", "image": "pages/d.png"}\n')
    (beir / "pages").mkdir()
    (beir / "pages" / "d.png").write_bytes(b"png")
    (beir / "qrels" / "old").mkdir()
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    (beir / "a.run").write_text("q Q0 d 1 1 t\n")
    import_collection(str(beir), tmp_path / "new")
    found = read_collection(tmp_path / "new")
    assert found.queries.loc["q"].tolist() == ["a\u2028b", "k"]
    assert found.corpus().loc["d", "image"] == "pages/d.png"
    assert (tmp_path / "new" / "pages" / "d.png").read_bytes() == b"png"
    (beir / "corpus.jsonl").write_text('{"_id": "d", "text": "x", "image": "../d.png"}\n')
    with pytest.raises(DataError, match=r"document d has the image '\.\./d\.png', outside the folder"):
        import_collection(str(beir), tmp_path / "other")


def test_topics_are_lines_of_two_columns(tmp_path):
    folder = tmp_path / "trec"
    folder.mkdir()
    (folder / "topics.tsv").write_bytes("\ufeff1\tone\u2028two\n2 two\n".encode())
    with pytest.raises(DataError, match=r"topics\.tsv, line 2: no tab; write query id, tab, text"):
        import_collection(str(folder), tmp_path / "new")
    (folder / "topics.tsv").write_bytes("1\t\xff\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"topics\.tsv, line 1: not UTF-8"):
        import_collection(str(folder), tmp_path / "new")


def test_grades_are_listed_with_counts_and_mapped_only_by_hand(beir, tmp_path):
    rows = ["q 1\td1\t3", "q 1\td2\t3", "q 2\td1\t-1", "q 9\td1\t1"]
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows) + "\n")
    made = import_collection(str(beir), tmp_path / "new")
    assert "labels test: 3 of 2 queries: 1 of grade -1, 2 of grade 3; grades as they came" in made
    assert "labels test: 1 of other queries left out" in made
    toml = tmp_path / "new" / "collection.toml"
    assert toml.read_text().endswith(
        '[grade_maps."test"]  # grade of the source = grade here; change the right side to map\n'
        "-1 = -1  # 1 labels\n3 = 3  # 2 labels\n"
    )
    (tmp_path / "new" / "runs" / "a.run").write_text("q%201 Q0 d1 1 1 t\n")
    assert read_collection(tmp_path / "new").labels["test"].relevance["relevance"].tolist() == [3, 3, -1]
    toml.write_text(toml.read_text().replace("3 = 3", "3 = 2"))
    assert read_collection(tmp_path / "new").labels["test"].relevance["relevance"].tolist() == [2, 2, -1]


def test_what_fails_half_way_leaves_nothing(beir, tmp_path):
    good = '{"_id": "d1", "text": "x"}\n'
    for bad, said in (
        ('{"_id": "d2", "te', r"corpus\.jsonl, line 2: not a JSON object"),
        ("[1]\n", r"corpus\.jsonl, line 2: a JSON list where an object is expected"),
        (good, r"corpus\.jsonl: d1 comes twice in the source\. Keep one\."),
        ('{"_id": "d2", "text": "\\ud800"}\n', r"corpus\.jsonl, line 2: half a character"),
        ('{"_id": "d2", "text": 1}\n', r'corpus\.jsonl, line 2: "_id" must be text or an integer'),
    ):
        (beir / "corpus.jsonl").write_text(good + bad)
        with pytest.raises(DataError, match=said):
            import_collection(str(beir), tmp_path / "new")
        assert [p.name for p in tmp_path.iterdir()] == ["beir"]
    (beir / "corpus.jsonl").write_bytes(gzip.compress(good.encode())[:-9])
    with pytest.raises(DataError, match=r"corpus\.jsonl: the gzip data is damaged or cut short"):
        import_collection(str(beir), tmp_path / "new")
    (beir / "corpus.jsonl").write_bytes(gzip.compress(b"\xef\xbb\xbf" + good.encode()))
    (tmp_path / "new").mkdir()
    import_collection(str(beir), tmp_path / "new")
    assert (tmp_path / "new" / "corpus.jsonl").read_text() == '{"_id": "d1", "title": "", "text": "x"}\n'
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="is there already, and not an empty folder; name a new folder"):
        import_collection(str(beir), tmp_path / "full")


def test_ids_that_would_be_written_alike_are_refused(beir, tmp_path):
    (beir / "corpus.jsonl").write_text('{"_id": "a b", "text": "x"}\n{"_id": "a%20b", "text": "y"}\n')
    with pytest.raises(DataError, match=r"ids 'a b' and 'a%20b' would be written alike; rename one"):
        import_collection(str(beir), tmp_path / "new")


def test_cranfield_comes_in_whole(cases, tmp_path):
    made = import_collection(str(cases / "cranfield"), tmp_path / "new")
    assert made[0].endswith(": 225 queries, 1,400 documents, 0 runs")
    grades = "225 of grade 0, 1,611 of grade 1, 1 of grade 3"
    assert made[1] == f"labels test: 1,837 of 225 queries: {grades}; grades as they came"
    rows = [json.loads(x) for x in (tmp_path / "new" / "corpus.jsonl").read_text().splitlines()]
    assert (len(rows), rows[0]["_id"], rows[-1]["_id"]) == (1400, "1", "1400")
    assert [r["_id"] for r in rows if not (r["title"] + r["text"]).strip()] == ["471", "995"]


def test_trec_deep_learning_comes_in_whole(cases, tmp_path):
    made = import_collection(str(cases / "dl21"), tmp_path / "new")
    assert made[0].endswith(": 53 queries, 0 documents, 63 runs")
    assert made[1].startswith("labels human: 10,828 of 53 queries: ")
    assert "not read: llm" in made
    found = read_collection(tmp_path / "new")
    assert len(found.runs.systems) == 63
    assert found.families["p_bm25"] == found.catalogue.loc["p_bm25", "family"]


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        (
            "queries.jsonl",
            '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n',
            "line 2: query 'a' stands twice",
        ),
        ("queries.jsonl", '{"_id": "", "text": "x"}\n', "line 1: the query's id is empty"),
        (
            "corpus.jsonl",
            '{"_id": "d", "text": "x", "image": "systems.toml"}\n',
            "which is no picture's name",
        ),
    ],
)
def test_ids_stand_once_and_images_are_pictures(beir, tmp_path, name, lines, said):
    (beir / name).write_text(lines)
    with pytest.raises(DataError, match=said):
        import_collection(str(beir), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_names_with_control_characters_make_a_toml_that_reads(beir, tmp_path):
    import_collection(str(beir.rename(tmp_path / "a\x7fb\x01")), tmp_path / "c\x7f\"d'\\")
    config = read_toml(tmp_path / "c\x7f\"d'\\" / "collection.toml")
    assert (config["name"], config["source"]) == ("c\x7f\"d'\\", "a\x7fb\x01")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("corpus.jsonl", "\n", r"^corpus\.jsonl: the file is empty\. Remove it, or put documents there\.$"),
        ("runs/a.run", "q1 Q0\n", r"^runs/a\.run, line 1: 2 columns where 6 are expected"),
        (
            "runs/b.run.gz",
            "q%201 Q0 d1 1 1 t\n",
            r"^two files for the system b: runs/b\.run and runs/b\.run\.gz\.",
        ),
        (
            "b.run",
            "q%201 Q0 d2 1 1 t\n",
            r"^two files for the system b: runs/b\.run and b\.run\. Keep or rename one",
        ),
        ("systems.csv", "system,family\na,b,c\n", r"^systems\.csv, line 2: 3 cells where the header has 2"),
        (
            "corpus.jsonl",
            '{"_id": "d"}\n'.encode("utf-16"),
            r"^corpus\.jsonl: UTF-16, where UTF-8 is expected",
        ),
        ("topics.tsv", "1\tx\n".encode("utf-16-le"), r"^topics\.tsv: UTF-16-LE, where UTF-8 is expected"),
        ("corpus.jsonl", b'{"_id": "d", "text": "x\\udc00"}\n', r"^corpus\.jsonl, line 1: half a character"),
    ],
)
def test_files_that_cannot_be_taken_are_one_line_by_the_command(beir, tmp_path, name, text, said):
    (beir / "runs").mkdir()
    (beir / "runs" / "b.run").write_text("q%201 Q0 d1 1 1 t\n")
    if name == "topics.tsv":
        (beir / "queries.jsonl").unlink()
    (beir / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    done = CliRunner().invoke(app, ["import", str(beir), str(tmp_path / "new")])
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.search(said, done.stderr.removeprefix("poolkit: ").rstrip("\n"))
    assert done.stderr.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["beir"]


def test_what_is_empty_is_said_and_no_label_file_without_a_label(beir, tmp_path):
    (beir / "corpus.jsonl").write_text(
        '{"_id": "d1", "text": " "}\n{"_id": "d2", "title": "t", "text": ""}\n'
    )
    (beir / "queries.jsonl").write_text('{"_id": "q", "text": ""}\n{"_id": "r", "text": "x"}\n')
    made = import_collection(str(beir), tmp_path / "new")
    assert "1 queries have no text: q" in made
    assert "1 documents are empty: d1" in made
    assert "labels test: 2 of other queries left out" in made
    assert not list((tmp_path / "new" / "qrels").iterdir())
    with pytest.raises(ValueError, match=r"^seed is -1; it must be at least 0$"):
        import_collection(str(beir), tmp_path / "other", seed=-1)
