"""Every analysis of the toy study: numbers by hand, one seed one result, None and a reason where it lacks."""

import dataclasses

import numpy as np
import pytest
import toy

from poolkit import analyse
from poolkit.study import open_study
from poolkit.tables import DataError

FEW = {"n_resamples": 50}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return open_study(toy.toy_folder(tmp_path_factory.mktemp("analyse") / "toy"))


def replace(study, **labels):
    return dataclasses.replace(study, **labels)


def one_system(study):
    runs = study.collection.runs.select(["dense"])
    catalogue = study.collection.catalogue.loc[["dense"]]
    return replace(study, collection=dataclasses.replace(study.collection, runs=runs, catalogue=catalogue))


ALL = {
    "correlation": lambda s: analyse.correlation(s, **FEW),
    "label_agreements": lambda s: analyse.label_agreements(s, **FEW),
    "disagreements": lambda s: analyse.disagreements(s, **FEW),
    "left_out": analyse.left_out,
    "growing": analyse.growing,
    "growing_at_random": lambda s: analyse.growing_at_random(s, n_orders=5),
    "certificates": analyse.certificates,
    "judged_again": lambda s: analyse.judged_again(s, **FEW),
    "simulated_noise": lambda s: analyse.simulated_noise(s, n_worlds=5),
    "best_systems": lambda s: analyse.best_systems(s, **FEW),
    "thresholds": analyse.thresholds,
    "every_two": lambda s: analyse.every_two(s, **FEW),
}
NEED_BOTH = {"correlation", "label_agreements", "disagreements", "thresholds"}
NEED_JUDGE = {"judged_again", "simulated_noise"}
NEED_TWO = {"left_out", "growing", "growing_at_random", "certificates", "best_systems", "every_two"}


def missing(study):
    return {name for name, made in ALL.items() if made(study) is None}


def test_the_whole_study_has_everything(study):
    assert missing(study) == set()
    assert analyse.lacks(study) == ()


@pytest.mark.parametrize(
    ("change", "gone", "said"),
    [
        ({"human": None}, NEED_BOTH, "There are no human labels, so correlation with them and disagreements"),
        (
            {"judge": None},
            NEED_BOTH | NEED_JUDGE,
            "No judge has graded this pool; scores are those under author",
        ),
        ({"human": None, "judge": None}, set(ALL), "There are no labels yet, so no system has a score."),
    ],
)
def test_what_is_missing_without_labels(study, change, gone, said):
    part = replace(study, **change)
    assert missing(part) == gone
    assert [x.startswith(said) for x in analyse.lacks(part)] == [True]


def test_sides_without_a_common_query(study):
    part = replace(
        study, human=toy.labels({"q1": toy.GRADES["q1"]}), judge=toy.labels({"q2": toy.JUDGED["q2"]}, "robot")
    )
    assert missing(part) == NEED_BOTH
    assert analyse.lacks(part) == ("author and robot have no query in common, so they cannot be compared.",)


def test_a_judge_without_a_grade(study):
    silent = replace(study, judge=toy.labels({}, "robot", title="the robot", human=False))
    assert silent.judge_scores is None
    assert analyse.lacks(silent) == ("the robot: no pair has a grade.",)
    assert missing(silent) >= NEED_BOTH


def test_one_system(study):
    part = one_system(study)
    assert missing(part) == NEED_TWO
    assert analyse.lacks(part) == (
        "There is one system only: nothing can be compared.",
        "There is one family only: leaving it out would leave nothing.",
    )


def test_few_queries_and_systems_are_said(study):
    runs = study.collection.runs
    catalogue = study.collection.catalogue.loc[["bm25", "dense"]]
    pair = dataclasses.replace(study.collection, runs=runs.select(["bm25", "dense"]), catalogue=catalogue)
    assert analyse.lacks(replace(study, collection=pair)) == (
        "There are two systems only: one pair, whose order is right or wrong.",
    )
    one = toy.runs({"bm25": {"q2": ["d3"]}, "dense": {"q2": ["d5"]}, "hybrid": {}}, ("q2",))
    single = replace(study, collection=dataclasses.replace(study.collection, runs=one))
    assert analyse.lacks(single) == (
        "There is one query only: it cannot be resampled, so nothing has an interval.",
    )


