"""The pool as sentences: what it saves, how far it is judged, and what turns while it grows."""

import numpy as np
import pandas as pd

from poolkit.certify import Certificates
from poolkit.display import Html, answer, count, form, missing, percent, sentence
from poolkit.growth import Growth, GrowthOrders
from poolkit.plain import named
from poolkit.pool import Pool


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
        return sentence(f"{named(arrivals.index[-1])} is the only system: all its documents are new.")
    return sentence(
        f"The last system to arrive, {named(arrivals.index[-1])}, brings {count(last['new'], 'new document')} "
        f"({percent(last['share'])} of what it returns). After the first, the costliest arrival is "
        f"{named(later.idxmax())} with {count(later.max(), 'new document')}."
    )


def judging_story(title: str, judged: int, failed: int, unique: int) -> Html:
    """How far a pool is judged."""
    unjudged = unique - judged - failed
    return answer(
        f"{named(title)}: {judged:,} of {count(unique, 'pooled pair')} graded ({percent(judged / unique)}), "
        f"{failed:,} failed, {unjudged:,} unjudged."
    )


def growth_story(found: GrowthOrders | None) -> Html:
    """How stable the ranking is while the pool grows."""
    if found is None:
        return missing("Growth needs labels, two systems, and a measure that reads no rank beyond the depth.")
    turned = int((found.reversals > 0).sum())
    text = (
        f"{f'Not for every pair: in {turned:,}' if turned else 'So far it does: in none'} of "
        f"{count(len(found.orders), 'random order')} of arrival ({percent(found.share)}, 95 % interval "
        f"{percent(found.low)} to {percent(found.high)}) {'some' if turned else 'any'} pair of systems stood, for a "
        f"while, the other way round than finally, by mean {found.measure}."
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
        return missing("Not checked: growth needs labels and two systems.")
    text = "Inside one query no two systems may change order as the pool grows: checked "
    broken = f"violated {count(found.violations, 'time')}" if found.violations else "never violated"
    return sentence(f"{text}{count(found.checked, 'time')}, {broken}.")


def certificate_story(found: Certificates | None) -> Html:
    """How many pairs of systems no later system can turn round."""
    if found is None:
        return missing("No certificates: they need labels, two systems, and a measure within the depth.")
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
        return missing("Not shown: growth needs labels and two systems.")
    low, n = found.arrivals["tau"].min(), len(found.reversals)
    text = f"In the given order {count(n, 'pair') if n else 'no pair'} ever stood the other way round than finally"
    return sentence(
        text + ("." if np.isnan(low) else f"; the lowest tau-b with the final order was {low:.3f}.")
    )
