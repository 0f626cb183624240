"""Numerators over denominators equal ir_measures, and the official TREC-COVID leaderboard."""

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import QUERIES, RANKINGS, grades, labels, runs
from worlds import worlds

from poolkit.labels import grades_on, labels_from
from poolkit.pool import pool
from poolkit.score import (
    DEFAULT_MEASURES,
    as_qrels,
    denominators,
    grade_counts,
    is_native,
    label_counts,
    measure,
    numerators,
    one_epoch,
    ratio,
    scores,
)
from poolkit.tables import DataError, runs_from

NATIVE = (
    "P@1", "P@5", "P(rel=2)@5", "R@5", "R@100", "R(rel=2)@3", "AP", "AP@3", "AP@100", "AP(rel=2)@5", "nDCG",
    "nDCG@3", "nDCG@10", "RR", "RR(rel=2)", "Success@1", "Success@5", "Success(rel=2)@5", "Judged@3",
    "Judged@10",
)  # fmt: skip


def by_ir_measures(qrels, names, queries):
    """Scorer of ranked rows as ir_measures scores them: measures by queries, 0 where it gives none."""
    row, column = {n: i for i, n in enumerate(names)}, {q: i for i, q in enumerate(queries)}
    evaluator = ir_measures.evaluator([ir_measures.parse_measure(n) for n in names], qrels)

    def scorer(ranked):
        found = np.zeros((len(names), len(queries)))
        for metric in evaluator.iter_calc(ranked):
            found[row[str(metric.measure)], column[metric.query_id]] = metric.value
        return found

    return scorer


def assert_equal_to_ir_measures(runs, labels, names, *, tables=None, reads=None):
    found = scores(runs, grades_on(runs, labels), names)
    # pytrec_eval corrupts memory, and may hang, on negative grades; they gain 0, so 0 says the same.
    qrels = labels.relevance.assign(relevance=labels.relevance["relevance"].clip(lower=0))
    # trec_eval's own code sees the raw scores, ties and all; Judged's breaks ties in another way.
    judged = [n for n in found.measures if n.startswith("Judged")]
    trec = [n for n in found.measures if n not in judged]
    scorers = {tuple(some): by_ir_measures(qrels, some, found.queries) for some in (trec, judged) if some}
    for s, system in enumerate(runs.systems):
        ranked = runs.select([system]).frame(reads).drop(columns=["system", "rank"])
        for some, scorer in scorers.items():
            rows = ranked if tables is None or "Judged" in some[0] else tables[system]
            mine = np.array([found.values[n][s] for n in some])
            np.testing.assert_allclose(mine, scorer(rows), rtol=0, atol=1e-9, err_msg=f"{system} {some}")


# ---- against ir_measures


@given(worlds())
@settings(max_examples=25, deadline=None)
def test_random_worlds_equal_ir_measures(world):
    assert_equal_to_ir_measures(world[0], world[1], NATIVE, tables=world[2])


@pytest.mark.parametrize("name", ["human", "gpt4o.umbrela"])
def test_dl21_equals_ir_measures(dl21, name):
    found, by_name, _ = dl21
    assert_equal_to_ir_measures(
        found, by_name[name], ["P@10", "R@10", "AP@10", "nDCG@10", "nDCG@5"], reads=10
    )


def test_treccovid_equals_ir_measures(treccovid):
    found, human, _ = treccovid
    some = found.select(found.systems[::12])
    assert_equal_to_ir_measures(some, human, ["P@5", "R@100", "AP@100", "AP", "nDCG@10", "nDCG", "RR"])


