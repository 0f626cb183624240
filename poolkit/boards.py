"""Tables for pages that gather what several rooms know: inventory, scores, labels against labels, choices."""

from collections.abc import Sized

import numpy as np
import pandas as pd

from poolkit.agree import LabelAgreement
from poolkit.bias import LeftOut
from poolkit.choose import BestSet, Tradeoff, tradeoff
from poolkit.collection import Collection
from poolkit.correlate import Correlation
from poolkit.disagree import CONFLICT, NOISE, STRONG, UNKNOWN, Disagreements
from poolkit.display import count, form, level
from poolkit.factors import Matched
from poolkit.grid import listed_rows
from poolkit.noise import Rankings
from poolkit.plain import named
from poolkit.pool import Pool, ties
from poolkit.score import one_epoch
from poolkit.stability import Judges
from poolkit.study import Study
from poolkit.versus import WIN, Versus


def inventory(collection: Collection, pool: Pool) -> pd.DataFrame:
    """What a collection holds, drops included: one fact a row."""
    runs = pool.runs
    returned = runs.returned
    facts = [
        ("systems", len(runs.systems)),
        ("families", len(set(collection.families.values()))),
        ("queries", len(runs.queries)),
        ("different documents in the runs, at any depth", len(runs.documents)),
        ("depth of the pool", pool.depth),
        ("documents returned within the depth", pool.independent),
        ("systems x queries x depth", pool.nominal),
        ("query-document pairs in the pool, each judged once", pool.unique),
        ("run rows left out: query not in the collection", runs.strays),
        ("queries that some system does not answer", int((returned == 0).any(axis=0).sum())),
        ("rankings shorter than the depth", int((returned < pool.depth).sum())),
        ("places within the depth that ties decide", int(ties(runs, cutoff=pool.depth).sum())),
        ("notes from reading the files", len(collection.notes)),
    ]
    return listed_rows(facts)


def score_board(study: Study) -> pd.DataFrame | None:
    """Means under both sides, best system first, with bounds and Judged@k beside them.

    A column "all 0" or "all top" stands where failed and unjudged documents, all with that grade, would
    change the score; poolkit's own measures read them as 0 already.
    """
    sides = [("human", study.human_bounds), ("judge", study.judge_bounds)]
    given = [(side, found) for side, found in sides if found is not None]
    if not given:
        return None
    one_epoch(*(found.given for _, found in given))
    columns = {}
    for name in given[0][1].given.measures:
        for end in ("", " all 0", " all top"):
            for side, found in given:
                scored = {"": found.given, " all 0": found.all_0, " all top": found.all_top}[end]
                if not end or not np.array_equal(scored.values[name], found.given.values[name]):
                    columns[f"{name} {side}{end}"] = scored.mean(name)
    for name in given[0][1].judged.measures:
        columns |= {f"{name} {side}": found.judged.mean(name) for side, found in given}
    table = pd.DataFrame(columns).loc[study.order()]
    table.insert(0, "family", [study.families[s] for s in table.index])
    return table.rename_axis("system")


def calibration_table(found: Correlation | None) -> pd.DataFrame | None:
    """Mean of every system under both sides, and the shift in percent of the human one."""
    return None if found is None else found.means.assign(percent=found.calibration.percent)


def by_grade(found: LabelAgreement | None) -> pd.DataFrame | None:
    """Pairs that both sides graded, by grade: how many each side gave it, their shares, and the recall.

    Recall is the share of the pairs with this grade on the human side which the judge gave it too.
    """
    if found is None:
        return None
    table = found.agreement.confusion
    human, judge, n = table.sum(axis=1), table.sum(axis=0), max(1, found.agreement.n)
    return pd.DataFrame(
        {"human": human, "judge": judge, "human_share": human / n, "judge_share": judge / n,
         "recall": found.agreement.recall}
    ).rename_axis("grade")  # fmt: skip


def relevant_per_query(found: LabelAgreement | None) -> pd.DataFrame | None:
    """Relevant documents per query, among the pairs that both sides graded and among all labels of each."""
    if found is None:
        return None
    sides = {"left": "human", "right": "judge", "left_all": "human_all", "right_all": "judge_all"}
    return found.agreement.per_query.rename(columns=sides)


