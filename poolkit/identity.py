"""Who judges, and what makes two judgments the same.

A judgment's identity is the model, the prompt's hash, the sampling parameters, the query's text, the
document's content as sent, and a replicate number. Equal identities are one call, whatever pool, run,
system, document id or day they come from; anything in the identity that changes makes a new call.
"""

import difflib
import hashlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from poolkit import likelihood
from poolkit import prompt as pr
from poolkit.dialect import OPENAI, address_fault, is_alias, parameters_fault
from poolkit.picture import picture_fault
from poolkit.price import BatchTerms, Price, batch_terms, encoder, price_fault, price_of
from poolkit.tables import DataError

GPT = "gpt-4.1-2025-04-14"
FILLED = ("endpoint", "likelihood")  # kinds of judge that poolkit asks; others grade outside
BUILT_IN = {"gpt-4.1": {"model": GPT}}
PARAMETERS = {"temperature": 0, "max_tokens": 400}
FREE = {"input": 0, "output": 0}
KEYS: dict[str, tuple[type, ...]] = {
    "model": (str,), "base_url": (str,), "key_env": (str,), "prompt": (str,), "parameters": (dict,),
    "price": (dict,), "batch": (dict,), "requests_per_minute": (int, float), "tokens_per_minute": (int, float),
    "concurrency": (int,), "max_document_tokens": (int,), "timeout": (int, float), "attempts": (int,),
}  # fmt: skip
_KIND = {str: "text", dict: "a table", int: "a number"}
MOST, REPLICATES = 10**9, 2**31  # of a setting, and of the numbers that replicates have


@dataclass(frozen=True)
class Judge:
    """A model, a prompt and settings: what a table ``[judges.NAME]`` of collection.toml says."""

    name: str
    kind: str = "endpoint"
    model: str = ""
    base_url: str = OPENAI
    key_env: str = ""
    prompt: pr.Prompt | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    price: Price | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int = 64
    max_document_tokens: int | None = None
    timeout: float = 120.0
    attempts: int = 6
    batch: BatchTerms = field(default_factory=BatchTerms)
    weights: Path | None = None  # of a likelihood judge: its GGUF file, where no package has it
    provenance: Mapping[str, Any] = field(default_factory=dict)  # all that a table says, but an endpoint's


def judge_from(name: str, settings: Mapping[str, Any] | None, folder: Path) -> Judge:
    """Judge that a table of collection.toml describes; without a table, a built-in one of that name.

    Parameters
    ----------
    name : str
    settings : mapping or None
        ``[judges.NAME]``; None where collection.toml has no such table.
    folder : Path
        The collection's folder, where prompt files are looked for first.

    Returns
    -------
    Judge
    """
    where = f"judge {name!r}"
    if not name or name.startswith(".") or re.search(r"[/\\\s]", name) or not name.isprintable():
        raise DataError(
            f"{where}: a judge's name is the name of its file. Give it no slash, backslash, space or control "
            "character, and no dot at the start."
        )
    if settings is None:
        if name not in BUILT_IN:
            raise DataError(
                f"{where}: collection.toml has no [judges.{name}], and built in is only 'gpt-4.1'."
            )
        settings = BUILT_IN[name]
    if not isinstance(settings, Mapping):
        raise DataError(
            f"{where}: collection.toml says {str(settings)[:40]!r}; it must be a table, [judges.{name}]."
        )
    given: dict[str, Any] = {key: value for key, value in settings.items() if key != "kind"}
    kind = str(settings.get("kind", "endpoint"))
    if kind == "likelihood":
        return Judge(name, kind, **likelihood.settings(where, given, folder))
    if kind != "endpoint":
        if not isinstance(given.get("prompt", ""), str):
            raise DataError(f"{where}: prompt must be text.")
        path = pr.find_prompt(given["prompt"], folder) if "prompt" in given else None
        template = pr.read_prompt(path) if path else None
        return Judge(name, kind, str(given.get("model", "")), prompt=template, provenance=given)
    for key, value in given.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key, [*KEYS, "kind"], n=1, cutoff=0.0)[0]
            raise DataError(f"{where}: unknown key {key!r}. Did you mean {near!r}?")
        if not isinstance(value, KEYS[key]) or isinstance(value, bool):
            raise DataError(f"{where}: {key} must be {_KIND[KEYS[key][0]]}.")
        if isinstance(value, int | float) and not 0 < value <= MOST:
            found = f"{where}: {key} is {str(value)[:40]}"
            raise DataError(f"{found}; it must be above 0{f' and at most {MOST:,}' if value > 0 else ''}.")
    if not given.get("model", "").strip():
        raise DataError(f"{where}: no model. Name a pinned snapshot, such as model = {GPT!r}.")
    base_url = given.setdefault("base_url", OPENAI)  # OpenAI's key goes to OpenAI alone
    key_env = given.setdefault("key_env", "OPENAI_API_KEY" if base_url.rstrip("/") == OPENAI else "")
    if fault := address_fault(base_url, key_env):
        raise DataError(f"{where}: {fault}.")
    if is_alias(given["model"], base_url):
        text = f"{where}: {given['model']!r} is an alias: what it means may change. Pin a dated snapshot."
        warnings.warn(text, stacklevel=2)
    parameters = given.get("parameters", {})
    if fault := parameters_fault(parameters) or price_fault(given.get("price", FREE)):
        raise DataError(f"{where}: {fault}.")
    given["parameters"] = {**PARAMETERS, **parameters}
    if "max_completion_tokens" in parameters:
        del given["parameters"]["max_tokens"]
    try:
        given["batch"] = batch_terms(given["base_url"], given.get("batch", {}))
    except ValueError as error:
        raise DataError(f"{where}: {error}.") from None
    given["price"] = price_of(given["model"], given["base_url"], given.get("price"))
    given["prompt"] = pr.read_prompt(pr.find_prompt(given.get("prompt", pr.DEFAULT.stem), folder))
    return Judge(name, **given)


