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
