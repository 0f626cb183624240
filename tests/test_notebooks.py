"""Notebooks as committed: their form, and that they run on whatever a collection lacks."""

import ast
import builtins
import re
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import papermill
import pytest
import toy
from folders import DEGRADED, conflict_folder, trec_folder, without
from nbclient import NotebookClient

from poolkit import study
from poolkit.display import Html
from poolkit.report import NOTEBOOKS

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
BOOKS = {p.stem: nbformat.read(p, 4) for p in PATHS}
FEW = {"n_resamples": 200, "n_orders": 10, "n_worlds": 20}
TAGS = {"parameters", "remove-cell", "hide-input"}


def code_cells(notebook):
    return [c for c in notebook.cells if c.cell_type == "code"]


def run(notebook, **values):
    """What a notebook's code cells show, run here instead of in a kernel."""
    names = {"__builtins__": builtins}
    shown = []
    for cell in code_cells(notebook):
        tree = ast.parse(cell.source)
        last = tree.body.pop().value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        if "parameters" in cell.metadata.get("tags", []):
            names.update({k: v for k, v in values.items() if k in names})
        if last is not None:
            shown.append(eval(compile(ast.Expression(last), "cell", "eval"), names))
    plt.close("all")
    return shown


def test_numbers_follow_each_other():
    assert [n[:2] for n in BOOKS] == [f"{i:02}" for i in range(len(BOOKS))]


@pytest.mark.parametrize("name", BOOKS)
def test_form(name):
    notebook = BOOKS[name]
    nbformat.validate(notebook)
    assert len(notebook.cells) < 30
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert re.fullmatch(r"# .+\?", first.source.splitlines()[0]), "the title is a question"
    assert len(first.source.split("\n\n")) == 2, "then one paragraph on why it matters"
    headings = [c.source.splitlines()[0] for c in notebook.cells[1:] if c.cell_type == "markdown"]
    assert headings[0] == "## Answer"
    assert headings[-1] == "## Limits"
    assert notebook.metadata.kernelspec.name == "python3"


@pytest.mark.parametrize("name", BOOKS)
def test_committed_without_outputs(name):
    for cell in code_cells(BOOKS[name]):
        assert cell.outputs == []
        assert cell.execution_count is None
        assert set(cell.metadata) == {"tags"}


@pytest.mark.parametrize("name", BOOKS)
def test_cells_have_their_tags_and_stay_short(name):
    first, second, *rest = code_cells(BOOKS[name])
    assert first.metadata.tags == ["parameters"]
    assert second.metadata.tags == ["remove-cell"]
    assert all(c.metadata.tags == ["hide-input"] for c in rest)
    for cell in rest:
        assert len(ast.parse(cell.source).body) <= 3
        assert not re.search(r"^\s*(def|class|import|from|for|while) ", cell.source, re.M)
    assert re.match(r"provenances?\(", rest[-1].source), "the last cell says where it all comes from"


@pytest.mark.parametrize("name", BOOKS)
def test_parameters_are_typed_explained_literals(name):
    source = code_cells(BOOKS[name])[0].source
    lines = source.splitlines()
    assert all(re.fullmatch(r"\w+: (int|float|str|bool|list) = .+  # .+", line) for line in lines)
    for node in ast.parse(source).body:
        value = ast.literal_eval(node.value)
        assert type(value).__name__ == node.annotation.id
    assert {"seed", "out"} <= {line.split(":")[0] for line in lines}


@pytest.mark.parametrize("name", BOOKS)
def test_papermill_knows_every_parameter(name):
    known = papermill.inspect_notebook(str(NOTEBOOKS / f"{name}.ipynb"))
    declared = [line.split(":")[0] for line in code_cells(BOOKS[name])[0].source.splitlines()]
    assert list(known) == declared
    assert all(about["help"] and about["inferred_type_name"] != "None" for about in known.values())