def test_human_labels_may_play_the_judge(study):
    part = replace(study, judge=study.human)
    assert missing(part) == NEED_JUDGE  # no records, so no repeats
    assert analyse.correlation(part, **FEW).rho.value == 1


def test_a_measure_beyond_the_depth_cannot_grow(study):
    deep = replace(study, measures=("nDCG@5",))
    assert missing(deep) == {"growing", "growing_at_random", "certificates", "thresholds"}  # no threshold


def test_a_measure_that_is_no_fraction_is_scored_but_not_taken_apart(study):
    other = replace(study, measures=("Bpref",))
    assert analyse.correlation(other, **FEW) is not None
    assert {"left_out", "growing", "certificates", "simulated_noise"} <= missing(other)


def test_numbers_of_the_toy_world(study):
    found = analyse.correlation(study, **FEW)
    # ranks 1 2 3 against 2 1 3: rho = 1 - 6 * 2 / (3 * 8) = 1/2, tau-b = (2 - 1) / 3
    assert found.rho.value == pytest.approx(1 / 2)
    assert found.tau.value == pytest.approx(1 / 3)
    assert (found.agree, found.differ) == (2, 1)
    labels = analyse.label_agreements(study, **FEW).agreement
    assert (labels.n, labels.exact) == (6, 5 / 6)  # q2 d4 is 1 and 2; d3 on q1, d4 on q1 have one grade each
    again = analyse.judged_again(study, **FEW)
    assert (again.n, again.exact.value) == (7, 5 / 7)
    assert analyse.disagreements(study, **FEW).counts["different"] == 1
    assert analyse.left_out(study).groups["unique"].to_dict() == {"lexical": 2, "neural": 3}
    assert analyse.left_out(study, by="system").by == "system"
    assert analyse.growing(study).arrivals["new"].tolist() == [5, 3, 0]
    assert analyse.best_systems(study, **FEW).best == "dense"
    assert analyse.certificates(study, further=0).certified == 3
    assert analyse.certificates(study).top == 2


def test_the_scale_of_the_collection_tops_the_certificates(study):
    config = study.collection.config | {"grades": {"0": "no", "3": "yes"}}
    wide = replace(study, collection=dataclasses.replace(study.collection, config=config))
    assert analyse.certificates(wide).top == 3


def test_a_grade_that_was_never_repeated_stays(study):
    records = study.collection.judgments["robot"]
    low = records[(records["replicate"] == 0) | (records["doc_id"].isin(["d3"]))]  # both d3 have grade 0
    part = dataclasses.replace(study.collection, judgments={"robot": low})
    found = analyse.simulated_noise(replace(study, collection=part), n_worlds=5)
    assert found.systems["shift"].abs().max() == pytest.approx(0)
    assert "no pair of grade 2 was repeated, so those 3 stay as they are" in found.notes


def test_repeats_that_all_failed_show_no_noise(study):
    records = study.collection.judgments["robot"]
    failed = records.assign(status=records["status"].where(records["replicate"] == 0, "unreadable"))
    part = replace(study, collection=dataclasses.replace(study.collection, judgments={"robot": failed}))
    assert analyse.judged_again(part, **FEW).n == 0
    assert analyse.simulated_noise(part, n_worlds=5) is None


def test_factors(study):
    effects = analyse.factor_effects(study, **FEW)
    assert list(effects) == ["mode"]
    # dense .690047 less bm25 .667718
    first = effects["mode"].contrasts.iloc[0]
    assert (first["from_level"], first["to_level"]) == ("bm25", "dense")
    assert first["difference"] == pytest.approx(0.022329, abs=1e-6)
    assert analyse.factor_effects(replace(study, human=None, judge=None)) == {}


