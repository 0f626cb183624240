"""Settings, runs and catalogue of a collection: each to its table, with every problem by line."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from poolkit.formats import read_csv, read_run, read_toml
from poolkit.labels import BEYOND, HIGHEST, LOWEST
from poolkit.lines import Problem, Read, unreadable
from poolkit.tables import DataError, Order, listed

KEYS = {
    "name": str, "title": str, "source": str, "licence": str, "depth": int, "measures": list, "order": str,
    "factors": list, "cost": str, "near_tie": float, "note": str, "human": str, "judge": str, "grades": dict,
    "labels": dict, "grade_maps": dict, "judges": dict,
}  # fmt: skip


def read_config(folder: Path) -> tuple[dict[str, Any], list[Problem]]:
    """Settings of collection.toml over the defaults."""
    settings: dict[str, Any] = {
        "name": folder.resolve().name, "depth": 10, "order": "score", "near_tie": 0.001,
        "measures": ["nDCG@10", "P@10", "R@10", "AP@10"], "grades": {}, "labels": {}, "grade_maps": {},
        "judges": {}, "factors": [],
    }  # fmt: skip
    path = folder / "collection.toml"
    if not os.path.lexists(path):
        return settings, [Problem(path, None, "absent: defaults are used", warning=True)]
    try:
        given = read_toml(path)
    except DataError as error:
        return settings, unreadable(path, error)
    problems = []
    for key, value in given.items():
        kind = KEYS.get(key)
        if kind is None:
            near = get_close_matches(key, KEYS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(KEYS)}."
            problems.append(Problem(path, None, f"unknown key {key!r}.{hint}"))
        elif isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
            said = f"{key} is {value!r}; expected {kind.__name__}"
            problems.append(Problem(path, None, said))
        else:
            wrong = _misshaped(key, value)
            problems += [Problem(path, None, said) for said in wrong]
            settings[key] = settings[key] if wrong else value
    if settings["order"] not in ("score", "rank"):
        problems.append(Problem(path, None, f'order is {settings["order"]!r}; write "score" or "rank"'))
    if settings["depth"] < 1:
        problems.append(Problem(path, None, f"depth is {settings['depth']}; it must be at least 1"))
    return settings, problems


def _misshaped(key: str, value: Any) -> list[str]:
    """What is wrong inside a list or table of collection.toml."""
    if key == "measures":
        odd = [x for x in value if not isinstance(x, str)]
        return [f'measures holds {listed(odd)}; write names such as "nDCG@10"'] if odd else []
    if key == "factors":
        odd = [x for x in value if not isinstance(x, str)]
        return [f"factors holds {listed(odd)}; write columns of systems.csv"] if odd else []
    if key == "grades":
        odd = [g for g, text in value.items() if not isinstance(text, str)]
        said = [f"[grades] {g} is {value[g]!r}; expected a text" for g in odd]
        return said + [f"[grades] {why}" for g in value if (why := _no_grade(g))]
    if key not in ("labels", "judges", "grade_maps"):
        return []
    said = list[str]()
    for name, table in value.items():
        where = f"[{key}.{name}]"
        if not isinstance(table, dict):
            said.append(f"[{key}] {name} is {table!r}; expected a table {where}")
        elif key == "grade_maps":
            odd = [(g, to, _no_grade(g) or _no_grade(to)) for g, to in table.items()]
            said += [f"{where} {g} = {to!r}: {why}" for g, to, why in odd if why]
        elif key == "labels":
            odd = [x for x in ("title", "about") if not isinstance(table.get(x, ""), str)]
            said += [f"{where} {x} is {table[x]!r}; expected a text" for x in odd]
    return said


def _no_grade(value: object) -> str:
    """Why a key (text) or a value (number) of a table is no grade; empty where it is one."""
    try:
        number = int(value) if isinstance(value, str | int | float) else 0
        if isinstance(value, bool | float) or str(number) != str(value):
            raise ValueError
    except (ValueError, OverflowError):
        return f"{value} is not a grade; a grade is a whole number"
    return "" if LOWEST <= number <= HIGHEST else f"grade {value}; {BEYOND}"


def named_files(folder: Path, *suffixes: str) -> Iterator[tuple[str, Path, Problem | None]]:
    """Files of a folder by the name that commands use; others come with a problem."""
    if not folder.is_dir():
        if os.path.lexists(folder):
            yield folder.name, folder, Problem(folder, None, "not a folder. Move it away or make it one.")
        return
    for path in sorted(p for p in folder.iterdir() if not p.name.startswith(".")):
        plain = path.name.removesuffix(".gz")
        suffix = next((s for s in suffixes if plain.endswith(s)), None)
        if not path.is_file():
            said = "not read: a folder, a broken link or a pipe. Put a file here or move it away."
            yield plain, path, Problem(path, None, said, warning=not suffix)
        elif suffix and any("\ud800" <= c <= "\udfff" for c in path.name):
            yield plain, path, Problem(path, None, "its name is not readable as UTF-8. Rename the file.")
        elif suffix:
            yield plain.removesuffix(suffix), path, None
        else:
            yield plain, path, Problem(path, None, f"not read: its name does not end in {suffixes[0]}", True)


def read_rankings(folder: Path, order: Order = "score", *, repeats: bool = True) -> Read[dict[str, pa.Table]]:
    """Rows of every run, by system: query_id, doc_id and what gives the order; `repeats` as in `read_run`."""
    files = list(named_files(folder / "runs", ".run"))
    problems = [p for _, _, p in files if p]
    good = [(name, path) for name, path, p in files if not p]
    for name in {n for n, _ in good if [m for m, _ in good].count(n) > 1}:
        problems.append(Problem(folder / "runs", None, f"two files for the system {name}. Keep one."))
    if not good:
        problems.append(
            Problem(folder / "runs", None, "no runs; put one TREC file a system here, NAME.run[.gz]")
        )
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # more would only hold more files at once
        reads = list(pool.map(lambda found: read_run(found[1], order, repeats=repeats), good))
    for read in reads:
        problems += read.problems
    failed = any(not p.warning for p in problems)
    kept = ["query_id", "doc_id", order]
    rows = {name: x.rows.select(kept) for (name, _), x in zip(good, reads, strict=True) if x.rows is not None}
    return Read(None if failed else rows, problems)


def read_catalogue(folder: Path, systems: list[str]) -> Read[pd.DataFrame]:
    """Family and factors by system; where there is no systems.csv each system is its own family."""
    path = folder / "systems.csv"
    if not os.path.lexists(path):
        note = Problem(path, None, "absent: each system counts as a family of its own", warning=True)
        return Read(pd.DataFrame({"family": systems}, index=pd.Index(systems, name="system")), [note])
    read = read_csv(path)
    if read.rows is None:
        return read
    table = read.rows
    if not {"system", "family"} <= set(table.columns):
        said = f"columns are {', '.join(table.columns)}; system and family are needed"
        return Read(None, [Problem(path, 1, said)])
    problems = []
    for at in table.index[table["system"].duplicated()]:
        said = f"system {table['system'][at]} has a row already. Keep one."
        problems.append(Problem(path, int(at), said))
    for at in table.index[table["family"].str.strip() == ""]:
        said = f"system {table['system'][at]} has no family. Name it; alone it may bear its own name."
        problems.append(Problem(path, int(at), said))
    absent = [s for s in systems if s not in set(table["system"])]
    if absent:
        said = f"no row for {listed(absent)}, which have runs. Add one row each with its family."
        problems.append(Problem(path, None, said))
    idle = [s for s in table["system"] if s not in set(systems)]
    if idle:
        said = f"{listed(idle)}: no run, so left out"
        problems.append(Problem(path, None, said, warning=True))
    if any(not p.warning for p in problems):
        return Read(None, problems)
    table = table.set_index("system")
    for column in table.columns.drop("family"):
        numbers = pd.to_numeric(table[column].replace("", None), errors="coerce")
        if numbers.notna().eq(table[column] != "").all() and numbers.notna().any():
            table[column] = numbers
    return Read(table, problems)
