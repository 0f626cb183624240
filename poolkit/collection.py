"""A folder to tables: the only reader of a collection's files.

Everything but queries and runs may be absent. One walk over the folder serves two callers:
`read_collection` raises on the first errors it gathered, `check.check` returns them all.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from poolkit.formats import read_jsonl
from poolkit.labels import BEYOND, HIGHEST, LOWEST, Grades, Labels, grades_on, labels_from, mapped
from poolkit.lines import Problem, Read, unreadable
from poolkit.loading import load_qrels, load_records, load_runs
from poolkit.outdated import judge_now, outdated, outdated_lines, query_hashes, text_hashes
from poolkit.parts import named_files, read_config
from poolkit.records import newest
from poolkit.tables import DataError, Order, Runs
from poolkit.texts import EMPTY_CORPUS, one_of, read_corpus, read_queries

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Collection:
    """One folder of data/, read.

    Attributes
    ----------
    folder : Path
    config : dict
        collection.toml, with defaults for what it leaves out.
    queries : DataFrame
        By query_id: text, and any other formulations.
    runs : Runs
    catalogue : DataFrame
        By system: family, then the factors of systems.csv.
    labels : dict of str to Labels
        By file name: human qrels and judges' judgments, grade maps applied.
    records : dict of str to DataFrame
        Every line of each judge's file.
    judgments : dict of str to DataFrame
        Those of them that count: the newest of each query, document and replicate, failures included.
    outdated : dict of str to Series
        What has changed since each judge's grades, queries and settings compared, as `outdated.outdated` says.
    notes : list of Problem
        What is odd but readable.
    """

    folder: Path
    config: dict[str, Any]
    queries: pd.DataFrame
    runs: Runs
    catalogue: pd.DataFrame
    labels: dict[str, Labels]
    records: dict[str, pd.DataFrame] = field(repr=False)
    judgments: dict[str, pd.DataFrame] = field(repr=False)
    outdated: dict[str, pd.Series] = field(repr=False)
    notes: list[Problem] = field(repr=False)

    @property
    def families(self) -> dict[str, str]:
        """Family of each system; each its own where there is no systems.csv."""
        return {str(s): str(f) for s, f in self.catalogue["family"].items()}

    @property
    def human(self) -> Labels | None:
        """The human labels that judges are compared with, if any."""
        return self._labels("human", human=True)

    @property
    def judge(self) -> Labels | None:
        """The judge whose grades the report is about, if any."""
        return self._labels("judge", human=False)

    def _labels(self, key: str, *, human: bool) -> Labels | None:
        named = self.config.get(key)
        if named:
            return self.labels.get(named)
        kind = [x for x in self.labels.values() if x.human == human]
        return max(kind, key=lambda x: len(x.relevance), default=None)

    def grades(self, labels: Labels) -> Grades:
        """Labels laid on the runs, which is done once for each."""
        known, grades = self._laid.get(labels.name, (None, None))
        if grades is None or known is not labels:
            grades = grades_on(self.runs, labels)
            self._laid[labels.name] = (labels, grades)
        return grades

    @cached_property
    def _laid(self) -> dict[str, tuple[Labels, Grades]]:
        return {}

    def corpus(self) -> pd.DataFrame:
        """Documents by doc_id: title, text, image; empty where the collection has no texts."""
        path = one_of(self.folder, "corpus.jsonl", "corpus.jsonl.gz")
        return EMPTY_CORPUS if path is None else read_corpus(self.folder, path).strict()


def read_collection(folder: str | Path, *, keep: bool = True) -> Collection:
    """Return the collection of a folder, or raise one DataError that names what is wrong in it.

    With `keep`, judgments that were parsed are kept as columns for the next load (`poolkit.cache`).
    """
    found, problems = opened(Path(folder), keep=keep)
    return Read(found, problems).strict()


def opened(folder: Path, *, keep: bool = True) -> tuple[Collection | None, list[Problem]]:
    """Read all files but the corpus; what could not be read is in the problems."""
    if not folder.is_dir():
        return None, [
            Problem(
                folder, None, f"no such folder ({folder}); a collection is a folder with queries and runs/"
            )
        ]
    config, problems = read_config(folder)
    order: Order = "rank" if config["order"] == "rank" else "score"
    queries = read_queries(folder)
    runs, catalogue, unfit = load_runs(folder, order, queries.rows)
    labels, records, judgments, said = _all_labels(folder, config, keep)
    problems += queries.problems + unfit + said
    if queries.rows is None or runs is None or catalogue is None:
        return None, problems
    for name in (config.get("human"), config.get("judge")):
        if name and name not in labels:
            where = folder / "collection.toml"
            problems.append(Problem(where, None, f"labels {name!r} are named, but there is no such file"))
    changed = _outdated(folder, config, queries.rows, judgments)
    for name, causes in changed.items():
        problems += _told(folder, name, judgments[name], causes)
    found = Collection(
        folder, config, queries.rows, runs, catalogue, labels, records, judgments, changed,
        [p for p in problems if p.warning],
    )  # fmt: skip
    return found, problems


def _outdated(
    folder: Path, config: dict[str, Any], queries: pd.DataFrame, judgments: Tables
) -> dict[str, pd.Series]:
    """What of queries and judges has changed since the grades; `outdated_documents` compares documents."""
    hashes = query_hashes(queries)
    return {
        name: outdated(rows, hashes, judge_now(name, config["judges"].get(name), folder))
        for name, rows in judgments.items()
    }


def _told(folder: Path, name: str, judgments: pd.DataFrame, causes: pd.Series) -> list[Problem]:
    path = folder / "judgments" / f"{name}.jsonl"
    return [Problem(path, None, said, warning=True) for said in outdated_lines(judgments, causes)]


def outdated_documents(found: Collection, corpus: pd.DataFrame) -> list[Problem]:
    """Grades of other document texts than now."""
    problems = []
    for name, rows in found.judgments.items():
        judge = judge_now(name, found.config["judges"].get(name), found.folder)
        here = corpus[corpus.index.isin(rows.loc[rows["text_hash"].notna(), "doc_id"])]
        causes = outdated(rows, {}, None, text_hashes(judge, here, found.folder))
        problems += _told(found.folder, name, rows, causes)
    return problems


def _all_labels(
    folder: Path, config: dict[str, Any], keep: bool
) -> tuple[dict[str, Labels], Tables, Tables, list[Problem]]:
    """Human labels and judges' by name, grade maps applied; each judge's records, and those that count."""
    labels: dict[str, Labels] = {}
    records, judgments = Tables(), Tables()
    problems = []
    sources = [(x, True) for x in named_files(folder / "qrels", ".qrels", ".tsv", ".txt")]
    sources += [(x, False) for x in named_files(folder / "judgments", ".jsonl")]
    for (name, path, problem), human in sources:
        if problem:
            problems.append(problem)
            continue
        if name in labels:
            problems.append(Problem(path, None, f"labels {name!r} exist already; rename one of the files"))
            continue
        title = config["labels"].get(name, {}).get("title", "")
        try:
            if human:
                read = load_qrels(path)
                problems += read.problems
                if read.rows is None or any(not p.warning for p in read.problems):
                    continue
                found = labels_from(read.rows, name, title=title)
            else:
                records[name] = load_records(path, copy=keep)
                if far := _beyond(path, records[name]):
                    problems += far
                    continue
                judgments[name] = shown = newest(records[name])
                first = shown.loc[shown["replicate"].eq(0), ["query_id", "doc_id", "relevance", "status"]]
                good = first["status"].eq("ok")
                failed = first.loc[~good, ["query_id", "doc_id", "status"]]
                found = labels_from(first[good], name, title=title, human=False, failed=failed)
            grades = config["grade_maps"].get(name)
            if grades:
                found = mapped(found, {int(k): v for k, v in grades.items()})
        except (DataError, ValueError) as error:
            problems += unreadable(path, error)
            continue
        labels[name] = found
    there = {name for (name, _, _), _ in sources} | set(config["judges"])
    for key in ("labels", "grade_maps"):
        for name in (n for n in config[key] if n not in there):
            said = f"[{key}.{name}] is not used: qrels/ and judgments/ have no labels of that name"
            problems.append(Problem(folder / "collection.toml", None, said, warning=True))
    return labels, records, judgments, problems


def _beyond(path: Path, records: pd.DataFrame) -> list[Problem]:
    """Judgments of a grade that no scale has, replicates included, by line."""
    if records["relevance"].dropna().between(LOWEST, HIGHEST).all():
        return []
    rows = [(n, row.get("relevance")) for n, row in read_jsonl(path).rows or []]
    far = [(n, g) for n, g in rows if isinstance(g, int) and not LOWEST <= g <= HIGHEST]
    return [Problem(path, number, f"grade {grade}; {BEYOND}") for number, grade in far]
