"""Files as the field writes them: every trap of layout, and every message."""

import pytest

from poolkit.formats import read_csv, read_jsonl, read_qrels, read_run, read_toml
from poolkit.tables import DataError

CLEAN = "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 9 t\n"


def write(tmp_path, content, name="a.run"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def ids(read):
    return read.rows.select(["query_id", "doc_id"]).to_pylist()


@pytest.mark.parametrize(
    "name", ["007", "NA", "null", "nan", "NULL", "1e5", "True", "-", "é", "名", '"x', "N/A", "#N/A"]
)
def test_ids_stay_as_they_are(tmp_path, name):
    read = read_run(write(tmp_path, f"{name} Q0 {name} 1 1 t\n"))
    assert ids(read) == [{"query_id": name, "doc_id": name}]


def test_a_document_twice_is_refused_with_both_lines(tmp_path):
    path = write(tmp_path, "\nq1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\n\nq1 Q0 d1 3 1 t\n")
    with pytest.raises(
        DataError, match=r"^a\.run, line 5: query q1 ranks d1 twice \(lines 2 and 5\)\. Keep one\.$"
    ):
        read_run(path).strict()


def test_a_score_that_is_no_number_is_refused(tmp_path):
    path = write(tmp_path, "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 nan t\n")
    with pytest.raises(DataError, match=r"a\.run, line 2: query q1 has a score that is not a number \(NaN\)"):
        read_run(path).strict()
    path = write(tmp_path, "q1 Q0 d1 1 high t\n")
    with pytest.raises(DataError, match=r"a\.run, line 1: score is 'high', which is not a number"):
        read_run(path).strict()


def test_a_rank_that_contradicts_the_score_is_named(tmp_path):
    path = write(tmp_path, "q1 Q0 d1 1 1 t\nq1 Q0 d2 2 5 t\nq1 Q0 d3 3 4 t\n")
    read = read_run(path)
    assert read.strict().num_rows == 3
    (note,) = read.problems
    assert note.warning
    assert note.line == 2
    assert "query q1 has d2 at rank 2, but its score 5 is higher" in note.text
    assert "distances" not in note.text


def test_scores_that_rise_everywhere_look_like_distances(tmp_path):
    read = read_run(write(tmp_path, "q1 Q0 d1 1 1 t\nq1 Q0 d2 2 5 t\nq1 Q0 d3 3 6 t\n"))
    assert read.problems[0].text.endswith("are they distances?")


def test_ranks_from_zero_are_no_problem(tmp_path):
    assert read_run(write(tmp_path, "q1 Q0 d1 0 3 t\nq1 Q0 d2 1 2 t\n")).problems == []


def test_every_malformed_line_is_named(tmp_path):
    path = write(tmp_path, "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 t\nq1 Q0 d3 3 1 t extra\nq1 Q0 d4")
    read = read_run(path)
    assert [p.line for p in read.problems] == [2, 3, 4]
    assert "5 columns where 6 are expected (query_id, Q0, doc_id, rank, score, tag)." in read.problems[0].text
    assert read.problems[2].text.endswith("The last line looks cut off.")
    with pytest.raises(DataError, match=r"line 2: .*line 3: .*line 4: "):
        read.strict()


BEIR = "query-id\tcorpus-id\tscore\n"


def test_both_forms_of_qrels_read_alike(tmp_path):
    trec = read_qrels(write(tmp_path, "q1 0 d1 2\nq1 0 d2 -1\n", "a.qrels")).strict()
    beir = read_qrels(write(tmp_path, BEIR + "q1\td1\t2\nq1\td2\t-1\n", "a.tsv")).strict()
    assert trec.equals(beir)
    assert trec["relevance"].tolist() == [2, -1]


def test_beir_ids_may_hold_spaces(tmp_path):
    rows = read_qrels(write(tmp_path, BEIR + "q 1\td  1\t1\r\n", "a.tsv")).strict()
    assert rows.iloc[0].tolist() == ["q 1", "d  1", 1]


def test_whole_grades_may_be_written_as_decimals(tmp_path):
    assert read_qrels(write(tmp_path, "q1 0 d1 1.0\n")).strict()["relevance"].tolist() == [1]


@pytest.mark.parametrize("head", ["", BEIR])
def test_half_grades_are_refused(tmp_path, head):
    rows = "q1\td1\t1\nq1\td2\t0.5\n" if head else "q1 0 d1 1\nq1 0 d2 0.5\n"
    line = 3 if head else 2
    with pytest.raises(
        DataError, match=rf"^a\.run, line {line}: the grade is 0\.5; a grade is a whole number$"
    ):
        read_qrels(write(tmp_path, head + rows)).strict()


def test_a_grade_in_words_is_refused(tmp_path):
    with pytest.raises(DataError, match="line 2: relevance is 'yes', which is not a number"):
        read_qrels(write(tmp_path, "q1 0 d1 1\nq1 0 d2 yes\n")).strict()


def test_repeats_of_labels(tmp_path):
    same = read_qrels(write(tmp_path, "q1 0 d1 1\nq1 0 d1 1\n"))
    assert len(same.strict()) == 2
    other = read_qrels(write(tmp_path, "q1 0 d1 1\nq1 0 d2 0\nq1 0 d1 2\n"))
    said = r"line 3: query q1, document d1 has the grade 2 here and 1 on line 1\. Keep one\."
    with pytest.raises(DataError, match=said):
        other.strict()


def test_json_lines(tmp_path):
    good = write(tmp_path, b'\xef\xbb\xbf{"_id": "a b"}\r\n\r\n{"_id": 7}', "a.jsonl")
    assert read_jsonl(good).strict() == [(1, {"_id": "a b"}), (3, {"_id": 7})]
    bad = read_jsonl(write(tmp_path, '{"_id": 1}\n[1]\n{"_id": 2, "te', "b.jsonl"))
    assert [str(p) for p in bad.problems] == [
        "b.jsonl, line 2: a JSON list where an object is expected",
        "b.jsonl, line 3: not a JSON object (Unterminated string starting at). The last line looks cut off.",
    ]


@pytest.mark.parametrize("grade", ["1e300", "1001", "-1001"])
def test_grades_beyond_any_scale_are_refused(tmp_path, grade):
    path = write(tmp_path, f"q1 0 d1 1000\nq1 0 d2 {grade}\n")
    said = r"^a\.run, line 2: grade \S+; grades lie between -1000 and 1000$"
    with pytest.raises(DataError, match=said):
        read_qrels(path).strict()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[" * 100_000, "nested too deep"),
        ('{"_id": ' + "7" * 5000 + "}", "a number of thousands of digits"),
        (r'{"_id": "\ud800"}', r"a lone surrogate such as \\ud800"),
        (r'{"_id": "a", "text": ["\udc00"]}', "a lone surrogate"),
    ],
)
def test_json_that_nothing_can_hold_is_named(tmp_path, line, said):
    path = write(tmp_path, '{"_id": "\\ud83d\\ude00"}\n' + line + "\n", "a.jsonl")
    with pytest.raises(DataError, match=rf"^a\.jsonl, line 2: .*{said}"):
        read_jsonl(path).strict()


def test_tables_keep_cells_as_text(tmp_path):
    table = read_csv(write(tmp_path, 'a,b\n\nNA,"1\n2"\n007\n', "a.csv")).strict()
    assert table.to_numpy().tolist() == [["NA", "1\n2"], ["007", ""]]
    assert read_toml(write(tmp_path, b"\xef\xbb\xbfa = 1", "a.toml")) == {"a": 1}
