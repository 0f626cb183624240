"""Notebooks to shared pages: papermill runs them, nbconvert renders them, nothing points outside."""

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import joblib
import nbformat
import papermill
from jupyter_client.kernelspec import NoSuchKernel
from papermill.exceptions import PapermillExecutionError

import poolkit
from poolkit.parts import read_config
from poolkit.render import Page, answers_of, render, title_of, write_index
from poolkit.study import open_study
from poolkit.tables import DataError

NOTEBOOKS = Path(poolkit.__file__).parents[1] / "notebooks"
SHIFTED = (
    "Scores under a language model's labels are shifted against people's: good for comparing systems, not for "
    "quoting. The page about correlation says how far, and how evenly."
)
KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "list": "a list"}


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
        Folder of reports; each collection gets a folder of its own name in it.
    parameters : mapping, optional
        Notebook parameters to set. A name that no notebook has is refused, and so is a value of
        another type; text is read as the parameter's type.
    notebooks : Path
        Folder of numbered notebooks.
    n_jobs : int
        Notebooks run side by side.
    told : callable, optional
        Called with a line of progress as each notebook ends.

    Returns
    -------
    list of Path
        index.html of each report, the comparing one last.

    Raises
    ------
    DataError
        When a notebook fails. Its old page is removed, so a stale result never passes for a new one;
        the half-run notebook is kept under failed/.
    """
    if n_jobs < 1:
        raise ValueError(f"n_jobs is {n_jobs}; at least one notebook must run at a time")
    known = known_parameters(notebooks)
    given = {name: _typed(name, value, known) for name, value in (parameters or {}).items()}
    titles = [folder.resolve().name for folder in folders]
    if len(set(titles)) < len(titles):
        raise ValueError(
            "two collections have the same folder name; their reports would overwrite each other"
        )
    paths = sorted(notebooks.glob("[0-9][0-9]-*.ipynb"))
    if not paths:
        raise DataError(f"no notebooks in {notebooks}; run from a checkout of poolkit or name their folder")
    chosen = {k: given[k] for k in ("depth", "human", "judge", "measures") if k in given}
    for folder in folders:
        open_study(folder, **chosen)  # what is wrong is said once, before any old page goes
    made = [
        _one(folder, out / name, paths, given, n_jobs, told or (lambda line: None))
        for folder, name in zip(folders, titles, strict=True)
    ]
    if len(folders) > 1:
        made.append(_across(folders, out / "summary", paths[0], given))
    return made


def known_parameters(notebooks: Path = NOTEBOOKS) -> dict[str, str]:
    """Type of each parameter that any of the notebooks has."""
    found: dict[str, str] = {}
    for path in sorted(notebooks.glob("[0-9][0-9]-*.ipynb")):
        for name, about in papermill.inspect_notebook(str(path)).items():
            found.setdefault(name, about["inferred_type_name"])
    return found


def _typed(name: str, value: Any, known: Mapping[str, str]) -> Any:
    """Value in the parameter's own type; text, as a command line gives it, is read as that type."""
    if name in ("data", "collections", "out"):
        raise ValueError(f"the parameter {name!r} is set by the report itself")
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else f" Known: {', '.join(sorted(known))}."
        raise ValueError(f"no notebook has a parameter {name!r}.{hint}")
    kind, found = known[name], value
    if isinstance(value, str) and kind == "list" and not value.startswith("["):
        found = value.split()
    elif isinstance(value, str) and kind != "str":
        with suppress(json.JSONDecodeError):
            found = json.loads(value.lower() if kind == "bool" else value)
    if kind == "float" and type(found) is int:
        found = float(found)
    if type(found).__name__ != kind or (kind == "float" and not math.isfinite(found)):
        raise ValueError(f"parameter {name} is {value!r}; it must be {KINDS.get(kind, kind)}")
    return found


def _one(
    folder: Path, out: Path, paths: list[Path], given: dict[str, Any], n_jobs: int,
    told: Callable[[str], None],
) -> Path:  # fmt: skip
    """Report of one collection."""
    name = folder.resolve().name
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").unlink(missing_ok=True)
    for stale in ("figures", "tables", "failed"):
        shutil.rmtree(out / stale, ignore_errors=True)
    jobs = [
        (path, {"data": name, "collections": [name], "out": _relative(out, folder)} | given) for path in paths
    ]
    running = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(_page)(path, folder.resolve().parent, out, values, name, paths)
        for path, values in jobs
    )
    pages = []
    for at, (path, page) in enumerate(zip(paths, running, strict=True), start=1):
        told(f"{name}: {path.stem} {'failed' if isinstance(page, str) else 'done'} ({at}/{len(paths)})")
        pages.append(page)
    config = read_config(folder)[0]
    lead = [str(config[k]) for k in ("note",) if config.get(k)]
    if (folder / "judgments").is_dir():
        lead.append(SHIFTED)
    return write_index(out, str(config.get("title") or name), _published(pages), lead)


