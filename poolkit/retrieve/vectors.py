"""Vectors for dense systems: from a local encoder or an endpoint, made once, cut to size."""

import os
from collections.abc import Mapping, Sequence

import numpy as np

from poolkit.retrieve.encoders import Encode, encoder
from poolkit.retrieve.systems import System
from poolkit.tables import DataError


class Vectors:
    """Vectors of documents and queries, made once for each encoder and formulation.

    Parameters
    ----------
    documents : list of str
    texts : mapping of str to list of str
        The queries in each formulation.
    """

    def __init__(self, documents: list[str], texts: Mapping[str, list[str]]) -> None:
        self.documents, self.texts = documents, texts
        self.encode: dict[tuple[str, str], Encode] = {}
        self.kept: dict[tuple[tuple[str, str], str | None], np.ndarray] = {}

    def of(self, system: System) -> tuple[np.ndarray, np.ndarray]:
        """Document and query vectors of a dense system, of unit length, at its dimensions."""
        wanted = system.options.get("dimensions")
        try:
            documents, queries = self._full(system, None), self._full(system, system.formulation)
            return truncated(documents, wanted), truncated(queries, wanted)
        except DataError as error:
            raise DataError(f"system {system.name}: {error}") from None

    def _full(self, system: System, formulation: str | None) -> np.ndarray:
        """Vectors of the queries in a formulation; of the documents where it is None."""
        key, options = system.encoder, system.options
        if key not in self.encode:
            local = "encoder" in options
            self.encode[key] = encoder(key[0]) if local else endpoint(*key, options.get("key_env"))
        if (key, formulation) not in self.kept:
            texts = self.documents if formulation is None else self.texts[formulation]
            self.kept[key, formulation] = self.encode[key](texts, formulation is not None)
        return self.kept[key, formulation]


def endpoint(base_url: str, model: str, key_env: str | None) -> Encode:
    """Encoding function of an OpenAI-compatible embeddings endpoint, 128 texts a call.

    The key is read from the environment variable `key_env`; None for a server that wants no key.
    """
    import openai

    key = os.environ.get(key_env) if key_env else "none"
    if not key:
        raise DataError(
            f"endpoint {base_url}: the environment variable {key_env} is empty. Put the key there."
        )
    client = openai.OpenAI(base_url=base_url, api_key=key, timeout=60)

    def encode(texts: Sequence[str], query: bool) -> np.ndarray:
        found: list[list[float]] = []
        try:
            for start in range(0, len(texts), 128):
                batch = list(texts[start : start + 128])
                reply = client.embeddings.create(model=model, input=batch, encoding_format="float")
                found += [d.embedding for d in sorted(reply.data, key=lambda d: d.index)]
        except openai.OpenAIError as error:
            raise DataError(f"endpoint {base_url}, model {model}: {error}") from error
        if len(found) != len(texts):
            raise DataError(f"endpoint {base_url}: {len(found)} vectors came back for {len(texts)} texts")
        return np.array(found, dtype=np.float32)

    return encode


def truncated(vectors: np.ndarray, dimensions: int | None) -> np.ndarray:
    """Unit vectors of the leading dimensions; a zero vector stays zero.

    Examples
    --------
    >>> truncated(np.array([[3.0, 4.0, 12.0]]), 2).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    if dimensions is not None and dimensions > vectors.shape[1]:
        raise DataError(f"{dimensions} dimensions asked of vectors that have {vectors.shape[1]}")
    kept = vectors[:, :dimensions].astype(np.float32)
    length = np.linalg.norm(kept, axis=1, keepdims=True)
    return np.divide(kept, length, out=np.zeros_like(kept), where=length > 0)
