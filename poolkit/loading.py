"""Runs and labels of a folder: parsed, or taken from their copies where no byte has changed.

What was parsed is kept only if its files are afterwards what they were before.
"""

import warnings
from pathlib import Path

import pandas as pd
import pyarrow as pa

from poolkit.cache import keep, kept, key_of
from poolkit.columns import from_columns, to_columns
from poolkit.formats import read_qrels
from poolkit.lines import Problem, Read
from poolkit.parts import named_files, read_catalogue, read_rankings
from poolkit.records import read_records
from poolkit.tables import DataError, Order, Runs, listed, runs_from
from poolkit.texts import one_of


def load_runs(
    folder: Path, order: Order, queries: pd.DataFrame | None
) -> tuple[Runs | None, pd.DataFrame | None, list[Problem]]:
    """Runs on the query axis and their catalogue; what is wrong with them, by line."""
    files = list(named_files(folder / "runs", ".run"))
    catalogue = one_of(folder, "systems.csv")
    sources = [*(path for _, path, _ in files), *([catalogue] if catalogue else [])]
    plain = queries is not None and not any(problem for _, _, problem in files)

    def now() -> str | None:
        return key_of("runs", sources, order, list(queries.index)) if plain and queries is not None else None

    key = now()
    if copy := kept(key):
        runs, notes = from_columns(copy)
        table = read_catalogue(folder, [name for name, _, _ in files]).strict()
        notes = [Problem(folder / path, line, text, True) for path, line, text in notes]
        return runs, table.loc[list(runs.systems)], notes
    found, problems = _coded_runs(folder, order, queries, repeats=False)
    if found[0] is None or found[0].strays:  # read again, each file by itself: that names every line
        found, problems = _coded_runs(folder, order, queries, repeats=True)
    if found[0] is not None and all(p.warning for p in problems) and key == now():
        notes = [(str(p.path.relative_to(folder)), p.line, p.text) for p in problems]
        keep(key, to_columns(found[0], notes))
    return *found, problems


def _coded_runs(
    folder: Path, order: Order, queries: pd.DataFrame | None, *, repeats: bool
) -> tuple[tuple[Runs | None, pd.DataFrame | None], list[Problem]]:
    rankings = read_rankings(folder, order, repeats=repeats)
    problems = list(rankings.problems)
    if queries is None or not rankings.rows:
        return (None, None), problems
    catalogue = read_catalogue(folder, list(rankings.rows))
    problems += catalogue.problems
    if catalogue.rows is None:
        return (None, None), problems
    systems = [s for s in catalogue.rows.index if s in rankings.rows]
    try:
        runs = runs_from({s: rankings.rows[s] for s in systems}, list(queries.index), order=order)
    except DataError as error:
        return (None, None), [*problems, Problem(folder / "runs", None, str(error))]
    for system, returned in zip(runs.systems, runs.returned, strict=True):
        if not returned.any():
            said_so = (
                f"run {system}: none of its queries is in the queries file; it says "
                f"{listed(rankings.rows[system]['query_id'].unique().to_pylist())}, the file says "
                f"{listed(runs.queries)}. Check that both name queries alike, or remove the run."
            )
            problems.append(Problem(folder / "runs", None, said_so))
    if runs.strays:
        said_so = f"{runs.strays} rows belong to queries that are not in the queries file; they are left out"
        problems.append(Problem(folder / "runs", None, said_so, warning=True))
    return (runs, catalogue.rows.loc[systems]), problems


def load_qrels(path: Path) -> Read[pd.DataFrame]:
    """Human labels, as `read_qrels` reads them."""
    key = key_of("qrels", [path])
    if copy := kept(key):
        return Read(copy.to_pandas())
    read = read_qrels(path)
    if read.rows is not None and not read.problems and key == key_of("qrels", [path]):
        keep(key, pa.Table.from_pandas(read.rows))
    return read


def load_records(path: Path, *, copy: bool = True) -> pd.DataFrame:
    """Every line of a judge's file, as `read_records` reads it; with `copy`, kept for the next time."""
    key = key_of("judgments", [path])
    if earlier := kept(key):
        return earlier.to_pandas()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = read_records(path)
    for warning in said:  # of a last line that is cut off: to be said again next time
        warnings.warn(warning.message, stacklevel=2)
    if copy and not said and key == key_of("judgments", [path]):
        keep(key, pa.Table.from_pandas(found))
    return found