def test_factors_that_collection_toml_names(study):
    catalogue = study.collection.catalogue.assign(price=[1.0, 2.0, 3.0])
    priced = dataclasses.replace(study.collection, catalogue=catalogue)
    spoiled = analyse.factor_effects(replace(study, collection=priced), **FEW)
    assert (
        "price differ too; if costs, name the others as factors in collection.toml"
        in spoiled["mode"].notes[0]
    )
    named = dataclasses.replace(priced, config=priced.config | {"factors": ["mode"]})
    found = analyse.factor_effects(replace(study, collection=named), **FEW)
    assert list(found) == ["mode"]
    assert len(found["mode"].contrasts) == 3
    odd = dataclasses.replace(priced, config=priced.config | {"factors": ["modes"]})
    with pytest.raises(
        DataError, match=r"collection.toml: factors names modes, but systems.csv has family, mode, p"
    ):
        analyse.factor_effects(replace(study, collection=odd), **FEW)


def test_two_epochs_of_one_judge_are_refused(study):
    part = replace(study, human=toy.labels({"q1": toy.GRADES["q1"], "q2": toy.GRADES["q2"]}, "robot"))
    for made in (analyse.correlation, analyse.disagreements):
        with pytest.raises(DataError, match="robot: scores of two pool epochs"):
            made(part, **FEW)


def test_one_seed_gives_one_result(study):
    for made in (analyse.correlation, analyse.disagreements):
        a, b, c = made(study, seed=1, **FEW), made(study, seed=1, **FEW), made(study, seed=2, **FEW)
        assert np.array_equal(a.human_draws, b.human_draws)
        assert not np.array_equal(a.human_draws, c.human_draws)
    a, b = (analyse.growing_at_random(study, seed=5, n_orders=9).orders.tolist() for _ in range(2))
    assert a == b
    a, b = (analyse.simulated_noise(study, seed=5, n_worlds=9).means.tolist() for _ in range(2))
    assert a == b
    a, b = (analyse.best_systems(study, seed=5, **FEW).draws.tolist() for _ in range(2))
    assert a == b


def test_other_judges(study):
    assert analyse.other_judges(study) == {}
    more = study.collection.labels | {
        "second": toy.labels(toy.GRADES, "second"),
        "third": toy.labels({"q1": {"d1": 0}}, "third", human=False),
        "fourth": toy.labels({}, "fourth", human=False),
    }
    wide = replace(study, collection=dataclasses.replace(study.collection, labels=more))
    found = analyse.other_judges(wide, **FEW)
    assert list(found) == ["second", "third", "fourth"]
    labels, ranked = found["second"]
    assert (labels.n, labels.exact.value) == (6, 5 / 6)
    assert (ranked.left, ranked.right) == ("robot", "second")
    assert ranked.rho.value == pytest.approx(1 / 2)
    assert ranked.same.value == pytest.approx(2 / 3)
    labels, ranked = found["third"]
    assert (labels.n, ranked.n_queries) == (1, 1)
    assert found["fourth"][1] is None  # no grade, no ranking
    assert analyse.other_judges(replace(wide, judge=None)) == {}


def test_another_judge_on_other_queries_has_no_ranking(study):
    more = {"q2": toy.labels({"q2": {"d5": 1}}, "q2", human=False)}
    robot = toy.labels({"q1": toy.JUDGED["q1"]}, "robot", human=False)
    wide = replace(study, judge=robot, collection=dataclasses.replace(study.collection, labels=more))
    labels, ranked = analyse.other_judges(wide, **FEW)["q2"]
    assert (labels.n, ranked) == (0, None)


def test_caveats_lead_with_the_collections_note_and_end_with_its_holes(study):
    noted = dataclasses.replace(
        study.collection, config=study.collection.config | {"note": "No person graded."}
    )
    said = analyse.caveats(dataclasses.replace(study, collection=noted))
    assert said[0] == "No person graded."
    assert said[-1] == (
        "1 of 8 pooled query-document pairs (12.5 %) have no grade under robot; scores count them as not relevant."
    )
