"""A dataset of ir_datasets as the parts of a collection."""

from typing import Any

from poolkit.sources import Fields, Source
from poolkit.tables import DataError, listed


def dataset_source(name: str) -> Source:
    """Whatever a dataset of ir_datasets has of queries, documents, qrels; it may download."""
    try:
        import ir_datasets
    except ImportError:
        raise DataError(
            f"{name}: no such folder. For an ir_datasets id, run: pip install ir-datasets"
        ) from None
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise DataError(f"{name}: neither a folder nor an ir_datasets id") from None
    found = Source(f"ir_datasets {ir_datasets.__version__}, {name}")
    found.licence = f"not stated by ir_datasets; see https://ir-datasets.com/{name.split('/')[0]}.html#{name}"
    if dataset.has_queries():
        for q in dataset.queries_iter():
            more = {
                k: v for k, v in q._asdict().items() if isinstance(v, str) and k not in ("query_id", "text")
            }
            found.queries[q.query_id] = {"text": q.default_text(), **more}
    if dataset.has_docs():
        plain = ("doc_id", "title", "text")
        left = [k for k in getattr(dataset.docs_cls(), "_fields", ()) if k not in plain]
        if left:
            found.notes.append(f"fields of documents left out: {listed(left)}")
        found.documents = map(_known_document, dataset.docs_iter())
    if dataset.has_qrels():
        found.labels["human"] = [(q.query_id, q.doc_id, q.relevance) for q in dataset.qrels_iter()]
        found.meanings = dict(dataset.qrels_defs())
    return found


def _known_document(document: Any) -> Fields:
    """A document of ir_datasets as a row of corpus.jsonl."""
    text = document.text if hasattr(document, "text") else document.default_text()
    return {"_id": document.doc_id, "title": getattr(document, "title", "") or "", "text": text}
