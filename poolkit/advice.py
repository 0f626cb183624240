"""Sentences about scores and choices: bounds, what carries a disagreement, any two systems, factors, cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from poolkit.bounds import Bounds
from poolkit.choose import BestSet, Tradeoff
from poolkit.disagree import CONFLICT, STRONG, Disagreements
from poolkit.display import Html, answer, count, form, level, notes, percent, sentence, with_interval
from poolkit.factors import Matched
from poolkit.plain import named
from poolkit.resample import Interval
from poolkit.versus import INCONCLUSIVE, TIE, WIN, Versus


def bounds_story(*sides: Bounds | None) -> Html:
    """What failed and unjudged documents could do to the leading measure."""
    said = []
    for found in sides:
        if found is None:
            continue
        m = found.given.measures[0]
        n, title = found.unjudged[m], found.given.title
        if not n:
            said.append(f"Under {named(title)} every document that could count for {m} has a grade.")
            continue
        moved = (found.all_top.mean(m) - found.given.mean(m)).to_numpy()
        said.append(
            f"Under {named(title)} {count(n, 'document')} that could count for {m} {form(n, 'has', 'have')} no grade. "
            f"With all of them at 0 the means are those shown; with all at {found.top}, the top grade, means "
            f"would move by {moved.min():+.3f} to {moved.max():+.3f}."
        )
    if not said:
        return notes(["There are no labels yet, so no system has a score."])
    return sentence(" ".join(said))


def carried_story(found: Disagreements | None, shown: int, *, pair: Sequence[str] = ()) -> Html:
    """Which pairs are laid side by side, and why these; `pair` is what the user chose, if anything."""
    if pair:
        return sentence("Shown are the two systems that the parameter pair names.")
    if found is None or not shown:
        return notes(["No pair of systems is ordered differently, so there is nothing to lay side by side."])
    conflicts = len(found.verdict(CONFLICT, STRONG))
    if not conflicts:
        return sentence(
            f"There is no conflict. Shown is the strongest disagreement: the one that the queries support most under "
            f"{named(found.human)}, though not enough to call it."
        )
    some = f" The strongest {shown:,} are shown; `poolkit analyse` has more." if shown < conflicts else ""
    return sentence(f"{count(conflicts, 'conflict')} to read.{some}")


def versus_story(found: Versus | None, best: BestSet | None) -> Html:
    """How many pairs can be told apart, and how many queries the closest contenders would take."""
    if found is None or not len(found.draws):
        return notes(["To tell two systems apart takes labels, two systems and two queries."])
    n, verdicts = len(found.pairs), found.counts
    wins, ties, open_ = (verdicts[v] for v in (WIN, TIE, INCONCLUSIVE))
    text = (
        f"Of {count(n, 'pair')} of systems, {wins:,} {form(wins)} decided, each by itself, {ties:,} "
        f"{form(ties, 'is a tie', 'are ties')} within {found.margin:g} and {open_:,} {form(open_)} inconclusive on "
        f"{count(found.n_queries, 'query', 'queries')}."
    )
    split = 0 if best is None else int(
        ((found.pairs["verdict"] == WIN) & (found.pairs["a"] == best.best) & found.pairs["b"].isin(best.systems)).sum()
    )  # fmt: skip
    if best is not None and split:
        text += (
            f" {count(split, 'of the decided is a pair', 'of the decided are pairs')} of {named(best.best)} and a "
            f"system of the best set: {form(split, 'it counts', 'they count')} as undecided there, for that set "
            f"corrects for {count(best.n_tests, 'comparison')} and this count for none."
        )
    closest = found.closest(best.best, best.systems) if best is not None else None
    if best is not None and closest is not None:
        text += (
            f" Of those that cannot be told from {named(best.best)}, {named(closest[0])} would take the fewest "
            f"queries: {closest[1]:,}, at the difference and variance seen here and {percent(found.power, 0)} power."
        )
    return sentence(text)


def factors_story(effects: Mapping[str, Matched]) -> Html:
    """How many contrasts were looked at, and how many would miss zero by chance."""
    tables = [t for e in effects.values() for t in (e.contrasts, e.interactions) if len(t)]
    silent = [note for e in effects.values() for note in e.notes if not len(e.contrasts)]
    if not tables:
        return notes(silent or ["No column of systems.csv varies, so no factor can be weighed."])
    n = sum(len(t) for t in tables)
    level = next(iter(effects.values())).level
    clear = sum(int(((t["low"] > 0) | (t["high"] < 0)).sum()) for t in tables)
    contrasts = sum(len(e.contrasts) for e in effects.values())
    return sentence(
        f"{count(contrasts, 'contrast')} and {count(n - contrasts, 'interaction')} were looked at: {clear:,} of "
        f"{count(n, 'interval')} {form(clear, 'excludes', 'exclude')} zero; by chance alone about "
        f"{(1 - level) * n:.0f} would." + "".join(f" {note[0].upper()}{note[1:]}." for note in silent)
    )


def widest_story(effects: Mapping[str, Matched]) -> Html:
    """What each factor buys at most: its widest contrast whose interval lies beside zero, widest first."""
    rows = [(factor, r) for factor, e in effects.items() for r in e.contrasts.to_dict("records")]
    if not rows:
        return Html("", "")
    clear = [(abs(r["difference"]), factor, r) for factor, r in rows if r["low"] > 0 or r["high"] < 0]
    if not clear:
        return answer(
            "No single choice buys more than the noise of these queries.",
            f"In matched pairs of systems, {count(len(rows), 'interval holds', 'intervals hold')} zero.",
        )
    widest: dict[str, str] = {}
    for _, factor, r in sorted(clear, key=lambda found: -found[0]):
        widest.setdefault(factor, _bought(factor, r))
    first, *rest = list(widest.values())[:3]
    more = f"Then {'; '.join(rest)}. " if rest else ""
    return answer(
        f"Most is bought by {first}.",
        f"{more}These are differences of means; as the widest of {count(len(rows), 'contrast')} they are likely "
        "overstated.",
    )


def _bought(factor: str, row: Mapping[Any, Any]) -> str:
    """Effect of a factor, told from the worse level to the better."""
    up = row["difference"] > 0
    better, worse = (
        named(level(row[k])) for k in (("to_level", "from_level") if up else ("from_level", "to_level"))
    )
    low, high = (row["low"], row["high"]) if up else (-row["high"], -row["low"])
    gain = Interval(abs(row["difference"]), low, high, 0.95, np.empty(0))
    pairs = count(row["n_pairs"], "matched pair")
    return f"{better} over {worse} ({named(factor)}, {pairs}): {with_interval(gain, sign='+')}"


def tradeoff_story(found: Tradeoff | None) -> Html:
    """Which system of the best set costs least."""
    if found is None:
        return notes(["No cost column was chosen. Choose one with: poolkit report DATA -p cost=COLUMN"])
    if found.pick is None:
        return notes([f"{note[0].upper()}{note[1:]}." for note in found.notes])
    table, row = found.table, list(found.table.index).index(found.pick)
    cost, mean = (float(table[c].to_numpy()[row]) for c in ("cost", "mean"))
    inside = count(int(table["in_set"].sum()), "system")
    text = (
        f"{named(found.pick)} has the lowest {named(found.cost)} ({cost:g}) of the {inside} in the best set"
    )
    return sentence(f"{text}, with a mean of {mean:.3f}." + "".join(f" Left out: {x}." for x in found.notes))
