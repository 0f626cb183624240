"""Two systems side by side: the queries that decide between them, both rankings, grades, thoughts, texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from poolkit.display import Html, cell, count, folded, missing, together
from poolkit.labels import Grades
from poolkit.plain import CELL, NAME, escaped, isolated, named, shortened, visible
from poolkit.score import cutoff_of, measure, scores
from poolkit.study import Study
from poolkit.tables import DataError

PAIRS, QUERIES, RANKS = 3, 3, 10  # what is shown
THOUGHT = 300  # characters of a judge's thought that are seen


@dataclass(frozen=True)
class SideBySide:
    """What decides between two systems.

    Attributes
    ----------
    a, b, measure : str
    queries : DataFrame by query_id
        `query` (its text), then under each side that has labels, as human_a, human_b, human, judge_a ...:
        both scores and a less b. Those that decide most come first.
    rankings : DataFrame
        query_id, system, rank, doc_id, and each side's grade (missing where unjudged): the top of both
        lists on these queries.
    """

    a: str
    b: str
    measure: str
    queries: pd.DataFrame
    rankings: pd.DataFrame


def side_by_side(study: Study, a: str, b: str, *, most: int = QUERIES) -> SideBySide:
    """Queries that decide between two systems, and both rankings on them.

    Parameters
    ----------
    study : Study
    a, b : str
        Systems.
    most : int
        Queries whose rankings are taken.

    Notes
    -----
    Where there are two sides, those queries decide on which the sides differ most about a less b; with one
    side, those on which a and b differ most.
    """
    runs = study.collection.runs
    for system in (a, b):
        if system not in runs.systems:
            raise DataError(
                f"no system {system!r} in {study.collection.config['name']}; name two of its runs"
            )
    if a == b:
        raise ValueError(f"two different systems are needed; got {a} twice")
    both = (("human", study.human_grades), ("judge", study.judge_grades))
    sides = {name: grades for name, grades in both if grades is not None and grades.has.any()}
    two, found = (
        runs.select([a, b]),
        pd.DataFrame(index=pd.Index(runs.queries, name="query_id", dtype=object)),
    )
    for side, grades in sides.items():
        table = scores(two, grades, [study.measure]).table(study.measure)
        found[f"{side}_a"], found[f"{side}_b"] = table.loc[a], table.loc[b]
        found[side] = found[f"{side}_a"] - found[f"{side}_b"]
    found = found.dropna()
    apart = found["human"] - found["judge"] if len(sides) == 2 else found[list(sides)].sum(axis=1)
    found = found.loc[apart.abs().sort_values(ascending=False, kind="stable").index]
    found.insert(0, "query", study.collection.queries.loc[found.index, "text"].to_numpy())
    shown = min(RANKS, cutoff_of(measure(study.measure)) or RANKS)
    return SideBySide(a, b, study.measure, found, _rankings(study, (a, b), found.index[:most], sides, shown))


def _rankings(
    study: Study,
    pair: Sequence[str],
    queries: Sequence[str] | pd.Index,
    sides: Mapping[str, Grades],
    depth: int,
) -> pd.DataFrame:
    """Top documents of two systems with their grades, one row a place."""
    runs = study.collection.runs
    place, rows = {q: i for i, q in enumerate(runs.queries)}, []
    for query in queries:
        for system in pair:
            items = runs.item[runs.systems.index(system), place[query], :depth]
            items = items[items < runs.n_items]
            table = runs.pairs(items).assign(system=system, rank=np.arange(1, len(items) + 1))
            for side, grades in sides.items():
                table[side] = pd.Series(grades.relevance[items], dtype="Int64").where(grades.judged[items])
            rows.append(table)
    columns = ["query_id", "system", "rank", "doc_id", *sides]
    return pd.concat(rows, ignore_index=True)[columns] if rows else pd.DataFrame(columns=columns)


def show(study: Study, *pairs: SideBySide, verdicts: Mapping[tuple[str, str], str] | None = None) -> Html:
    """Both rankings of each deciding query next to each other, grades and thoughts beside, texts one click away.

    Parameters
    ----------
    study : Study
    *pairs : SideBySide
    verdicts : mapping of (a, b) to str, optional
        What is known of a pair, for its caption.
    """
    shown = [found for found in pairs if len(found.rankings)]
    if not shown:
        return missing("Two systems side by side take labels and two systems.")
    texts = study.collection.corpus()
    return together(
        *(_pair(study, found, texts, (verdicts or {}).get((found.a, found.b), "")) for found in shown)
    )


def _pair(study: Study, found: SideBySide, texts: pd.DataFrame, verdict: str) -> Html:
    """One pair of systems on the queries that decide between them."""
    thoughts = _thoughts(study, found.rankings)
    sides = [side for side in ("human", "judge") if side in found.queries]
    lists = list(found.rankings.groupby("query_id", sort=False))
    means = " and ".join(f"{found.queries[s].mean():+.3f} under {named(study.sides[s])}" for s in sides)
    caption = (
        f"{named(found.a)} (left) against {named(found.b)} (right){f', {verdict}' if verdict else ''}: {means} of mean "
        f"{found.measure}. The {len(lists)} of {count(len(found.queries), 'query', 'queries')} that decide most, top "
        f"{int(found.rankings['rank'].max())}. In brackets the grades, bold where they differ; a blue number: in both "
        "lists. A click opens the text."
    )
    blocks, lines = [], [caption]
    for query, places in lists:
        row = found.queries.loc[query]
        facts = [f"{named(study.sides[s])} {row[f'{s}_a']:.3f} against {row[f'{s}_b']:.3f}" for s in sides]
        left, right = (places[places["system"] == system] for system in (found.a, found.b))
        shared = set(left["doc_id"]) & set(right["doc_id"])
        both = (
            _list(study, name, some, texts, thoughts, shared)
            for name, some in ((found.a, left), (found.b, right))
        )
        said = f"{found.measure}: {'; '.join(facts)}"
        blocks.append(
            f"<article><h4>{isolated(row['query'], CELL)}</h4>"
            f'<p class="facts">{isolated(query, NAME)} \u00b7 {isolated(said)}</p>'
            f'<div class="two">{"".join(both)}</div></article>'
        )
        lines.append(f"{query} {row['query']}: {said}")
    markup = f'<figure class="pair"><figcaption>{escaped(caption)}</figcaption>{"".join(blocks)}</figure>'
    return Html(markup, "\n".join(shortened(visible(line), CELL) for line in lines))


def _list(
    study: Study, system: str, places: pd.DataFrame, texts: pd.DataFrame, thoughts: Mapping[Any, str],
    shared: set[str],
) -> str:  # fmt: skip
    """One system's ranking of a query as a list: title, grades and thought seen, the text on a click."""
    items = []
    for place in places.to_dict("records"):
        doc = str(place["doc_id"])
        title, text = ("", "") if doc not in texts.index else (texts.at[doc, "title"], texts.at[doc, "text"])
        given = {side: cell(place[side], "") for side in ("human", "judge") if side in place}
        grades = isolated(", ".join(f"{named(study.sides[s])} {grade}" for s, grade in given.items()))
        grades = f"<b>{grades}</b>" if len(set(given.values())) > 1 else grades
        thought = thoughts.get((place["query_id"], doc), "")
        inside = folded(str(text)) if text else "<p>(no text in this collection)</p>"
        both = ' class="both"' if doc in shared else ""
        items.append(
            f"<li{both}><details><summary>{isolated(title or doc, 120)} <small>({grades})</small>"
            f'</summary><p class="facts">{isolated(doc, NAME)}</p>{inside}</details>'
            + (f'<p class="thought" dir="auto">{escaped(thought, THOUGHT)}</p>' if thought else "")
            + "</li>"
        )
    return f"<div><h5>{isolated(system, NAME)}</h5><ol>{''.join(items)}</ol></div>"


