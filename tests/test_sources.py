"""Folders of others: pages with pictures, and links."""

import json

import pytest
from PIL import Image

from poolkit.check import check
from poolkit.collection import read_collection
from poolkit.imports import import_collection
from poolkit.tables import DataError

# FinRAGBench-V: pages with parsed text and picture, and names that hold spaces


@pytest.fixture
def pages(tmp_path):
    folder = tmp_path / "finrag"
    for part in ("qrels", "corpus/en"):
        (folder / part).mkdir(parents=True)
    first, second = "Annual Report 2024_7.png", "年报_3.png"
    asked = [
        {"query-id": f"{first}-1", "query": "Which region grew?", "answer": "North", "from_pages": "7"},
        {"query-id": f"{second}-2", "query": "哪个地区?", "answer": "北", "from_pages": "3"},
    ]
    (folder / "queries_en.json").write_text(json.dumps(asked, ensure_ascii=False), encoding="utf-8")
    lines = f"query-id\tcorpus-id\tscore\n{first}-1\t{first}\t1\n{second}-2\t{second}\t1\n"
    (folder / "qrels" / "qrels_en.tsv").write_text(lines, encoding="utf-8")
    for name in (first, second):
        Image.new("RGB", (40, 60), "white").save(folder / "corpus" / "en" / name)
    text = "Revenue\n<table>North 4, South 2</table>\n<figure>Bars that rise</figure>"
    (folder / "corpus" / "en" / "Annual Report 2024_7.md").write_text(text)
    return folder


def test_pages_with_parsed_text_and_picture(pages, tmp_path):
    made = import_collection(str(pages), tmp_path / "new")
    assert made[0].endswith(": 2 queries, 2 documents, 0 runs")
    assert made[1] == "2 pages with a picture"
    assert made[2] == "labels qrels_en: 2 of 2 queries: 2 of grade 1; grades as they came"
    assert "2 ids hold white space, now written as %20" in made[3]
    assert "1 pages have a picture and no parsed text beside it: 年报_3.png" in made
    run = "年报_3.png-2 Q0 Annual%20Report%202024_7.png 1 1 t\n"
    (tmp_path / "new" / "runs" / "a.run").write_text(run)
    found = read_collection(tmp_path / "new")
    assert found.queries["text"].tolist() == ["Which region grew?", "哪个地区?"]
    assert found.queries.index[0] == "Annual%20Report%202024_7.png-1"
    page = found.corpus().loc["Annual%20Report%202024_7.png"]
    assert "<table>North 4, South 2</table>" in page["text"]
    assert page["image"] == "corpus/en/Annual Report 2024_7.png"
    assert (tmp_path / "new" / page["image"]).read_bytes() == (pages / page["image"]).read_bytes()
    ids = found.labels["qrels_en"].relevance["doc_id"].tolist()
    assert ids == ["Annual%20Report%202024_7.png", "年报_3.png"]
    assert not [p for p in check(tmp_path / "new") if not p.warning]


def test_queries_in_one_json_file_that_are_none(pages, tmp_path):
    for text, said in (
        ("{", r"queries_en\.json: not readable as JSON"),
        ("{}", r"queries_en\.json: no list of queries, each with query-id and query"),
        ('[{"query": "x"}]', r"queries_en\.json, entry 1: no '_id'; found text"),
    ):
        (pages / "queries_en.json").write_text(text)
        with pytest.raises(DataError, match=said):
            import_collection(str(pages), tmp_path / "new")


def test_links_out_of_the_folder_are_refused_and_links_inside_are_not(pages, tmp_path):
    for name in ("secret.md", "secret.run"):
        (tmp_path / name).write_text("sesame")
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    (pages / "runs").mkdir()
    for link, target in (
        ("runs/a.run", "secret.run"),
        ("corpus/en/年报_3.md", "secret.md"),
        ("corpus/en/more.png", "secret.png"),
        ("LICENSE", "secret.md"),
    ):
        (pages / link).symlink_to(tmp_path / target)
        said = rf"^{link}: a link that leads out of the folder\. Import a copy that holds the file itself"
        with pytest.raises(DataError, match=said):
            import_collection(str(pages), tmp_path / "new")
        assert not (tmp_path / "new").exists()
        (pages / link).unlink()
    (pages / "kept.txt").write_text("q Q0 d1 1 1 t\n")
    (pages / "runs" / "a.run").symlink_to(pages / "kept.txt")
    (pages / "runs" / "b.run").symlink_to(pages / "nothing")
    (pages / "runs" / "notes.md").write_text("mine")
    made = import_collection(str(pages), tmp_path / "new")
    assert "not read: kept.txt, runs/b.run, runs/notes.md" in made
    assert not (tmp_path / "new" / "runs" / "a.run").is_symlink()
