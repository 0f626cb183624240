"""Systems as declared in systems.toml: what each one is, and the catalogue of all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from poolkit.retrieve.encoders import PACKAGES
from poolkit.tables import DataError, listed

KINDS = {
    "bm25": {"formulation", "family", "k1", "b", "stem"},
    "dense": {"formulation", "family", "encoder", "dimensions", "base_url", "model", "key_env", "matryoshka"},
    "hybrid": {"family", "fuses", "fuse_depth", "rrf_k"},
}
TEXTS = ("formulation", "family", "stem", "encoder", "base_url", "model", "key_env")
NUMBERS = {"k1": float("inf"), "b": 1.0, "rrf_k": float("inf")}  # the highest of each; the lowest is 0
CATALOGUE = ("system", "family", "mode", "model", "dimensions", "formulation")


@dataclass(frozen=True)
class System:
    """One declared system, with every default filled in.

    Attributes
    ----------
    name, kind, family, model, formulation : str
        As in systems.csv, where `kind` is called mode.
    dimensions : int or None
        Length of the vectors that are compared; None for BM25, and where only the endpoint knows.
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

    @property
    def encoder(self) -> tuple[str, str]:
        """What makes the vectors: package name or address, then model; equal where vectors are shared."""
        return str(self.options.get("encoder") or self.options["base_url"]), self.model


def systems_from(config: Mapping[str, Any]) -> list[System]:
    """Systems of a systems.toml, in its order.

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
    made: dict[str, System] = {}
    for name, table in tables.items():
        _check(name, table)
        if table["kind"] != "hybrid":
            made[name] = _bm25(name, table) if table["kind"] == "bm25" else _dense(name, table)
    for name, table in tables.items():
        if table["kind"] == "hybrid":
            made[name] = _hybrid(name, table, made)
    return [made[name] for name in tables]


def catalogue(systems: list[System]) -> pd.DataFrame:
    """Table for systems.csv: system, family, mode, model, dimensions, formulation."""
    rows = [(s.name, s.family, s.kind, s.model, s.dimensions, s.formulation) for s in systems]
    table = pd.DataFrame(rows, columns=list(CATALOGUE))
    return table.astype({"dimensions": "Int64"})


def _check(name: str, table: Mapping[str, Any]) -> None:
    """Refuse names that are no file names, unknown kinds and unknown keys."""
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

    for key in TEXTS:
        value = table.get(key, "-")
        if not isinstance(value, str) or not (value.strip() or key in ("stem", "key_env")):
            raise DataError(f"systems.toml: system {name} has {key} = {value!r}; give a text")
    for key, highest in NUMBERS.items():
        value = table.get(key, 0)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= highest or value == float("inf"):
            wanted = "a number from 0" + (f" to {highest:g}" if highest < float("inf") else "")
            raise DataError(f"systems.toml: system {name} has {key} = {value!r}; give {wanted}")
    fuses = table.get("fuses", [])
    if not isinstance(fuses, list | tuple) or not all(isinstance(x, str) for x in fuses):
        raise DataError(f"systems.toml: system {name} has fuses = {fuses!r}; give a list of system names")
    if not isinstance(table.get("matryoshka", False), bool):
        raise DataError(
            f"systems.toml: system {name} has matryoshka = {table['matryoshka']!r}; say true or false"
        )


def _bm25(name: str, table: Mapping[str, Any]) -> System:
    family, formulation = table.get("family", "bm25"), table.get("formulation", "original")
    return System(name, "bm25", family, "BM25", formulation, None, (), dict(table))


def _dense(name: str, table: Mapping[str, Any]) -> System:
    """A dense system; dimensions are checked against what the model was trained for."""
    formulation, wanted = table.get("formulation", "original"), table.get("dimensions")
    if wanted is not None and (not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1):
        raise DataError(
            f"systems.toml: system {name} has dimensions = {wanted!r}; give a whole number from 1"
        )
    if "encoder" not in table:
        if "base_url" not in table or "model" not in table:
            raise DataError(
                f"systems.toml: system {name} needs encoder, or base_url and model of an endpoint"
            )
        if wanted is not None and not table.get("matryoshka"):
            raise DataError(
                f"systems.toml: system {name} cuts {table['model']} to {wanted} dimensions; "
                "say matryoshka = true if the model was trained for that, or drop dimensions"
            )
        family = table.get("family", table["model"])
        return System(name, "dense", family, table["model"], formulation, wanted, (), dict(table))
    package = PACKAGES.get(table["encoder"])
    if package is None:
        raise DataError(
            f"systems.toml: system {name} has the unknown encoder {table['encoder']!r}. "
            f"Known: {', '.join(PACKAGES)}."
        )
    if wanted is not None and wanted not in package.dimensions:
        raise DataError(
            f"systems.toml: system {name} asks for {wanted} dimensions; {package.model} has "
            f"{' or '.join(map(str, package.dimensions))} (only a model trained for it may be cut)"
        )
    family = table.get("family", package.family)
    size = wanted or package.dimensions[0]
    return System(name, "dense", family, package.model, formulation, size, (), dict(table))


def _hybrid(name: str, table: Mapping[str, Any], made: Mapping[str, System]) -> System:
    """A hybrid; it takes model, dimensions, formulation and family from what it fuses."""
    fuses = tuple(table.get("fuses", ()))
    missing = [n for n in fuses if n not in made or made[n].kind == "hybrid"]
    if len(set(fuses)) < 2 or len(set(fuses)) < len(fuses) or missing:
        said = f": {listed(missing)} is none" if missing else ""
        raise DataError(f"systems.toml: system {name} must fuse two or more bm25 or dense systems{said}")
    depth = table.get("fuse_depth")
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
        raise DataError(f"systems.toml: system {name} needs fuse_depth, the ranks it reads of each system")
    parts = [made[n] for n in fuses]
    dense = [p for p in parts if p.kind == "dense"]
    families = {p.family for p in dense} or {"bm25"}
    formulations = {p.formulation for p in parts}
    if len(formulations) > 1:
        raise DataError(
            f"systems.toml: system {name} fuses formulations {' and '.join(sorted(formulations))}"
        )
    if "family" not in table and len(families) > 1:
        raise DataError(
            f"systems.toml: system {name} fuses the families {' and '.join(sorted(families))}. "
            'Say which one it counts to: family = "...".'
        )
    family = table.get("family", min(families))
    model = " + ".join(dict.fromkeys(p.model for p in dense)) or "BM25"
    sizes = {p.dimensions for p in dense}
    size = sizes.pop() if len(sizes) == 1 else None
    return System(name, "hybrid", family, model, parts[0].formulation, size, fuses, dict(table))
