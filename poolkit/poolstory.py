"""The pool as sentences: what it saves, how far it is judged, and what turns while it grows."""

import numpy as np
import pandas as pd

from poolkit.certify import Certificates
from poolkit.display import Html, answer, count, form, missing, percent, sentence
from poolkit.growth import Growth, GrowthOrders
from poolkit.plain import named
from poolkit.pool import Pool


def pool_story(pool: Pool, arrivals: pd.DataFrame) -> Html:
    """What the pool holds and saves, and what newcomers added."""
    text = (
        f"{count(len(pool.runs.systems), 'system')} returned {count(pool.independent, 'document')} within depth "
        f"{pool.depth} for {count(len(pool.runs.queries), 'query', 'queries')}. Judging each pair once saves "
        f"{percent(pool.reuse)} of the judgments: system by system they would be {pool.cost_factor:.1f} times as many."
    )
    later = arrivals["new"].iloc[1:]
    if len(later):
        some = f"{later.min():,} to " if later.min() < later.max() else ""
        text += (
            f" After the first, each system added {some}{count(later.max(), 'pair')} that no earlier one had."
        )
    return answer(f"It holds {count(pool.unique, 'query-document pair')}.", text)


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


def judging_story(title: str, judged: int, failed: int, unique: int, spent: pd.Series | None = None) -> Html:
    """How far a pool is judged, and what its judge's calls cost in all, where there are some."""
    pairs = count(unique, "query-document pair")
    verdict = f"Wholly: all of its {pairs}" if judged == unique else f"{percent(judged / unique)} of it"
    if not judged:
        verdict = "Not at all"
    rest = f"{judged:,} of {pairs} have a grade, {failed:,} failed, {unique - judged - failed:,} are left to judge"
    by = f", by {named(title)}" if judged else ""
    text = [f"{rest[0].upper()}{rest[1:]}."] if judged < unique else []
    if spent is not None:
        text.append(_price(spent))
    return answer(f"{verdict}{by}.", " ".join(text))


def _price(spent: pd.Series) -> str:
    """What a judge cost, as `accounts.judges_spending` has it."""
    if not spent["calls"]:
        return "No cost is on record: no endpoint was called."
    usd = f"{spent['usd']:,.2f} dollars" if pd.notna(spent["usd"]) else "a price that is not known"
    return f"The judge took {count(spent['calls'], 'call')}, for {usd}, repeats included."


def growth_story(found: GrowthOrders | None) -> Html:
    """How stable the ranking is while the pool grows."""
    if found is None:
        return missing("Growth needs labels, two systems, and a measure that reads no rank beyond the depth.")
    n, k = found.orders.shape[1], len(found.fragile)
    pairs = n * (n - 1) // 2
    share = f"{percent(found.share)}, 95 % interval {percent(found.low)} to {percent(found.high)}"
    orders = f"{count(len(found.orders), 'random order')} of arrival"
    if not k:
        return answer(
            "So far it does.",
            f"In none of {orders} did two systems ever stand the other way round than finally, by mean "
            f"{found.measure} ({share}).",
        )
    gap = f"{form(k, '', 'at most ')}{found.fragile['final_gap'].max():.4f} apart in mean {found.measure}"
    often = f"in {int((found.reversals > 0).sum()):,} of the orders ({share})"
    other = (
        f"The other one did for a while, {often}; in the end it is {gap}."
        if k == 1
        else f"Of the other {k:,}, at least one did for a while {often}; in the end they are {gap}."
    )
    return answer(
        f"For {pairs - k:,} of {count(pairs, 'pair')} of systems it does.",
        f"They never changed order in {orders}. {other}",
    )


def worst_story(found: GrowthOrders | None) -> Html:
    """How far the order ever was from the final one."""
    if found is None or np.isnan(found.worst_tau):
        return missing("Not known: with fewer than three systems there is no order to follow.")
    return sentence(
        f"With three or more systems present, the lowest tau-b with the final order was {found.worst_tau:.3f}. Early "
        "on that says little: of three systems, one pair the other way round makes it 0.333."
    )


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
        text += (
            f" To turn the most fragile takes {count(opened.min(), 'further relevant document')} per query"
        )
        text += f"; for half of those that can, {half:,} or fewer suffice." if len(opened) > 1 else "."
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
