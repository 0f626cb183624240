"""Notebooks to shared pages: papermill runs them, nbconvert renders them, nothing points outside."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import papermill

from poolkit.execute import ROOT, publish, shared_copies
from poolkit.index import Failure, Page, write_contents, write_index
from poolkit.parameters import typed
from poolkit.parts import read_config
from poolkit.study import open_study
from poolkit.tables import DataError

NOTEBOOKS = ROOT / "notebooks"
OWN = ("collection", "collections", "out")  # parameters that the report itself sets
SHIFTED = (
    "Scores under a language model's labels are shifted: good for comparing systems, not for quoting. The page "
    "about correlation says how far, and how evenly, where there are reference labels."
)


@dataclass(frozen=True)
class _Report:
    """One report to be made: its name, its folder, the notebooks to run and where, what they are given."""

    name: str
    title: str
    lead: tuple[str, ...]
    out: Path
    cwd: Path
    paths: list[Path]
    values: dict[str, Any]


def report(
    folders: Sequence[Path],
    out: Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    notebooks: Path = NOTEBOOKS,
    n_jobs: int = 2,
    told: Callable[[str], None] | None = None,
) -> list[Path]:
    """Index pages of the reports of one or more collections.

    Parameters
    ----------
    folders : sequence of Path
        Collections. Several get a further report that compares them.
    out : Path
        Folder of reports; each collection gets a folder of its own name in it, and index.html lists them.
    parameters : mapping, optional
        Notebook parameters to set. A name that no notebook has is refused, and so is a value of
        another type; text is read as the parameter's type.
    notebooks : Path
        Folder of numbered notebooks.
    n_jobs : int
        Notebooks run side by side, those of several collections too.
    told : callable, optional
        Called with a line of progress as each notebook ends.

    Returns
    -------
    list of Path
        index.html of each report, the comparing one last.

    Raises
    ------
    DataError
        When a notebook fails, after all others have run. Its old page is removed, so a stale result
        never passes for a new one; the half-run notebook is kept as NAME.failed.ipynb.
    """
    if n_jobs < 1:
        raise ValueError(f"n_jobs is {n_jobs}; at least one notebook must run at a time")
    known = known_parameters(notebooks)
    given = {name: _given(name, value, known) for name, value in (parameters or {}).items()}
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise ValueError(
            "two collections have the same folder name; their reports would overwrite each other"
        )
    paths = sorted(notebooks.glob("[0-9][0-9]-*.ipynb"))
    if not paths:
        raise DataError(f"no notebooks in {notebooks}; run from a checkout of poolkit or name their folder")
    chosen = {k: given[k] for k in ("depth", "human", "judge", "measures") if k in given}
    with shared_copies(out):
        for folder in folders:
            open_study(folder, **chosen)  # what is wrong is said once, before any old page goes
    reports = [_of(folder, out, paths, given) for folder in folders]
    if len(folders) > 1:
        reports.append(_across(folders, out, paths[0], given))
    made, failed = _made(reports, n_jobs, told or (lambda line: None))
    write_contents(out)
    if failed:
        raise DataError(
            f"{len(failed)} of {sum(len(r.paths) for r in reports)} notebooks failed, so their pages are missing: "
            + "; ".join(failed)
        )
    return made


def known_parameters(notebooks: Path = NOTEBOOKS) -> dict[str, str]:
    """Type of each parameter that any of the notebooks has."""
    found: dict[str, str] = {}
    for path in sorted(notebooks.glob("[0-9][0-9]-*.ipynb")):
        for name, about in papermill.inspect_notebook(str(path)).items():
            found.setdefault(name, about["inferred_type_name"])
    return found


def _given(name: str, value: Any, known: Mapping[str, str]) -> Any:
    """Value of a parameter that a user may set."""
    if name in OWN:
        raise ValueError(f"the parameter {name!r} is set by the report itself")
    return typed(name, value, {k: kind for k, kind in known.items() if k not in OWN})


def _of(folder: Path, out: Path, paths: list[Path], given: dict[str, Any]) -> _Report:
    """Report of one collection."""
    name = folder.resolve().name
    config = read_config(folder)[0]
    lead = [str(config["note"])] if config.get("note") else []
    if (folder / "judgments").is_dir():
        lead.append(SHIFTED)
    values = {"collection": name, "collections": [name], "out": _relative(out / name, folder)} | given
    title = str(config.get("title") or name)
    return _Report(name, title, tuple(lead), out / name, folder.resolve().parent, paths, values)


def _across(folders: Sequence[Path], out: Path, summary: Path, given: dict[str, Any]) -> _Report:
    """Report that compares several collections."""
    first, place = folders[0].resolve(), out / "summary"
    values = {
        "collection": first.name,
        "collections": [_relative(f, first) for f in folders],
        "out": _relative(place, first),
    }
    return _Report("summary", "All collections", (), place, first.parent, [summary], values | given)


def _made(
    reports: Sequence[_Report], n_jobs: int, told: Callable[[str], None]
) -> tuple[list[Path], list[str]]:
    """Run the notebooks of all reports side by side: index pages, and what failed, a line each."""
    for one in reports:
        _cleared(one.out)
    running = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(publish)(
            path, one.out, cwd=one.cwd, values=one.values, title=one.title, paths=one.paths
        )
        for one in reports
        for path in one.paths
    )
    made, failed = [], []
    for one in reports:
        pages: list[Page | Failure] = []
        for at, path in enumerate(one.paths, start=1):
            page = next(running)
            how = "failed" if isinstance(page, Failure) else "done"
            told(f"{one.name}: {path.stem} {how} ({at}/{len(one.paths)})")
            pages.append(page)
        made.append(write_index(one.out, one.title, pages, one.lead))
        failed += [f"{one.name}: {p.said}" for p in pages if isinstance(p, Failure)]
    return made, failed


def _cleared(out: Path) -> None:
    """Folder without what an earlier run left that this one may not write again."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").unlink(missing_ok=True)
    for kept in out.glob("*.failed.ipynb"):
        kept.unlink()
    for stale in ("figures", "tables"):
        shutil.rmtree(out / stale, ignore_errors=True)


def _relative(path: Path, folder: Path) -> str:
    """Path as seen from a collection's parent: notebooks keep their parameters, so no machine paths there."""
    return os.path.relpath(path.resolve(), folder.resolve().parent)
