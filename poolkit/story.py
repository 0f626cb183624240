"""Results as sentences: every number in a notebook's prose is written here, from the result itself."""

import numpy as np
import pandas as pd

from poolkit.agree import LabelAgreement
from poolkit.bias import LeftOut
from poolkit.certify import Certificates
from poolkit.choose import BestSet
from poolkit.correlate import Correlation
from poolkit.disagree import CONFLICT, NOISE, STRONG, UNKNOWN, Disagreements
from poolkit.display import Html, answer, count, form, names, notes, p_value, percent, sentence, with_interval
from poolkit.growth import Growth, GrowthOrders
from poolkit.noise import SimulatedNoise
from poolkit.pool import Pool
from poolkit.stability import Repeats

NO_HUMAN = "Without human labels and a judge's on the same queries this cannot be known."
NO_REPEATS = (
    "No judge has graded a pair twice, so how far it repeats itself is unknown. "
    "`poolkit judge DATA --sample 300 --replicate 1` would tell."
)


def pool_story(pool: Pool) -> Html:
    """How much judging the pool saves."""
    return answer(
        f"{count(len(pool.runs.systems), 'system')} returned {count(pool.independent, 'document')} within depth "
        f"{pool.depth} for {count(len(pool.runs.queries), 'query', 'queries')}; the pool holds "
        f"{pool.unique:,} different ones. Judging each once saves {percent(pool.reuse)} of the judgments: "
        f"judging every system by itself would cost {pool.cost_factor:.1f} times as much."
    )


def arrival_story(arrivals: pd.DataFrame) -> Html:
    """What the last arrivals cost."""
    last, later = arrivals.iloc[-1], arrivals["new"].iloc[1:]
    if later.empty:
        return sentence(f"{arrivals.index[-1]} is the only system: all its documents are new.")
    return sentence(
        f"The last system to arrive, {arrivals.index[-1]}, brings {count(last['new'], 'new document')} "
        f"({percent(last['share'])} of what it returns). After the first, the costliest arrival is "
        f"{later.idxmax()} with {count(later.max(), 'new document')}."
    )


def judging_story(title: str, judged: int, failed: int, unique: int) -> Html:
    """How far a pool is judged."""
    unjudged = unique - judged - failed
    return answer(
        f"{title}: {judged:,} of {count(unique, 'pooled pair')} graded ({percent(judged / unique)}), "
        f"{failed:,} failed, {unjudged:,} unjudged."
    )


def correlation_story(found: Correlation | None) -> Html:
    """Whether the judge orders the systems as people do."""
    if found is None:
        return notes([NO_HUMAN])
    if not found.pairs:
        return answer("There is one system only, so there is no order to compare.")
    over = f"By mean {found.measure} over {count(found.n_queries, 'query', 'queries')}"
    if np.isnan(found.rho.value):
        return answer(f"{over}, a side scores all systems alike, so their orders cannot be correlated.")
    return answer(
        f"{over}, {found.judge} and {found.human} order {count(len(found.means), 'system')} with Spearman's rho "
        f"{with_interval(found.rho)} and Kendall's tau-b {with_interval(found.tau)}; {found.agree:,} of "
        f"{count(found.pairs, 'pair')} of systems {form(found.agree, 'stands', 'stand')} in the same order "
        f"({percent(found.pair_agreement)})."
    )


def ceiling_story(found: Correlation | None) -> Html:
    """How far the queries alone move an order, and the p-values."""
    if found is None:
        return notes([NO_HUMAN])
    text = f"tau-AP, which weighs the top, is {with_interval(found.tau_ap)}."
    if not np.isnan(found.rho.p_value):
        p = f"{p_value(found.rho.p_value)} for rho, {p_value(found.tau.p_value)} for tau-b"
        text = f"Against no correlation at all: {p}; {text}"
    if not np.isnan(found.ceiling.rho):
        halves, full = found.ceiling.rho, found.ceiling.spearman_brown
        said = f" ({full:.3f} for two full sets, by Spearman-Brown)" if halves > 0 else ""
        text = (
            f"Two random halves of the queries, both under {found.human}, rank the systems with a mean rho of "
            f"{halves:.3f}{said}: that far the choice of queries alone moves the order. {text}"
        )
    return sentence(f"{text} {count(len(found.near_ties), 'pair is a near-tie', 'pairs are near-ties')}.")


