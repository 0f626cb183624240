"""ir_datasets, by its own classes over local files: nothing is downloaded."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from poolkit.collection import read_collection
from poolkit.datasets import dataset_source
from poolkit.imports import import_collection
from poolkit.tables import DataError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def ir_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    return pytest.importorskip("ir_datasets", reason="pip install ir-datasets")


@pytest.fixture
def register(ir_datasets):
    """Put a dataset into ir_datasets' registry for one test."""
    names = []

    def put(name, *parts):
        ir_datasets.registry.register(name, ir_datasets.Dataset(*parts))
        names.append(name)

    yield put
    for name in names:
        ir_datasets.registry._registered.pop(name)


def test_cranfield_through_beirs_classes_is_the_folder_itself(ir_datasets, register, cases, tmp_path):
    from ir_datasets.datasets.beir import BeirDocs, BeirQrels, BeirQueries, BeirTitleDoc
    from ir_datasets.formats import GenericQuery
    from ir_datasets.util import GzipExtract, LocalDownload

    source = cases / "cranfield"
    for path in (source / "corpus.jsonl.gz", source / "queries.jsonl", source / "qrels" / "test.tsv"):
        shutil.copy(path, tmp_path)
    register(
        "local-cranfield",
        BeirDocs("local-cranfield", GzipExtract(LocalDownload(tmp_path / "corpus.jsonl.gz")), BeirTitleDoc),
        BeirQueries("local-cranfield", LocalDownload(tmp_path / "queries.jsonl"), GenericQuery),
        BeirQrels(LocalDownload(tmp_path / "test.tsv"), {1: "relevant"}),
    )
    made = import_collection("local-cranfield", tmp_path / "one")
    assert made[0].endswith(": 225 queries, 1,400 documents, 0 runs")
    grades = "225 of grade 0, 1,611 of grade 1, 1 of grade 3"
    assert made[1] == f"labels human: 1,837 of 225 queries: {grades}; grades as they came"
    import_collection(str(source), tmp_path / "two")
    for name in ("corpus.jsonl", "queries.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (tmp_path / "one/qrels/human.tsv").read_bytes() == (tmp_path / "two/qrels/test.tsv").read_bytes()
    toml = (tmp_path / "one" / "collection.toml").read_text()
    assert f'source = "ir_datasets {ir_datasets.__version__}, local-cranfield"' in toml
    assert 'licence = "not stated by ir_datasets; see https://ir-datasets.com/local-cranfield.html' in toml
    assert "1 = 1  # 1,611 labels: relevant\n" in toml


def test_trec_files_and_fields_that_only_some_have(ir_datasets, register, tmp_path):
    from ir_datasets.formats import TrecDocs, TrecQrels, TrecQueries
    from ir_datasets.util import LocalDownload

    (tmp_path / "docs").write_text(
        "<DOC>\n<DOCNO> FT-1 </DOCNO>\n<HEADLINE>Jam</HEADLINE>\n<TEXT>Glass was found.</TEXT>\n</DOC>\n"
    )
    (tmp_path / "topics").write_text(
        "<top>\n<num> Number: 301\n<title> jam recall\n<desc> Description:\nWhy was jam recalled?\n"
        "<narr> Narrative:\nCauses only.\n</top>\n"
    )
    (tmp_path / "qrels").write_text("301 0 FT-1 2\n999 0 FT-1 1\n")
    register(
        "local-trec",
        TrecDocs(LocalDownload(tmp_path / "docs"), parser="sax"),
        TrecQueries(LocalDownload(tmp_path / "topics")),
        TrecQrels(LocalDownload(tmp_path / "qrels"), {0: "no", 1: "some", 2: "all of it"}),
    )
    made = import_collection("local-trec", tmp_path / "new")
    assert "labels human: 1 of other queries left out" in made
    assert any(x.startswith("fields of documents left out: ") for x in made)
    (tmp_path / "new" / "runs" / "a.run").write_text("301 Q0 FT-1 1 1 t\n")
    found = read_collection(tmp_path / "new")
    assert found.queries.loc["301"].to_dict() == {
        "text": "jam recall", "title": "jam recall", "description": "Why was jam recalled?",
        "narrative": "Causes only.",
    }  # fmt: skip
    assert "Glass was found." in found.corpus().loc["FT-1", "text"]
    assert "2 = 2  # 1 labels: all of it" in (tmp_path / "new" / "collection.toml").read_text()


@pytest.mark.parametrize(
    ("name", "files", "queries"),
    [("beir/fiqa/test", "fiqa", 3), ("beir/trec-covid", "trec-covid", 3), ("beir/nq", "nq", 2)],
)
def test_the_registered_ids_as_they_lie_in_ir_datasets_home(ir_datasets, tmp_path, name, files, queries):
    # What a first use leaves on disk, made by ir_datasets' own store; the command then runs in a new process.
    from ir_datasets.datasets import beir
    from ir_datasets.util import LocalDownload

    home = tmp_path / "home" / "beir" / files
    home.mkdir(parents=True)
    metadata = {"url": "u", "pubmed_id": "7", "query": f"keywords of {files}", "narrative": "n"}
    documents = [
        {"_id": f"d{i}", "title": "Jam", "text": f"text {i}", "metadata": metadata} for i in range(4)
    ]
    asked = [{"_id": f"q{i}", "text": f"What is {i}?", "metadata": metadata} for i in range(4)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(x) + "\n" for x in documents))
    (home / "queries.json").write_text("".join(json.dumps(x) + "\n" for x in asked))
    judged = "".join(f"q{i}\td{i}\t{i}\n" for i in range(3))
    (home / "test.qrels").write_text("query-id\tcorpus-id\tscore\n" + judged)
    (home / "irds_version.txt").write_text("v2")
    kind = {"fiqa": beir.GenericDoc, "trec-covid": beir.BeirCordDoc, "nq": beir.BeirTitleDoc}[files]
    beir.BeirDocs(files, LocalDownload(tmp_path / "corpus.jsonl"), kind).docs_store().build()
    code = "from poolkit.cli import app; app()"
    command = [sys.executable, "-c", code, "import", name, "new", "--queries", str(queries)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ})
    assert done.returncode == 0, done.stderr
    (tmp_path / "new" / "runs" / "a.run").write_text("q0 Q0 d1 1 1 t\nq1 Q0 d1 1 1 t\nq2 Q0 d1 1 1 t\n")
    found = read_collection(tmp_path / "new")
    assert len(found.queries) == queries
    assert set(found.queries.index) <= {"q0", "q1", "q2"}
    assert found.corpus().loc["d3", "text"] == "text 3"
    assert found.corpus().loc["d3", "title"] == ("" if files == "fiqa" else "Jam")
    there = 4 if files != "fiqa" else 3  # of FiQA, ir_datasets gives the queries that are judged
    drawn = f" (drawn of {there})" if queries < there else ""
    assert done.stdout.startswith(
        f"new: {queries} queries{drawn}, 4 documents, 0 runs\nlabels human: {queries} of "
    )
    if files == "trec-covid":
        assert found.queries["query"].unique().tolist() == ["keywords of trec-covid"]
        assert "fields of documents left out: url, pubmed_id" in done.stdout


def test_ids_that_are_none_and_a_package_that_is_not_there(ir_datasets, monkeypatch):
    with pytest.raises(DataError, match="beir/none: neither a folder nor an ir_datasets id"):
        dataset_source("beir/none")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    said = "beir/nq: no such folder. For an ir_datasets id, run: pip install ir-datasets"
    with pytest.raises(DataError, match=said):
        dataset_source("beir/nq")
