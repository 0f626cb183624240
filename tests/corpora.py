"""A corpus of four passages, two queries in three formulations, and an endpoint that embeds them by hand."""

import json

import pandas as pd
from loopback import Say

from poolkit.retrieve import retrieve, systems_from

CORPUS = pd.DataFrame(
    [
        ("d1", "Bank fined", "The regulator fined the bank 54 million marks."),
        ("d2", "Strike ends", "Dockers at the harbour went back to work on Monday."),
        ("d3", "Jam recalled", "Glass was found in apricot jars; the shops took them back."),
        ("d4", "Harbour traffic", "Ships waited outside the harbour during the strike by dockers."),
    ],
    columns=["doc_id", "title", "text"],
)
QUERIES = pd.DataFrame(
    [
        ("q1", "Who fined the bank?", "bank fined", "You are an analyst. Who fined the bank?"),
        ("q2", "Why was jam recalled?", "jam recall glass", "In a table: why was jam recalled?"),
    ],
    columns=["query_id", "text", "keyword", "framed"],
)
# Vectors by hand: the loopback embeds a text by counting two words, and how long it is.
WORDS = ("bank", "jam")


def runs_of(corpus, queries, config, *, depth, **more):
    return retrieve(corpus, queries, systems_from(config), depth=depth, **more)[1]


def embeddings(request, number):
    texts = request["input"]
    rows = [[float(t.lower().count(w)) for w in WORDS] + [len(t) / 1000] for t in texts]
    data = [{"object": "embedding", "index": i, "embedding": r} for i, r in enumerate(rows)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return Say({"object": "list", "data": data[::-1], "model": "tiny", "usage": usage})


def served(url, **more):
    return {"kind": "dense", "base_url": url, "model": "tiny", **more}


def write_collection(folder, config, corpus=CORPUS):
    rows = corpus.rename(columns={"doc_id": "_id"}).to_dict("records")
    (folder / "corpus.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    rows = QUERIES.rename(columns={"query_id": "_id"}).to_dict("records")
    (folder / "queries.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "systems.toml").write_text(config)
