"""Every sentence, in every case: numbers by hand, the right number of each noun, words where nothing is known."""

from types import SimpleNamespace as Result

import numpy as np
import pandas as pd
import pytest

from poolkit import story
from poolkit.resample import Interval

NAN = float("nan")


def around(value, *, spread=0.1, p=0.0004):
    """Value with an interval `spread` to either side, and a p-value."""
    found = Interval(value, value - spread, value + spread, 0.95, np.empty(0))
    return Result(**vars(found), p_value=p)


NONE = around(NAN, p=NAN)


def said(found):
    text = str(found)
    assert "nan" not in text.lower().split()
    assert "None" not in text
    return text


def sides(**more):
    return Result(measure="nDCG@10", human="author grades", judge="reader", **more)


@pytest.mark.parametrize(
    "tell",
    [
        story.correlation_story, story.ceiling_story, story.calibration_story, story.agreement_story,
        story.disagreement_story, lambda x: story.bias_story(x, "P@5"), story.moves_story,
        story.noise_story, story.best_story,
    ],
)  # fmt: skip
def test_what_is_unknown_is_said(tell):
    found = tell(None)
    assert said(found).endswith((".", "would tell."))
    assert found.markup.startswith('<p class="hole">')


def correlation(**more):
    some = {
        "rho": around(0.9), "tau": around(0.75), "tau_ap": around(0.6), "agree": 258, "pairs": 300, "n_queries": 48,
        "pair_agreement": 0.86, "means": range(25), "near_ties": range(2),
        "ceiling": Result(rho=0.6, spearman_brown=0.75),
    }  # fmt: skip
    return sides(**(some | more))


def test_correlation():
    assert said(story.correlation_story(correlation())) == (
        "For 258 of 300 pairs of systems (86.0 %) it does. By mean nDCG@10 over 48 queries, the orders of 25 systems "
        "under reader and under author grades have Spearman's rho 0.90 [0.80, 1.00] and Kendall's tau-b 0.75 [0.65, "
        "0.85]."
    )
    one = correlation(agree=1, pairs=1, pair_agreement=1.0, n_queries=1)
    text = said(story.correlation_story(one))
    assert text.startswith("Yes, for 1 pair of systems. By mean nDCG@10 over 1 query,")
    every = said(story.correlation_story(correlation(agree=300, pair_agreement=1.0)))
    assert every.startswith("Yes, for all 300 pairs of systems. ")


def test_correlation_that_is_not_defined():
    assert said(story.correlation_story(correlation(pairs=0, rho=NONE))) == (
        "There is one system only, so there is no order to compare."
    )
    assert said(story.correlation_story(correlation(rho=NONE))) == (
        "By mean nDCG@10 over 48 queries, a side scores all systems alike, so their orders cannot be correlated."
    )


def test_ceiling():
    assert said(story.ceiling_story(correlation())) == (
        "Two random halves of the queries, both under author grades, rank the systems with a mean rho of 0.600 "
        "(0.750 for two full sets, by Spearman-Brown): that far the choice of queries alone moves the order. Against "
        "no correlation at all: p < 0.001 for rho, p < 0.001 for tau-b; tau-AP, which weighs the top, is 0.60 [0.50, "
        "0.70]. 2 pairs of systems are near-ties."
    )
    negative = correlation(ceiling=Result(rho=-0.5, spearman_brown=-2.0))
    assert "mean rho of -0.500: that far" in said(story.ceiling_story(negative))
    bare = correlation(
        ceiling=Result(rho=NAN, spearman_brown=NAN), rho=NONE, tau=NONE, tau_ap=NONE, near_ties=range(1)
    )
    assert (
        said(story.ceiling_story(bare))
        == "tau-AP, which weighs the top, is undefined. 1 pair of systems is a near-tie."
    )


def calibration(*percent):
    values = pd.Series(percent, dtype=float)
    low, high = values.min(), values.max()
    made = Result(mean=values.mean(), sd=values.std(), low=low, high=high, spread=high - low)
    return story.calibration_story(sides(calibration=made))


def test_calibration():
    # mean of 10 and 20 is 15, sd is sqrt(50) = 7.07
    assert said(calibration(10, 20)) == (
        "On average the judge's mean nDCG@10 lies 15.0 % above that of author grades (from +10.0 % to +20.0 %, a "
        "spread of 10.0 points, standard deviation 7.1). A shift that all systems share leaves their order alone; "
        "the spread does not."
    )
    assert "lies 2.0 % below that of author grades (from -4.0 % to +0.0 %" in said(calibration(-4, -1e-14))
    assert said(calibration(-4)).endswith(
        "4.0 % below that of author grades, for the one system where this is defined."
    )
    assert said(calibration(NAN)) == "Every mean is 0 under author grades, so no shift in percent is defined."


