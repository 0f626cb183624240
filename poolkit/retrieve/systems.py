"""Systems as declared in systems.toml: what each one is, and what is wrong with a declaration."""

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

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
    "hybrid": {"family", "only_fused", "fuses", "fuse_depth", "rrf_k"},
}  # fmt: skip
TEXTS = ("formulation", "family", "encoder", "base_url", "model")
MAYBE_EMPTY = ("stem", "key_env", "query_prefix", "document_prefix")
FLAGS = ("matryoshka", "only_fused")
NUMBERS = {"k1": float("inf"), "b": 1.0, "rrf_k": float("inf")}  # the highest of each; the lowest is 0
WHOLE = ("dimensions", "fuse_depth", "concurrency", "attempts", "max_document_tokens")  # from 1
RATES = ("requests_per_minute", "tokens_per_minute", "timeout")  # above 0
LONGEST_NAME = 200  # bytes: a file may have 255, and its name here gets some more
BM25 = {"k1": 1.5, "b": 0.75, "stem": ""}  # unless declared


@dataclass(frozen=True)
class System:
    """One declared system, with every default filled in.

    Attributes
    ----------
    name, kind, family, model, formulation : str
        As in systems.csv, where `kind` is called mode. The kind `run` is a run file made elsewhere.
    dimensions : int or None
        Length of the vectors that are compared; None for BM25, and where only the model knows.
    fuses : tuple of str
        The systems whose ranks a hybrid adds up; empty otherwise.
    options : mapping
        What the table says beyond that: encoder or endpoint, k1, b and stem, fuse_depth and rrf_k;
        of a run, the `mode` that systems.csv gives it.
    """

    name: str
    kind: str
    family: str
    model: str
    formulation: str
    dimensions: int | None
    fuses: tuple[str, ...]
    options: Mapping[str, Any]


def systems_from(config: Mapping[str, Any], *, runs: Mapping[str, System] | None = None) -> list[System]:
    """Systems of a systems.toml, in its order; a table with lists stands for several (`poolkit.retrieve.grid`).

    Parameters
    ----------
    config : mapping
        The parsed file: a table `systems` with one table a system.
    runs : mapping of str to System, optional
        Runs made elsewhere, which hybrids may fuse.

    Returns
    -------
    list of System
        After those of the file, the runs that its hybrids fuse.

    Raises
    ------
    DataError
        For an unknown kind, key or encoder, a hybrid of nothing or of itself, or dimensions a model does
        not have.

    Notes
    -----
    Family, unless given: BM25 is its own; dense is its model's; a hybrid has the family of what it fuses
    beside BM25, as in the paper. A hybrid of two such families must name its own.
    """
    tables = config.get("systems")
    if not isinstance(tables, Mapping) or not tables:
        raise DataError("systems.toml: no [systems.NAME] table. Declare at least one system.")
    tables = expanded(tables)
    for name, table in tables.items():
        _check(name, table)
    made = {name: run for name, run in (runs or {}).items() if name not in tables}
    graph = {name: table.get("fuses", ()) for name, table in tables.items()}
    try:
        order = [name for name in TopologicalSorter(graph).static_order() if name in tables]
    except CycleError as error:
        circle = " fuses ".join(reversed(error.args[1]))
        raise DataError(f"systems.toml: {circle}: a hybrid cannot fuse itself") from None
    build = {"bm25": _bm25, "dense": _dense, "hybrid": lambda name, table: _hybrid(name, table, made)}
    for name in order:
        made[name] = build[tables[name]["kind"]](name, tables[name])
    fused = {part for name in tables for part in made[name].fuses}
    idle = [name for name in tables if made[name].options.get("only_fused") and name not in fused]
    if idle:
        raise DataError(f"systems.toml: {listed(sorted(idle))} is only_fused, and no hybrid fuses it")
    return [made[name] for name in [*tables, *(x for x in made if x in fused and x not in tables)]]


def in_order(systems: list[System]) -> list[System]:
    """Systems so that each comes after what it fuses."""
    by_name = {s.name: s for s in systems}
    return [by_name[name] for name in TopologicalSorter({s.name: s.fuses for s in systems}).static_order()]


def is_lexical(system: System, by_name: Mapping[str, System]) -> bool:
    """Whether it is BM25, or a fusion of nothing else."""
    if system.kind == "hybrid":
        return all(part in by_name and is_lexical(by_name[part], by_name) for part in system.fuses)
    return "bm25" in (system.kind, system.options.get("mode"))


def _check(name: str, table: Any) -> None:
    """Refuse names that are no file names, unknown kinds and keys, and values of another kind."""
    if not name or any(c in " /\\" or not c.isprintable() for c in name) or name.startswith("."):
        raise DataError(f"systems.toml: system {name!r} names a file; use no spaces, slashes or leading dot")
    if len(name.encode()) > LONGEST_NAME:
        raise DataError(f"systems.toml: system {name[:20]}... names a file; use at most {LONGEST_NAME} bytes")
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
    return System(name, "bm25", family, "BM25", formulation, None, (), {**BM25, **table})


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
    if missing := [n for n in fuses if n not in made]:
        said = "is neither declared nor a run in runs/"
        raise DataError(f"{where} fuses {listed(missing)}, which {said}")
    if len(set(fuses)) < 2 or len(set(fuses)) < len(fuses):
        raise DataError(
            f"{where} must fuse two or more different systems; it fuses {listed(fuses) or 'none'}"
        )
    if "fuse_depth" not in table:
        raise DataError(f"{where} needs fuse_depth, the ranks it reads of each system")
    parts, deep = [made[n] for n in fuses], table["fuse_depth"]
    for part in parts:
        if not part.family:
            said = "a run to which systems.csv gives no family. Give it a row with one."
            raise DataError(f"{where} fuses {part.name}, {said}")
        if (holds := part.options.get("fuse_depth", deep)) < deep:
            raise DataError(
                f"{where} reads {deep} ranks of {part.name}, whose own fuse_depth is {holds}. "
                "Lower the one or raise the other."
            )
    formulations = {p.formulation for p in parts} - {""}
    if len(formulations) > 1:
        raise DataError(f"{where} fuses formulations {' and '.join(sorted(formulations))}")
    others = [p for p in parts if not is_lexical(p, made)] or parts
    families = {p.family for p in others}
    if "family" not in table and len(families) > 1:
        raise DataError(
            f"{where} fuses the families {' and '.join(sorted(families))}. "
            'Say which one it counts to: family = "...".'
        )
    family, sizes = table.get("family", min(families)), {p.dimensions for p in others}
    models = dict.fromkeys(model for p in others for model in p.model.split(" + "))
    size, formulation = sizes.pop() if len(sizes) == 1 else None, "".join(formulations)
    return System(
        name, "hybrid", family, " + ".join(models), formulation, size, fuses, {"rrf_k": 60, **table}
    )
