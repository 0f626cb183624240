"""What others' folders hold, as the parts of a collection, with notes on what is left behind."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from poolkit.formats import HALF, halved, read_csv, read_jsonl, read_qrels, read_run
from poolkit.lines import BOM, read_bytes, read_lines
from poolkit.plain import foreign
from poolkit.tables import DataError, listed

Fields = dict[str, Any]
Rows = list[tuple[str, str, int]]
PICTURES, TEXTS = (".png", ".jpg", ".jpeg", ".webp"), (".txt", ".md")
UNSTATED = "not stated by the source; write it here"


@dataclass
class Source:
    """Parts of a collection that is to be.

    Attributes
    ----------
    origin, licence : str
    queries : dict of str to dict
        By id: text, and other fields that are text.
    documents : iterable of dict, or None
        _id, title, text and maybe image, a file in `folder`; read once.
    labels : dict of str to list of (query, document, grade)
        By name.
    meanings : dict of int to str
        What the source says of its grades.
    runs : list of Path
        With systems.csv, where the folder has one.
    folder : Path or None
        Where the pictures lie.
    notes : list of str
        What was not taken; grows while documents are read.
    """

    origin: str
    licence: str = UNSTATED
    queries: dict[str, Fields] = field(default_factory=dict)
    documents: Iterable[Fields] | None = None
    labels: dict[str, Rows] = field(default_factory=dict)
    meanings: dict[int, str] = field(default_factory=dict)
    runs: list[Path] = field(default_factory=list)
    folder: Path | None = None
    notes: list[str] = field(default_factory=list)


def folder_source(folder: Path) -> Source:
    """BEIR's files, TREC's (topics as tab-separated lines, qrels, runs), or pages with their pictures."""
    found = Source(folder.resolve().name, folder=folder)
    read: set[Path] = set()
    for path in _there(
        folder, "queries.jsonl", "queries.jsonl.gz", "queries.tsv", "topics.tsv", "queries*.json"
    ):
        if not found.queries:
            found.queries = _queries(path)
            read.add(path)
    for path in _there(folder, "corpus.jsonl", "corpus.jsonl.gz"):
        if found.documents is None:
            found.documents = _documents(path, found)
            read.add(path)
    if found.documents is None and (pages := _pages(folder)):
        found.documents = _page_texts(folder, pages, found)
        read |= {folder / page.relative_to(folder).parts[0] for page in pages}
    for path in _there(folder, "qrels/*", "*.qrels*", "qrels*.tsv"):
        name = path.name.removesuffix(".gz").removesuffix(".tsv").removesuffix(".qrels").removesuffix(".txt")
        if name in found.labels:
            raise DataError(f"{path.name}: labels {name!r} exist already; rename one of the files")
        rows = read_qrels(path).strict()
        columns = (rows["query_id"], rows["doc_id"], rows["relevance"].astype(int))
        found.labels[name] = list(zip(*columns, strict=True))
        read |= {path, folder / "qrels"}
    found.runs = _there(folder, "runs/*.run", "runs/*.run.gz", "*.run", "*.run.gz", "systems.csv")
    _check_runs(folder, found.runs)
    for path in _there(folder, "LICENSE*", "LICENCE*"):
        said = [line.strip() for _, line in read_lines(path).strict()]
        found.licence = f"{said[0]} (the source's {path.name})" if said else found.licence
        read.add(path)
    read |= {*found.runs, folder / "runs"}
    every = [*folder.iterdir(), *folder.glob("runs/*"), *folder.glob("qrels/*")]
    rest = sorted(
        p.relative_to(folder).as_posix() for p in every if p not in read and not p.name.startswith(".")
    )
    if rest:
        found.notes.append(f"not read: {listed(rest, first=8)}")
    return found


def _there(folder: Path, *patterns: str) -> list[Path]:
    """Files of a folder by pattern, in the order of the patterns; folders, pipes and hidden files are left out."""
    every = [p for pattern in patterns for p in sorted(folder.glob(pattern))]
    return [_own(folder, p) for p in dict.fromkeys(every) if p.is_file() and not p.name.startswith(".")]


def _check_runs(folder: Path, paths: list[Path]) -> None:
    """Refuse runs and a systems.csv that cannot be read, and two runs of one system."""
    names = dict[str, str]()
    for path in paths:
        read_csv(path).strict() if path.name == "systems.csv" else read_run(path).strict()
        name, where = path.name.removesuffix(".gz").removesuffix(".run"), path.relative_to(folder).as_posix()
        if (other := names.setdefault(name, where)) != where:
            raise DataError(f"two files for the system {name}: {other} and {where}. Keep or rename one.")


def _own(folder: Path, path: Path) -> Path:
    """The path, if what it names lies in the folder: a link could bring in any file of this machine."""
    if not path.resolve().is_relative_to(folder.resolve()):
        where = path.relative_to(folder).as_posix()
        raise DataError(
            f"{where}: a link that leads out of the folder. Import a copy that holds the file itself "
            f"(cp -rL {folder.name} COPY)."
        )
    return path


def _queries(path: Path) -> dict[str, Fields]:
    """Queries by id."""
    if path.suffix == ".tsv":
        queries: dict[str, Fields] = {}
        for number, line in read_lines(path).strict():
            query, tab, text = line.partition("\t")
            if not tab:
                raise DataError(f"{path.name}, line {number}: no tab; write query id, tab, text")
            _put(queries, f"{path.name}, line {number}", query, {"text": text})
        return queries
    if path.suffix == ".json":
        try:
            rows = json.loads(read_bytes(path))
        except (ValueError, RecursionError):
            raise DataError(f"{path.name}: not readable as JSON") from None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise DataError(f"{path.name}: no list of queries, each with query-id and query")
        renamed = {"query-id": "_id", "query": "text"}
        numbered = [(n, {renamed.get(k, k): v for k, v in row.items()}) for n, row in enumerate(rows, 1)]
    else:
        numbered = read_jsonl(path).strict()
    unit = "entry" if path.suffix == ".json" else "line"
    queries = {}
    for number, row in numbered:
        where = f"{path.name}, {unit} {number}"
        fields = {k: v for k, v in _checked(where, row).items() if k != "_id"}
        _put(queries, where, str(row["_id"]), fields)
    return queries


def _put(queries: dict[str, Fields], where: str, query: str, fields: Fields) -> None:
    """Add a query whose id is new."""
    if not query or query in queries:
        fault = f"query {query!r} stands twice. Keep one" if query else "the query's id is empty. Give it one"
        raise DataError(f"{where}: {fault}.")
    queries[query] = fields


def _checked(where: str, row: Fields) -> Fields:
    """A row, if it has an id and a text."""
    lacking = [x for x in ("_id", "text") if x not in row]
    if lacking:
        raise DataError(f"{where}: no {lacking[0]!r}; found {', '.join(row) or 'nothing'}")
    if not isinstance(row["text"], str) or type(row["_id"]) not in (str, int):
        raise DataError(f'{where}: "_id" must be text or an integer, "text" a text')
    return row


def _documents(path: Path, source: Source) -> Iterator[Fields]:
    """Documents of a JSON Lines file, one line in memory at a time."""
    with path.open("rb") as start:
        zipped = start.read(2) == b"\x1f\x8b"
    dropped, empty, n = dict[str, None](), list[str](), 0
    try:
        with gzip.open(path) if zipped else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if number == 1 and (fault := foreign(line)):
                    raise DataError(f"{path.name}: {fault}")
                if not line.strip():
                    continue
                where = f"{path.name}, line {number}"
                try:
                    row = json.loads(line.removeprefix(BOM))
                except (ValueError, RecursionError):
                    raise DataError(f"{where}: not a JSON object. Mend or remove the line.") from None
                if not isinstance(row, dict):
                    raise DataError(f"{where}: a JSON {type(row).__name__} where an object is expected")
                if halved(line, row):
                    raise DataError(f"{where}: {HALF}")
                _checked(where, row)
                dropped |= dict.fromkeys(k for k in row if k not in ("_id", "title", "text", "image"))
                n += 1
                empty += [] if (str(row.get("title") or "") + row["text"]).strip() else [str(row["_id"])]
                yield _document(path.name, path.parent, row)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(f"{path.name}: the gzip data is damaged or cut short") from None
    if not n:
        raise DataError(f"{path.name}: the file is empty. Remove it, or put documents there.")
    if empty:
        source.notes.append(f"{len(empty):,} documents are empty: {listed(empty)}")
    if dropped:
        source.notes.append(f"fields of documents left out: {listed(dropped)}")


def _document(name: str, folder: Path, row: Fields) -> Fields:
    """A document of four fields at most; an image outside the folder is refused."""
    document = {"_id": str(row["_id"]), "title": str(row.get("title") or ""), "text": row["text"]}
    if image := str(row.get("image") or ""):
        outside = "\0" in image or not (folder / image).resolve().is_relative_to(folder.resolve())
        if outside or Path(image).is_absolute():
            raise DataError(f"{name}: document {row['_id']} has the image {image!r}, outside the folder")
        if Path(image).suffix.lower() not in PICTURES:
            raise DataError(
                f"{name}: document {row['_id']} has the image {image!r}, which is no picture's name"
            )
        document["image"] = image
    return document


def _pages(folder: Path) -> list[Path]:
    """Pictures of pages in a folder corpus/ or pages/, however deep."""
    every = (p for name in ("corpus", "pages") for p in sorted((folder / name).rglob("*")))
    return [_own(folder, p) for p in every if p.suffix.lower() in PICTURES and p.is_file()]


def _page_texts(folder: Path, pages: list[Path], source: Source) -> Iterator[Fields]:
    """Pages by the names of their pictures; the parsed text lies beside, page.md, page.txt or page.png.txt."""
    bare = []
    for page in pages:
        beside = [page.with_suffix(x) for x in TEXTS] + [page.with_name(page.name + x) for x in TEXTS]
        text = next((p for p in beside if p.is_file()), None)
        if text is None:
            bare.append(page.name)
        try:
            said = read_bytes(_own(folder, text)).decode("utf-8") if text else ""
        except UnicodeDecodeError:
            raise DataError(f"{page.name}: its text is not UTF-8. Save the file as UTF-8.") from None
        yield {"_id": page.name, "title": "", "text": said, "image": page.relative_to(folder).as_posix()}
    if bare:
        source.notes.append(
            f"{len(bare):,} pages have a picture and no parsed text beside it: {listed(bare)}"
        )