def _published(pages: Sequence[Page | str]) -> list[Page]:
    """Return the pages if all notebooks ran; else refuse with every failure."""
    failed = [p for p in pages if isinstance(p, str)]
    if failed:
        raise DataError("no index page, because a notebook failed: " + "; ".join(failed))
    return [p for p in pages if isinstance(p, Page)]


def _across(folders: Sequence[Path], out: Path, summary: Path, given: dict[str, Any]) -> Path:
    """Report that compares several collections."""
    out.mkdir(parents=True, exist_ok=True)
    first = folders[0].resolve()
    values = {
        "data": first.name,
        "collections": [_relative(f, first) for f in folders],
        "out": _relative(out, first),
    }
    page = _page(summary, first.parent, out, values | given, "all collections", [summary])
    return write_index(out, "all collections", _published([page]))


def _relative(path: Path, folder: Path) -> str:
    """Path as seen from a collection's parent: notebooks keep their parameters, so no machine paths there."""
    return os.path.relpath(path.resolve(), folder.resolve().parent)


def _page(
    notebook: Path, cwd: Path, out: Path, values: dict[str, Any], collection: str, paths: list[Path]
) -> Page | str:
    """Run one notebook in `cwd` and publish it; or publish nothing and say what failed."""
    page = out / f"{notebook.stem}.html"
    executed = out / notebook.name
    page.unlink(missing_ok=True)
    executed.unlink(missing_ok=True)
    mine = papermill.inspect_notebook(str(notebook))
    values = {k: v for k, v in values.items() if k in mine}
    with tempfile.TemporaryDirectory(prefix="poolkit-") as scratch, _quiet_kernel(scratch, out):
        partial = Path(scratch) / notebook.name
        try:
            papermill.execute_notebook(
                str(notebook), str(partial), parameters=values, cwd=str(cwd), kernel_name="python3",
                progress_bar=False, log_output=False, start_timeout=120,
                extra_arguments=["--IPKernelApp.log_level=50"],
            )  # fmt: skip
        except PapermillExecutionError as error:
            said = f"{notebook.name}, cell {error.exec_count}: {error.ename}: {error.evalue}"
            return _failed(said, partial, out / "failed" / notebook.name)
        except (RuntimeError, NoSuchKernel) as error:  # nbclient's DeadKernelError is one
            said = f"{notebook.name}: {error} (out of memory, perhaps)"
            return _failed(said, partial, out / "failed" / notebook.name)
        found = nbformat.read(partial, as_version=4)
    _forget_machine(found)
    nbformat.write(found, executed)
    title = title_of(found) or notebook.stem
    page.write_text(render(found, title, collection, notebook.stem, paths), encoding="utf-8")
    return Page(page, title, tuple(answers_of(found)))


def _failed(said: str, partial: Path, kept: Path) -> str:
    """Keep a half-run notebook; what failed, in one line."""
    if partial.exists():
        kept.parent.mkdir(exist_ok=True)
        shutil.copy(partial, kept)
        said += f" (see {kept})"
    return " ".join(said.split())


@contextmanager
def _quiet_kernel(scratch: str, out: Path) -> Iterator[None]:
    """Kernels that read no personal profile, need no writable home, and share what they load."""
    names = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")
    before = {n: os.environ.get(n) for n in (*names, "POOLKIT_CACHE")}
    os.environ.update({n: os.path.join(scratch, n.lower()) for n in names})
    os.environ.setdefault("POOLKIT_CACHE", str(out.resolve().parent / ".cache"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _forget_machine(found: nbformat.NotebookNode) -> None:
    """Drop what tells of this machine: papermill's notes, and warnings, which name source files."""
    found.metadata.pop("papermill", None)
    for cell in found.cells:
        cell.metadata.pop("papermill", None)
        if "outputs" in cell:
            cell.outputs = [x for x in cell.outputs if x.get("name") != "stderr"]
