"""One notebook run and published; or, where it fails, kept with a link to the cell that failed."""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import papermill
from jupyter_client.kernelspec import NoSuchKernel
from papermill.exceptions import PapermillExecutionError

import poolkit
from poolkit.index import Failure, Page
from poolkit.render import page_of, render, title_of

ROOT = Path(poolkit.__file__).parents[1]


def publish(
    notebook: Path, out: Path, *, cwd: Path, values: Mapping[str, Any], title: str, paths: Sequence[Path]
) -> Page | Failure:
    """Run one notebook and publish it; or publish nothing and say what failed.

    Parameters
    ----------
    notebook : Path
    out : Path
        Folder of the report.
    cwd : Path
        Where the notebook runs.
    values : mapping
        Parameters; those that the notebook does not have are left out.
    title : str
        Of the collection.
    paths : sequence of Path
        All notebooks of the report, to link to.
    """
    page, executed = out / f"{notebook.stem}.html", out / notebook.name
    page.unlink(missing_ok=True)
    executed.unlink(missing_ok=True)
    mine = papermill.inspect_notebook(str(notebook))
    own = {k: v for k, v in values.items() if k in mine}
    with (
        tempfile.TemporaryDirectory(prefix="poolkit-") as scratch,
        _quiet_kernel(scratch),
        shared_copies(out.parent),
    ):
        partial = Path(scratch) / notebook.name
        try:
            papermill.execute_notebook(
                str(notebook), str(partial), parameters=own, cwd=str(cwd), kernel_name="python3",
                progress_bar=False, log_output=False, start_timeout=120,
                extra_arguments=["--IPKernelApp.log_level=50"],
            )  # fmt: skip
        except PapermillExecutionError as error:
            said = f"{notebook.name}, cell {error.exec_count}: {error.ename}: {error.evalue}"
            return _failed(said, notebook, partial, out)
        except (RuntimeError, NoSuchKernel) as error:  # nbclient's DeadKernelError is one
            return _failed(f"{notebook.name}: {error} (out of memory, perhaps)", notebook, partial, out)
        found = nbformat.read(partial, as_version=4)
    _forget_machine(found)
    nbformat.write(found, executed)
    made = page_of(found, page)
    page.write_text(render(found, made.title, title, notebook.stem, paths), encoding="utf-8")
    return made


def _failed(said: str, notebook: Path, partial: Path, out: Path) -> Failure:
    """Keep a half-run notebook, in which papermill links to the cell that failed; what failed, in one line."""
    kept = out / f"{notebook.stem}.failed.ipynb"
    if partial.exists():
        found = nbformat.read(partial, as_version=4)
        _forget_machine(found)
        nbformat.write(found, kept)
        said += f" (see {kept})"
    title = title_of(nbformat.read(notebook, as_version=4)) or notebook.stem
    return Failure(kept, title, " ".join(said.split()))


@contextmanager
def shared_copies(out: Path) -> Iterator[None]:
    """Keep loaded files beside the reports, where nobody chose a place: no page parses what was loaded before."""
    with _environment({"POOLKIT_CACHE": os.environ.get("POOLKIT_CACHE", str(out.resolve() / ".cache"))}):
        yield


@contextmanager
def _quiet_kernel(scratch: str) -> Iterator[None]:
    """Kernels that read no personal profile and need no writable home."""
    names = ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR")
    own = {n: os.path.join(scratch, n.lower()) for n in names}
    # without PYTHONSAFEPATH a folder named poolkit beside the data is taken for the package
    with _environment({**own, "PYTHONSAFEPATH": "1"}):
        yield


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """These variables for a while."""
    before = {n: os.environ.get(n) for n in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _forget_machine(found: nbformat.NotebookNode) -> None:
    """Drop what tells of this machine: papermill's notes, warnings, and the folders of a traceback."""
    found.metadata.pop("papermill", None)
    for cell in found.cells:
        cell.metadata.pop("papermill", None)
        if "outputs" in cell:
            cell.outputs = [x for x in cell.outputs if x.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            if "traceback" in output:
                output.traceback = [_nowhere(line) for line in output.traceback]


def _nowhere(line: str) -> str:
    """Line of a traceback without the folders of this machine."""
    for place in (ROOT, Path(sys.prefix), Path(sys.base_prefix), Path.home()):
        if len(place.parts) > 1:
            line = line.replace(str(place), "...")
    return line
