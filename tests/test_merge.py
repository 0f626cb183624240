"""Judgments made on two machines become one file: nothing lost, nothing counted twice, no other text's grade."""

import json
import os
import shutil

import pandas as pd
import pytest
import toy
from loopback import Loopback
from test_cli import judged_by, poolkit, refused

from poolkit import ledger
from poolkit.merge import merge_judgments
from poolkit.records import read_judgments, read_records
from poolkit.store import Store
from poolkit.tables import DataError


@pytest.fixture
def folder(tmp_path):
    return toy.toy_folder(tmp_path / "toy")


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("TOY_KEY", "sk-secret")
    with Loopback() as running:
        yield running


def lines(path):
    return path.read_bytes().splitlines()


def judged(folder, seed, n=5):
    poolkit("judge", folder, "--judge", "server", "--sample", n, "--seed", seed)
    return folder / "judgments" / "server.jsonl"


def row(query_id="q1", doc_id="d1", relevance=1, **more):
    return {"query_id": query_id, "doc_id": doc_id, "relevance": relevance, **more}


def test_two_machines_then_one(folder, tmp_path, server):
    judged_by(folder, server.url)
    other = shutil.copytree(folder, tmp_path / "other")
    here, there = judged(folder, 1), judged(other, 2)
    mine, theirs, before = read_records(here), read_records(there), lines(here)
    assert len(set(mine["key"]) & set(theirs["key"])) in range(
        1, 5
    )  # some pairs were bought twice, and it shows
    assert merge_judgments(there, folder) == [f"{here}: 5 rows new, 0 known already, from {there}"]
    both = read_records(here)
    assert lines(here) == [*before, *lines(there)]
    assert both["calls"].sum() == 10  # what was paid for, on both machines
    merge_judgments(there, folder)
    assert merge_judgments(there, folder) == [f"{here}: 0 rows new, 5 known already, from {there}"]
    assert read_records(here)["calls"].sum() == 10
    status = ledger.status_of(folder)["judges"][-1]
    assert (status["judge"], status["calls"]) == ("server", 10)
    assert status["judged"] == both["key"].nunique()
    asked = len(server.requests)
    poolkit("judge", folder, "--judge", "server")
    assert len(server.requests) - asked == 8 - both["key"].nunique()  # nothing is bought a third time
    assert len(read_judgments(here)) == 8


def test_a_row_of_another_text_is_refused_with_its_line(folder, tmp_path, server):
    judged_by(folder, server.url)
    there = shutil.copy(judged(folder, 1, 8), tmp_path / "server.jsonl")
    (folder / "judgments" / "server.jsonl").unlink()
    at = [i for i, line in enumerate(lines(there), 1) if b'"doc_id": "d3"' in line]
    (folder / "corpus.jsonl").write_text(
        (folder / "corpus.jsonl").read_text().replace("about three", "on three")
    )
    with pytest.raises(
        DataError,
        match=rf"^server\.jsonl, line {at[0]}, {at[1]}: d3 had another text when this was judged\. Leave",
    ):
        merge_judgments(there, folder)
    assert not (folder / "judgments" / "server.jsonl").exists()
    (folder / "queries.jsonl").write_text(
        (folder / "queries.jsonl").read_text().replace("what is q2", "who is q2")
    )
    refused(
        "import",
        there,
        folder,
        code=1,
        match=r"server\.jsonl, line .*: q2 had another text when this was judged",
    )
    (folder / "corpus.jsonl").unlink()
    (folder / "queries.jsonl").write_text(
        (folder / "queries.jsonl").read_text().replace("who is q2", "what is q2")
    )
    refused(
        "import", there, folder, code=1, match=r"line 1, 2, 3 and 5 more: corpus\.jsonl has no d1, d2, d3 and"
    )


def test_a_cut_text_is_compared_as_it_was_cut(folder, tmp_path, server):
    judged_by(folder, server.url, max_document_tokens=3)
    there = shutil.copy(judged(folder, 1, 8), tmp_path / "server.jsonl")
    assert read_records(there)["cut"].gt(0).all()
    (folder / "judgments" / "server.jsonl").unlink()
    shutil.rmtree(folder / ".cache")  # which would bring the rows back
    assert "8 rows new" in merge_judgments(there, folder)[0]


def test_one_key_has_one_grade(folder, tmp_path, server):
    judged_by(folder, server.url)
    here = judged(folder, 1)
    before = here.read_bytes()
    rows = [json.loads(line) for line in lines(here)]
    rows[3] |= {"relevance": (rows[3]["relevance"] + 1) % 3, "time": "2026-12-01T00:00:00Z"}
    toy.write_lines(tmp_path / "there.jsonl", ["", *map(json.dumps, rows)])
    said = (
        rf"^there\.jsonl, line 5: query {rows[3]['query_id']}, document {rows[3]['doc_id']} has the grade "
        rf"{rows[3]['relevance']} here and {(rows[3]['relevance'] - 1) % 3} in server\.jsonl under one key"
    )
    with pytest.raises(DataError, match=said):
        merge_judgments(tmp_path / "there.jsonl", folder, judge="server")
    assert here.read_bytes() == before


def test_rows_of_a_judge_outside_need_no_hash_and_no_key(folder, tmp_path):
    there = tmp_path / "reader.jsonl"
    toy.write_lines(there, map(json.dumps, [row(), row(doc_id="d2", relevance=0)]))
    assert merge_judgments(there, folder) == [
        f"{folder / 'judgments' / 'reader.jsonl'}: 2 rows new, 0 known already, from {there}",
        "2 rows without a text hash: nobody can say which text they judged",
    ]
    toy.write_lines(there, map(json.dumps, [row(), row(doc_id="d4"), row(doc_id="d2", replicate=1)]))
    assert "2 rows new, 1 known already" in merge_judgments(there, folder)[0]
    toy.write_lines(there, map(json.dumps, [row(relevance=2)]))
    with pytest.raises(DataError, match="query q1, document d1 has the grade 2 here and 1 in reader"):
        merge_judgments(there, folder)


