"""The kinds of file that make a collection: each to its table, with every problem by line."""

import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from poolkit.formats import read_jsonl, read_run
from poolkit.lines import Problem, Read
from poolkit.tables import listed

KEYS = {
    "name": str, "title": str, "source": str, "licence": str, "depth": int, "measures": list, "order": str,
    "near_tie": float, "note": str, "human": str, "judge": str, "grades": dict, "labels": dict, "grade_maps": dict,
    "judges": dict,
}  # fmt: skip


EMPTY_CORPUS = pd.DataFrame(
    {"title": [], "text": [], "image": []}, index=pd.Index([], name="doc_id"), dtype=str
)


def one_of(folder: Path, *names: str) -> Path | None:
    """First of the named files that exists in a folder."""
    return next((folder / n for n in names if (folder / n).exists()), None)


def read_config(folder: Path) -> tuple[dict[str, Any], list[Problem]]:
    """Settings of collection.toml over the defaults."""
    settings: dict[str, Any] = {
        "name": folder.resolve().name, "depth": 10, "order": "score", "near_tie": 0.001,
        "measures": ["nDCG@10", "P@10", "R@10", "AP@10"], "grades": {}, "labels": {}, "grade_maps": {},
        "judges": {},
    }  # fmt: skip
    path = folder / "collection.toml"
    if not path.exists():
        return settings, [Problem(path, None, "absent: defaults are used", warning=True)]
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return settings, [Problem(path, None, f"not readable as TOML: {error}")]
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
            settings[key] = value
    if settings["order"] not in ("score", "rank"):
        problems.append(Problem(path, None, f'order is {settings["order"]!r}; write "score" or "rank"'))
    if settings["depth"] < 1:
        problems.append(Problem(path, None, f"depth is {settings['depth']}; it must be at least 1"))
    return settings, problems


def read_queries(folder: Path) -> Read[pd.DataFrame]:
    """Queries by id, in file order: text and other formulations."""
    path = one_of(folder, "queries.jsonl", "queries.jsonl.gz", "queries.tsv")
    if path is None:
        return Read(None, [Problem(folder / "queries.jsonl", None, "absent; write one {_id, text} a line")])
    rows, problems = [], []
    if path.suffix == ".tsv":
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
            if not line.strip():
                continue
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
            extra = {k: v for k, v in row.items() if isinstance(v, str) and k != "_id"}
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
        if image and not (folder / image).resolve().is_relative_to(folder.resolve()):
            problems.append(Problem(path, number, f"image {image!r} lies outside the collection"))
            continue
        document = {"doc_id": str(row["_id"]), "title": str(row.get("title") or ""), "text": str(row["text"])}
        rows.append((number, document | {"image": image}))
    return _keyed(path, rows, problems, key="doc_id")


def named_files(folder: Path, *suffixes: str) -> Iterator[tuple[str, Path, Problem | None]]:
    """Files of a folder by the name that commands use; others come with a problem."""
    if not folder.is_dir():
        return
    for path in sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith(".")):
        plain = path.name.removesuffix(".gz")
        suffix = next((s for s in suffixes if plain.endswith(s)), None)
        if suffix:
            yield plain.removesuffix(suffix), path, None
        else:
            yield plain, path, Problem(path, None, f"not read: its name does not end in {suffixes[0]}", True)


def read_rankings(folder: Path) -> Read[dict[str, pa.Table]]:
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
        reads = list(pool.map(read_run, [path for _, path in good]))
    for read in reads:
        problems += read.problems
    failed = any(not p.warning for p in problems)
    rows = {name: read.rows for (name, _), read in zip(good, reads, strict=True) if read.rows is not None}
    return Read(None if failed else rows, problems)


def read_catalogue(folder: Path, systems: list[str]) -> Read[pd.DataFrame]:
    """Family and factors by system; where there is no systems.csv each system is its own family."""
    path = folder / "systems.csv"
    if not path.exists():
        note = Problem(path, None, "absent: each system counts as a family of its own", warning=True)
        return Read(pd.DataFrame({"family": systems}, index=pd.Index(systems, name="system")), [note])
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        return Read(None, [Problem(path, None, f"not readable as CSV: {error}")])
    if not {"system", "family"} <= set(table.columns):
        said = f"columns are {', '.join(table.columns)}; system and family are needed"
        return Read(None, [Problem(path, 1, said)])
    problems = []
    for at in table.index[table["system"].duplicated()]:
        problems.append(
            Problem(path, int(at) + 2, f"system {table['system'][at]} has a row already. Keep one.")
        )
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
