"""Vectors for dense systems: from a local encoder or an endpoint, made once, kept on a shelf, cut to size."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from poolkit.price import Budget, price_of
from poolkit.price import encoder as tokenizer
from poolkit.retrieve.embeddings import BYTES_A_TOKEN, CONCURRENCY, Embedder, Filling, Plain, Text
from poolkit.retrieve.encoders import encoder, version
from poolkit.retrieve.shelf import Shelf
from poolkit.retrieve.systems import System
from poolkit.tables import DataError

CHUNK = 64  # texts that a local encoder makes between two writes
BLOCK = 4096  # vectors in memory at once


@dataclass(frozen=True)
class Blocks:
    """Unit vectors of all documents, some thousands at a time; may be walked again."""

    shelf: Shelf
    rows: np.ndarray
    dimensions: int | None

    def __iter__(self) -> Iterator[np.ndarray]:
        for at in range(0, len(self.rows), BLOCK):
            yield truncated(self.shelf.take(self.rows[at : at + BLOCK]), self.dimensions)


class Vectors:
    """Vectors of documents and queries.

    Parameters
    ----------
    documents : Series of str
        By doc_id; none empty.
    texts : mapping of str to Series of str
        The queries in each formulation, by query_id.
    folder : Path
        Where vectors are kept from one run to the next.
    max_usd : float or None
        Spend no more on endpoints.
    told : callable
        Hears, in words, what is about to be embedded.
    """

    def __init__(
        self, documents: pd.Series, texts: Mapping[str, pd.Series], folder: Path, *,
        max_usd: float | None, told: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.documents, self.texts, self.folder, self.told = documents, texts, folder, told
        self.budget = Budget(max_usd)
        self.shelves: dict[str, Shelf] = {}
        self.known: dict[str, np.ndarray] = {}

    def of(self, system: System) -> tuple[Blocks, np.ndarray]:
        """Document and query vectors of a dense system, of unit length, at its dimensions."""
        wanted, source = system.options.get("dimensions"), _source(system)
        shelf = self.shelves.setdefault(source, Shelf(self.folder, source, self.told))
        try:
            documents, queries = self._rows(system, shelf, ""), self._rows(system, shelf, system.formulation)
            return Blocks(shelf, documents, wanted), truncated(shelf.take(queries), wanted)
        except DataError as error:
            address = system.options.get("base_url")
            at = f"endpoint {address}, model {system.model}: " if address else ""
            raise DataError(f"system {system.name}: {at}{error}") from None

    def _rows(self, system: System, shelf: Shelf, formulation: str) -> np.ndarray:
        """Where the vectors of the queries of a formulation stand; of the documents where it is empty."""
        kind, options = "query" if formulation else "document", system.options
        local = "encoder" in options
        extra = {"query": bool(formulation)} if local else options.get(f"{kind}_parameters", {})
        prefix, most = options.get(f"{kind}_prefix", ""), options.get("max_document_tokens")
        made_of = json.dumps([_source(system), extra, prefix, most, formulation])
        if made_of not in self.known:
            texts = self.texts[formulation] if formulation else self._cut(system, most)
            same = sha256(json.dumps([_source(system), sorted(extra.items())]).encode())
            asked = [Text(_key(same, prefix + x), f"{kind} {name}", prefix + x) for name, x in texts.items()]
            with shelf:
                missing = {x.key: x for x in asked if x.key not in shelf.rows}
                if missing:
                    if shelf.damaged:
                        said = f"{shelf.damaged:,} damaged vectors are not used; what is missing is made anew"
                        self.told(f"{shelf.path.name}: {said}")
                    self._fill(system, shelf, list(missing.values()), extra, f"{kind} texts")
                self.known[made_of] = np.array([shelf.rows[x.key] for x in asked])
        return self.known[made_of]

    def _cut(self, system: System, most: int | None) -> pd.Series:
        """Documents, cut to so many tokens."""
        if most is None:
            return self.documents
        tokens, cut = tokenizer(), 0

        def shortened(text: str) -> str:
            nonlocal cut
            if len(text.encode()) <= most or len(coded := tokens.encode_ordinary(text)) <= most:
                return text
            cut += 1
            return str(tokens.decode(coded[:most])).rstrip("\ufffd")

        texts = self.documents.map(shortened)
        if cut:
            self.told(f"{system.name}: {cut:,} documents are cut to {most:,} tokens")
        return texts

    def _fill(
        self, system: System, shelf: Shelf, texts: list[Text], extra: Mapping[str, Any], what: str
    ) -> None:
        """Make vectors and put them on the shelf."""
        label, options = f"{system.model}: {len(texts):,} {what} to embed", system.options
        with tqdm(total=len(texts), unit="text", desc=system.model, disable=None) as bar:

            def keep(keys: list[bytes], vectors: np.ndarray) -> None:
                shelf.put(keys, vectors)
                bar.update(len(keys))

            if "encoder" in options:
                self.told(label)
                encode = encoder(options["encoder"], options.get("model", ""))
                for at in range(0, len(texts), CHUNK):
                    some = texts[at : at + CHUNK]
                    vectors = encode([x.text for x in some], bool(extra["query"]))
                    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
                    if len(broken):
                        raise DataError(f"the vector of {some[broken[0]].owner} holds NaN or infinity")
                    keep([x.key for x in some], vectors)
                return
            door = self._door(system)
            million = sum(len(x.text.encode()) for x in texts) / BYTES_A_TOKEN / 1e6
            usd = f"about {million * door.price.input:.2f} USD" if door.price else "price unknown"
            self.told(f"{label}, about {million:.1f} million tokens, {usd}")
            size = shelf.size or _asked(options) or 0
            Filling(door, texts, extra, size=size, keep=keep).run()

    def _door(self, system: System) -> Embedder:
        """The endpoint of a system; its key is read from the environment."""
        options, base_url, model = system.options, system.options["base_url"], system.model
        key_env, asked = options.get("key_env", ""), _asked(options)
        key = os.environ.get(key_env, "").strip() if key_env else ""
        if key_env and not key:
            raise DataError(f"no key. Set the environment variable {key_env}.")
        price = price_of(model, base_url, {"output": 0, **options["price"]} if "price" in options else None)
        if price is None and self.budget.limit is not None:
            raise DataError("the price is unknown, so no budget can be kept. Give price = { input = .. }")
        form = {"encoding_format": "float"} | ({"dimensions": asked} if asked else {})
        return Embedder(
            model, base_url, key, key_env, price, self.budget, Plain(form),
            options.get("requests_per_minute"), options.get("tokens_per_minute"),
            options.get("concurrency", CONCURRENCY), options.get("timeout", 120.0), options.get("attempts", 6),
        )  # fmt: skip


def _asked(options: Mapping[str, Any]) -> int | None:
    """Dimensions that the endpoint itself is asked for; None where whole vectors are cut here."""
    return None if options.get("matryoshka") else options.get("dimensions")


def _source(system: System) -> str:
    """What makes a system's vectors, in words that are equal where they may be shared."""
    options = system.options
    if "encoder" in options:
        name, model = options["encoder"], options.get("model", "")
        return f"{name} {version(name, model)} {model}".strip()
    return f"{options['model']} {_asked(options) or 'whole'}"


def _key(same: Any, text: str) -> bytes:
    """Key of a text's vector: sha256 of what makes it and of the text."""
    digest = same.copy()
    digest.update(b"\0" + text.encode("utf-8", "replace"))
    return bytes(digest.digest())


def truncated(vectors: np.ndarray, dimensions: int | None) -> np.ndarray:
    """Unit vectors of the leading dimensions; a zero vector stays zero.

    Examples
    --------
    >>> truncated(np.array([[3.0, 4.0, 12.0]]), 2).tolist()
    [[0.6, 0.8]]
    """
    if dimensions is not None and dimensions > vectors.shape[1]:
        raise DataError(f"{dimensions} dimensions asked of vectors that have {vectors.shape[1]}")
    kept = vectors[:, :dimensions].astype(np.float64)
    length = np.linalg.norm(kept, axis=1, keepdims=True)
    return np.divide(kept, length, out=np.zeros_like(kept), where=length > 0)
