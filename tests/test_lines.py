"""Layouts that tools leave behind, damaged files, and messages that do not flood."""

import gzip

import pytest

from poolkit.formats import read_run
from poolkit.lines import Problem, read_lines
from poolkit.tables import DataError

CLEAN = "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\nq2 Q0 d1 1 9 t\n"


def write(tmp_path, content, name="a.run"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "layout",
    [
        CLEAN.replace(" ", "\t"),
        CLEAN.replace(" ", "   "),
        CLEAN.replace(" ", " \t "),
        CLEAN.replace("\n", "\r\n"),
        CLEAN.replace("\n", "\r"),
        CLEAN.replace("\n", " \n"),
        "  " + CLEAN.replace("\n", "\n  ").rstrip(" "),
        CLEAN.replace("\n", "\n\n"),
        CLEAN.rstrip("\n"),
        b"\xef\xbb\xbf" + CLEAN.encode(),
        gzip.compress(CLEAN.encode()),
        gzip.compress(b"\xef\xbb\xbf" + CLEAN.encode()),
    ],
    ids=[
        "tabs",
        "spaces",
        "mixed",
        "crlf",
        "cr",
        "trailing",
        "leading",
        "blank",
        "no-eol",
        "bom",
        "gzip",
        "gzip-bom",
    ],
)
def test_untidy_files_read_as_clean_ones(tmp_path, layout):
    clean = read_run(write(tmp_path, CLEAN, "clean.run"))
    assert read_run(write(tmp_path, layout)).strict().equals(clean.strict())


def test_gzip_is_known_by_content_and_not_by_name(tmp_path):
    assert read_run(write(tmp_path, CLEAN, "plain.run.gz")).strict().num_rows == 3
    damaged = write(tmp_path, gzip.compress(CLEAN.encode())[:-9], "cut.run.gz")
    with pytest.raises(DataError, match=r"^cut\.run\.gz: the gzip data is damaged or cut short$"):
        read_run(damaged).strict()


def test_a_hopeless_file_does_not_flood(tmp_path):
    read = read_run(write(tmp_path, "only three columns\n" * 5000))
    assert len(read.problems) == 1001
    assert read.problems[-1].text == "1000 problems so far; the rest of the file was not read"
    with pytest.raises(DataError, match=r"and 998 more\. `poolkit check` lists them all\.$"):
        read.strict()


def test_other_encodings_are_refused_by_line(tmp_path):
    read = read_run(write(tmp_path, "q1 Q0 d1 1 3 t\nq1 Q0 caf\xe9 2 2 t\n".encode("latin-1")))
    assert [(p.line, p.text) for p in read.problems] == [(2, "not UTF-8. Save the file as UTF-8.")]


@pytest.mark.parametrize("content", ["", "\n\n", b"\xef\xbb\xbf", gzip.compress(b"")])
def test_an_empty_file_is_refused(tmp_path, content):
    with pytest.raises(DataError, match=r"^a\.run: the file is empty$"):
        read_run(write(tmp_path, content)).strict()


def test_names_that_are_no_text_can_be_printed(tmp_path):
    assert str(Problem(tmp_path / "\udcff.run", 2, "odd")) == r"\udcff.run, line 2: odd"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(DataError, match="Is a directory, where a file is expected"):
        read_lines(tmp_path).strict()
