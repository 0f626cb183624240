"""Results as sentences: every number in a notebook's prose is written here, from the result itself."""

from collections.abc import Mapping

import numpy as np

from poolkit.agree import LabelAgreement
from poolkit.bias import LeftOut
from poolkit.choose import BestSet
from poolkit.correlate import Correlation
from poolkit.disagree import CONFLICT, NOISE, STRONG, UNKNOWN, Disagreements
from poolkit.display import (
    Html,
    answer,
    count,
    form,
    missing,
    names,
    p_value,
    percent,
    sentence,
    with_interval,
)
from poolkit.noise import Rankings, SimulatedNoise
from poolkit.plain import named
from poolkit.stability import Judges, Repeats

NO_HUMAN = "Without reference labels and a judge's on the same queries this cannot be known."
NO_REPEATS = (
    "No judge has graded a pair twice, so how far it repeats itself is unknown. "
    "`poolkit judge DATA --sample 300 --replicate 1` would tell."
)


def correlation_story(found: Correlation | None) -> Html:
    """Whether the judge orders the systems as people do."""
    if found is None:
        return missing(NO_HUMAN)
    if not found.pairs:
        return answer("There is one system only, so there is no order to compare.")
    over = f"By mean {found.measure} over {count(found.n_queries, 'query', 'queries')}"
    if np.isnan(found.rho.value):
        return answer(f"{over}, a side scores all systems alike, so their orders cannot be correlated.")
    return answer(
        f"{over}, {named(found.judge)} and {named(found.human)} order {count(len(found.means), 'system')} with "
        f"Spearman's rho {with_interval(found.rho)} and Kendall's tau-b {with_interval(found.tau)}; {found.agree:,} of "
        f"{count(found.pairs, 'pair')} of systems {form(found.agree, 'stands', 'stand')} in the same order "
        f"({percent(found.pair_agreement)})."
    )


def ceiling_story(found: Correlation | None) -> Html:
    """How far the queries alone move an order, and the p-values."""
    if found is None:
        return missing(NO_HUMAN)
    text = f"tau-AP, which weighs the top, is {with_interval(found.tau_ap)}."
    if not np.isnan(found.rho.p_value):
        p = f"{p_value(found.rho.p_value)} for rho, {p_value(found.tau.p_value)} for tau-b"
        text = f"Against no correlation at all: {p}; {text}"
    if not np.isnan(found.ceiling.rho):
        halves, full = found.ceiling.rho, found.ceiling.spearman_brown
        said = f" ({full:.3f} for two full sets, by Spearman-Brown)" if halves > 0 else ""
        text = (
            f"Two random halves of the queries, both under {named(found.human)}, rank the systems with a mean rho of "
            f"{halves:.3f}{said}: that far the choice of queries alone moves the order. {text}"
        )
    return sentence(f"{text} {count(len(found.near_ties), 'pair is a near-tie', 'pairs are near-ties')}.")


def calibration_story(found: Correlation | None) -> Html:
    """How far the judge's scores are shifted."""
    if found is None:
        return missing(NO_HUMAN)
    c = found.calibration
    if np.isnan(c.mean):
        return sentence(f"Every mean is 0 under {named(found.human)}, so no shift in percent is defined.")
    text = f"On average the judge's mean {found.measure} lies {abs(c.mean):.1f} % "
    text += f"{'below' if c.mean < 0 else 'above'} that of {named(found.human)}"
    if np.isnan(c.sd):
        return sentence(f"{text}, for the one system where this is defined.")
    return sentence(
        f"{text} (from {c.low:+z.1f} % to {c.high:+z.1f} %, a spread of {c.spread:.1f} points, standard deviation "
        f"{c.sd:.1f}). A shift that all systems share leaves their order alone; the spread does not."
    )


def agreement_story(found: LabelAgreement | None) -> Html:
    """How far the judge grades documents as people do."""
    if found is None:
        return missing(NO_HUMAN)
    a = found.agreement
    if not a.n:
        return sentence(f"{named(a.left)} and {named(a.right)} graded no pair in common.")
    return sentence(
        f"Of {count(a.n, 'pair')} that both graded, a share of {with_interval(found.exact)} has the same grade and "
        f"{with_interval(found.binary)} falls on the same side of relevance. Cohen's kappa is "
        f"{with_interval(found.kappa)} ({with_interval(found.kappa_quadratic)} with quadratic weights). Relevant "
        f"are {percent(a.relevant_left)} under {named(a.left)}, {percent(a.relevant_right)} under {named(a.right)}."
    )


