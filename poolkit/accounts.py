"""Tables of what was judged: by whom, how far, at what cost, and what failed."""

import numpy as np
import pandas as pd

from poolkit import tally
from poolkit.collection import Collection, outdated_documents
from poolkit.labels import Labels, items_of
from poolkit.outdated import outdated_lines
from poolkit.pool import Pool


def judging(collection: Collection, pool: Pool, labels: Labels | None) -> tuple[str, int, int, int]:
    """Title, judged, failed and pooled pairs of a judge; nothing judged where there is none."""
    if labels is None:
        return ("No judge", 0, 0, pool.unique)
    judged = int(collection.grades(labels).judged[pool.item].sum())
    failed = int(np.isin(items_of(pool.runs, labels.failed), pool.item).sum())
    return (labels.title, judged, failed, pool.unique)


def labels_table(collection: Collection, pool: Pool) -> pd.DataFrame:
    """Every set of labels on the pool: graded, failed, unjudged pairs and the share of each grade."""
    rows = []
    for name, labels in collection.labels.items():
        _, judged, failed, unique = judging(collection, pool, labels)
        grades = collection.grades(labels)
        on = pool.item[grades.judged[pool.item]]
        values, counts = np.unique(grades.relevance[on], return_counts=True)
        shares = {f"grade {v}": c / max(1, len(on)) for v, c in zip(values, counts, strict=True)}
        facts = {"labels": name, "title": labels.title, "kind": "qrels" if labels.human else "judge"}
        about = collection.config["labels"].get(name, {}).get("about", "")
        pairs = {"judged": judged, "failed": failed, "unjudged": unique - judged - failed}
        rows.append(
            facts | {"about": about} | pairs | {"beyond the pool": len(labels.relevance) - judged} | shares
        )
    table = pd.DataFrame(rows)
    if not table.empty and not table["about"].any():
        table = table.drop(columns="about")
    grade_columns = sorted(c for c in table.columns if c.startswith("grade "))
    return table[[c for c in table.columns if c not in grade_columns] + grade_columns]


def provenance_lines(collection: Collection, labels: Labels | None) -> list[str]:
    """What collection.toml says about a judge, one fact a line."""
    if labels is None:
        return [
            "No judge has graded this pool yet: run `poolkit judge DATA --dry-run` for pairs, price and time."
        ]
    settings = collection.config["judges"].get(labels.name, {})
    lines = [f"{key.replace('_', ' ')}: {value}" for key, value in settings.items()]
    return [
        *(lines or [f"collection.toml says nothing about {labels.name}."]),
        *_outdated(collection, labels.name),
    ]


def _outdated(collection: Collection, name: str) -> list[str]:
    """Grades of a judge that were given to other texts or settings than now, in words."""
    if name not in collection.judgments:
        return []
    said = outdated_lines(collection.judgments[name], collection.outdated[name])
    documents = outdated_documents(collection, collection.corpus())
    return [*said, *(problem.text for problem in documents if problem.path.stem == name)]


def judges_spending(collection: Collection) -> pd.DataFrame | None:
    """Calls, tokens, dollars and mean dollars a grade, by judge."""
    spent = {n: tally.spent(records, collection.judgments[n]) for n, records in collection.records.items()}
    if not spent:
        return None
    table = pd.DataFrame.from_dict(spent, orient="index").rename_axis("judge")
    return table.astype({"usd": float, "usd_per_grade": float})


def spent_in_all(collection: Collection, labels: Labels | None) -> pd.Series | None:
    """Row of `judges_spending` for one judge; nothing where it is no judge of this collection."""
    table = judges_spending(collection)
    if table is None or labels is None or labels.name not in table.index:
        return None
    return table.T[labels.name]


def spending(collection: Collection, labels: Labels | None) -> pd.DataFrame | None:
    """Calls, tokens and dollars of a judge by model and day."""
    if labels is None or labels.name not in collection.records:
        return None
    return tally.ledger(collection.records[labels.name])


def systems_spending(collection: Collection, pool: Pool, labels: Labels | None) -> pd.DataFrame | None:
    """What each system brought in order of arrival, what of it is judged, and what that cost."""
    if labels is None or labels.name not in collection.records:
        return None
    return tally.by_system(pool, collection.records[labels.name], collection.judgments[labels.name])


def examples(
    collection: Collection, pool: Pool, labels: Labels | None, *, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Judgments drawn at random, with query text, grade and thought."""
    columns = ["query_id", "query", "doc_id", "grade", "thought"]
    if labels is None or labels.name not in collection.judgments:
        return pd.DataFrame(columns=columns)
    records = collection.judgments[labels.name]
    records = records[(records["replicate"] == 0) & (records["status"] == "ok")]
    records = records[records["query_id"].isin(collection.queries.index)]
    at = np.sort(rng.choice(len(records), size=min(n, len(records)), replace=False))
    drawn = records.iloc[at].reset_index(drop=True)
    text = collection.queries.loc[drawn["query_id"], "text"].to_numpy()
    return drawn.assign(query=text, grade=drawn["relevance"])[columns]


def failures(pool: Pool, labels: Labels | None, *, n: int = 10) -> pd.DataFrame | None:
    """Failed pairs of the pool by kind, by system and by query; of each the n most frequent."""
    if labels is None:
        return None
    counts = tally.failed_by(pool, labels.failed)
    rows = [(by, which, pairs) for by, found in counts.items() for which, pairs in found.head(n).items()]
    return pd.DataFrame(rows, columns=["by", "which", "pairs"])
