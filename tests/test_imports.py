"""Folders of others become collections that the checks accept."""

import json

import pytest

from poolkit.check import check
from poolkit.collection import read_collection
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
    assert made[0].endswith("5 queries, 2 documents, 0 runs, labels: 1")
    assert "poolkit retrieve" in made[1]
    (tmp_path / "new" / "runs" / "a.run").write_text("q\tQ0 d1 1 1 t\n")
    with pytest.raises(DataError, match="no query of the runs is among"):
        read_collection(tmp_path / "new")


def test_a_sample_of_queries_is_drawn_among_the_judged(beir, tmp_path):
    import_collection(str(beir), tmp_path / "new", queries=2, seed=3)
    kept = (tmp_path / "new" / "queries.jsonl").read_text().splitlines()
    assert [json.loads(r)["_id"] for r in kept] == ["q 1", "q 2"]


def test_trec_files(tmp_path):
    folder = tmp_path / "trec"
    folder.mkdir()
    (folder / "topics.tsv").write_text("1\tone\n")
    (folder / "human.qrels").write_text("1 0 d1 2\n")
    (folder / "a.run").write_text("1 Q0 d1 1 1 t\n")
    import_collection(str(folder), tmp_path / "new")
    assert not [p for p in check(tmp_path / "new") if not p.warning]
    assert read_collection(tmp_path / "new").human.relevance.to_numpy().tolist() == [["1", "d1", 2]]


def test_refusals(beir, tmp_path):
    import_collection(str(beir), tmp_path / "new")
    with pytest.raises(DataError, match="holds a collection already; name a new folder"):
        import_collection(str(beir), tmp_path / "new")
    with pytest.raises(DataError, match="no such folder"):
        import_collection(str(tmp_path / "nowhere"), tmp_path / "other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no queries found \(queries\.jsonl, queries\.tsv, topics\.tsv\)"):
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
