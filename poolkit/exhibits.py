"""Exhibits: the queries and documents that carry each conflict, with their texts."""

from dataclasses import dataclass

import pandas as pd

from poolkit.disagree import CONFLICT, STRONG, Disagreements, evidence
from poolkit.display import Html, passages
from poolkit.study import Study

MOST, QUERIES = 10, 3  # conflicts shown, and queries of each


@dataclass(frozen=True)
class Exhibit:
    """What carries one disagreement.

    Attributes
    ----------
    a, b : str
        Systems; a is the one ahead under human labels.
    verdict : str
    human, judge : float
        Mean of a less mean of b.
    queries : DataFrame by query_id
        query (its text), human, judge, contribution, share: those that carry most come first.
    documents : DataFrame
        query_id, doc_id, rank_a, rank_b, human, judge: documents of the first queries that either
        system ranks within the cutoff and whose grades differ.
    """

    a: str
    b: str
    verdict: str
    human: float
    judge: float
    queries: pd.DataFrame
    documents: pd.DataFrame


def exhibits(study: Study, found: Disagreements | None, *, most: int = MOST) -> tuple[Exhibit, ...]:
    """Exhibit of each conflict, the strongest first; without a conflict, of the strongest disagreement.

    Strong conflicts come first, then those of which human labels are most certain, then the widest.
    """
    if found is None or study.human_grades is None or study.judge_grades is None:
        return ()
    different = found.pairs[found.pairs["order"] == "different"]
    sure = different.sort_values(["human_p", "human"], ascending=False, kind="stable")
    conflicts = pd.concat([sure[sure["verdict"] == v] for v in (STRONG, CONFLICT)])
    chosen = conflicts.head(most) if len(conflicts) else sure.head(1)
    runs, human, judge = study.collection.runs, study.human_grades, study.judge_grades
    shown = []
    for row in chosen.to_dict("records"):
        a, b = str(row["a"]), str(row["b"])
        carried = evidence(runs, human, judge, found.measure, a=a, b=b)
        queries = carried.queries.copy()
        queries.insert(0, "query", study.collection.queries.loc[queries.index, "text"].to_numpy())
        first = queries.index[:QUERIES]
        documents = carried.documents[carried.documents["query_id"].isin(first)].reset_index(drop=True)
        shown.append(
            Exhibit(a, b, str(row["verdict"]), float(row["human"]), float(row["judge"]), queries, documents)
        )
    return tuple(shown)


def carrying_queries(shown: tuple[Exhibit, ...]) -> pd.DataFrame | None:
    """Queries of every exhibit by what each contributes; None where there is no exhibit."""
    return _stacked(shown, [e.queries.reset_index() for e in shown])


def carrying_documents(shown: tuple[Exhibit, ...]) -> pd.DataFrame | None:
    """Documents of every exhibit with their ranks and grades; None where there is no exhibit."""
    return _stacked(shown, [e.documents for e in shown])


def _stacked(shown: tuple[Exhibit, ...], tables: list[pd.DataFrame]) -> pd.DataFrame | None:
    if not shown:
        return None
    named = [t.assign(a=e.a, b=e.b)[["a", "b", *t.columns]] for e, t in zip(shown, tables, strict=True)]
    return pd.concat(named, ignore_index=True)


def texts(shown: tuple[Exhibit, ...], corpus: pd.DataFrame, *, rows: int = 4) -> Html:
    """Texts of the documents that carry each exhibit, with both ranks and both grades side by side."""
    blocks = []
    for e in shown:
        pairs = e.documents.assign(query=e.documents["query_id"].map(e.queries["query"]))
        pairs = pairs[["doc_id", "query", "human", "judge", "rank_a", "rank_b"]]
        pairs = pairs.rename(
            columns={"human": "human grade", "judge": "judge's grade", "rank_a": f"rank in {e.a}",
                     "rank_b": f"rank in {e.b}"}
        )  # fmt: skip
        caption = f"{e.a} against {e.b}, {e.verdict}: {e.human:+.4f} under human labels, "
        caption += f"{e.judge:+.4f} under the judge."
        caption += "" if len(pairs) else " The grades of no document within the cutoff differ."
        blocks.append(passages(pairs, corpus, caption, rows=rows))
    return Html("".join(b.markup for b in blocks), "\n".join(b.text for b in blocks))
