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
NO_REPEATS = "Nothing was judged twice, so how far the judge repeats itself is unknown."


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
    spread = round(c.high, 1) - round(c.low, 1)  # of what is printed
    return sentence(
        f"{text} (from {c.low:+z.1f} % to {c.high:+z.1f} %, a spread of {spread:.1f} points, standard deviation "
        f"{c.sd:.1f}). A shift that all systems share leaves their order alone; the spread does not."
    )


def _pairs(systems: int) -> str:
    """Pairs of so many systems, in words."""
    return f"{count(systems * (systems - 1) // 2, 'pair')} of systems"


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
    judge, every = named(found.judge), count(c["pairs"], "pair")
    said = f"Of {every} of systems, {judge} orders {n:,} differently from {human}"
    if c[UNKNOWN]:
        return answer(f"{said}; whether that is noise, one query cannot tell.")
    p = found.pairs["human_p"]
    sure = int(((p <= found.level) | (p >= 1 - found.level)).sum())
    test = f"{human} can decide {sure:,} of the {every}: only there could a conflict show."
    conflicts = int(c[CONFLICT])
    if not conflicts:
        close = "all of these are" if n > 1 else "that one is"
        return answer(
            "No sign of it.", f"{said}; {close} too close for {human} to decide on these queries. {test}"
        )
    strong = "" if not c[STRONG] else f", {c[STRONG]:,} of them strong" if conflicts > 1 else ", a strong one"
    noise = f"{c[NOISE]:,} ({percent(found.noise_share)}) of these {form(c[NOISE])} too close for {human} to decide on "
    noise = f"{noise}these queries; " if c[NOISE] else ""
    return answer(
        f"For {conflicts:,} of {count(n, 'pair')} of systems it is.",
        f"{said}. {noise}{conflicts:,} {human} can decide, the other way: {count(conflicts, 'conflict')}{strong}. "
        f"{test}",
    )


def bias_story(found: LeftOut | None, measure: str, sure: int | None = None) -> Html:
    """What leaving a family out of the pool does; `sure` of the pairs that turn these queries can tell apart."""
    if found is None:
        return missing("To leave systems out takes labels, two groups and a measure such as nDCG@10.")
    mine = found.effects[found.effects["measure"] == measure].sort_values("largest", kind="stable")
    if mine.empty:
        return missing(f"{measure} cannot be recomputed on a smaller pool here.")
    loss, bearer = mine["largest"].iloc[-1], mine["system"].iloc[-1]
    after, turned = int(mine["flips_repaired"].sum()), len(found.turned(measure))
    what = count(len(mine), found.by, "families" if found.by == "family" else "systems")
    text = f"Each of {what} was left out of the pool in turn: "
    text += (
        f"the system that loses most, {named(bearer)}, loses {loss:.4f} of mean {measure}"
        if loss > 1e-12
        else f"no system loses any mean {measure}"
    )
    if not turned:
        verdict = "It would keep its place here, though not its scores." if loss > 1e-12 else "Here it would."
        return answer(verdict, f"{text}, and no two systems change order.")
    text += ". Judging the documents that only the newcomer brings "
    text += f"leaves {count(after, 'reversal')}." if after else "undoes every reversal."
    pairs = f"{turned:,} of {_pairs(len(found.full))} would change order"
    if sure is None:
        return answer(f"Not wholly: {pairs}.", text)
    if sure:
        return answer(f"No: {pairs}, {sure:,} of them beyond the noise of these queries.", text)
    close = form(turned, "which these queries cannot", "none of which these queries can")
    return answer(f"Nearly: {pairs}, {close} tell apart.", text)


def repeats_story(found: Repeats | None) -> Html:
    """Whether the judge repeats itself."""
    if found is None or not found.n:
        return answer("Whether it repeats itself is unknown.", "Nothing was judged twice.")
    if found.exact.value == 1:
        return answer(
            f"It gave all {count(found.n, 'query-document pair')} judged again the same grade.",
            f"So many equal repeats do not show that no grade would move: they exclude, at "
            f"{percent(found.exact.level, 0)}, that more than {percent(found.unseen)} would.",
        )
    e = found.exact
    share = f"{percent(e.value)} [{percent(e.low)}, {percent(e.high)}]"
    return answer(
        f"It gave the same grade in {share} of {count(found.n, 'repeat')}.",
        f"Cohen's kappa between first and second grade is {with_interval(found.kappa)}.",
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
    said = [f"{name} {with_interval(ranked.rho)}" for name, ranked in known.items()]
    more = f"; {len(said) - 3:,} more are in the table" if len(said) > 3 else ""
    return answer(
        f"Other labels put {low if low == high else f'{low} to {high}'} of the pairs of systems in its order.",
        f"Spearman's rho of the two orders, by mean {measure}: {'; '.join(said[:3])}{more}.",
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


def best_story(found: BestSet | None, order: Sequence[str] = (), under: str = "") -> Html:
    """Which systems may be chosen, `under` which labels; the page lists systems in this order."""
    if found is None:
        return missing("Choosing needs labels and two systems.")
    rest = sorted((s for s in found.systems if s != found.best), key=list(order or found.systems).index)
    best, second = named(found.best), named(found.table.index[1])
    lead = f"{second} is next, behind by {with_interval(found.lead)}"
    if found.lead.low == found.lead.high == 0:
        lead = f"{second} scores the same on every query"
    by = f" under {named(under)}" if under else ""
    text = f"Its mean {found.measure}{by} is the highest, {found.table['mean'].iloc[0]:.3f}; {lead}."
    if not len(found.draws):
        return answer(f"{best} leads.", f"{text} On one query it cannot be told from the others.")
    if not rest:
        return answer(f"{best}: every other system is worse.", text)
    others = f"{form(len(rest), 'another', f'any of {len(rest):,} others')}"
    return answer(
        f"{best}, or {others}: these queries cannot tell them apart.",
        f"{text} {form(len(rest), 'The other', 'The others')}: {names(rest, first=8)}.",
    )
