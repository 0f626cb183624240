"""Other people's folders to collections: BEIR, TREC files, pages with pictures, or an ir_datasets id."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from poolkit.datasets import dataset_source
from poolkit.formats import HALF
from poolkit.plain import visible
from poolkit.sources import Fields, Rows, Source, folder_source
from poolkit.tables import DataError, listed


def import_collection(source: str, target: Path, *, queries: int = 0, seed: int = 1) -> list[str]:
    """Make a collection of a BEIR folder, a folder of TREC files, a folder of pages, or an ir_datasets id.

    Parameters
    ----------
    source : str
        A folder, or an id of ir_datasets (which must be installed, and may download).
    target : Path
        The new collection, made whole or not at all; it must not be there, or be empty.
    queries : int
        Keep so many queries, drawn by `seed` among those with labels where there are any; 0 keeps all.
    seed : int

    Returns
    -------
    list of str
        What came in, and what did not, in words.

    Notes
    -----
    A run file parts its columns by white space, so white space in ids is written as in addresses, a space
    as %20, and that is said. Grades stay as they are; ``[grade_maps.NAME]`` lists each with its count.
    """
    folder = Path(source)
    if target.exists() and folder.exists() and target.samefile(source):
        raise DataError(f"{target}: is the folder to import from; name a new folder")
    if (target / "collection.toml").exists() or (target / "queries.jsonl").exists():
        raise DataError(f"{target}: holds a collection already; name a new folder")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target}: is there already, and not an empty folder; name a new folder")
    if queries < 0:
        raise ValueError(f"queries is {queries}; give how many to keep, or 0 for all")
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must be at least 0")
    found = folder_source(folder) if folder.is_dir() else dataset_source(source)
    if not found.queries:
        raise DataError(f"{source}: no queries found (queries.jsonl, queries.tsv, topics.tsv, queries*.json)")
    came = len(found.queries)
    if queries and queries < came:
        judged = {q for rows in found.labels.values() for q, _, _ in rows}
        among = [q for q in found.queries if q in judged] or list(found.queries)
        rng = np.random.default_rng(seed)
        kept = {among[i] for i in rng.choice(len(among), size=min(queries, len(among)), replace=False)}
        found.queries = {q: t for q, t in found.queries.items() if q in kept}
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        said = _write(found, part, target.resolve().name, came)
        if target.exists():
            target.rmdir()
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return [f"{target}: {said[0]}", *said[1:]]


def _write(found: Source, part: Path, name: str, came: int) -> list[str]:
    """Write the collection; say what came in."""
    for folder in ("runs", "qrels"):
        (part / folder).mkdir(parents=True)
    ids = _Ids()
    rows = ({"_id": ids.of(q), **fields} for q, fields in found.queries.items())
    _write_jsonl(part / "queries.jsonl", rows)
    n_documents, pictures = 0, [0, 0]
    if found.documents is not None:
        taken = (
            _with_picture(found, part, {**d, "_id": ids.of(d["_id"])}, pictures) for d in found.documents
        )
        n_documents = _write_jsonl(part / "corpus.jsonl", taken)
    runs = [p for p in found.runs if p.name != "systems.csv"]
    for path in found.runs:
        shutil.copy(path, part / path.name if path.name == "systems.csv" else part / "runs" / path.name)
    drawn = f" (drawn of {came:,})" if len(found.queries) < came else ""
    said = [f"{len(found.queries):,} queries{drawn}, {n_documents:,} documents, {len(runs)} runs"]
    if blank := [q for q, fields in found.queries.items() if not fields["text"].strip()]:
        said.append(f"{len(blank):,} queries have no text: {listed(blank)}")
    if sum(pictures):
        lost = f", {pictures[1]:,} pictures that documents name are not there" if pictures[1] else ""
        said.append(f"{pictures[0]:,} pages with a picture{lost}")
    toml = f"name = {_toml(name)}\ntitle = {_toml(name)}\nsource = {_toml(found.origin)}\n"
    toml += f"licence = {_toml(found.licence)}\ndepth = 10\n"
    for label, graded in found.labels.items():
        here = [row for row in graded if row[0] in found.queries]
        lines = (f"{ids.of(q)}\t{ids.of(d)}\t{g}\n" for q, d, g in here)
        text = "query-id\tcorpus-id\tscore\n" + "".join(lines)
        if here:
            (part / "qrels" / f"{label}.tsv").write_text(text, encoding="utf-8")
        said += _labels_said(label, here, len(graded) - len(here))
        toml += _grade_map(label, here, found.meanings)
    (part / "collection.toml").write_text(toml, encoding="utf-8")
    if ids.changed:
        said.append(f"{len(ids.changed):,} ids hold white space, now written as %20: {listed(ids.changed)}")
    said += [*found.notes, f"licence: {found.licence}"]
    if not runs:
        said.append(
            "put one TREC run a system into runs/, or declare systems.toml and run `poolkit retrieve`"
        )
    return said


class _Ids:
    """Ids as a run file can hold them: white space written in per cent and hexadecimal digits."""

    def __init__(self) -> None:
        self._from: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The id to write; refused where another one is written like that already."""
        safe = re.sub(r"\s", lambda space: "".join(f"%{byte:02X}" for byte in space[0].encode()), name)
        if "%" in safe and (other := self._from.setdefault(safe, name)) != name:
            raise DataError(f"ids {other!r} and {name!r} would be written alike; rename one of them")
        return safe

    @property
    def changed(self) -> list[str]:
        """Ids that were written in another way."""
        return [name for safe, name in self._from.items() if safe != name]


def _with_picture(found: Source, part: Path, document: Fields, counts: list[int]) -> Fields:
    """The document, after its picture has been copied; counts those that are there, and those that are not."""
    if (image := document.get("image")) and found.folder:
        there = (found.folder / image).is_file()
        counts[not there] += 1
        if there:
            (part / image).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found.folder / image, part / image)
    return document


def _labels_said(label: str, rows: Rows, left: int) -> list[str]:
    """Counts of a label file, in words."""
    grades = ", ".join(f"{n:,} of grade {g}" for g, n in sorted(Counter(g for _, _, g in rows).items()))
    queries = len({q for q, _, _ in rows})
    said = [f"labels {label}: {len(rows):,} of {queries:,} queries: {grades or 'none'}; grades as they came"]
    return said + ([f"labels {label}: {left:,} of other queries left out"] if left else [])


def _grade_map(label: str, rows: Rows, meanings: dict[int, str]) -> str:
    """A table of collection.toml that maps every grade to itself, with what the source says of it."""
    lines = [
        f"\n[grade_maps.{_toml(label)}]  # grade of the source = grade here; change the right side to map"
    ]
    for grade, n in sorted(Counter(g for _, _, g in rows).items()):
        meaning = f": {visible(' '.join(str(meanings[grade]).split()))}" if meanings.get(grade) else ""
        lines.append(f"{grade} = {grade}  # {n:,} labels{meaning}")
    return "\n".join(lines) + "\n" if rows else ""


def _toml(text: str) -> str:
    """A text as a TOML string, which may hold no character 7F as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _write_jsonl(path: Path, rows: Iterable[Fields]) -> int:
    """Write rows; count them. An id that comes twice is refused."""
    seen: set[str] = set()
    with path.open("wb") as out:
        for row in rows:
            if row["_id"] in seen:
                raise DataError(f"{path.name}: {row['_id']} comes twice in the source. Keep one.")
            seen.add(row["_id"])
            try:
                out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            except UnicodeEncodeError:
                raise DataError(f"{path.name}: {row['_id']} holds {HALF}") from None
    return len(seen)
