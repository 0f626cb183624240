"""Small random worlds for property tests: ties, short runs, missing queries, holes, odd grades."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from poolkit.labels import Labels, labels_from
from poolkit.tables import Runs, runs_from

DOCUMENTS = ("a", "b", "c", "d", "e", "f", "g", "h", "é", "10", "9")
SCORES = (0.0, 0.25, 0.5, 0.5 + 1e-9, 1.0, -3.0)  # the two halves are one 32-bit float


@st.composite
def worlds(draw, *, systems=4, queries=3, grades=(-1, 3), most=8) -> tuple[Runs, Labels, dict]:
    """Runs, labels, and the rows that the runs were made of: {system: table}."""
    names = [f"s{i}" for i in range(draw(st.integers(1, systems)))]
    axis = [f"q{i}" for i in range(draw(st.integers(1, queries)))]
    ranking = st.dictionaries(st.sampled_from(DOCUMENTS), st.sampled_from(SCORES), max_size=most)
    tables = {}
    for name in names:
        rows = [(q, d, x) for q in axis for d, x in draw(ranking).items()]
        tables[name] = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]).astype(
            {"query_id": object, "doc_id": object, "score": float}
        )
    if not any(len(t) for t in tables.values()):
        tables[names[0]] = pd.DataFrame([(axis[0], "a", 1.0)], columns=["query_id", "doc_id", "score"])
    pair = st.tuples(st.sampled_from(axis), st.sampled_from((*DOCUMENTS, "unseen")))
    graded = draw(st.dictionaries(pair, st.integers(*grades), min_size=1, max_size=25))
    rows = pd.DataFrame([(*p, g) for p, g in graded.items()], columns=["query_id", "doc_id", "relevance"])
    return runs_from(tables, axis), labels_from(rows, "drawn"), tables


def dense(seed, *, systems=4, queries=3, documents=7, ranks=3, top=2, labelled=0.9) -> tuple[Runs, Labels]:
    """Runs that fill every rank, and labels for this share of the documents."""
    rng = np.random.default_rng(seed)
    axis, names = [f"q{i}" for i in range(queries)], [f"d{i}" for i in range(documents)]
    tables = {}
    for s in range(systems):
        rows = [
            (q, names[d], -float(r)) for q in axis for r, d in enumerate(rng.permutation(documents)[:ranks])
        ]
        tables[f"s{s}"] = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    graded = [(q, d, int(rng.integers(0, top + 1))) for q in axis for d in names if rng.random() < labelled]
    rows = pd.DataFrame(graded, columns=["query_id", "doc_id", "relevance"])
    return runs_from(tables, axis), labels_from(rows, "drawn")