def test_a_parameter_means_the_same_everywhere():
    lines = Counter(x for b in BOOKS.values() for x in set(code_cells(b)[0].source.splitlines()))
    meanings = {}
    for line in lines:
        meanings.setdefault(line.split(" = ")[0], []).append(line)
    assert {
        k: v for k, v in meanings.items() if len(v) > 1 and k not in ("level: float", "n_resamples: int")
    } == {}


def test_no_file_of_a_report_is_written_twice():
    found = Counter()
    for notebook in BOOKS.values():
        for call in (n for c in code_cells(notebook) for n in ast.walk(ast.parse(c.source))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("figure", "tabulate"):
                given = {k.arg: k.value for k in call.keywords}
                assert given["out"].id == "out"
                found[call.func.id, given["name"].value] += 1
    assert [k for k, n in found.items() if n > 1] == []
    assert len(found) > 30


SAID = {  # what some page says in each poorer world, beside what `lacks` says on all
    "no text": "(no text in this collection)",
    "one family": "To leave systems out takes labels, two groups and a measure such as nDCG@10.",
    "one system": "There is one system only, so there is no order to compare.",
    "one query": "On one query it cannot be told from the others.",
    "constant scores": "a side scores all systems alike, so their orders cannot be correlated.",
    "no human": "Without reference labels and a judge's on the same queries this cannot be known.",
}


@pytest.mark.parametrize("world", [*DEGRADED, "no text"])
def test_every_notebook_runs_on_degraded_worlds(world, tmp_path):
    folder = toy.toy_folder(tmp_path / "toy")
    change, words = DEGRADED.get(world, (without("corpus.jsonl"), ""))
    change(folder)
    said = ""
    for name, notebook in BOOKS.items():
        shown = run(notebook, collection=str(folder), collections=[str(folder)], out="", **FEW)
        assert shown, name
        assert all(isinstance(x, Html) for x in shown), name
        assert not any(re.search(r"\bnan\b|NaN|\bNone\b(?! has)", x.text) for x in shown), (name, world)
        said += "\n".join(x.text for x in shown)
    assert words in said
    assert SAID.get(world, "") in said


def test_one_measure_without_a_threshold(tmp_path):
    folder = toy.toy_folder(tmp_path / "toy")
    text = "\n".join(
        x.text for x in run(BOOKS["03-correlate"], collection=str(folder), measures=["nDCG@3"], **FEW)
    )
    assert "Not shown (thresholds): this collection lacks what it needs." in text


def test_a_conflict_is_taken_apart(tmp_path):
    folder = conflict_folder(tmp_path / "conflict")
    text = "\n".join(x.text for x in run(BOOKS["04-disagree"], collection=str(folder), **FEW))
    assert "1 conflict to read." in text
    assert (
        "good (left) against bad (right), strong conflict: +1.000 under author and -1.000 under robot" in text
    )
    plain = "\n".join(
        x.text for x in run(BOOKS["04-disagree"], collection=str(toy.toy_folder(tmp_path / "toy")), **FEW)
    )
    assert "There is no conflict. Shown is the strongest disagreement" in plain
    assert "bm25 (left) against dense (right), within noise: " in plain


def test_what_choosing_shows(tmp_path):
    folder = toy.toy_folder(tmp_path / "toy")
    lines = ["system,family,mode,size,price"]
    lines += ["bm25,lexical,sparse,1,3", "dense,neural,dense,1,2", "hybrid,neural,dense,2,1"]
    toy.write_lines(folder / "systems.csv", lines)
    config = (folder / "collection.toml").read_text(encoding="utf-8")
    (folder / "collection.toml").write_text(f'factors = ["mode", "size"]\n{config}', encoding="utf-8")
    text = "\n".join(x.text for x in run(BOOKS["08-choose"], collection=str(folder), cost="price", **FEW))
    assert "Of 3 pairs of systems, " in text
    assert "would take the fewest queries: " in text
    assert "2 contrasts and 0 interactions were looked at" in text
    assert "hybrid has the lowest price (1) of the 3 systems in the best set" in text


def test_without_labels_pages_say_so(tmp_path):
    folder = toy.toy_folder(tmp_path / "toy")
    DEGRADED["only queries and runs"][0](folder)
    text = "\n".join(x.text for x in run(BOOKS["03-correlate"], collection=str(folder), **FEW))
    assert "on the same queries this cannot be known." in text
    assert "There are no labels yet, so no system has a score." in text
    assert "Not shown (correlation): this collection lacks what it needs." in text


def test_the_cells_run_by_hand_write_no_files(tmp_path, monkeypatch):
    folder = toy.toy_folder(tmp_path / "data" / "toy")
    (tmp_path / "lab").mkdir()
    monkeypatch.chdir(tmp_path / "lab")
    before = sorted(tmp_path.rglob("*"))
    run(BOOKS["01-pool"], collection="../data/toy")
    assert sorted(tmp_path.rglob("*")) == before
    assert folder.exists()


@pytest.mark.parametrize("place", ["beside the notebooks", "elsewhere"])
def test_a_fresh_kernel_runs_all_cells_with_their_defaults(place, tmp_path):
    cwd = NOTEBOOKS if place == "beside the notebooks" else tmp_path
    before = sorted(cwd.iterdir())
    found = nbformat.read(NOTEBOOKS / "01-pool.ipynb", 4)
    NotebookClient(found, timeout=300, resources={"metadata": {"path": str(cwd)}}).execute()
    shown = [o for c in code_cells(found) for o in c.outputs if o.output_type == "execute_result"]
    assert shown[0]["data"]["text/plain"].startswith("It holds 1,943 query-document pairs.")
    assert sorted(cwd.iterdir()) == before


@pytest.mark.parametrize("name", BOOKS)
def test_the_default_collection_is_found_from_any_folder(name, tmp_path, monkeypatch):
    first, second = code_cells(BOOKS[name])[:2]
    given = {}
    exec(first.source, given)
    loading = next(line for line in second.source.splitlines() if "open_study(" in line)
    for cwd in (NOTEBOOKS, NOTEBOOKS.parent, tmp_path):
        monkeypatch.chdir(cwd)
        names = {"open_study": lambda folder, **_: study._found(Path(folder))} | given
        exec(loading, names)
        assert all((folder / "queries.jsonl").exists() for folder in names.get("studies") or [names["study"]])


def test_two_collections_side_by_side(tmp_path):
    folders = [str(toy.toy_folder(tmp_path / name)) for name in ("one", "two")]
    text = "\n".join(x.text for x in run(BOOKS["00-summary"], collections=folders, measures=["P@3"], **FEW))
    assert (
        "Judging each query-document pair once saved 38.5 % of the judgments: 16 serve 26 places in the systems' lists."
        in text
    )


def test_dl21(cases, tmp_path):
    folder = trec_folder(cases / "dl21", tmp_path / "dl21", judge="gpt4o.umbrela")
    text = "\n".join(
        x.text
        for x in run(
            BOOKS["03-correlate"], collection=str(folder), out=str(tmp_path / "out"), n_resamples=500
        )
    )
    # cases/README.md: Spearman 0.993, Kendall 0.939.
    assert re.search(r"63 systems .*Spearman's rho 0\.993 \[.*Kendall's tau\S* 0\.939 \[", text), text[:600]
    assert "1,891 of 1,953 pairs" in text
    assert len((tmp_path / "out" / "tables" / "scores.csv").read_text().splitlines()) == 64


def test_treccovid(cases, tmp_path):
    folder = trec_folder(cases / "treccovid-r1", tmp_path / "treccovid-r1")
    shown = run(BOOKS["01-pool"], collection=str(folder))
    assert shown[0].text.startswith("It holds 16,720 query-document pairs. 143 systems returned ")
    assert "systems\t143" in shown[2].text