def test_treccovid_has_the_official_leaderboard_to_four_decimals(treccovid):
    found, human, leaderboard = treccovid
    assert len(leaderboard) == 143
    assert set(found.systems) == set(leaderboard)
    means = scores(found, grades_on(found, human), ["nDCG@10", "P@5", "AP", "Bpref"]).means()
    off = {
        m: means[m] - pd.Series({s: float(leaderboard[s][column]) for s in found.systems})
        for m, column in {"nDCG@10": "ndcg@10", "P@5": "p@5", "AP": "MAP", "Bpref": "bpref"}.items()
    }
    half = 0.5e-4 + 1e-9
    assert off["nDCG@10"].abs().max() < half
    assert off["P@5"].abs().max() < half
    # The official MAP and bpref read 1,000 ranks and the case's files stop at 100: equal for the runs that
    # never reach 100 documents, and never above the official figure for the others.
    whole = (found.returned < 100).all(axis=1)
    assert whole.sum() == 8
    for m in ("AP", "Bpref"):
        assert off[m][whole].abs().max() < half, m
        assert off[m].max() < half, m
    # Others agree where they happen to rank nothing relevant later: 13 and 12 in all.
    assert [int((off[m].abs() < half).sum()) for m in ("AP", "Bpref")] == [13, 12]


def test_what_the_leaderboard_adds_is_what_ranks_beyond_100_can_add(treccovid):
    # Cut at 100, a run may lose the relevant documents that it ranked later. At most it lost all that it does not
    # show, ranked at once: the official figures lie between its score and the score of the run so extended.
    found, human, leaderboard = treccovid
    relevant = human.relevance[human.relevance["relevance"] > 0].groupby("query_id")["doc_id"].apply(set)
    longest = {}
    for system in found.systems:
        ranked = found.select([system]).frame()[["query_id", "doc_id", "rank"]]
        rows = [ranked]
        for query, shown in ranked.groupby("query_id")["doc_id"]:
            if len(shown) >= 100:
                more = sorted(relevant[query] - set(shown))
                rows.append(
                    pd.DataFrame({"query_id": query, "doc_id": more, "rank": 101 + np.arange(len(more))})
                )
        longest[system] = pd.concat(rows).assign(score=lambda t: -t["rank"])
    extended = runs_from(longest, found.queries)
    names = {"AP": "MAP", "Bpref": "bpref"}
    low, high = (scores(r, grades_on(r, human), list(names)).means() for r in (found, extended))
    for m, column in names.items():
        official = pd.Series({s: float(leaderboard[s][column]) for s in found.systems})
        assert (low[m] <= official + 0.5e-4 + 1e-9).all(), m
        assert (official <= high[m] + 0.5e-4 + 1e-9).all(), m


# ---- by hand, on the toy world


def test_toy_scores_by_hand():
    means = scores(runs(), grades(), ["P@2", "AP", "nDCG@2", "R@1", "DCG@2", "RR", "Success@1"])
    table = {m: means.table(m).to_dict("index") for m in means.measures}
    # q1 bm25: d1 (2), d2 (1): both relevant; R(q1) = 2 (d1, d2); q2 bm25: d3 (0), d5 (2); R(q2) = 3 (d4, d5, d1).
    assert table["P@2"]["bm25"] == {"q1": 1.0, "q2": 0.5}
    assert table["R@1"]["bm25"] == {"q1": 1 / 2, "q2": 0.0}
    # AP divides by all relevant: q2 bm25 = (1/2) / 3, dense d5 d4 d1 = (1 + 1 + 1) / 3.
    assert table["AP"]["bm25"] == {"q1": 1.0, "q2": pytest.approx(1 / 6)}
    assert table["AP"]["dense"] == {"q1": 1 / 2, "q2": 1.0}
    # Gain is linear: q2 bm25 DCG@2 = 0 + 2 / log2(3); ideal 2 + 1 / log2(3).
    assert table["DCG@2"]["bm25"]["q2"] == pytest.approx(2 / np.log2(3))
    assert table["nDCG@2"]["bm25"]["q2"] == pytest.approx(2 / np.log2(3) / (2 + 1 / np.log2(3)))
    assert table["RR"]["bm25"] == {"q1": 1.0, "q2": 0.5}
    assert table["Success@1"]["bm25"] == {"q1": 1.0, "q2": 0.0}
    # hybrid did not answer q2: 0 there, and shown.
    assert table["P@2"]["hybrid"]["q2"] == 0
    assert means.missing == (("hybrid", "q2"),)


