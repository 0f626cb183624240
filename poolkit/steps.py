"""What to do next, from each result: one sentence under a page's answer."""

import numpy as np

from poolkit.bias import LeftOut
from poolkit.certify import Certificates
from poolkit.choose import BestSet
from poolkit.correlate import Correlation
from poolkit.disagree import CONFLICT, Disagreements
from poolkit.display import Html, count, form, percent, sentence
from poolkit.noise import SimulatedNoise
from poolkit.plain import named
from poolkit.stability import Repeats

JUDGE = "`poolkit status DATA` names the command."
AGAIN = "`poolkit judge DATA --sample 300 --replicate 1`."
NEWCOMER = "add its run, then `poolkit judge DATA`."


def _next(text: str) -> Html:
    return sentence(f"Next: {text}", kind="next")


def after_pool(unjudged: int) -> Html:
    """Next step where a pool has so many pairs without a grade."""
    if unjudged:
        pairs = count(unjudged, "query-document pair that has", "query-document pairs that have")
        return _next(f"grade the {pairs} no grade yet; {JUDGE}")
    return _next(f"nothing to judge: the whole pool has grades. For another system, {NEWCOMER}")


def after_judging(failed: int, unjudged: int, repeated: bool) -> Html:
    """Next step for a judge, by what it failed on, what it has not seen, and whether any pair was read twice."""
    if unjudged:
        return after_pool(unjudged)
    if failed:
        again = f"{count(failed, 'query-document pair')} that failed"
        return _next(f"ask again for the {again}: `poolkit judge DATA --retry-failed`.")
    if not repeated:
        return _next(f"see whether the judge repeats itself: {AGAIN}")
    return _next(
        "see how far these grades can be trusted, on page Correlate and page Stability. There is nothing to judge."
    )


def after_correlation(found: Correlation | None) -> Html:
    """Next step from the correlation of judge and reference labels."""
    if found is None:
        return _next(
            "grade the pool of some queries by hand, as qrels/NAME.tsv, to learn how far to trust the judge."
        )
    same = found.ceiling.spearman_brown
    if np.isnan(same) or np.isnan(found.rho.value):
        return _next("read which pairs of systems the sides order differently, on page Disagree.")
    queries = f"another {count(found.n_queries, 'query', 'queries')}"
    less = found.rho.high < same
    much = "less" if less else "more" if found.rho.value >= same else "about as much"
    other = f"new queries alone would move the order {much}: under {named(found.human)}, {queries} would give a rho of "
    other += f"about {same:.2f}, the judge gives {found.rho.value:.2f}"
    if less:
        return _next(f"find out why, on page Disagree; {other}.")
    return _next(f"compare systems by the judge's order, not by single scores, which are shifted; {other}.")


def after_disagreements(found: Disagreements | None) -> Html:
    """Next step from the pairs that are ordered differently."""
    if found is None:
        return after_correlation(None)
    conflicts, differ = int(found.counts[CONFLICT]), int(found.counts["different"])
    if conflicts:
        what = count(conflicts, "conflict")
        return _next(f"read the {what} below side by side: there the judge errs, or the labels do.")
    if differ:
        return _next(
            f"nothing to settle. Only labels on more queries could say which system is better in the "
            f"{count(differ, 'pair')} that {form(differ, 'differs', 'differ')}."
        )
    return _next("nothing to settle.")


def after_leaving_out(found: LeftOut | None, measure: str) -> Html:
    """Next step from the reversals that unpooled families would bring."""
    if found is None:
        return Html("", "")
    gaps = found.flips.loc[found.flips["measure"] == measure, "gap"]
    why = (
        f"The pairs that would change order are up to {gaps.max():.4f} apart with all documents judged."
        if len(gaps)
        else "The order held here, but nothing warrants that."
    )
    return _next(f"never compare a newcomer before what it alone brings is judged: {NEWCOMER} {why}")


def after_repeats(noise: SimulatedNoise | None, again: Repeats | None = None) -> Html:
    """Next step from the judge's own noise, as far as the repeats show it."""
    if again is None or not again.n:
        return _next(f"see whether the judge repeats itself: {AGAIN}")
    if noise is None:
        return Html("", "")
    often = int((noise.pairs["turned"] > 0.05).sum())
    if often:
        return _next(
            f"treat {often:,} of {count(len(noise.pairs), 'pair')} of systems, listed below, as undecided: noise like "
            "that of the repeats would turn each in more than 5 % of simulated worlds."
        )
    if again.exact.value == 1:
        return _next(
            f"judge more of the pool again. {count(again.n, 'equal repeat')} exclude only that more than "
            f"{percent(again.unseen)} of grades move; what that would do to the order is not simulated."
        )
    return _next(
        f"nothing. The noise seen in {count(again.n, 'repeat')} turns no pair of systems in more than 5 % of simulated "
        "worlds."
    )


def after_growth(certified: Certificates | None) -> Html:
    """Next step from the certificates."""
    if certified is None:
        return Html("", "")
    status = certified.pairs["status"].value_counts()
    firm, still = int(status.get("certified", 0)), int(status.get("open", 0))
    sure = f"Of {count(len(certified.pairs), 'pair')} of systems {firm:,} {form(firm)} certified: no later system can "
    sure += f"turn {form(firm, 'it', 'them')}, though other queries may."
    tied = int(status.get("tied", 0))
    sure += f" {tied:,} {form(tied)} tied now." if tied else ""
    if not still:
        return _next(f"nothing to watch. {sure}")
    return _next(
        f"whenever systems are added, look again at the {count(still, 'pair')} of systems that they could turn. {sure}"
    )


def after_choice(found: BestSet | None) -> Html:
    """Next step from the set of systems that cannot be told apart."""
    if found is None:
        return after_pool_unknown()
    if len(found.systems) == 1:
        return _next(f"take {named(found.best)}.")
    return _next(
        f"choose among these {len(found.systems):,} by what else counts, such as price or speed: the queries cannot. "
        "More queries might narrow the choice."
    )


def after_pool_unknown() -> Html:
    """Next step where there are no labels at all."""
    return _next(f"grade the pool; {JUDGE}")
