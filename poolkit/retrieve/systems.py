"""Systems as declared in systems.toml: what each one is, and the catalogue of all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from poolkit.dialect import OPENAI, address_fault, parameters_fault
from poolkit.price import price_fault
from poolkit.retrieve.encoders import LOADERS, PACKAGES
from poolkit.retrieve.grid import expanded
from poolkit.tables import DataError, listed

ENDPOINT = {
    "base_url", "key_env", "price", "requests_per_minute", "tokens_per_minute", "concurrency", "timeout",
    "attempts", "query_parameters", "document_parameters", "max_document_tokens",
}  # fmt: skip
KINDS = {
    "bm25": {"family", "formulation", "only_fused", "k1", "b", "stem"},
    "dense": {
        "family", "formulation", "only_fused", "encoder", "model", "dimensions", "matryoshka",
        "query_prefix", "document_prefix", *ENDPOINT,
    },
    "hybrid": {"family", "fuses", "fuse_depth", "rrf_k"},
}  # fmt: skip
TEXTS = ("formulation", "family", "encoder", "base_url", "model")
MAYBE_EMPTY = ("stem", "key_env", "query_prefix", "document_prefix")
FLAGS = ("matryoshka", "only_fused")
NUMBERS = {"k1": float("inf"), "b": 1.0, "rrf_k": float("inf")}  # the highest of each; the lowest is 0
WHOLE = ("dimensions", "fuse_depth", "concurrency", "attempts", "max_document_tokens")  # from 1
RATES = ("requests_per_minute", "tokens_per_minute", "timeout")  # above 0
CATALOGUE = ("system", "family", "mode", "model", "dimensions", "formulation")


@dataclass(frozen=True)
class System:
    """One declared system, with every default filled in.

    Attributes
    ----------
    name, kind, family, model, formulation : str
        As in systems.csv, where `kind` is called mode.
    dimensions : int or None
        Length of the vectors that are compared; None for BM25, and where only the model knows.
    fuses : tuple of str
        The systems whose ranks a hybrid adds up; empty otherwise.
    options : mapping
        What the table says beyond that: encoder or endpoint, k1, b and stem, fuse_depth and rrf_k.
    """

    name: str
    kind: str
    family: str
    model: str
    formulation: str
    dimensions: int | None
    fuses: tuple[str, ...]
    options: Mapping[str, Any]


def systems_from(config: Mapping[str, Any]) -> list[System]:
    """Systems of a systems.toml, in its order; a table with lists stands for several (`poolkit.retrieve.grid`).

    Parameters
    ----------
    config : mapping
        The parsed file: a table `systems` with one table a system.

    Returns
    -------
    list of System

    Raises
    ------
    DataError
        For an unknown kind, key or encoder, a hybrid of nothing, or dimensions a model does not have.

    Notes
    -----
    Family, unless given: BM25 is its own; dense is its model's; a hybrid has the family of the one
    embedding it fuses, as in the paper. A hybrid of two embeddings must name its family.
    """
    tables = config.get("systems")
    if not isinstance(tables, Mapping) or not tables:
        raise DataError("systems.toml: no [systems.NAME] table. Declare at least one system.")
    tables = expanded(tables)
    made: dict[str, System] = {}
    for name, table in tables.items():
        _check(name, table)
        if table["kind"] != "hybrid":
            made[name] = _bm25(name, table) if table["kind"] == "bm25" else _dense(name, table)
    for name, table in tables.items():
        if table["kind"] == "hybrid":
            made[name] = _hybrid(name, table, made)
    idle = {s.name for s in made.values() if s.options.get("only_fused")}
    idle -= {part for s in made.values() for part in s.fuses}
    if idle:
        raise DataError(f"systems.toml: {listed(sorted(idle))} is only_fused, and no hybrid fuses it")
    return [made[name] for name in tables]


def sized(systems: list[System], sizes: Mapping[str, int]) -> list[System]:
    """Systems with the dimensions that their models turned out to have, hybrids by what they fuse."""
    found = {s.name: sizes.get(s.name, s.dimensions) for s in systems}
    for s in systems:
        if s.kind == "hybrid":
            parts = {found[part] for part in s.fuses} - {None}
            found[s.name] = parts.pop() if len(parts) == 1 else None
    return [replace(s, dimensions=found[s.name]) for s in systems]


def catalogue(systems: list[System]) -> pd.DataFrame:
    """Table for systems.csv: system, family, mode, model, dimensions, formulation."""
    rows = [(s.name, s.family, s.kind, s.model, s.dimensions, s.formulation) for s in systems]
    table = pd.DataFrame(rows, columns=list(CATALOGUE))
    return table.astype({"dimensions": "Int64"})


def _check(name: str, table: Any) -> None:
    """Refuse names that are no file names, unknown kinds and keys, and values of another kind."""
    if not name or any(c in " /\\" or not c.isprintable() for c in name) or name.startswith("."):
        raise DataError(f"systems.toml: system {name!r} names a file; use no spaces, slashes or leading dot")
    kind = table.get("kind") if isinstance(table, Mapping) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise DataError(f"systems.toml: system {name} has kind {kind!r}. Use one of {', '.join(KINDS)}.")
    unknown = sorted(set(table) - KINDS[kind] - {"kind"})
    if unknown:
        raise DataError(
            f"systems.toml: system {name} ({kind}) has unknown keys: {listed(unknown)}. "
            f"Known: {', '.join(sorted(KINDS[kind]))}."
        )
    for key, value in table.items():
        if wanted := _wanted(key, value):
            raise DataError(f"systems.toml: system {name} has {key} = {value!r}; {wanted}")


def _wanted(key: str, value: Any) -> str:
    """What a key should hold, where it holds something else; else nothing."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and value < float("inf")
    if key in TEXTS or key in MAYBE_EMPTY:
        good = isinstance(value, str) and bool(value.strip() or key in MAYBE_EMPTY)
        return "" if good else "give a text"
    if key in NUMBERS:
        most = f" to {NUMBERS[key]:g}" if NUMBERS[key] < float("inf") else ""
        return "" if number and 0 <= value <= NUMBERS[key] else f"give a number from 0{most}"
    if key in WHOLE:
        return "" if number and isinstance(value, int) and value >= 1 else "give a whole number from 1"
    if key in RATES:
        return "" if number and value > 0 else "give a number above 0"
    if key in FLAGS:
        return "" if isinstance(value, bool) else "say true or false"
    if key == "fuses":
        names = isinstance(value, list | tuple) and all(isinstance(x, str) for x in value)
        return "" if names else "give a list of system names"
    if key == "price":
        return (
            price_fault({"output": 0, **value}) if isinstance(value, dict) else "give a table, { input = .. }"
        )
    if key in ("query_parameters", "document_parameters"):
        return parameters_fault(value) if isinstance(value, dict) else "give a table"
    return ""


