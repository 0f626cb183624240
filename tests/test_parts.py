"""Runs, catalogue and settings: what is accepted, what is refused and how."""

import json
import os

import pytest

from poolkit.parts import read_catalogue, read_config, read_rankings
from poolkit.tables import DataError
from poolkit.texts import read_queries


def jsonl(path, *rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def test_catalogue_reads_factors_and_numbers(tmp_path):
    (tmp_path / "systems.csv").write_text("system,family,mode,dimensions\nNA,f,dense,256\nb,f,sparse,\n")
    table = read_catalogue(tmp_path, ["NA", "b"]).strict()
    assert table.index.tolist() == ["NA", "b"]
    assert table["dimensions"].iloc[0] == 256
    assert table["mode"].tolist() == ["dense", "sparse"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("system,mode\na,x\n", "line 1: columns are system, mode; system and family are needed"),
        ("system,family\na,x\na,y\n", r"line 3: system a has a row already\. Keep one\."),
        ("system,family\nb,x\n", r"no row for a, which have runs\. Add one row each with its family\."),
        ("", "not readable as CSV"),
    ],
)
def test_catalogue_refuses(tmp_path, text, said):
    (tmp_path / "systems.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        read_catalogue(tmp_path, ["a"]).strict()


def test_a_row_without_a_run_is_noted(tmp_path):
    (tmp_path / "systems.csv").write_text("system,family\na,x\nb,x\n")
    assert read_catalogue(tmp_path, ["a"]).problems[0].text == "b: no run, so left out"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dept = 5", r"unknown key 'dept'\. Did you mean 'depth'\?"),
        ("depth = '5'", "depth is '5'; expected int"),
        ("depth = true", "depth is True; expected int"),
        ("depth = 0", "depth is 0; it must be at least 1"),
        ("order = 'up'", 'order is \'up\'; write "score" or "rank"'),
        ("depth = = 3", "not readable as TOML"),
    ],
)
def test_settings_refuse(tmp_path, text, said):
    (tmp_path / "collection.toml").write_text(text)
    _, problems = read_config(tmp_path)
    assert len(problems) == 1
    assert said.replace("\\", "") in str(problems[0])


def test_settings_have_defaults(tmp_path):
    settings, problems = read_config(tmp_path)
    assert settings["depth"] == 10
    assert problems[0].warning


def test_runs_are_named_by_file(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "a.b.run").write_text("q Q0 d 1 1 t\n")
    (folder / "notes.md").write_text("x")
    read = read_rankings(tmp_path)
    assert list(read.strict()) == ["a.b"]
    assert str(read.problems[0]) == "runs/notes.md: not read: its name does not end in .run"
    (folder / "a.b.run.gz").write_text("q Q0 d 1 1 t\n")
    with pytest.raises(DataError, match=r"two files for the system a\.b\. Keep one\."):
        read_rankings(tmp_path).strict()


def test_no_runs_says_where_to_put_them(tmp_path):
    with pytest.raises(DataError, match=r"no runs; put one TREC file a system here"):
        read_rankings(tmp_path).strict()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[grade_maps.h]\n0 = 0.9", "[grade_maps.h] 0 = 0.9: 0.9 is not a grade; a grade is a whole number"),
        ("[grade_maps.h]\nx = 1", "[grade_maps.h] x = 1: x is not a grade; a grade is a whole number"),
        (
            "[grade_maps.h]\n0 = 5000",
            "[grade_maps.h] 0 = 5000: grade 5000; grades lie between -1000 and 1000",
        ),
        ("[grade_maps]\nh = 'x'", "[grade_maps] h is 'x'; expected a table [grade_maps.h]"),
        ("[labels]\nh = 'x'", "[labels] h is 'x'; expected a table [labels.h]"),
        ("[labels.h]\ntitle = 3", "[labels.h] title is 3; expected a text"),
        ("[labels.h]\nabout = 3", "[labels.h] about is 3; expected a text"),
        ("[judges]\nh = 'x'", "[judges] h is 'x'; expected a table [judges.h]"),
        ("measures = [1, 2]", 'measures holds 1, 2; write names such as "nDCG@10"'),
        ("[grades]\nx = 'b'", "[grades] x is not a grade; a grade is a whole number"),
        ("[grades]\n1 = 2", "[grades] 1 is 2; expected a text"),
        ("a = " + "[" * 9999, "not readable as TOML"),
    ],
)
def test_shapes_inside_settings_are_refused_and_left_out(tmp_path, text, said):
    (tmp_path / "collection.toml").write_text(text)
    settings, problems = read_config(tmp_path)
    assert [said in str(p) for p in problems] == [True], problems
    assert settings["grade_maps"] == settings["labels"] == settings["judges"] == settings["grades"] == {}


@pytest.mark.parametrize("name", ["collection.toml", "systems.csv", "queries.tsv"])
def test_files_that_are_folders_or_no_text_are_one_line(tmp_path, name):
    def said():
        read = read_queries(tmp_path), read_catalogue(tmp_path, ["a"])
        every = [*read_config(tmp_path)[1], *read[0].problems, *read[1].problems]
        return [str(p) for p in every if p.path.name == name]

    (tmp_path / name).mkdir()
    assert said() == [f"{name}: Is a directory, where a file is expected. Put a file here."]
    (tmp_path / name).rmdir()
    (tmp_path / name).write_bytes(b"\xff\xfe")
    (line,) = said()
    assert line == f"{name}: UTF-16, where UTF-8 is expected. Save the file as UTF-8."
    (tmp_path / name).write_bytes(b"caf\xe9")
    (line,) = said()
    assert "not UTF-8. Save the file as UTF-8." in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("system,family\na,x,y,z\n", "line 2: 4 cells where the header has 2 columns"),
        ("system,family,family\na,x,y\n", "line 1: column 'family' comes twice"),
        ("system,family\na,\n", "line 2: system a has no family"),
        ('system,family\na,"x\n', "not readable as CSV: unexpected end of data"),
    ],
)
def test_catalogue_rows_of_another_shape(tmp_path, text, said):
    (tmp_path / "systems.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        read_catalogue(tmp_path, ["a"]).strict()


def test_what_is_no_file_is_named_and_never_waited_for(tmp_path):
    folder = tmp_path / "runs"
    (folder / "d.run").mkdir(parents=True)
    (folder / "old").mkdir()
    (folder / "l.run").symlink_to("nowhere")
    os.mkfifo(folder / "p.run")
    (folder / "good.run").write_text("q Q0 d 1 1 t\n")
    (folder / os.fsdecode(b"\xff.run")).write_text("q Q0 d 1 1 t\n")
    read = read_rankings(tmp_path)
    assert read.rows is None
    said = [(str(p).encode().decode().partition(":")[0], p.warning) for p in read.problems]
    names = ["runs/d.run", "runs/l.run", "runs/old", "runs/p.run", r"runs/\udcff.run"]
    assert said == [(n, n == "runs/old") for n in names]


def test_ranks_must_be_numbers_where_they_count(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.run").write_text("q Q0 d 1 2 t\nq Q0 e inf 1 t\n")
    read_rankings(tmp_path).strict()
    with pytest.raises(DataError, match=r"runs/a\.run, line 2: query q has the rank inf; a rank is a number"):
        read_rankings(tmp_path, "rank").strict()