def checked_replicate(replicate: int) -> int:
    """A replicate's number, if records can hold it."""
    if not 0 <= replicate < REPLICATES:
        raise ValueError(f"replicate is {replicate}; give a whole number from 0 to {REPLICATES - 1}.")
    return replicate


def identity(
    *,
    model: str,
    prompt_hash: str,
    parameters: Mapping[str, Any],
    query: str,
    content_hash: str,
    replicate: int = 0,
) -> str:
    """Key of a judgment: sha256 of all that may change the answer, and of nothing else.

    Parameters
    ----------
    model : str
        As asked for.
    prompt_hash : str
    parameters : mapping
        As configured. What an endpoint turns out to refuse is noted with the judgment (`sent`), so that a key
        never depends on what was learnt on the way.
    query : str
    content_hash : str
        Of title, text and image as sent (`content_hash`).
    replicate : int

    Returns
    -------
    str
    """
    parts = [model, prompt_hash, sorted(parameters.items()), pr.clean(query), content_hash, replicate]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def content_hash(title: str, text: str, image: Path | None = None) -> str:
    """Sha256 of a document's content as sent."""
    picture = None
    if image is not None:
        if fault := picture_fault(image):
            raise DataError(f"{image}: the page picture {fault}.")
        picture = hashlib.sha256(image.read_bytes()).hexdigest()
    return hashlib.sha256(json.dumps([pr.clean(title), pr.clean(text), picture]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Asked:
    """One pair, ready to be sent."""

    query_id: str
    doc_id: str
    query: str
    title: str
    text: str
    image: Path | None
    cut: int  # tokens cut off
    text_hash: str
    key: str


def asked(judge: Judge, pairs: pd.DataFrame, replicate: int) -> Iterator[Asked]:
    """Pairs with their keys, in order; texts cut where the judge sets a limit."""
    prompt_hash = prompt_of(judge).hash
    lacking = [column for column in ("query_id", "doc_id", "query", "title", "text") if column not in pairs]
    if lacking:
        raise ValueError(f"pairs lack the column {lacking[0]!r}; found {', '.join(map(str, pairs.columns))}.")
    most, tokenizer = judge.max_document_tokens, None
    images = pairs["image"] if "image" in pairs else [None] * len(pairs)
    columns = (pairs[name] for name in ("query_id", "doc_id", "query", "title", "text"))
    for query_id, doc_id, query, title, text, image in zip(*columns, images, strict=True):
        query, title, text, cut = _text(query), _text(title), _text(text), 0
        if most and len(text.encode("utf-8", "replace")) > most:
            tokenizer = tokenizer or encoder()
            tokens = tokenizer.encode_ordinary(pr.clean(text))
            if len(tokens) > most:
                text, cut = tokenizer.decode(tokens[:most]).rstrip("\ufffd"), len(tokens) - most
        picture = Path(image) if isinstance(image, str | Path) and str(image) else None
        digest = content_hash(title, text, picture)
        key = identity(
            model=judge.model, prompt_hash=prompt_hash, parameters=judge.parameters,
            query=query, content_hash=digest, replicate=replicate,
        )  # fmt: skip
        yield Asked(query_id, doc_id, query, title, text, picture, cut, digest, key)


def _text(value: object) -> str:
    """Text, where a missing one is empty."""
    return value if isinstance(value, str) else ""


def prompt_of(judge: Judge) -> pr.Prompt:
    """The judge's prompt; a DataError where judgments are made outside."""
    if judge.kind not in FILLED or judge.prompt is None:
        raise DataError(
            f"judge {judge.name!r} is of kind {judge.kind!r}: its judgments are made outside poolkit, which "
            f"only reads judgments/{judge.name}.jsonl. Choose a judge of kind {' or '.join(FILLED)}."
        )
    return judge.prompt


def short_hash(text: str) -> str:
    """A text's digest, short: for records, where the key says the rest."""
    return hashlib.sha256(pr.clean(text).encode()).hexdigest()[:16]


def shown(parameters: Mapping[str, Any]) -> str:
    """Parameters on one line, in a fixed order."""
    return " ".join(f"{name}={json.dumps(parameters[name])}" for name in sorted(parameters))
