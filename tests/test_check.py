"""Every problem of a collection: judges and page pictures; of the other files see test_collection."""

import json

import pytest
import toy
from PIL import Image

from poolkit.check import check


@pytest.fixture
def folder(tmp_path):
    return toy.toy_folder(tmp_path / "toy")


def said(folder):
    return [(str(p), p.warning) for p in check(folder)]


def test_nothing_to_say(folder):
    assert said(folder) == []


def test_every_table_of_a_judge_is_tried(folder):
    with (folder / "collection.toml").open("a") as out:
        out.write('[judges.a]\nmodel = "gpt-4.1"\n[judges.b]\nmodel = "m"\nmodle = "n"\n')
        out.write('[judges.c]\nmodel = "m"\nbase_url = "http://x/v1"\nprompt = "lost"\n')
        out.write('[judges.d]\nmodel = "m"\nbase_url = "http://x/v1"\nprice = { input = -1 }\n')
    found = said(folder)
    assert [line.partition(";")[0].partition("Did")[0].strip() for line, _ in found] == [
        "collection.toml: judge 'a': 'gpt-4.1' is an alias: what it means may change. Pin a dated snapshot.",
        "collection.toml: judge 'b': unknown key 'modle'.",
        "collection.toml: prompt 'lost': no such file in "
        + str(folder)
        + ", and bundled are only graded, umbrela.",
        "collection.toml: judge 'd': price gives input, output and maybe cached, from 0 to 1,000,000 USD "
        "per million tokens",
    ]
    assert [warning for _, warning in found] == [True, False, False, False]


def test_pictures_are_opened(folder):
    rows = [json.dumps({"_id": d, "text": "x", "image": f"{d}.png"}) for d in toy.TITLES]
    toy.write_lines(folder / "corpus.jsonl", rows)
    for d in toy.TITLES:
        Image.new("RGB", (4, 4)).save(folder / f"{d}.png")
    assert said(folder) == []
    (folder / "d2.png").unlink()
    (folder / "d4.png").write_text("<html>")
    assert said(folder) == [
        (
            "corpus.jsonl: 2 of 5 page pictures cannot be sent; the first: d2.png: cannot be read: No such file or "
            "directory",
            False,
        )
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "name",
    ["queries.jsonl", "corpus.jsonl", "runs/bm25.run", "qrels/author.qrels", "judgments/robot.jsonl",
     "systems.csv", "collection.toml"],
)  # fmt: skip
def test_a_text_that_is_not_utf8_is_one_line_that_names_its_encoding(folder, name, encoding):
    path = folder / name
    path.write_bytes(path.read_text(encoding="utf-8").rstrip("\n").encode(encoding))
    errors = [str(p) for p in check(folder) if not p.warning]
    kind = json.detect_encoding(path.read_bytes()[:4]).upper()
    assert errors == [f"{name}: {kind}, where UTF-8 is expected. Save the file as UTF-8."]


def test_a_byte_0_is_named_with_its_line(folder):
    path = folder / "runs" / "bm25.run"
    path.write_bytes(path.read_bytes() + "é Q0 d1 1 1 t\n".encode("utf-16-le"))
    rows = path.read_bytes().count(b"\nq") + 1
    errors = [str(p) for p in check(folder) if not p.warning]
    assert errors == [
        f"runs/bm25.run, line {rows + 1}: a byte 0, which no text holds. Is it a binary file, or UTF-16? "
        "Save it as UTF-8."
    ]
