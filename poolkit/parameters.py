"""Parameters of notebooks: each in its own type, unknown ones refused with the nearest name."""

import ast
import json
import math
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

KINDS = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "list": "a list", "str": "text",
}  # fmt: skip
INJECTED = "# Parameters"  # first line of the cell in which papermill sets what it was given


def typed(name: str, value: Any, known: Mapping[str, str]) -> Any:
    """Value in the parameter's own type; text, as a command line gives it, is read as that type.

    Parameters
    ----------
    name : str
    value : object
    known : mapping of str to str
        Type of each parameter by name.

    Raises
    ------
    ValueError
        For a name that is not known, with the nearest one that is, and for a value of another type.

    Examples
    --------
    >>> typed("measures", "nDCG@10 AP@10", {"measures": "list"})
    ['nDCG@10', 'AP@10']
    """
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(sorted(known))}."
        raise ValueError(f"no notebook has a parameter {name!r}.{hint}")
    kind, found = known[name], value
    if kind == "str" and type(value) in (int, float):
        found = str(value)  # papermill reads the name 2031 as a number
    elif isinstance(value, str) and kind == "list" and not value.startswith("["):
        found = value.split()
    elif isinstance(value, str) and kind != "str":
        with suppress(json.JSONDecodeError):
            found = json.loads(value.lower() if kind == "bool" else value)
    if kind == "float" and type(found) is int:
        found = float(found)
    if type(found).__name__ != kind or (kind == "float" and not math.isfinite(found)):
        raise ValueError(f"parameter {name} is {value!r}; it must be {KINDS.get(kind, kind)}")
    return found


def settle(names: MutableMapping[str, Any]) -> None:
    """Put a notebook's parameters right: those that papermill set, in the types that the notebook declares.

    papermill sets whatever it is given, and only warns of a name that the notebook does not have.

    Parameters
    ----------
    names : mutable mapping
        The notebook's `globals()`; its `In`, which IPython keeps, tells what was declared and what was set.

    Raises
    ------
    ValueError
        As `typed` does.
    """
    cells = [str(cell) for cell in names.get("In", ())]
    known = {name: kind for cell in cells for name, kind in _declared(cell)}
    for cell in cells:
        if cell.startswith(INJECTED):
            for name in _assigned(cell):
                names[name] = typed(name, names[name], known)


def _declared(cell: str) -> Iterator[tuple[str, str]]:
    """Names and types of a cell's annotated assignments."""
    with suppress(SyntaxError):  # a cell with a magic command declares nothing
        for node in ast.parse(cell).body:
            if isinstance(node, ast.AnnAssign):
                yield ast.unparse(node.target), ast.unparse(node.annotation)


def _assigned(cell: str) -> list[str]:
    """Names that a cell assigns."""
    nodes = (node for node in ast.parse(cell).body if isinstance(node, ast.Assign))
    return [ast.unparse(target) for node in nodes for target in node.targets]