def disagreement_story(found: Disagreements | None) -> Html:
    """Whether the disagreements are real."""
    if found is None:
        return missing(NO_HUMAN)
    c, n = found.counts, int(found.counts["different"])
    if not n:
        return answer(f"{named(found.judge)} and {named(found.human)} order no pair of systems differently.")
    said = f"{count(c['pairs'], 'pair')} of systems, {n:,} {form(n)} ordered differently by "
    said += f"{named(found.judge)} and {named(found.human)}"
    if c[UNKNOWN]:
        return answer(f"Of {said}; whether that is noise, one query cannot tell.")
    p = found.pairs["human_p"]
    sure = int(((p <= found.level) | (p >= 1 - found.level)).sum())
    alone = f"{named(found.human)} alone can tell {count(sure, 'pair')} apart on these queries."
    conflicts = int(c[CONFLICT])
    if not conflicts:
        every = "all of them" if n > 1 else "which is"
        return answer(
            f"Not as far as these queries can tell: of {said}, {every} within the noise of these queries; {alone}"
        )
    left = count(conflicts, "conflict remains", "conflicts remain")
    strong = f", {c[STRONG] or 'none'} of them strong" if conflicts > 1 else ", a strong one" * c[STRONG]
    return answer(
        f"For {conflicts:,} of {count(n, 'pair')} it is: of {said}, {c[NOISE]:,} ({percent(found.noise_share)}) of "
        f"them within the noise of these queries; {left}{strong}. {percent(found.preserved)} of all pairs are not "
        f"contradicted; {alone}"
    )


def bias_story(found: LeftOut | None, measure: str) -> Html:
    """What leaving a family out of the pool does."""
    if found is None:
        return missing("To leave systems out takes labels, two groups and a measure such as nDCG@10.")
    mine = found.effects[found.effects["measure"] == measure].sort_values("largest", kind="stable")
    if mine.empty:
        return missing(f"{measure} cannot be recomputed on a smaller pool here.")
    loss, bearer = mine["largest"].iloc[-1], mine["system"].iloc[-1]
    flips, near, after = (int(mine[c].sum()) for c in ("flips", "near_ties", "flips_repaired"))
    what = count(len(mine), found.by, "families" if found.by == "family" else "systems")
    turned = found.flips[found.flips["measure"] == measure]
    pairs = len({frozenset(x) for x in zip(turned["better"], turned["worse"], strict=True)})
    told = f"makes {count(flips, 'reversal')} of {count(pairs, 'pair')}" if flips else "reverses no pair"
    text = f"Leaving each of {what} out of the pool in turn {told} "
    text += f"of systems by mean {measure}{f' ({near:,} near-tied)' if near else ''}; "
    text += f"the largest loss is {loss:.4f}, for {named(bearer)}." if loss > 1e-12 else "no system loses."
    if flips:
        text += " Once the documents that only the newcomer brings are judged, "
        text += f"{count(after, 'reversal remains', 'reversals remain') if after else 'none remains'}."
    return answer(text)


def repeats_story(found: Repeats | None) -> Html:
    """Whether the judge repeats itself."""
    if found is None:
        return missing(NO_REPEATS)
    if not found.n:
        return missing("No pair was read twice, so how far the judge repeats itself is unknown.")
    if found.exact.value == 1:
        return answer(
            f"All {count(found.n, 'pair')} judged again got the same grade. So many equal repeats do not show that no "
            f"grade would move: they exclude, at {percent(found.exact.level, 0)}, that more than "
            f"{percent(found.unseen)} would."
        )
    return answer(
        f"Of {count(found.n, 'pair')} judged again, a share of {with_interval(found.exact)} gets the same grade, "
        f"{with_interval(found.within_one)} a grade at most one apart, and {with_interval(found.binary)} the same "
        f"side of relevance; Cohen's kappa is {with_interval(found.kappa)}."
    )


def judges_story(others: Mapping[str, tuple[Judges, Rankings | None]], measure: str) -> Html:
    """Whether other labels order the systems as the judge does."""
    known = {
        named(labels.labels.right): ranked.rho for labels, ranked in others.values()
        if ranked is not None and not np.isnan(ranked.rho.value)
    }  # fmt: skip
    if not known:
        return sentence("No other labels grade this pool, so what another judge would say is unknown.")
    said = "; ".join(f"{name} {with_interval(rho)}" for name, rho in known.items())
    return answer(
        f"Spearman's rho of its order of the systems, by mean {measure}, with that of other labels: {said}."
    )


def noise_story(found: SimulatedNoise | None, again: Repeats | None = None) -> Html:
    """How many pairs of systems the judge's own noise could turn, as far as `again` shows it."""
    if found is None:
        return missing(NO_REPEATS)
    if again is not None and again.exact.value == 1:
        return sentence(
            "No repeat moved a grade, so there was no noise to simulate: that the order stays in every world says "
            "nothing."
        )
    often = found.pairs[found.pairs["turned"] > 0.05]
    return sentence(
        f"Simulated: were every grade given once more with the flips seen in the repeats, {len(often):,} of "
        f"{count(len(found.pairs), 'pair')} of systems would change order in more than 5 % of "
        f"{count(len(found.means), 'world')}; tau-b with the observed order is {with_interval(found.tau)}."
    )


def best_story(found: BestSet | None) -> Html:
    """Which systems may be chosen."""
    if found is None:
        return missing("Choosing needs labels and two systems.")
    rest = [s for s in found.systems if s != found.best]
    second = f"ahead of {named(found.table.index[1])} by {with_interval(found.lead)}"
    text = f"{named(found.best)} has the highest mean {found.measure} ({found.table['mean'].iloc[0]:.3f}), {second}. "
    how = f"(paired bootstrap, Holm over {count(found.n_tests, 'comparison')})"
    if not len(found.draws):
        return answer(text + "On one query it cannot be told from the others.")
    if not rest:
        return answer(text + f"Every other system is worse {how}.")
    return answer(f"{text}{count(len(rest), 'system')} cannot be told from it {how}: {names(rest, first=8)}.")