def calibration_story(found: Correlation | None) -> Html:
    """How far the judge's scores are shifted."""
    if found is None:
        return notes([NO_HUMAN])
    c = found.calibration
    if np.isnan(c.mean):
        return sentence(f"Every mean is 0 under {found.human}, so no shift in percent is defined.")
    text = f"On average the judge's mean {found.measure} lies {abs(c.mean):.1f} % "
    text += f"{'below' if c.mean < 0 else 'above'} that of {found.human}"
    if np.isnan(c.sd):
        return sentence(f"{text}, for the one system where this is defined.")
    return sentence(
        f"{text} (from {c.low:+z.1f} % to {c.high:+z.1f} %, a spread of {c.spread:.1f} points, standard deviation "
        f"{c.sd:.1f}). A shift that all systems share leaves their order alone; the spread does not."
    )


def agreement_story(found: LabelAgreement | None) -> Html:
    """How far the judge grades documents as people do."""
    if found is None:
        return notes([NO_HUMAN])
    a = found.agreement
    if not a.n:
        return sentence(f"{a.left} and {a.right} graded no pair in common.")
    return sentence(
        f"Of {count(a.n, 'pair')} that both graded, a share of {with_interval(found.exact)} has the same grade and "
        f"{with_interval(found.binary)} falls on the same side of relevance. Cohen's kappa is "
        f"{with_interval(found.kappa)} ({with_interval(found.kappa_quadratic)} with quadratic weights). Relevant "
        f"are {percent(a.relevant_left)} under {a.left}, {percent(a.relevant_right)} under {a.right}."
    )


def disagreement_story(found: Disagreements | None) -> Html:
    """Whether the disagreements are real."""
    if found is None:
        return notes([NO_HUMAN])
    c, n = found.counts, int(found.counts["different"])
    if not n:
        return answer(f"{found.judge} and {found.human} order no pair of systems differently.")
    said = f"Of {count(c['pairs'], 'pair')} of systems, {n:,} {form(n)} ordered differently by "
    said += f"{found.judge} and {found.human}"
    if c[UNKNOWN]:
        return answer(f"{said}; whether that is noise, one query cannot tell.")
    left = count(c[CONFLICT], "conflict remains", "conflicts remain")
    strong = f", {c[STRONG] or 'none'} of them strong" if c[CONFLICT] > 1 else ", a strong one" * c[STRONG]
    p = found.pairs["human_p"]
    sure = int(((p <= found.level) | (p >= 1 - found.level)).sum())
    return answer(
        f"{said}: {c[NOISE]:,} ({percent(found.noise_share)}) within human noise; {left}{strong}. "
        f"{percent(found.preserved)} of all pairs are not contradicted; {found.human} alone can tell "
        f"{sure:,} of them apart on these queries."
    )


def bias_story(found: LeftOut | None, measure: str) -> Html:
    """What leaving a family out of the pool does."""
    if found is None:
        return notes(["To leave systems out takes labels, two groups and a measure such as nDCG@10."])
    mine = found.effects[found.effects["measure"] == measure].sort_values("largest", kind="stable")
    if mine.empty:
        return notes([f"{measure} cannot be recomputed on a smaller pool here."])
    loss, bearer = mine["largest"].iloc[-1], mine["system"].iloc[-1]
    flips, near, after = (int(mine[c].sum()) for c in ("flips", "near_ties", "flips_repaired"))
    what = count(len(mine), found.by, "families" if found.by == "family" else "systems")
    turned = found.flips[found.flips["measure"] == measure]
    pairs = len({frozenset(x) for x in zip(turned["better"], turned["worse"], strict=True)})
    told = f"makes {count(flips, 'reversal')} of {count(pairs, 'pair')}" if flips else "reverses no pair"
    text = f"Leaving each of {what} out of the pool in turn {told} "
    text += f"of systems by mean {measure}{f' ({near:,} near-tied)' if near else ''}; "
    text += f"the largest loss is {loss:.4f}, for {bearer}." if loss > 1e-12 else "no system loses."
    if flips:
        text += " Once the documents that only the newcomer brings are judged, "
        text += f"{count(after, 'reversal remains', 'reversals remain') if after else 'none remains'}."
    return answer(text)