def agreement(n, **more):
    a = Result(n=n, left="author grades", right="reader", relevant_left=0.25, relevant_right=0.5)
    some = {"exact": around(0.8), "binary": around(0.9), "kappa": around(0.7), "kappa_quadratic": NONE}
    return Result(agreement=a, **(some | more))


def test_agreement():
    assert said(story.agreement_story(agreement(740))) == (
        "Of 740 query-document pairs that both graded, a share of 0.80 [0.70, 0.90] has the same grade and 0.90 "
        "[0.80, 1.00] falls on the same side of relevance. Cohen's kappa is 0.70 [0.60, 0.80] (undefined with "
        "quadratic weights). Relevant are 25.0 % under author grades, 50.0 % under reader."
    )
    assert said(story.agreement_story(agreement(1))).startswith("Of 1 query-document pair that both graded")
    assert (
        said(story.agreement_story(agreement(0)))
        == "author grades and reader graded no query-document pair in common."
    )


def disagreements(pairs, noise=0, conflict=0, strong=0, unknown=0):
    different = noise + conflict + strong + unknown
    known = different - unknown
    counts = pd.Series({
        "pairs": pairs, "different": different, "within noise": noise, "conflict": conflict + strong,
        "strong conflict": strong, "unknown": unknown,
    })  # fmt: skip
    share = noise / known if known else NAN
    kept = 1 - (conflict + strong) / pairs if pairs and not unknown else NAN
    return said(
        story.disagreement_story(
            sides(
                counts=counts,
                noise_share=share,
                preserved=kept,
                level=0.05,
                pairs=pd.DataFrame({"human_p": [0.99, 0.5, 0.02]}),
            )
        )
    )


def test_disagreements():
    assert disagreements(200, noise=9, conflict=1) == (
        "For 1 of 10 pairs of systems it is. Of 200 pairs of systems, reader orders 10 differently from author "
        "grades. 9 (90.0 %) of these are too close for author grades to decide on these queries; 1 author grades can "
        "decide, the other way: 1 conflict. author grades can decide 2 of the 200 pairs: only there could a conflict "
        "show."
    )
    assert ": 1 conflict, a strong one. " in disagreements(200, noise=9, strong=1)
    assert ": 3 conflicts. " in disagreements(200, conflict=3)
    assert "too close" not in disagreements(200, conflict=3)
    assert ": 3 conflicts, 1 of them strong. " in disagreements(200, conflict=2, strong=1)
    assert disagreements(3, noise=1) == (
        "No sign of it. Of 3 pairs of systems, reader orders 1 differently from author grades; that one is too close "
        "for author grades to decide on these queries. author grades can decide 2 of the 3 pairs: only there could a "
        "conflict show."
    )
    assert "; all of these are too close for author grades" in disagreements(9, noise=5)


def test_disagreements_that_are_none_or_unknown():
    assert disagreements(300) == "reader and author grades order no pair of systems differently."
    assert disagreements(0) == "reader and author grades order no pair of systems differently."
    assert disagreements(3, unknown=2) == (
        "Of 3 pairs of systems, reader orders 2 differently from author grades; whether that is noise, one query "
        "cannot tell."
    )


def left_out(*rows, turned=0, by="family", sure=None):
    columns = ["measure", "flips", "near_ties", "flips_repaired", "largest", "system"]
    made = Result(
        by=by,
        effects=pd.DataFrame(list(rows), columns=columns),
        full=range(4),
        turned=lambda measure: range(turned),
    )
    return said(story.bias_story(made, "P@5", sure))


def test_bias():
    rows = [("P@5", 2, 1, 0, 0.25, "a"), ("P@5", 1, 0, 1, 0.1, "b"), ("AP@5", 9, 9, 9, 0.9, "c")]
    assert left_out(*rows, turned=2) == (
        "Not wholly: 2 of 6 pairs of systems would change order. Each of 2 families was left out of the pool in turn: "
        "the system that loses most, a, loses 0.2500 of mean P@5. Judging the documents that only the newcomer brings "
        "leaves 1 reversal."
    )
    assert left_out(*rows, turned=2, sure=1).startswith(
        "No: 2 of 6 pairs of systems would change order, 1 of them beyond the noise of these queries. Each"
    )
    assert left_out(*rows, turned=2, sure=0).startswith(
        "Nearly: 2 of 6 pairs of systems would change order, none of which these queries can tell apart. Each"
    )
    assert left_out(("P@5", 1, 1, 0, 1e-17, "a"), turned=1, sure=0, by="system") == (
        "Nearly: 1 of 6 pairs of systems would change order, which these queries cannot tell apart. Each of 1 system "
        "was left out of the pool in turn: no system loses any mean P@5. Judging the documents that only the newcomer "
        "brings undoes every reversal."
    )
    assert left_out(("P@5", 0, 0, 0, 0.1, "a")) == (
        "It would keep its place here, though not its scores. Each of 1 family was left out of the pool in turn: the "
        "system that loses most, a, loses 0.1000 of mean P@5, and no two systems change order."
    )
    assert left_out(("P@5", 0, 0, 0, 0.0, "a")).startswith("Here it would. ")
    assert left_out(("AP@5", 1, 0, 0, 0.1, "a")) == "P@5 cannot be recomputed on a smaller pool here."


