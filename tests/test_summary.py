"""Collections side by side: the table by hand, its sentence in every case, next steps without paths."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import toy

from poolkit import summary
from poolkit.lines import Problem
from poolkit.resample import Interval
from poolkit.study import open_study

FEW = {"n_resamples": 40, "n_orders": 5}


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """Two: the toy world, and the same without human labels."""
    folder = tmp_path_factory.mktemp("summary")
    first, second = open_study(toy.toy_folder(folder / "toy")), open_study(toy.toy_folder(folder / "p"))
    config = second.collection.config | {"name": "unlabelled"}
    return [
        first,
        dataclasses.replace(
            second, human=None, collection=dataclasses.replace(second.collection, config=config)
        ),
    ]


@pytest.fixture(scope="module")
def table(studies):
    return summary.summary(studies, **FEW)


def test_the_row_of_the_toy_world(table):
    row = table.loc["toy"]
    cost = {"systems": 3, "families": 2, "queries": 2, "depth": 3, "independent": 13, "pool": 8}
    assert row[list(cost)].to_dict() == cost
    assert row["reuse"] == pytest.approx(1 - 8 / 13)
    assert row["cost_factor"] == pytest.approx(13 / 8)
    assert row["rho"].value == pytest.approx(1 / 2)
    assert row["tau"].value == pytest.approx(1 / 3)
    trust = {
        "pairs": 3,
        "differ": 1,
        "within_noise": 1,
        "conflicts": 0,
        "within_noise_share": 1.0,
        "preserved": 1.0,
    }
    assert row[list(trust)].to_dict() == trust
    # certified: bm25 and dense over hybrid; repeats: 5 of 7 alike
    assert row["certified"] == pytest.approx(2 / 3)
    assert row["repeat_exact"].value == 5 / 7


def test_what_a_collection_lacks_is_missing_in_its_row(table):
    row = table.loc["unlabelled"]
    assert row[["rho", "tau", "pairs", "differ", "conflicts", "preserved", "kappa"]].isna().all()
    assert row["repeat_exact"].value == 5 / 7


def test_the_closing_table_sets_every_collection_beside_the_paper(table):
    found = summary.closing(table).set_index("quantity")
    assert list(found.columns) == [
        *(f"collection {c}" for c in table.index),
        "the paper, for reference",
        "meaning",
    ]
    assert len(found) == len(summary.CLOSING)
    paper = found["the paper, for reference"]
    # METHOD 5: rho nDCG@10 FiQA .909, TREC-COVID .691, NQ .945, FinRAGBench-V .909
    assert paper["Spearman's rho"] == "FiQA 0.909 · TREC-COVID 0.691 · NQ 0.945 · FinRAGBench-V 0.909"
    assert paper["orders of arrival with a reversal"].endswith("FinRAGBench-V 1.4 %")
    assert (found["meaning"] != "").all()
    rho = table["rho"].iloc[0]
    assert found[f"collection {table.index[0]}"]["Spearman's rho"].startswith(f"{rho.value:.1f}"[:3])
    assert set(summary.cost(table).columns) | set(summary.CLOSING) <= set(table.columns)


def test_one_seed_gives_one_table(studies, table):
    again = summary.summary(studies, **FEW)
    assert again["rho"].iloc[0].draws.tolist() == table["rho"].iloc[0].draws.tolist()
    assert again["orders_with_reversal"].tolist() == table["orders_with_reversal"].tolist()


def row(rho, differ, conflicts, pairs=3, independent=20, pool=5, best="a", beside=1):
    """A row of the summary, as far as its sentence reads it."""
    found = None if rho is None else Interval(rho, rho - 0.1, rho + 0.05, 0.95, np.empty(0))
    same = None if differ is None else pairs - differ
    some = {"rho": found, "pairs": pairs, "same": same, "differ": differ, "conflicts": conflicts}
    chosen = {"best": best, "best_under": "reader", "beside_best": beside}
    return some | chosen | {"measure": "P@3", "independent": independent, "pool": pool}


def said(**rows):
    table = pd.DataFrame(list(rows.values()), index=list(rows)).astype(object)
    return str(summary.summary_story(table))


def test_the_sentence_of_one_collection():
    assert said(a=row(0.8, 1, 0)) == (
        "Best under reader is a; 1 other system cannot be told from it. The judge puts 2 of 3 pairs of systems (66.7 "
        "%) in the order of the reference labels, with rho 0.80 [0.70, 0.85] by mean P@3; of the 1 it orders "
        "differently, none is more than the noise of these queries. Judging each query-document pair once saved 75.0 "
        "% of the judgments: 5 serve 20 places in the systems' lists."
    )
    assert said(a=row(0.8, 0, 0, beside=0)).startswith(
        "Best under reader is a; every other system is worse. The judge"
    )
    assert "reference labels, with rho 0.80 [0.70, 0.85] by mean P@3. Judging" in said(a=row(0.8, 0, 0))
    assert said(a=row(0.8, 0, 0, best=None)).startswith("The judge puts 3 of 3 pairs")


def test_tied_pairs_are_told_so_that_the_counts_add_up():
    tied = row(0.8, 1, 0) | {"same": 1}
    assert "none is more than the noise of these queries; 1 more is tied. Judging" in said(a=tied)


def test_the_sentence_of_several_collections():
    text = said(a=row(0.8, 1, 1), b=row(0.5, 1, 0, pairs=1), c=row(None, None, None))
    assert text == (
        "3 collections, each with its best system below. In 2 of them the judge puts 2 of 4 pairs of systems (50.0 %) "
        "in the order of the reference labels, with rho between 0.500 and 0.800; of the 2 it orders differently, 1 is "
        "more than the noise of these queries. Judging each query-document pair once saved 75.0 % of the judgments: 15 "
        "serve 60 places in the systems' lists."
    )


def test_the_sentence_without_human_labels_or_a_defined_rho():
    assert "Orders cannot be compared: that takes two systems" in said(a=row(None, None, None))
    assert "Orders cannot be compared: " in said(a=row(np.nan, 0, 0, pairs=0))
    assert "in the order of the reference labels. Judging" in said(a=row(np.nan, 0, 0))
    assert "rho between 0.500 and 0.500" in said(a=row(np.nan, 0, 0), b=row(0.5, 0, 0))


def test_the_sentence_of_the_toy_world(table):
    text = str(summary.summary_story(table))
    assert text.startswith(
        "2 collections, each with its best system below. In 1 of them the judge puts 2 of 3"
    )
    assert "saved 38.5 % of the judgments: 16 serve 26 places" in text
    assert table["best"].tolist() == [table["best"].iloc[0]] * 2


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        ("poolkit report {}",
         "choose on page Choose, and see how far to trust it on page Correlate; there is nothing to judge"),
        ("poolkit judge {} --judge gpt-4.1 (no grade yet: 1,943 pairs)",
         "`poolkit judge DATA --judge gpt-4.1` (no grade yet: 1,943 pairs)"),
        ("grade 1 pair in judgments/robot.jsonl", "grade 1 pair in judgments/robot.jsonl"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", [".", "p", "judge", "/home/someone/a (b)+/demo"])
def test_next_steps_name_no_folder(studies, monkeypatch, step, shown, place):
    monkeypatch.setattr(summary, "status_in", lambda found, pool: {"next": step.format(found.folder)})
    moved = dataclasses.replace(studies[0].collection, folder=type(studies[0].collection.folder)(place))
    one = dataclasses.replace(studies[0], collection=moved)
    assert str(summary.next_steps([one])) == f"Next: {shown}."
    assert str(summary.next_steps([one, one])) == f"toy: {shown}.\ntoy: {shown}."


def test_next_steps_of_real_folders(studies):
    steps = str(summary.next_steps(studies)).splitlines()
    assert [s.split(":")[0] for s in steps] == ["toy", "unlabelled"]
    assert not any(str(s.collection.folder) in step for s in studies for step in steps)


def test_gaps(studies):
    found = summary.gaps(studies)
    assert "toy: 1 ranking missing on queries with author grades scores 0." in found
    first = summary.caveats(studies)
    assert any(x.startswith("unlabelled: There are no human labels") for x in first)
    assert summary.caveats(studies[1:])[0].startswith("There are no human labels")
    assert not any(str(s.collection.folder.parent) in x for s in studies for x in found + first)


def test_many_notes_are_counted(studies):
    folder = studies[0].collection.folder
    notes = [Problem(folder / "runs" / "a.run", i, "odd", True) for i in range(7)]
    odd = dataclasses.replace(studies[0], collection=dataclasses.replace(studies[0].collection, notes=notes))
    found = summary.gaps([odd])
    assert "toy: runs/a.run, line 0: odd" in found
    assert found[-1] == "toy: 2 more notes; `poolkit check` lists them all."


def test_no_gap_is_said(studies):
    runs = studies[0].collection.runs.select(["bm25", "dense"])
    catalogue = studies[0].collection.catalogue.loc[["bm25", "dense"]]
    whole = dataclasses.replace(
        studies[0], collection=dataclasses.replace(studies[0].collection, runs=runs, catalogue=catalogue)
    )
    assert summary.caveats([whole])[0] == (
        "There are two systems only: one pair, whose order is right or wrong."
    )
