"""The kinds of file that make a collection: each to its table, with every problem by line."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from poolkit.formats import read_csv, read_jsonl, read_run, read_toml
from poolkit.labels import BEYOND, HIGHEST, LOWEST
from poolkit.lines import Problem, Read, read_lines, unreadable
from poolkit.tables import DataError, Order, listed

KEYS = {
    "name": str, "title": str, "source": str, "licence": str, "depth": int, "measures": list, "order": str,
    "factors": list, "cost": str, "near_tie": float, "note": str, "human": str, "judge": str, "grades": dict,
    "labels": dict, "grade_maps": dict, "judges": dict,
}  # fmt: skip


EMPTY_CORPUS = pd.DataFrame(
    {"title": [], "text": [], "image": []}, index=pd.Index([], name="doc_id"), dtype=str
)


def one_of(folder: Path, *names: str) -> Path | None:
    """First of the named files that exists in a folder."""
    return next((folder / n for n in names if os.path.lexists(folder / n)), None)


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
        elif key == "labels" and not isinstance(table.get("title", ""), str):
            said.append(f"{where} title is {table['title']!r}; expected a text")
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


def read_queries(folder: Path) -> Read[pd.DataFrame]:
    """Queries by id, in file order: text and other formulations."""
    path = one_of(folder, "queries.jsonl", "queries.jsonl.gz", "queries.tsv")
    if path is None:
        return Read(None, [Problem(folder / "queries.jsonl", None, "absent; write one {_id, text} a line")])
    rows, problems = [], []
    if path.suffix == ".tsv":
        text_lines = read_lines(path)
        problems += text_lines.problems
        for number, line in text_lines.rows or []:
            query_id, tab, text = line.partition("\t")
            if not tab:
                problems.append(Problem(path, number, "no tab; write query id, tab, text"))
            rows.append((number, {"query_id": query_id, "text": text}))
    else:
        read = read_jsonl(path)
        problems += read.problems
        for number, row in read.rows or []:
            if not _identified(row):
                problems.append(Problem(path, number, 'a query needs "_id" (text or integer) and "text"'))
                continue
            extra = {k: v for k, v in row.items() if isinstance(v, str) and k not in ("_id", "query_id")}
            rows.append((number, {"query_id": str(row["_id"]), **extra}))
    return _keyed(path, rows, problems, key="query_id")


def _keyed(
    path: Path, rows: Sequence[tuple[int, dict[str, str]]], problems: list[Problem], *, key: str
) -> Read[pd.DataFrame]:
    """Rows by id: a repeat with other content is refused, an empty text noted."""
    seen: dict[str, tuple[int, dict[str, str]]] = {}
    blank = []
    for number, row in rows:
        if row[key] in seen:
            first, earlier = seen[row[key]]
            if earlier != row:
                said = f"{row[key]} has another content than on line {first}. Keep one."
                problems.append(Problem(path, number, said))
            continue
        seen[row[key]] = (number, row)
        if not row["text"].strip():
            blank.append((number, row[key]))
    if blank:
        said = f"{len(blank)} texts are empty: {listed(i for _, i in blank)}"
        problems.append(Problem(path, blank[0][0], said, warning=True))
    if not seen or any(not p.warning for p in problems):
        return Read(None, problems)
    table = pd.DataFrame([row for _, row in seen.values()]).fillna("").astype(object).set_index(key)
    return Read(table, problems)


def _identified(row: dict[str, object]) -> bool:
    """Whether a JSON object has a usable id and a text."""
    name = row.get("_id")
    return isinstance(name, str | int) and not isinstance(name, bool) and isinstance(row.get("text"), str)


def read_corpus(folder: Path, path: Path) -> Read[pd.DataFrame]:
    """Documents by id: title, text, image (a file inside the collection)."""
    read = read_jsonl(path)
    rows, problems = [], list(read.problems)
    for number, row in read.rows or []:
        if not _identified(row):
            problems.append(Problem(path, number, 'a document needs "_id" (text or integer) and "text"'))
            continue
        image = str(row.get("image") or "")
        if image and ("\0" in image or not (folder / image).resolve().is_relative_to(folder.resolve())):
            problems.append(Problem(path, number, f"image {image!r} lies outside the collection"))
            continue
        document = {"doc_id": str(row["_id"]), "title": str(row.get("title") or ""), "text": str(row["text"])}
        rows.append((number, document | {"image": image}))
    return _keyed(path, rows, problems, key="doc_id")


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


def read_rankings(folder: Path, order: Order = "score") -> Read[dict[str, pa.Table]]:
    """Rows of every run, by system."""
    files = list(named_files(folder / "runs", ".run"))
    problems = [p for _, _, p in files if p]
    good = [(name, path) for name, path, p in files if not p]
    for name in {n for n, _ in good if [m for m, _ in good].count(n) > 1}:
        problems.append(Problem(folder / "runs", None, f"two files for the system {name}. Keep one."))
    if not good:
        problems.append(
            Problem(folder / "runs", None, "no runs; put one TREC file a system here, NAME.run[.gz]")
        )
    with ThreadPoolExecutor() as pool:
        reads = list(pool.map(lambda found: read_run(found[1], order), good))
    for read in reads:
        problems += read.problems
    failed = any(not p.warning for p in problems)
    rows = {name: read.rows for (name, _), read in zip(good, reads, strict=True) if read.rows is not None}
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