def test_a_cutoff_of_ap_still_divides_by_all_relevant():
    # Three relevant documents, the first found at rank 1: AP@1 = 1 / 3, not 1.
    world = {"a": {"q1": ["x", "y", "z"]}}
    on = grades({"q1": {"x": 1, "y": 1, "z": 1}}, world)
    assert scores(runs(world), on, ["AP@1"]).mean("AP@1")["a"] == pytest.approx(1 / 3)


def test_a_query_without_relevant_documents_is_0_for_all_and_named():
    on = grades({"q1": {"d1": 0, "d2": 0}, "q2": {"d5": 1}})
    found = scores(runs(), on, ["nDCG@2", "AP", "R@2", "P@2"])
    assert found.barren == ("q1",)
    assert all((found.table(m)["q1"] == 0).all() for m in found.measures)


def test_queries_without_labels_are_dropped_and_named():
    found = scores(runs(), grades({"q2": {"d5": 2}}), ["P@2"])
    assert found.queries == ("q2",)
    assert found.dropped == ("q1",)


def test_negative_grades_gain_nothing_but_are_judged():
    world = {"a": {"q1": ["x", "y"]}}
    found = scores(
        runs(world), grades({"q1": {"x": -2, "y": 1}}, world), ["nDCG@2", "DCG@2", "P@2", "Judged@2"]
    )
    # x gains 0, not -2: DCG = 1 / log2(3) against the ideal 1.
    assert found.mean("DCG@2")["a"] == found.mean("nDCG@2")["a"] == pytest.approx(1 / np.log2(3))
    assert found.mean("P@2")["a"] == 1 / 2
    assert found.mean("Judged@2")["a"] == 1


def test_short_runs_and_cutoffs_beyond_them():
    world = {"a": {"q1": ["x"]}}
    found = scores(runs(world), grades({"q1": {"x": 3}}, world), ["P@10", "nDCG@10", "R@1000", "Judged@10"])
    # P@10 divides by 10 although the run has one document; Judged by what is there.
    assert found.means().loc["a"].tolist() == [0.1, 1.0, 1.0, 1.0]


def test_labels_far_beyond_the_pool_count_in_the_denominators():
    world = {"a": {"q1": ["x", "y"]}}
    many = {"q1": {"x": 1} | {f"far{i}": 3 for i in range(999)}}
    found = scores(runs(world), grades(many, world), ["R@2", "AP@2", "nDCG@2"])
    # One of 1,000 relevant documents; the ideal list holds two of grade 3.
    assert found.mean("R@2")["a"] == found.mean("AP@2")["a"] == 1 / 1000
    assert found.mean("nDCG@2")["a"] == pytest.approx(1 / (3 + 3 / np.log2(3)))


def test_other_measures_go_to_ir_measures_whole():
    # Two documents that no run returned must reach ir_measures as two.
    given = labels({"q1": {"d1": 2, "d2": 1, "d4": 0, "x": 1, "y": 1}, "q2": {"d4": 1, "d5": 2, "d3": 0}})
    on = grades_on(runs(), given)
    found = scores(runs(), on, ["P@2", "Bpref", "IPrec@0.5"])
    assert found.measures == ("P@2", "Bpref", "IPrec@0.5")
    assert set(found.numerators) == {"P@2"}
    for s, system in enumerate(found.systems):
        ranked = runs().select([system]).frame()[["query_id", "doc_id", "score"]]
        expected = by_ir_measures(given.relevance, found.measures[1:], found.queries)(ranked)
        assert [found.values[m][s].tolist() for m in found.measures[1:]] == expected.tolist()
    assert as_qrels(runs(), on).groupby(["query_id", "doc_id"]).size().max() == 1


