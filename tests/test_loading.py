"""A second load gives what the first gave, and sees every change."""

import pandas as pd
import pytest
from toy import toy_folder

from poolkit import cache, loading
from poolkit.check import check
from poolkit.collection import read_collection
from poolkit.tables import DataError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("POOLKIT_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "SMALL", 0)
    return toy_folder(tmp_path / "toy")


def unreadable(*_, **__):
    raise AssertionError("parsed again")


def test_the_second_load_parses_no_big_file_and_is_equal(folder, monkeypatch):
    with (folder / "runs" / "dense.run").open("a") as file:
        file.write("q2 Q0 d2 4 9 dense\n")  # ranked last, scored first: noted both times
    one = read_collection(folder)
    for name in ("read_rankings", "read_qrels", "read_records"):
        monkeypatch.setattr(loading, name, unreadable)
    two = read_collection(folder)
    assert one.runs.frame().equals(two.runs.frame())
    assert one.catalogue.equals(two.catalogue)
    assert [str(p) for p in one.notes] == [str(p) for p in two.notes]
    assert any("at rank 4, but its score 9" in str(p) for p in two.notes)
    for name, labels in one.labels.items():
        pd.testing.assert_frame_equal(labels.relevance, two.labels[name].relevance)
        pd.testing.assert_frame_equal(labels.failed, two.labels[name].failed)
    pd.testing.assert_frame_equal(one.records["robot"], two.records["robot"])
    pd.testing.assert_frame_equal(one.judgments["robot"], two.judgments["robot"])


def test_every_change_is_seen(folder):
    read_collection(folder)
    run = folder / "runs" / "bm25.run"
    run.write_text(run.read_text().replace("q1 Q0 d1 1 -1", "q1 Q0 d1 1 -9"))
    top = read_collection(folder).runs.frame().query("system == 'bm25' and query_id == 'q1'")
    assert top["doc_id"].tolist() == ["d2", "d3", "d1"]
    (folder / "runs" / "hybrid.run").unlink()
    assert read_collection(folder).runs.systems == ("bm25", "dense")
    queries = folder / "queries.jsonl"
    queries.write_text("".join(reversed(queries.read_text().splitlines(keepends=True))))
    assert read_collection(folder).runs.queries == ("q2", "q1")
    (folder / "runs" / "gone.run").symlink_to("nowhere")
    with pytest.raises(DataError, match=r"gone\.run: not read"):
        read_collection(folder)


@pytest.mark.parametrize(
    ("reader", "path", "old", "new"),
    [
        ("read_rankings", "runs/bm25.run", "q1 Q0 d1 1 -1", "q1 Q0 d1 1 -9"),
        ("read_qrels", "qrels/author.qrels", "q1 0 d1 2", "q1 0 d1 1"),
        ("read_records", "judgments/robot.jsonl", '"d1", "relevance": 2', '"d1", "relevance": 1'),
    ],
)
def test_a_file_that_changes_while_it_is_read_is_not_kept(folder, monkeypatch, reader, path, old, new):
    read, file = getattr(loading, reader), folder / path
    before = file.read_text()
    assert old in before

    def slowly(*given, **options):
        file.write_text(before.replace(old, new))
        return read(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(loading, reader, slowly)
        read_collection(folder)  # named for what it was, parsed as it is now
    file.write_text(before)
    again = read_collection(folder)
    monkeypatch.setenv("POOLKIT_CACHE", "")
    fresh = read_collection(folder)
    assert again.runs.frame().equals(fresh.runs.frame())
    for name, labels in fresh.labels.items():
        pd.testing.assert_frame_equal(again.labels[name].relevance, labels.relevance)


def test_a_document_twice_is_named_with_its_lines_whatever_its_query(folder):
    run = folder / "runs" / "bm25.run"
    rows = run.read_text()
    for query in ("q1", "stray"):
        run.write_text(rows + f"{query} Q0 dx 8 -8 t\n{query} Q0 dx 9 -9 t\n")
        said = rf"runs/bm25\.run, line 7: query {query} ranks dx twice \(lines 6 and 7\)\. Keep one\."
        with pytest.raises(DataError, match=said):
            read_collection(folder)
        assert any(query in str(p) and "twice" in str(p) for p in check(folder))


def test_a_cut_off_last_line_is_said_every_time(folder):
    path = folder / "judgments" / "robot.jsonl"
    path.write_text(path.read_text() + '{"query_id": "q1", "doc')
    for _ in range(2):
        with pytest.warns(UserWarning, match="cut off"):
            read_collection(folder)
