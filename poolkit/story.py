"""Results as sentences: every number in a notebook's prose is written here, from the result itself."""

from collections.abc import Mapping, Sequence

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
    every, some = (
        count(found.pairs, "pair"),
        f"For {found.agree:,} of {count(found.pairs, 'pair')} of systems",
    )
    verdict = (
        f"Yes, for {'all ' if found.pairs > 1 else ''}{every} of systems."
        if found.agree == found.pairs
        else f"{some} ({percent(found.pair_agreement)}) it does."
    )
    return answer(
        verdict,
        f"{over}, the orders of {count(len(found.means), 'system')} under {named(found.judge)} and under "
        f"{named(found.human)} have Spearman's rho {with_interval(found.rho)} and Kendall's tau-b "
        f"{with_interval(found.tau)}.",
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
    ties = count(len(found.near_ties), "pair of systems is a near-tie", "pairs of systems are near-ties")
    return sentence(f"{text} {ties}.")


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
        return sentence(f"{named(a.left)} and {named(a.right)} graded no query-document pair in common.")
    return sentence(
        f"Of {count(a.n, 'query-document pair')} that both graded, a share of {with_interval(found.exact)} has the "
        f"same grade and {with_interval(found.binary)} falls on the same side of relevance. Cohen's kappa is "
        f"{with_interval(found.kappa)} ({with_interval(found.kappa_quadratic)} with quadratic weights). Relevant "
        f"are {percent(a.relevant_left)} under {named(a.left)}, {percent(a.relevant_right)} under {named(a.right)}."
    )


def disagreement_story(found: Disagreements | None) -> Html:
    """Whether the disagreements are real."""
    if found is None:
        return missing(NO_HUMAN)
    c, n = found.counts, int(found.counts["different"])
    human = named(found.human)
    if not n:
        return answer(f"{named(found.judge)} and {human} order no pair of systems differently.")
    said = (
        f"{named(found.judge)} and {human} order {n:,} of {count(c['pairs'], 'pair')} of systems differently"
    )
    if c[UNKNOWN]:
        return answer(f"{said}; whether that is noise, one query cannot tell.")
    p = found.pairs["human_p"]
    sure = int(((p <= found.level) | (p >= 1 - found.level)).sum())
    base = f"Of all {count(c['pairs'], 'pair')} of systems, {human} can say so for {sure:,}."
    conflicts = int(c[CONFLICT])
    if not conflicts:
        which = "for none of these can" if n > 1 else "for it"
        end = "" if n > 1 else " cannot"
        return answer(
            "Not as far as these queries can tell.",
            f"{said}, and {which} {human}{end} say on these queries which system is better. {base}",
        )
    strong = "" if not c[STRONG] else f", {c[STRONG]:,} of them strong" if conflicts > 1 else ", a strong one"
    noise = f"For {c[NOISE]:,} of these ({percent(found.noise_share)}) {human} cannot say which system is better on "
    noise = f"{noise}these queries. " if c[NOISE] else ""
    return answer(
        f"For {conflicts:,} of {count(n, 'pair')} of systems it is.",
        f"{said}. {noise}For {conflicts:,} {human} can say which system is better, and the judge says otherwise: "
        f"{count(conflicts, 'conflict')}{strong}. {base}",
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
    text = f"Each of {what} was left out of the pool in turn: "
    text += (
        f"systems lose up to {loss:.4f} of mean {measure} ({named(bearer)} the most)"
        if loss > 1e-12
        else f"no system loses any mean {measure}"
    )
    if not flips:
        verdict = "Here it would keep its place, though not its scores." if loss > 1e-12 else "Here it would."
        return answer(verdict, f"{text}, and no two systems change order.")
    text += f", and there {form(flips)} {count(flips, 'reversal')}"
    if near:
        which = f"{near:,} of them " if near < flips else "all " * (flips > 1)
        text += f", {which}between near-tied systems"
    text += " (a pair may turn with more than one left out)" * (flips > pairs)
    text += ". Once the documents that only the newcomer brings are judged, "
    text += f"{count(after, 'reversal remains', 'reversals remain') if after else 'none remains'}."
    return answer(f"Not wholly: {count(pairs, 'pair')} of systems would change order.", text)


def repeats_story(found: Repeats | None) -> Html:
    """Whether the judge repeats itself."""
    if found is None:
        return missing(NO_REPEATS)
    if not found.n:
        return missing("Nothing was read twice, so how far the judge repeats itself is unknown.")
    if found.exact.value == 1:
        return answer(
            f"It gave all {count(found.n, 'query-document pair')} judged again the same grade.",
            f"So many equal repeats do not show that no grade would move: they exclude, at "
            f"{percent(found.exact.level, 0)}, that more than {percent(found.unseen)} would.",
        )
    return answer(
        f"It gave the same grade in {percent(found.exact.value)} of {count(found.n, 'repeat')}.",
        f"The share of query-document pairs that got the same grade when judged again is {with_interval(found.exact)}; "
        f"Cohen's kappa is {with_interval(found.kappa)}.",
    )


def moves_story(found: Repeats | None) -> Html:
    """How far the grades that moved did move."""
    if found is None or not found.n:
        return missing(NO_REPEATS)
    return sentence(
        f"A share of {with_interval(found.within_one)} got a grade at most one apart when judged again, and of "
        f"{with_interval(found.binary)} one on the same side of relevance."
    )


def judges_story(others: Mapping[str, tuple[Judges, Rankings | None]], measure: str) -> Html:
    """Whether other labels order the systems as the judge does."""
    known = {
        named(labels.labels.right): ranked for labels, ranked in others.values()
        if ranked is not None and not np.isnan(ranked.rho.value)
    }  # fmt: skip
    if not known:
        return sentence("No other labels grade this pool, so what another judge would say is unknown.")
    shares = sorted(ranked.same.value for ranked in known.values())
    low, high = (percent(x) for x in (shares[0], shares[-1]))
    said = "; ".join(
        f"{name} {percent(ranked.same.value)} and {with_interval(ranked.rho)}"
        for name, ranked in known.items()
    )
    return answer(
        f"Other labels put {low if low == high else f'{low} to {high}'} of the pairs of systems in the same order.",
        f"By mean {measure}, the share of pairs of systems in the judge's order, and Spearman's rho with it: {said}.",
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


def best_story(found: BestSet | None, order: Sequence[str] = ()) -> Html:
    """Which systems may be chosen; the page lists systems in this order."""
    if found is None:
        return missing("Choosing needs labels and two systems.")
    rest = sorted((s for s in found.systems if s != found.best), key=list(order or found.systems).index)
    second = f"ahead of {named(found.table.index[1])} by {with_interval(found.lead)}"
    text = f"Its mean {found.measure} is the highest ({found.table['mean'].iloc[0]:.3f}), {second}"
    best, how = named(found.best), f"paired bootstrap, Holm over {count(found.n_tests, 'comparison')}"
    if not len(found.draws):
        return answer(f"{best} leads.", f"{text}. On one query it cannot be told from the others.")
    if not rest:
        return answer(f"{best}: every other system is worse.", f"{text} ({how}).")
    verdict = f"{best}, or {form(len(rest), 'the', f'any of the {len(rest):,}')} {form(len(rest), 'system', 'systems')}"
    return answer(
        f"{verdict} that these queries cannot tell from it.",
        f"{text}; beside it may stand {names(rest, first=8)} ({how}).",
    )