def test_a_grade_for_what_failed_here_is_taken(folder, tmp_path):
    there = tmp_path / "robot.jsonl"
    toy.write_lines(there, [json.dumps(toy.judgment("q1", "d4", 2))])
    merge_judgments(there, folder)
    found = read_judgments(folder / "judgments" / "robot.jsonl")
    assert found.loc[found["doc_id"].eq("d4") & found["query_id"].eq("q1"), "relevance"].tolist() == [2]


def test_rows_of_other_settings_are_counted(folder, tmp_path, server):
    judged_by(folder, server.url)
    there = shutil.copy(judged(folder, 1), tmp_path / "server.jsonl")
    config = folder / "collection.toml"
    config.write_text(config.read_text().replace('model = "m-1"', 'model = "m-2"'))
    assert merge_judgments(there, folder)[1:] == [
        "5 rows of another model, prompt or parameters than server has now"
    ]


@pytest.mark.parametrize("name", ["../out", "a b", ".x"])
def test_a_name_is_a_file_name(folder, tmp_path, name):
    toy.write_lines(tmp_path / "there.jsonl", [json.dumps(row())])
    with pytest.raises(DataError, match="a judge's name is the name of its file"):
        merge_judgments(tmp_path / "there.jsonl", folder, judge=name)
    with pytest.raises(DataError, match="judge 'author': the human labels in qrels/ have this name"):
        merge_judgments(tmp_path / "there.jsonl", folder, judge="author")


def shuffled(path, seed):
    rows = lines(path)
    order = pd.Series(range(len(rows))).sample(frac=1, random_state=seed)
    path.write_bytes(b"\n".join([rows[i] for i in order] + [b"", b""]))


@pytest.mark.parametrize("seed", range(3))
def test_sorting_keeps_every_byte_and_every_meaning(folder, seed):
    path = folder / "judgments" / "robot.jsonl"
    extra = [
        toy.judgment("q1", "d1", g, time=f"2026-0{2 + g}-01", note="é\u2028", odd={"x": [1]}) for g in (1, 2)
    ]
    with path.open("a", encoding="utf-8") as out:
        out.writelines(json.dumps(r, ensure_ascii=False) + "\n" for r in [*extra, row("q2", "d9", 1)])
    shuffled(path, seed)
    before, ids = [x for x in lines(path) if x], ["query_id", "doc_id", "replicate"]
    counted = read_judgments(path).sort_values(ids, ignore_index=True)
    said = merge_judgments(path, folder, sort=True)
    assert said[:2] == [
        f"{path}: 0 rows new, 18 known already, from {path}", "sorted by query, document, replicate and time",
    ]  # fmt: skip
    assert sorted(lines(path)) == sorted(before)
    records = read_records(path)
    order = records[[*ids, "time"]].fillna("").to_numpy().tolist()
    assert order == sorted(order)
    pd.testing.assert_frame_equal(read_judgments(path).sort_values(ids, ignore_index=True), counted)
    once = path.read_bytes()
    merge_judgments(path, folder, sort=True)
    assert path.read_bytes() == once
    assert not list(path.parent.glob(".*"))


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_death_while_sorting_leaves_the_old_file(folder, monkeypatch, fails):
    path = folder / "judgments" / "robot.jsonl"
    shuffled(path, 1)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    with Store(folder / ".cache", path) as store:
        monkeypatch.setattr(*((os, "fsync", full) if fails == "fsync" else (type(path), "replace", full)))
        with pytest.raises(OSError, match="No space left"):
            store.rewrite([b"{}"])
        monkeypatch.undo()
        assert path.read_bytes() == before
        store.put([dict.fromkeys(store.records.columns) | row("q2", "d9", calls=0, status="ok", key="k")])
    merge_judgments(path, folder, sort=True)  # what was left beside is no hindrance
    assert len(read_records(path)) == 16
    assert not list(path.parent.glob(".*"))


def test_a_store_goes_on_after_a_rewrite_and_a_link_stays_one(folder, tmp_path):
    path = folder / "judgments" / "robot.jsonl"
    real = tmp_path / "shared.jsonl"
    path.rename(real)
    path.symlink_to(real)
    with Store(folder / ".cache", path) as store:
        store.rewrite(lines(real)[:2])
        store.put([dict.fromkeys(store.records.columns) | row("q2", "d9", calls=0, status="ok", key="k")])
    assert path.is_symlink()
    assert len(lines(real)) == 3


def test_the_command(folder, tmp_path):
    toy.write_lines(tmp_path / "robot.jsonl", [json.dumps(row("q9", "d1", 1))])
    said = poolkit("import", tmp_path / "robot.jsonl", folder, "--sort").stdout.splitlines()
    assert said[0].endswith(f"1 row new, 0 known already, from {tmp_path / 'robot.jsonl'}")
    assert said[1] == "sorted by query, document, replicate and time"
    refused(
        "import",
        folder,
        tmp_path / "x",
        "--sort",
        code=2,
        match="--judge and --sort go with a file of judgments",
    )
    refused(
        "import", tmp_path / "none.jsonl", folder, code=1, match=r"none\.jsonl: cannot be read: No such file"
    )