@pytest.mark.parametrize("labels", [{"d1": -2, "d2": 1}, {"d1": 2, "x": -1}])
def test_other_tools_get_no_negative_grades(labels):
    with pytest.raises(DataError, match=r"author: negative grades mean different things .* Map them in"):
        as_qrels(runs(), grades({"q1": labels}))


def test_measures_of_other_tools_see_positive_scores():
    # Compat puts documents that were not retrieved at score 0 of its ideal order: ranks must lie above.
    found = scores(runs(), grades(), ["Compat(p=0.8)"]).table("Compat(p=0.8)")
    qrels = as_qrels(runs(), grades())
    run = runs().select(["dense"]).frame().assign(score=lambda t: 10.0 - t["rank"])
    peer = {m.query_id: m.value for m in ir_measures.iter_calc([ir_measures.Compat(p=0.8)], qrels, run)}
    assert found.loc["dense"].to_dict() == pytest.approx(peer)


def test_what_other_tools_cannot_do_is_one_line():
    with pytest.raises(DataError, match=r"ir_measures cannot compute .* here \("):
        scores(runs(), grades(), ["nDCG(gains={1:'x'})@10"])


# ---- properties


@given(worlds(grades=(0, 3)))
@settings(max_examples=25, deadline=None)
def test_scores_lie_in_0_1_and_come_out_the_same_twice(world):
    found, on = world[0], grades_on(world[0], world[1])
    first, second = (scores(found, on, NATIVE) for _ in range(2))
    for m in first.measures:
        assert ((first.values[m] >= 0) & (first.values[m] <= 1 + 1e-12)).all(), m
        assert np.array_equal(first.values[m], second.values[m])


@given(worlds(), st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_contributors_are_judged_at_every_rank_within_depth(world, depth):
    found = world[0]
    some = pool(found, depth=depth)
    rows = some.frame().assign(relevance=0)[["query_id", "doc_id", "relevance"]]
    on = grades_on(found, labels_from(rows, "all"))
    for k in range(1, depth + 1):
        share = numerators(found.item, on.relevance, on.judged, [measure(f"Judged@{k}")])[f"Judged@{k}"]
        assert (share[found.returned > 0] == 1).all()


def test_the_order_of_systems_and_queries_changes_nothing():
    one = scores(runs(), grades(), ["nDCG@3"]).table("nDCG@3")
    turned = dict(reversed(list(RANKINGS.items())))
    other = runs(turned, QUERIES[::-1])
    again = scores(other, grades_on(other, labels()), ["nDCG@3"]).table("nDCG@3")
    pd.testing.assert_frame_equal(again.loc[one.index, one.columns], one)


def test_denominators_equal_a_sorted_ideal_list():
    rng = np.random.default_rng(5)
    for _ in range(50):
        grade, k = rng.integers(0, 4, size=rng.integers(0, 12)), int(rng.integers(1, 9))
        counts = grade_counts(np.zeros(len(grade), dtype=int), grade, n_queries=1, top=3)
        wanted = [measure(f"nDCG@{k}"), measure("R(rel=2)@5"), measure("AP")]
        below = denominators(counts, wanted)
        ideal = sum(g / np.log2(r + 1) for r, g in enumerate(sorted(grade, reverse=True)[:k], start=1))
        assert below[f"nDCG@{k}"][0] == pytest.approx(ideal)
        assert below["R(rel=2)@5"][0] == (grade >= 2).sum()
        assert below["AP"][0] == (grade >= 1).sum()


def test_ratio_is_0_where_there_is_nothing_to_find():
    assert ratio(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])).tolist() == [0.5, 0.0, 0.0]


