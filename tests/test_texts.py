"""Queries and corpus: what is accepted, what is refused and how."""

import gzip
import json

import pytest

from poolkit.tables import DataError
from poolkit.texts import read_corpus, read_queries


def jsonl(path, *rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def test_queries_keep_order_formulations_and_ids(tmp_path):
    jsonl(tmp_path / "queries.jsonl", {"_id": 7, "text": "b?", "keyword": "b"}, {"_id": "a 1", "text": "a?"})
    table = read_queries(tmp_path).strict()
    assert table.index.tolist() == ["7", "a 1"]
    assert table["keyword"].tolist() == ["b", ""]


def test_queries_as_tsv(tmp_path):
    (tmp_path / "queries.tsv").write_bytes(b"\xef\xbb\xbf007\tone\r\nNA\ttwo\tthree\r\n")
    assert read_queries(tmp_path).strict()["text"].to_dict() == {"007": "one", "NA": "two\tthree"}
    (tmp_path / "queries.tsv").write_text("q1 no tab\n")
    with pytest.raises(DataError, match=r"queries\.tsv, line 1: no tab; write query id, tab, text"):
        read_queries(tmp_path).strict()


def test_same_id_with_two_texts_is_refused(tmp_path):
    jsonl(
        tmp_path / "queries.jsonl",
        {"_id": "q", "text": "x"},
        {"_id": "q", "text": "x"},
        {"_id": "q", "text": "y"},
    )
    with pytest.raises(DataError, match=r"line 3: q has another content than on line 1\. Keep one\."):
        read_queries(tmp_path).strict()


@pytest.mark.parametrize(
    "row", [{"text": "x"}, {"_id": True, "text": "x"}, {"_id": "q"}, {"_id": "q", "text": None}]
)
def test_a_query_needs_id_and_text(tmp_path, row):
    jsonl(tmp_path / "queries.jsonl", row)
    with pytest.raises(DataError, match=r'line 1: a query needs "_id" \(text or integer\) and "text"'):
        read_queries(tmp_path).strict()


def test_empty_texts_are_noted(tmp_path):
    path = jsonl(
        tmp_path / "corpus.jsonl", {"_id": "d1", "text": " "}, {"_id": "d2", "title": "t", "text": "x"}
    )
    read = read_corpus(tmp_path, path)
    assert len(read.strict()) == 2
    assert read.problems[0].text == "1 texts are empty: d1"


def test_images_stay_inside_the_collection(tmp_path):
    path = jsonl(tmp_path / "corpus.jsonl", {"_id": "d1", "text": "x", "image": "../../etc/passwd"})
    with pytest.raises(DataError, match=r"image '\.\./\.\./etc/passwd' lies outside the collection"):
        read_corpus(tmp_path, path).strict()


def test_absent_queries_say_what_to_write(tmp_path):
    with pytest.raises(DataError, match=r"queries\.jsonl: absent; write one \{_id, text\} a line"):
        read_queries(tmp_path).strict()


def test_the_id_wins_over_a_field_of_that_name(tmp_path):
    jsonl(tmp_path / "queries.jsonl", {"_id": "q", "text": "x", "query_id": "other"})
    assert read_queries(tmp_path).strict().index.tolist() == ["q"]


def test_only_line_ends_part_the_lines_of_a_tsv(tmp_path):
    text = "q1\tone\u2028two\u0085three\r\nq2\tb\n".encode()
    for data in (text, gzip.compress(text)):
        (tmp_path / "queries.tsv").write_bytes(data)
        found = read_queries(tmp_path).strict()["text"].to_dict()
        assert found == {"q1": "one\u2028two\u0085three", "q2": "b"}
    (tmp_path / "queries.tsv").write_bytes(b"q1\tb\nq2\t\xff\n")
    with pytest.raises(DataError, match=r"^queries\.tsv, line 2: not UTF-8\. Save the file as UTF-8\.$"):
        read_queries(tmp_path).strict()


def test_lines_that_come_twice_are_counted(tmp_path):
    row = {"_id": "d1", "text": "x"}
    path = jsonl(tmp_path / "corpus.jsonl", row, row, row)
    read = read_corpus(tmp_path, path)
    assert read.strict().index.tolist() == ["d1"]
    assert [str(p) for p in read.problems] == [
        "corpus.jsonl, line 2: 2 lines repeat an earlier one and are left out: d1"
    ]


# Formulations in files of their own


def test_a_formulation_is_a_file_of_the_same_ids(tmp_path):
    jsonl(tmp_path / "queries.jsonl", {"_id": "q1", "text": "Who?"}, {"_id": "q2", "text": "Why?"})
    jsonl(tmp_path / "queries-keyword.jsonl", {"_id": "q2", "text": "why"}, {"_id": "q1", "text": "who"})
    (tmp_path / "queries-framed.tsv").write_text("q1\tYou are a clerk. Who?\n")
    table = read_queries(tmp_path).strict()
    assert table["keyword"].to_dict() == {"q1": "who", "q2": "why"}
    assert table["framed"].tolist() == ["You are a clerk. Who?", ""]


def test_a_formulation_of_strange_queries_or_given_twice_is_refused(tmp_path):
    jsonl(tmp_path / "queries.jsonl", {"_id": "q1", "text": "Who?", "framed": "x"})
    jsonl(tmp_path / "queries-keyword.jsonl", {"_id": "q1", "text": "who"}, {"_id": "q9", "text": "why"})
    said = (
        r"queries-keyword\.jsonl: 1 queries are not in queries\.jsonl: q9\. A formulation has the same ids\."
    )
    with pytest.raises(DataError, match=said):
        read_queries(tmp_path).strict()
    (tmp_path / "queries-keyword.jsonl").rename(tmp_path / "queries-framed.jsonl")
    jsonl(tmp_path / "queries-framed.jsonl", {"_id": "q1", "text": "who"})
    with pytest.raises(
        DataError, match=r"queries-framed\.jsonl: queries\.jsonl has a field 'framed' already"
    ):
        read_queries(tmp_path).strict()
    (tmp_path / "queries-framed.jsonl").write_text("{\n")
    with pytest.raises(DataError, match=r"queries-framed\.jsonl, line 1: not a JSON object"):
        read_queries(tmp_path).strict()
