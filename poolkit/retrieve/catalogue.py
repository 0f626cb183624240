"""The rows that systems get in systems.csv."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from poolkit.retrieve.systems import BM25, KINDS, System, in_order, is_lexical

CATALOGUE = ("system", "family", "mode", "model", "dimensions", "formulation")
# What else can make two systems differ; `fuses` is written only where nothing before it differs.
SETTINGS = (
    "k1", "b", "stem", "max_document_tokens", "query_prefix", "document_prefix", "query_parameters",
    "document_parameters", "encoder", "base_url", "matryoshka", "fuse_depth", "rrf_k", "fuses",
)  # fmt: skip


def catalogue(systems: list[System], *, of: list[System] | None = None) -> pd.DataFrame:
    """Table for systems.csv: system, family, mode, model, dimensions, formulation, and settings that tell.

    Parameters
    ----------
    systems : list of System
        The rows.
    of : list of System, optional
        All that are declared, where some of them are only fused.

    Returns
    -------
    DataFrame

    Notes
    -----
    A setting (one of SETTINGS) has a column only where systems would otherwise have equal rows, and a value
    only in their rows: a setting that all share would keep a hybrid from being matched with its own dense
    part, which has no such setting. A hybrid has the settings of the BM25 that it fuses; of several, those
    that are the same.
    """
    rows = [(s.name, s.family, s.kind, s.model, s.dimensions, s.formulation) for s in systems]
    table = pd.DataFrame(rows, columns=list(CATALOGUE)).astype({"dimensions": "Int64"})
    by_name = {s.name: s for s in of or systems}
    known = [_settings(s, by_name) for s in systems]
    for name in SETTINGS:
        value = pd.Series([x.get(name) for x in known], dtype=object).map(_text, na_action="ignore")
        alike = [str(c) for c in table][1:] if name == "fuses" else list(CATALOGUE[1:])
        differs = value.groupby(table.groupby(alike, dropna=False).ngroup()).transform("nunique") > 1
        if differs.any():
            table[name] = value.where(differs).fillna("")
    return table


def _settings(system: System, by_name: Mapping[str, System]) -> dict[str, Any]:
    """What is declared of a system, and of the lexical parts of a hybrid."""
    own = dict(system.options)
    if system.kind == "dense":
        own = dict.fromkeys(KINDS["dense"] & set(SETTINGS), "") | own
    if system.kind == "hybrid":
        own["fuses"] = " + ".join(sorted(system.fuses))
    parts = [by_name[x] for x in system.fuses if x in by_name and is_lexical(by_name[x], by_name)]
    inner = [_settings(part, by_name) for part in parts]
    return {
        k: inner[0][k] for k in BM25 if inner and all(x.get(k) == inner[0].get(k, "") for x in inner)
    } | own


def _text(value: Any) -> str:
    """A setting as a cell; 1 and 1.0 are one."""
    if isinstance(value, str):
        return value
    return f"{value:.12g}" if type(value) in (int, float) else json.dumps(value, sort_keys=True)


def sized(systems: list[System], sizes: Mapping[str, int]) -> list[System]:
    """Systems with the dimensions that their models turned out to have, hybrids by what they fuse."""
    by_name = {s.name: replace(s, dimensions=sizes.get(s.name, s.dimensions)) for s in systems}
    for s in in_order(systems):
        if s.kind == "hybrid":
            parts = [by_name[x] for x in s.fuses]
            lengths = {p.dimensions for p in parts if not is_lexical(p, by_name)}
            by_name[s.name] = replace(s, dimensions=lengths.pop() if len(lengths) == 1 else None)
    return [by_name[s.name] for s in systems]