def test_label_counts_hold_pooled_and_unpooled_documents():
    # q1: d1 = 2, d2 = 1; q2: d5 = 2, d4 = 1, d1 = 1 (all ranked by someone), and one more that nobody ranks.
    on = grades({"q1": {"d1": 2, "d2": 1, "d4": 0}, "q2": {"d4": 1, "d5": 2, "d1": 1, "new": 2}})
    assert label_counts(runs(), on).tolist() == [[1, 1], [2, 2]]


# ---- names, epochs, refusals


def test_measures_have_one_canonical_name():
    assert str(measure("NDCG@10")) == str(measure("nDCG@10")) == "nDCG@10"
    assert str(measure("MAP@100")) == "AP@100"
    assert str(measure("DCG@5")) == "DCG@5"
    assert scores(runs(), grades(), ["NDCG@2", "nDCG@2"]).measures == ("nDCG@2",)
    assert tuple(str(measure(m)) for m in DEFAULT_MEASURES) == DEFAULT_MEASURES
    assert is_native(measure("AP@100"))
    assert not is_native(measure("Bpref"))
    assert not is_native(measure("nDCG(dcg='exp-log2')@10"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nDGC@10", "measure 'nDGC@10': measure not found: nDGC. Names are those of ir_measures: nDCG@10"),
        ("ndcg@10", "measure 'ndcg@10': Did you mean nDCG@10?"),
        ("P@x", "measure 'P@x': "),
        ("P", "measure 'P': It needs a cutoff, such as P@10."),
        ("P@0", "measure 'P@0': the cutoff must be at least 1"),
        ("DCG@zwei", "measure 'DCG@zwei': "),
    ],
)
def test_a_name_that_is_no_measure_is_refused(name, said):
    with pytest.raises(ValueError, match=said):
        measure(name)


def test_a_measure_that_was_not_scored_is_refused():
    found = scores(runs(), grades(), ["P@2"])
    with pytest.raises(ValueError, match="measure AP was not scored; scored: P@2"):
        found.mean("AP")


def test_no_label_at_all_is_refused():
    rows = pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []})
    with pytest.raises(DataError, match="none: no query has a label, so nothing can be scored"):
        scores(runs(), grades_on(runs(), labels_from(rows, "none")), ["P@2"])


def test_the_epoch_names_the_judged_pairs_and_not_their_grades():
    one, other = (
        grades(),
        grades({"q1": {"d1": 0, "d2": 1, "d4": 0}, "q2": {"d4": 1, "d5": 2, "d1": 1, "d3": 0}}),
    )
    more = grades({"q1": {"d1": 2, "d2": 1, "d4": 0, "d3": 0}, "q2": {"d4": 1, "d5": 2, "d1": 1, "d3": 0}})
    assert one.epoch == other.epoch != more.epoch
    assert scores(runs(), one, ["P@2"]).epoch == one.epoch


def test_scores_of_two_epochs_are_not_mixed():
    early = scores(runs(), grades({"q1": {"d1": 2}, "q2": {"d5": 2}}), ["P@2"])
    late = scores(runs(), grades(), ["P@2"])
    said = (
        f"author: scores of two pool epochs ({early.epoch} and {late.epoch}) do not belong in one table, for other "
        "pairs were judged. Score all systems again under the present labels."
    )
    with pytest.raises(DataError) as refused:
        one_epoch(early, late)
    assert str(refused.value) == said
    one_epoch(late, late.on(["q1"]), scores(runs(), grades(), ["AP"]))
    # Another judge's labels are another column, and may cover other pairs.
    one_epoch(late, scores(runs(), grades_on(runs(), labels({"q1": {"d1": 1}}, "robot")), ["P@2"]))


def test_selected_queries_keep_their_scores():
    found = scores(runs(), grades(), ["P@2"])
    part = found.on(["q2"])
    assert part.mean("P@2").to_dict() == {"bm25": 0.5, "dense": 1.0, "hybrid": 0.0}
    assert part.missing == (("hybrid", "q2"),)
    with pytest.raises(ValueError, match="queries without author cannot be selected"):
        found.on(["q9"])