def _thoughts(study: Study, rankings: pd.DataFrame) -> dict[Any, str]:
    """Judge's thought on each pair of the rankings."""
    records = study.collection.judgments.get(study.judge.name) if study.judge else None
    if records is None:
        return {}
    first = records[(records["replicate"] == 0) & (records["status"] == "ok")]
    wanted = first.merge(rankings[["query_id", "doc_id"]].drop_duplicates(), on=["query_id", "doc_id"])
    pairs = zip(wanted["query_id"], wanted["doc_id"], strict=True)
    return dict(zip(pairs, wanted["thought"].fillna("").astype(str), strict=True))


def chosen(
    study: Study, pair: Sequence[str], otherwise: Sequence[tuple[str, ...]], *, most: int = PAIRS
) -> tuple[SideBySide, ...]:
    """Side by side for the pair that a parameter names, else for the first of others; none without labels."""
    if pair and len(pair) != 2:
        raise ValueError(f"pair is {list(pair)}; name two systems, or none")
    pairs = [tuple(pair)] if pair else [p for p in otherwise if p][:most]
    if not any(g is not None and g.has.any() for g in (study.human_grades, study.judge_grades)):
        return ()
    return tuple(side_by_side(study, a, b) for a, b in pairs)


def deciding(pairs: Sequence[SideBySide]) -> pd.DataFrame | None:
    """Scores of both systems of every pair by query, those that decide most first; None without a pair."""
    if not pairs:
        return None
    tables = [p.queries.reset_index().assign(a=p.a, b=p.b) for p in pairs]
    every = pd.concat(tables, ignore_index=True)
    return every[["a", "b", *every.columns.drop(["a", "b"])]]
