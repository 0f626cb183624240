"""Exhibits: the queries and documents that carry each conflict."""

from dataclasses import dataclass

import pandas as pd

from poolkit.disagree import CONFLICT, STRONG, Disagreements, evidence
from poolkit.study import Study

MOST, QUERIES = 10, 3  # conflicts shown, and queries of each


@dataclass(frozen=True)
class Exhibit:
    """What carries one disagreement.

    Attributes
    ----------
    a, b : str
        Systems; a is the one ahead on the human side.
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

    Strong conflicts come first, then those of which the human side is most certain, then the widest.
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


def verdicts(shown: tuple[Exhibit, ...]) -> dict[tuple[str, str], str]:
    """Pairs of systems of the exhibits, strongest first, with the verdict on each."""
    return {(e.a, e.b): e.verdict for e in shown}
