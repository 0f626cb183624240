"""Thresholds from labels, with a language model of 256 letters, by hand."""

import re
import subprocess
import sys
import tomllib
import types

import numpy as np
import pytest
import toy
from test_llama import Echo

from poolkit import fit
from poolkit.collection import read_collection
from poolkit.identity import judge_from
from poolkit.likelihood import graded, thresholds
from poolkit.llama import Reader
from poolkit.tables import DataError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The toy world, and a model file that becomes an Echo."""
    monkeypatch.setitem(sys.modules, "llama_cpp", types.SimpleNamespace(Llama=Echo))
    toy.toy_folder(tmp_path / "toy")
    tmp_path = tmp_path / "toy"
    (tmp_path / "echo.gguf").write_bytes(b"GGUF")
    return tmp_path


def test_the_whole_sample_gives_the_thresholds_of_its_scores(folder):
    cuts, where, said = fit.fitted(folder, "echo.gguf", labels="author", depth=2, sample=99, seed=3)
    found = read_collection(folder)
    corpus, reader = found.corpus(), Reader(str(folder / "echo.gguf"), folder)
    rows = found.labels["author"].relevance
    pooled = {(q, d) for run in found.runs.systems for q, d in top_two(run)}
    rows = rows[[pair in pooled for pair in zip(rows["query_id"], rows["doc_id"], strict=True)]]
    scores = [
        next(reader.odds(corpus["title"][d], corpus["text"][d], [found.queries["text"][q]])).score
        for q, d in zip(rows["query_id"], rows["doc_id"], strict=True)
    ]
    human = rows["relevance"].to_numpy(dtype=int)
    assert cuts == pytest.approx(thresholds(np.array(scores), human))
    assert re.fullmatch(rf"{len(rows)} of the \d+ pairs pooled at depth 2, labels author, seed 3", where)
    agreement = (graded(np.array(scores), cuts) == human).mean()
    assert said.startswith(f"on that sample: agreement {agreement:.3f}, AUC of grade >= 1 ")


def top_two(system):
    return [(q, d) for q, ranking in toy.RANKINGS[system].items() for d in list(ranking)[:2]]


def test_the_sample_is_seeded(folder):
    one = fit.fitted(folder, "echo.gguf", labels="author", sample=4, seed=1)
    assert one == fit.fitted(folder, "echo.gguf", labels="author", sample=4, seed=1)
    assert one[1].startswith("4 of the ")


def test_what_is_printed_is_a_judge(folder, capsys, monkeypatch):
    given = ["fit", str(folder), "--labels", "author", "--model", "echo.gguf"]
    monkeypatch.setattr(sys, "argv", given)
    assert fit.main() == 0
    table = tomllib.loads(capsys.readouterr().out)["judges"]["echo"]
    judge = judge_from("echo", table, folder)
    assert (judge.kind, judge.weights) == ("likelihood", folder / "echo.gguf")


def test_refusals(folder):
    with pytest.raises(DataError, match=r"labels 'x' are not in .*\. Known: .*author"):
        fit.fitted(folder, "echo.gguf", labels="x")
    with pytest.raises(DataError, match=r"author grades \d+ pooled pairs with texts, of which 2 are wanted"):
        fit.fitted(folder, "echo.gguf", labels="author", sample=2)


def test_a_wrong_folder_is_one_line(tmp_path):
    asked = [sys.executable, "-m", "poolkit.fit", str(tmp_path / "no"), "--labels", "author"]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r"poolkit: .*no such folder.*\n", done.stderr)