def test_repeats():
    some = {"exact": around(0.9), "within_one": around(0.95), "binary": around(0.92), "kappa": NONE}
    assert said(story.repeats_story(Result(n=320, **some))) == (
        "It gave the same grade in 90.0 % [80.0 %, 100.0 %] of 320 repeats. Cohen's kappa between first and second "
        "grade is undefined."
    )
    assert said(story.moves_story(Result(n=320, **some))) == (
        "A share of 0.95 [0.85, 1.05] got a grade at most one apart when judged again, and of 0.92 [0.82, 1.02] one on "
        "the same side of relevance."
    )
    alike = some | {"exact": around(1.0), "unseen": 0.0881}
    assert said(story.repeats_story(Result(n=40, **alike))) == (
        "It gave all 40 query-document pairs judged again the same grade. So many equal repeats do not show that no "
        "grade would move: they exclude, at 95 %, that more than 8.8 % would."
    )
    assert "of 1 repeat." in said(story.repeats_story(Result(n=1, **some)))
    for nothing in (None, Result(n=0)):
        assert said(story.repeats_story(nothing)) == (
            "Whether it repeats itself is unknown. Nothing was judged twice."
        )


def test_noise():
    pairs = pd.DataFrame({"turned": [0.4, 0.05, 0.0]})
    assert said(story.noise_story(Result(pairs=pairs, means=np.zeros((1000, 3)), tau=around(0.8)))) == (
        "Simulated: were every grade given once more with the flips seen in the repeats, 1 of 3 pairs of systems "
        "would change order in more than 5 % of 1,000 worlds; tau-b with the observed order is 0.80 [0.70, 0.90]."
    )


def test_other_labels():
    def other(name, rho, same=0.5):
        ranked = None if rho is None else Result(rho=rho, same=around(same))
        return Result(labels=Result(right=name)), ranked

    others = {"a": other("reader", around(0.8)), "b": other("half", None), "c": other("flat", around(NAN))}
    assert said(story.judges_story(others, "P@5")) == (
        "Other labels put 50.0 % of the pairs of systems in its order. Spearman's rho of the two orders, by mean P@5: "
        "reader 0.80 [0.70, 0.90]."
    )
    several = others | {x: other(x, around(0.9), same=0.75) for x in ("d", "e", "f")}
    text = said(story.judges_story(several, "P@5"))
    assert "Other labels put 50.0 % to 75.0 % of the pairs" in text
    assert text.endswith("d 0.90 [0.80, 1.00]; e 0.90 [0.80, 1.00]; 1 more are in the table.")
    assert "what another judge would say is unknown" in said(story.judges_story({"b": others["b"]}, "P@5"))


def test_noise_that_no_repeat_showed():
    found = Result(pairs=pd.DataFrame({"turned": [0.0]}), means=np.zeros((1000, 3)), tau=around(1))
    assert "there was no noise to simulate" in said(story.noise_story(found, Result(exact=around(1.0))))
    assert said(story.noise_story(found, Result(exact=around(0.9)))).startswith("Simulated: ")


def best(*systems, draws=5, order=(), lead=None):
    table = pd.DataFrame({"mean": [0.7, 0.6]}, index=["a", "b"])
    made = {
        "best": "a",
        "systems": systems,
        "measure": "P@5",
        "n_tests": 1,
        "table": table,
        "draws": np.zeros((draws, 2)),
        "lead": lead or around(0.1, spread=0.05),
    }
    return said(story.best_story(Result(**made), order))


def test_best():
    first = "Its mean P@5 is the highest, 0.700; b is next, behind by 0.10 [0.05, 0.15]."
    assert best("a") == f"a: every other system is worse. {first}"
    assert best("a", "b") == f"a, or another: these queries cannot tell them apart. {first} The other: b."
    many = best("a", *(f"s{i}" for i in range(10)))
    assert many.startswith("a, or any of 10 others: these queries cannot tell them apart. Its")
    assert many.endswith("The others: s0, s1, s2, s3, s4, s5, s6, s7 and 2 more.")
    assert best("a", "b", "c", order=["c", "a", "b"]).endswith("The others: c and b.")
    assert story.best_story(None, [], "reader") == story.best_story(None)
    assert best("a", "b", draws=0) == f"a leads. {first} On one query it cannot be told from the others."
    assert "0.700; b scores the same on every query. The other: b." in best(
        "a", "b", lead=around(0, spread=0)
    )
