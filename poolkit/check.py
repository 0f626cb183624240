"""Every problem in every file of a collection, corpus and judges included."""

import warnings
from pathlib import Path

import pandas as pd

from poolkit.collection import Collection, opened, outdated_documents
from poolkit.identity import judge_from
from poolkit.lines import Problem
from poolkit.picture import picture_fault
from poolkit.score import measure
from poolkit.tables import DataError, listed
from poolkit.texts import one_of, read_corpus


def check(folder: str | Path) -> list[Problem]:
    """Every problem in every file of a collection, corpus included, with file and line."""
    found, problems = opened(Path(folder))
    if not Path(folder).is_dir():
        return problems
    for name in found.config["measures"] if found else ():
        try:
            measure(name)
        except ValueError as error:
            problems.append(Problem(Path(folder) / "collection.toml", None, str(error)))
    if found:
        problems += _judges(found)
    path = one_of(Path(folder), "corpus.jsonl", "corpus.jsonl.gz")
    if path is None:
        return [
            *problems,
            Problem(Path(folder) / "corpus.jsonl", None, "absent: reports show ids only", True),
        ]
    corpus = read_corpus(Path(folder), path)
    problems += corpus.problems
    pictures = set() if corpus.rows is None else set(corpus.rows["image"]) - {""}
    faults = {image: fault for image in sorted(pictures) if (fault := picture_fault(Path(folder) / image))}
    if faults:
        first, fault = next(iter(faults.items()))
        said = f"{len(faults)} of {len(pictures)} page pictures cannot be sent; the first: {first}: {fault}"
        problems.append(Problem(path, None, said))
    if found is not None and corpus.rows is not None:
        known = pd.Index(found.runs.documents).isin(corpus.rows.index)
        if not known.all():
            lost = found.runs.documents[~known]
            said = f"{len(lost)} of {len(known)} documents of the runs have no text here: {listed(lost)}"
            problems.append(Problem(path, None, said, warning=bool(known.any())))
        if not faults:
            problems += outdated_documents(found, corpus.rows)
    return problems


def _judges(found: Collection) -> list[Problem]:
    """What is wrong or doubtful in the tables of judges."""
    problems = []
    for name, settings in found.config["judges"].items():
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            try:
                judge_from(name, settings, found.folder)
            except DataError as error:
                problems.append(Problem(found.folder / "collection.toml", None, str(error)))
        problems += [
            Problem(found.folder / "collection.toml", None, str(doubt.message), warning=True)
            for doubt in doubts
            if doubt.category is UserWarning
        ]
    return problems