def counts_table(found: Disagreements | None) -> pd.DataFrame | None:
    """Pairs of systems by order and verdict, with what each means."""
    if found is None:
        return None
    human, judge = named(found.human), named(found.judge)
    told = {
        "pairs": ("all", "every two systems"),
        "same": ("same order", f"{human} and {judge} put the same one ahead"),
        "tied": ("tied", "equal under either side"),
        "different": ("different order", "each puts another one ahead"),
        "near_ties": ("different: near-tied", "closer than the near-tie gap under either side"),
        NOISE: ("different: within noise", f"{human} cannot say on these queries which is better"),
        CONFLICT: ("different: in conflict", f"{human} can say which is better, and {judge} says the other"),
        STRONG: ("conflict: strong", f"{judge} is as certain of the other"),
        UNKNOWN: ("different: unknown", "one query cannot say"),
    }
    rows = [(*told[k], n) for k in told if (n := int(found.counts[k])) or k != UNKNOWN]
    return pd.DataFrame(rows, columns=["order_or_verdict", "meaning", "pairs of systems"])


def contenders(found: BestSet | None) -> list[tuple[str, str]]:
    """Best system and the next that does not score the same on every query; nothing where there is none."""
    if found is None:
        return []
    rest = found.table.iloc[1:]
    differ = rest[(rest["difference"] != 0) | (rest["low"] < 0) | (rest["high"] > 0)]
    return [(found.best, str(s)) for s in differ.index[:1]]


def told_apart(found: LeftOut | None, measure: str, pairs: Versus | None) -> int | None:
    """How many of the pairs that leaving out turns these queries tell apart, each by itself; None if unknown."""
    if found is None or pairs is None or not len(pairs.draws):
        return None
    won = pairs.pairs[pairs.pairs["verdict"] == WIN]
    return len(found.turned(measure) & {frozenset(p) for p in zip(won["a"], won["b"], strict=True)})


def best_table(study: Study, found: BestSet | None) -> pd.DataFrame | None:
    """Every system against the best, in the report's order; the best has no difference from itself."""
    table = study.arranged(found.table) if found else None
    if found is None or table is None:
        return None
    itself = table.index == found.best
    return table.assign(**{c: table[c].mask(itself) for c in ("difference", "low", "high")})


def judges_table(others: dict[str, tuple[Judges, Rankings | None]]) -> pd.DataFrame | None:
    """Other labels against the judge's: agreement of grades, and of rankings where there are some."""
    if not others:
        return None
    rows = []
    for name, (labels, ranked) in others.items():
        row = {
            "labels": name,
            "graded_by_both": labels.n,
            "exact": labels.exact,
            "binary": labels.binary,
            "kappa": labels.kappa,
        }
        if ranked is not None:
            row |= {"rho": ranked.rho, "tau": ranked.tau, "pairs in same order": ranked.same}
        rows.append(row)
    return pd.DataFrame(rows).astype(object).where(lambda t: t.notna(), None)


def contrasts_table(effects: dict[str, Matched]) -> pd.DataFrame | None:
    """Contrasts of all factors, one below the other."""
    found = [e.contrasts.assign(factor=name) for name, e in effects.items() if len(e.contrasts)]
    if not found:
        return None
    table = _named_levels(pd.concat(found, ignore_index=True))
    return table[["factor", *table.columns.drop("factor")]]


def interactions_table(effects: dict[str, Matched]) -> pd.DataFrame | None:
    """Interactions of all factors, one below the other."""
    found = [e.interactions.assign(of=name) for name, e in effects.items() if len(e.interactions)]
    if not found:
        return None
    table = _named_levels(pd.concat(found, ignore_index=True))
    return table[["of", *table.columns.drop("of")]]


def _named_levels(table: pd.DataFrame) -> pd.DataFrame:
    """Levels as people write them: 64, not 64.0."""
    ends = [c for c in ("from_level", "to_level", "level_a", "level_b") if c in table]
    return table.assign(**{c: table[c].map(level) for c in ends})


def tradeoff_of(study: Study, best: BestSet | None, cost: str) -> Tradeoff | None:
    """Means against a cost column, where one is named."""
    if best is None or not cost:
        return None
    return tradeoff(best, study.collection.catalogue, cost)


def drops(study: Study) -> list[str]:
    """What was left out of the scores, in words."""
    said = []
    for found in (study.human_scores, study.judge_scores):
        if found is None:
            continue
        if found.dropped:
            said.append(
                f"{count(len(found.dropped), 'query', 'queries')} without {named(found.title)} dropped"
            )
        if found.barren:
            n = count(len(found.barren), "query", "queries")
            said.append(f"{n} without a relevant document under {named(found.title)} {_score(found.barren)}")
        if found.missing:
            n = count(len(found.missing), "ranking")
            said.append(f"{n} missing on queries with {named(found.title)} {_score(found.missing)}")
    return said


def _score(which: Sized) -> str:
    return form(len(which), "scores 0", "score 0")