def _bm25(name: str, table: Mapping[str, Any]) -> System:
    family, formulation = table.get("family", "bm25"), table.get("formulation", "original")
    return System(name, "bm25", family, "BM25", formulation, None, (), dict(table))


def _dense(name: str, table: Mapping[str, Any]) -> System:
    """A dense system; dimensions are checked against what the model was trained for."""
    where, formulation = f"systems.toml: system {name}", table.get("formulation", "original")
    wanted, source, options = table.get("dimensions"), table.get("encoder"), dict(table)
    if source in PACKAGES:
        package = PACKAGES[source]
        if wanted is not None and wanted not in package.dimensions:
            raise DataError(
                f"{where} asks for {wanted} dimensions; {package.model} has "
                f"{' or '.join(map(str, package.dimensions))} (only a model trained for it may be cut)"
            )
        family, size = table.get("family", package.family), wanted or package.dimensions[0]
        return System(name, "dense", family, package.model, formulation, size, (), options)
    if source is not None and source not in LOADERS:
        known = ", ".join([*PACKAGES, *LOADERS])
        raise DataError(f"{where} has the unknown encoder {source!r}. Known: {known}.")
    if "model" not in table or (source is None and "base_url" not in table):
        raise DataError(f"{where} needs encoder, or base_url and model of an endpoint")
    if source is None:
        known = "OPENAI_API_KEY" if options["base_url"].rstrip("/") == OPENAI else ""
        if fault := address_fault(options["base_url"], options.setdefault("key_env", known)):
            raise DataError(f"{where}: {fault}")
    elif wanted is not None and not table.get("matryoshka"):
        raise DataError(
            f"{where} cuts {table['model']} to {wanted} dimensions; "
            "say matryoshka = true if the model was trained for that, or drop dimensions"
        )
    model = table["model"].rstrip("/").split("/")[-1] if source else table["model"]
    return System(name, "dense", table.get("family", model), model, formulation, wanted, (), options)


def _hybrid(name: str, table: Mapping[str, Any], made: Mapping[str, System]) -> System:
    """A hybrid; it takes model, dimensions, formulation and family from what it fuses."""
    where, fuses = f"systems.toml: system {name}", tuple(table.get("fuses", ()))
    missing = [n for n in fuses if n not in made or made[n].kind == "hybrid"]
    if len(set(fuses)) < 2 or len(set(fuses)) < len(fuses) or missing:
        said = f": {listed(missing)} is none" if missing else ""
        raise DataError(f"{where} must fuse two or more bm25 or dense systems{said}")
    if "fuse_depth" not in table:
        raise DataError(f"{where} needs fuse_depth, the ranks it reads of each system")
    parts = [made[n] for n in fuses]
    dense = [p for p in parts if p.kind == "dense"]
    families = {p.family for p in dense} or {"bm25"}
    formulations = {p.formulation for p in parts}
    if len(formulations) > 1:
        raise DataError(f"{where} fuses formulations {' and '.join(sorted(formulations))}")
    if "family" not in table and len(families) > 1:
        raise DataError(
            f"{where} fuses the families {' and '.join(sorted(families))}. "
            'Say which one it counts to: family = "...".'
        )
    family = table.get("family", min(families))
    model = " + ".join(dict.fromkeys(p.model for p in dense)) or "BM25"
    sizes = {p.dimensions for p in dense}
    size = sizes.pop() if len(sizes) == 1 else None
    return System(name, "hybrid", family, model, parts[0].formulation, size, fuses, dict(table))
