"""What a page shows and writes: figures, tables, provenance; never a path of this machine."""

import dataclasses

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import toy

import poolkit
from poolkit.curves import plot_marginal
from poolkit.maps import plot_confusion
from poolkit.page import figure, fingerprints, provenance, tabulate
from poolkit.pool import arrival
from poolkit.resample import Interval
from poolkit.study import open_study


@pytest.fixture(autouse=True)
def canvas():
    mpl.use("agg")


@pytest.fixture
def study(tmp_path):
    return open_study(toy.toy_folder(tmp_path / "toy"))


def drawn(study, out="", **more):
    return figure(
        plot_marginal,
        arrival(study.pool),
        study.families,
        name="cost",
        data=arrival(study.pool),
        caption="Cost, <b>$x$.",
        out=str(out),
        **more,
    )


def test_a_figure_is_shown_and_written(study, tmp_path):
    shown = drawn(study, tmp_path / "out")
    assert shown.text == "[figure] Cost, <b>$x$."
    assert shown.markup.count("<figcaption>Cost, &lt;b&gt;$x$.</figcaption>") == 1
    assert 'src="data:image/svg+xml;base64,' in shown.markup
    files = sorted((tmp_path / "out" / "figures").iterdir())
    assert [f.name for f in files] == ["cost.csv", "cost.png", "cost.svg"]
    assert files[0].read_text(encoding="utf-8").startswith("system,")
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in files[2].read_text(encoding="utf-8")
    assert not plt.get_fignums()


def test_the_same_figure_twice_has_the_same_bytes(study, tmp_path):
    once, twice = (drawn(study, tmp_path / name) for name in "ab")
    assert once == twice
    for kind in ("png", "svg"):
        first, second = (tmp_path / name / "figures" / f"cost.{kind}" for name in "ab")
        assert first.read_bytes() == second.read_bytes()


def test_without_a_folder_nothing_is_written(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / "toy")
    before = sorted((tmp_path / "toy").rglob("*"))
    drawn(study)
    tabulate(pd.DataFrame({"x": [1]}), name="t", caption="c")
    assert sorted((tmp_path / "toy").rglob("*")) == before


def test_names_in_a_figure_are_never_maths_whatever_the_style(study):
    seen = {}

    def plot(table, **options):
        ax = plot_confusion(table, **options)
        seen["maths"] = ax.xaxis.label.get_parse_math()
        return ax

    before = dict(mpl.rcParams)
    figure(plot, pd.DataFrame([[1]]), left="$x_1$ ^{", right="_y$", name="f", caption="c")
    assert seen == {"maths": False}
    assert dict(mpl.rcParams) == before


def test_what_is_missing_is_said(tmp_path):
    said = "Not shown (cost): this collection lacks what it needs."
    assert figure(plot_marginal, None, {}, name="cost", caption="c", out=str(tmp_path)).text == said
    assert tabulate(None, name="cost", caption="c", out=str(tmp_path)).text == said
    assert not list(tmp_path.iterdir())


def test_a_table_is_written_whole(tmp_path):
    frame = pd.DataFrame({"share": [0.123456, 0.5]}, index=pd.Index(["a", "b"], name="system"))
    shown = tabulate(frame, name="t", caption="Shares.", out=str(tmp_path), formats={"share": ".1%"}, rows=1)
    assert shown.text == "Shares. First 1 of 2 rows; the CSV has all.\nsystem\tshare\na\t12.3\u00a0%"
    assert (tmp_path / "tables" / "t.csv").read_text() == "system,share\na,0.123456\nb,0.5\n"
    tabulate(frame.reset_index(drop=True), name="plain", caption="c", out=str(tmp_path))
    assert (tmp_path / "tables" / "plain.csv").read_text() == "share\n0.123456\n0.5\n"


def test_a_column_of_one_table_is_named_for_its_labels():
    shown = tabulate(pd.DataFrame({"human": [1]}), name="t", caption="c", sides={"human": "author grades"})
    assert shown.text == "c\nauthor grades\n1"


def with_records(study, **columns):
    records = study.collection.judgments["robot"].assign(**columns)
    return dataclasses.replace(
        study, collection=dataclasses.replace(study.collection, judgments={"robot": records})
    )


def test_provenance_counts_the_documents_that_were_cut(study):
    cut = pd.array([120, 1000, 0] + [None] * 12, dtype="Int64")
    text = provenance(with_records(study, cut=cut)).text
    assert "documents cut to fit\t2 of 15, 1,120 tokens in all" in text


def test_provenance_names_everything_but_the_machine(study, tmp_path):
    text = provenance(with_records(study, prompt_hash="0123456789abcdef0123"), seed=1, level=0.95).text
    facts = dict(line.split("\t", 1) for line in text.splitlines()[2:])
    assert facts["collection"] == "The toy world"
    assert facts["pool depth"] == "3"
    assert facts["measures"] == "nDCG@3, P@3, AP@3"
    assert (
        facts["reference labels"]
        == f"author grades: 7 graded pairs, 0 failed, pool epoch {study.human_grades.epoch}"
    )
    assert facts["judge"] == f"robot: 7 graded pairs, 1 failed, pool epoch {study.judge_grades.epoch}"
    assert facts["model"] == "robot-1"
    assert facts["prompt hash"] == "0123456789abcdef"
    assert facts["documents cut to fit"] == "0 of 15"
    assert facts["parameters"] == "seed = 1, level = 0.95"
    assert all(f"{p} " in facts["versions"] for p in ("numpy", "pandas", "scipy", "ir-measures", "openai"))
    assert facts["poolkit"].startswith(poolkit.__version__)
    assert facts["inputs"].startswith("collection.toml ")
    for path in (str(tmp_path), str(study.collection.folder), "/tmp", "/home"):
        assert path not in text


def test_provenance_counts_what_was_paid_without_reading_again(study):
    (study.collection.folder / "judgments" / "robot.jsonl").write_text("not read")
    spent = study.collection.records["robot"].assign(calls=2, usd=0.5)
    paid = dataclasses.replace(study.collection, records={"robot": spent})
    text = provenance(dataclasses.replace(study, collection=paid)).text
    assert f"calls\t{2 * len(spent)}\ncost\t${0.5 * len(spent):.2f}" in text


def test_provenance_without_judge_or_with_people_as_the_judge(study):
    alone = dataclasses.replace(study, judge=None)
    assert "\njudge\t" not in provenance(alone).text
    people = dataclasses.replace(study, judge=study.human)
    assert "judge\tauthor grades: 7 graded pairs" in provenance(people).text


def test_fingerprints_follow_content_and_name(study, tmp_path):
    first = fingerprints(tmp_path / "toy")
    assert list(first) == [
        "collection.toml", "systems.csv", "queries.jsonl", "runs", "qrels/author.qrels", "judgments/robot.jsonl",
    ]  # fmt: skip
    assert first == fingerprints(tmp_path / "toy")
    (tmp_path / "toy" / "runs" / "dense.run").rename(tmp_path / "toy" / "runs" / "other.run")
    second = fingerprints(tmp_path / "toy")
    assert {k for k in first if first[k] != second[k]} == {"runs"}


def test_intervals_become_three_columns_of_a_csv(tmp_path):
    found = pd.DataFrame({"rho": [Interval(0.5, 0.25, 0.75, 0.95, np.arange(3.0)), None], "n": [1, 2]})
    tabulate(found, name="t", caption="c", out=str(tmp_path))
    lines = (tmp_path / "tables" / "t.csv").read_text().splitlines()
    assert lines == ["rho,rho_low,rho_high,n", "0.5,0.25,0.75,1", ",,,2"]
