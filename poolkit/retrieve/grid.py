"""Many systems from one table: a list of dimensions or formulations stands for one system each."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from poolkit.tables import DataError

AXES = ("dimensions", "formulation")


def expanded(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of systems.toml, one a system.

    Parameters
    ----------
    tables : mapping
        As declared; `dimensions` and `formulation` may be lists.

    Returns
    -------
    dict

    Notes
    -----
    A member is called by the table's name, then its dimensions, then its formulation unless that is
    `original`: large-256, large-256-keyword. A hybrid is made for every dimension and formulation that
    all it fuses have, each time from the members that agree in both.

    Examples
    --------
    >>> tables = {
    ...     "bm25": {"kind": "bm25", "formulation": ["original", "keyword"]},
    ...     "large": {"kind": "dense", "dimensions": [256, 768], "formulation": ["original", "keyword"]},
    ...     "both": {"kind": "hybrid", "fuses": ["bm25", "large"]},
    ... }
    >>> made = expanded(tables)
    >>> ", ".join(made)
    'bm25, bm25-keyword, large-256, large-256-keyword, large-768, large-768-keyword, both-256, both-256-keyword, both-768, both-768-keyword'
    >>> made["both-768-keyword"]["fuses"]
    ['bm25-keyword', 'large-768-keyword']
    """  # noqa: E501
    axes = {name: _axes(name, tables, ()) for name in tables}
    made: dict[str, Any] = {}
    for name, table in tables.items():
        own, parts = axes[name], _parts(table)
        for values in product(*(own[a] for a in AXES if a in own)):
            point = dict(zip((a for a in AXES if a in own), values, strict=True))
            member = _member(name, point)
            if member in made:
                raise DataError(f"systems.toml: two systems are called {member}. Rename one of the tables.")
            made[member] = table
            if point and parts:
                names = [_member(x, {a: point[a] for a in axes.get(x, {}) if a in point}) for x in parts]
                made[member] = {**table, "fuses": names}
            elif point:
                made[member] = {**table, **point}
    return made


def _parts(table: Any) -> list[str]:
    """Names that a table fuses."""
    fuses = table.get("fuses") if isinstance(table, Mapping) else None
    return [x for x in fuses if isinstance(x, str)] if isinstance(fuses, list) else []


def _axes(name: str, tables: Mapping[str, Any], above: tuple[str, ...]) -> dict[str, list[Any]]:
    """Keys of a table that hold lists, with their values; of a hybrid, those that all its parts share."""
    table = tables.get(name)
    found = {a: table[a] for a in AXES if isinstance(table, Mapping) and isinstance(table.get(a), list)}
    for axis, values in found.items():
        if not values or any(values.count(x) > 1 for x in values):
            raise DataError(f"systems.toml: system {name} has {axis} = {values!r}; list each value once")
    inner = [_axes(x, tables, (*above, name)) for x in _parts(table) if x not in (*above, name)]
    for axis in AXES:
        lists = [x[axis] for x in inner if axis in x]
        if lists and axis not in found:
            found[axis] = [v for v in lists[0] if all(v in other for other in lists)]
            if not found[axis]:
                several = " and ".join(map(str, lists))
                raise DataError(
                    f"systems.toml: system {name} fuses {axis} {several}, which have none in common"
                )
    return found


def _member(name: str, point: Mapping[str, Any]) -> str:
    return "-".join([name, *(str(point[a]) for a in AXES if point.get(a, "original") != "original")])