def growth_story(found: GrowthOrders | None) -> Html:
    """How stable the ranking is while the pool grows."""
    if found is None:
        return notes(["Growth needs labels, two systems, and a measure that reads no rank beyond the depth."])
    text = (
        f"In {int((found.reversals > 0).sum()):,} of {count(len(found.orders), 'random order')} of arrival "
        f"({percent(found.share)}, 95 % interval {percent(found.low)} to {percent(found.high)}) some pair of "
        f"systems stood, for a while, the other way round than finally, by mean {found.measure}."
    )
    if len(found.fragile):
        pairs = count(len(found.fragile), "such pair is", "such pairs is at most")
        text += f" The final gap of the {pairs} {found.fragile['final_gap'].max():.4f}."
    if not np.isnan(found.worst_tau):
        text += f" With three or more systems present, the lowest tau-b with the final order was {found.worst_tau:.3f}."
    return answer(text)


def invariant_story(found: GrowthOrders | None) -> Html:
    """Whether the invariant inside a query held."""
    if found is None:
        return notes(["Not checked: growth needs labels and two systems."])
    text = "Inside one query no two systems may change order as the pool grows: checked "
    broken = f"violated {count(found.violations, 'time')}" if found.violations else "never violated"
    return sentence(f"{text}{count(found.checked, 'time')}, {broken}.")


def certificate_story(found: Certificates | None) -> Html:
    """How many pairs of systems no later system can turn round."""
    if found is None:
        return notes(["No certificates: they need labels, two systems, and a measure within the depth."])
    status = found.pairs["status"].value_counts()
    said = "any number of" if found.further is None else f"at most {found.further:,}"
    more = f"further relevant {form(found.further or 0, 'document', 'documents')} per query"
    text = (
        f"Whatever systems come later, with {said} {more}, {status.get('certified', 0):,} of "
        f"{count(len(found.pairs), 'pair')} of systems cannot be reversed; {status.get('open', 0):,} can, and "
        f"{status.get('tied', 0):,} {form(status.get('tied', 0))} tied now."
    )
    opened = found.pairs.loc[found.pairs["status"] == "open", "smallest"].astype(int)
    if len(opened):
        half = int(opened.quantile(0.5, interpolation="higher"))
        text += f" The most fragile needs {count(opened.min(), 'further relevant document')} per query"
        text += f", half of the open ones {half:,} or fewer." if len(opened) > 1 else "."
    return sentence(text)


def given_order_story(found: Growth | None) -> Html:
    """What happened in the given order of arrival."""
    if found is None:
        return notes(["Not shown: growth needs labels and two systems."])
    low, n = found.arrivals["tau"].min(), len(found.reversals)
    text = f"In the given order {count(n, 'pair') if n else 'no pair'} ever stood the other way round than finally"
    return sentence(
        text + ("." if np.isnan(low) else f"; the lowest tau-b with the final order was {low:.3f}.")
    )


def repeats_story(found: Repeats | None) -> Html:
    """Whether the judge repeats itself."""
    if found is None:
        return notes([NO_REPEATS])
    if not found.n:
        return notes(["No pair was read twice, so how far the judge repeats itself is unknown."])
    return answer(
        f"Of {count(found.n, 'pair')} judged again, a share of {with_interval(found.exact)} gets the same grade, "
        f"{with_interval(found.within_one)} a grade at most one apart, and {with_interval(found.binary)} the same "
        f"side of relevance; Cohen's kappa is {with_interval(found.kappa)}."
    )


def noise_story(found: SimulatedNoise | None) -> Html:
    """How many pairs of systems the judge's own noise could turn."""
    if found is None:
        return notes([NO_REPEATS])
    often = found.pairs[found.pairs["turned"] > 0.05]
    return sentence(
        f"Simulated: were every grade given once more with the flips seen in the repeats, {len(often):,} of "
        f"{count(len(found.pairs), 'pair')} of systems would change order in more than 5 % of "
        f"{count(len(found.means), 'world')}; tau-b with the observed order is {with_interval(found.tau)}."
    )


def best_story(found: BestSet | None) -> Html:
    """Which systems may be chosen."""
    if found is None:
        return notes(["Choosing needs labels and two systems."])
    rest = [s for s in found.systems if s != found.best]
    text = f"{found.best} has the highest mean {found.measure} ({found.table['mean'].iloc[0]:.3f}). "
    how = f"(paired bootstrap, Holm over {count(found.n_tests, 'comparison')})"
    if not len(found.draws):
        return answer(text + "On one query it cannot be told from the others.")
    if not rest:
        return answer(text + f"Every other system is worse {how}.")
    return answer(f"{text}{count(len(rest), 'system')} cannot be told from it {how}: {names(rest, first=8)}.")
