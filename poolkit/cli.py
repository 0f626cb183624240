"""The command line: arguments to the functions of the package, errors to one line."""

import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:  # everything heavy is imported where it is used: --help answers at once
    import pandas as pd

HELP = """Compare retrieval systems on a shared pool, judged once by a language model.

A collection is a folder with queries.jsonl and runs/NAME.run, and if you have them corpus.jsonl,
qrels/, judgments/, systems.csv and collection.toml. Start with `poolkit check DATA`, then
`poolkit judge DATA --dry-run`, then `poolkit report DATA`.

Exit status: 0 done, 1 bad input, 2 wrong usage, 3 judging incomplete.
"""
app = typer.Typer(help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
Data = Annotated[Path, typer.Argument(metavar="DATA", help="Folder of the collection.")]
Depth = Annotated[int, typer.Option(help="Ranks each run gives to the pool; 0: as in collection.toml.")]
MaxUsd = Annotated[float | None, typer.Option(help="Never spend more than this in this run.")]
Measures = Annotated[list[str], typer.Option("-m", "--measure", help='As ir_measures: "nDCG@10 AP@100".')]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"poolkit {metadata.version('poolkit')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options that stand before a command."""


@contextmanager
def _one_line() -> Iterator[None]:
    """Bad input ends with one line on stderr, wrong arguments as wrong usage; no traceback."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
            yield
    except ValueError as error:
        from poolkit.tables import DataError

        _say(error)
        raise typer.Exit(1 if isinstance(error, DataError) else 2) from None
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}" if error.filename else error)
        raise typer.Exit(1) from None


def _say(message: object) -> None:
    typer.echo(f"poolkit: {' '.join(str(message).split())}", err=True)


def _split(measures: list[str]) -> tuple[str, ...]:
    return tuple(name for text in measures for name in text.split())


@app.command()
def check(data: Data) -> None:
    """List every problem in every file, with file and line. Exit 1 if any is an error."""
    from poolkit.check import check as problems_of

    with _one_line():
        problems = problems_of(data)
    for problem in sorted(problems, key=lambda p: p.warning):
        typer.echo(f"{'warning' if problem.warning else 'error'}: {problem}")
    errors = sum(not p.warning for p in problems)
    typer.echo(f"errors: {errors}, warnings: {len(problems) - errors}, in {data}", err=True)
    if errors:
        raise typer.Exit(1)


@app.command()
def status(
    data: Data,
    depth: Depth = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout, for machines.")] = False,
) -> None:
    """Show systems, pool, reuse, and what each judge has judged and cost so far."""
    from poolkit.ledger import status_lines, status_of

    with _one_line():
        found = status_of(data, depth=depth)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    for line in status_lines(found):
        typer.echo(line)


@app.command()
def judge(
    data: Data,
    name: Annotated[
        str, typer.Option("--judge", help="Its name in collection.toml, as in judges.NAME.")
    ] = "gpt-4.1",
    depth: Depth = 0,
    dry_run: Annotated[bool, typer.Option(help="Count pairs, tokens, price and time; call nobody.")] = False,
    max_usd: MaxUsd = None,
    sample: Annotated[int, typer.Option(help="Judge only this many pairs of the pool, drawn by --seed.")] = 0,
    replicate: Annotated[int, typer.Option(help="Judge again, past earlier answers: 1, 2, ..")] = 0,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 1,
    retry_failed: Annotated[
        bool, typer.Option(help="Ask again where the last answer was a failure.")
    ] = False,
    batch: Annotated[
        bool, typer.Option("--batch", help="By the endpoint's batch service: within a day, at a lower price.")
    ] = False,
    explain: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="Q D", help="Say why a pair is known or not; call nobody."),
    ] = None,
) -> None:
    """Judge the pooled pairs that have no grade yet. Ctrl-C loses nothing; run again to go on."""
    from poolkit import ledger

    how: dict[str, Any] = {"replicate": replicate, "retry_failed": retry_failed, "batch": batch}
    with _one_line():
        job = ledger.job_of(data, name, depth=depth, sample=0 if explain else sample, seed=seed)
        if explain:
            for key, value in ledger.explained(job, *explain, replicate=replicate).items():
                typer.echo(f"{key}: {value}")
            return
        if dry_run:
            for line in ledger.forecast_lines(job, **how):
                typer.echo(line)
            return
        outcome = ledger.filled(job, max_usd=max_usd, **how)
    for line in ledger.outcome_lines(outcome):
        typer.echo(line, err=True)
    if outcome.remaining or outcome.failed:
        raise typer.Exit(3)


@app.command()
def score(
    data: Data,
    labels: Annotated[
        str, typer.Option(help="Name of a label file; default: the judge, else the qrels.")
    ] = "",
    measure: Measures = [],  # noqa: B006
    per_query: Annotated[bool, typer.Option(help="One row a system and query.")] = False,
) -> None:
    """Print scores as CSV: system, then measures."""
    from poolkit.study import open_study, score_table

    with _one_line():
        study = open_study(data, judge=labels, measures=_split(measure))
        table = score_table(study, per_query=per_query)
        _say(f"scores under {study.scores.title}")
        _csv(table)


def _csv(table: "pd.DataFrame") -> None:
    try:
        typer.echo(table.to_csv(index=False, lineterminator="\n"), nl=False)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@app.command()
def analyse(
    data: Data,
    depth: Depth = 0,
    measure: Measures = [],  # noqa: B006
    human: Annotated[str, typer.Option(help="Human labels to compare with.")] = "",
    judge: Annotated[str, typer.Option(help="Judge to analyse.")] = "",
    seed: Annotated[int, typer.Option(help="Of every draw.")] = 1,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.")] = 10_000,
    orders: Annotated[int, typer.Option(help="Random orders of arrival.")] = 500,
) -> None:
    """Print every analysis as one JSON document: the numbers that the notebooks show."""
    from poolkit.document import analysis
    from poolkit.study import open_study

    with _one_line():
        study = open_study(data, depth=depth, human=human, judge=judge, measures=_split(measure))
        document = analysis(study, seed=seed, n_resamples=resamples, n_orders=orders)
    typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False))


@app.command()
def report(
    data: Annotated[list[Path], typer.Argument(metavar="DATA...", help="One or more collections.")],
    out: Annotated[Path, typer.Option(help="Folder of reports.")] = Path("reports"),
    parameter: Annotated[
        list[str],
        typer.Option("-p", "--parameter", metavar="NAME=VALUE", help='Of the notebooks: "depth=20".'),
    ] = [],  # noqa: B006
    jobs: Annotated[int, typer.Option(help="Notebooks run side by side.")] = 2,
) -> None:
    """Run the notebooks on collections and write self-contained HTML reports."""
    from poolkit.report import report as reports_of

    with _one_line():
        given = dict(_parameter(text) for text in parameter)
        pages = reports_of(data, out, parameters=given, n_jobs=jobs, told=_say)
    for page in pages:
        typer.echo(f"report: {page}")


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"-p {text!r}: write NAME=VALUE")
    return name.strip(), value


@app.command(name="import")
def import_(
    source: Annotated[
        str, typer.Argument(metavar="ID|FOLDER|JSONL", help="ir_datasets id, BEIR or TREC folder, judgments.")
    ],
    data: Data,
    queries: Annotated[int, typer.Option(help="Keep this many queries, drawn by --seed; 0: all.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the draw of queries.")] = 1,
    judge: Annotated[str, typer.Option(help="Whose judgments; default: the file's name.")] = "",
    sort: Annotated[bool, typer.Option(help="Also sort that judge's file by query and document.")] = False,
) -> None:
    """Make a collection from BEIR or TREC files or ir_datasets, or merge judgments into DATA's own."""
    from poolkit.imports import import_collection
    from poolkit.merge import merge_judgments

    with _one_line():
        if source.endswith(".jsonl"):
            said = merge_judgments(Path(source), data, judge=judge, sort=sort)
        elif judge or sort:
            raise ValueError(f"--judge and --sort go with a file of judgments, NAME.jsonl; got {source}")
        else:
            said = import_collection(source, data, queries=queries, seed=seed)
        typer.echo("\n".join(said))


@app.command()
def retrieve(
    data: Data,
    depth: Annotated[int, typer.Option(help="Ranks each run keeps.")] = 100,
    max_usd: MaxUsd = None,
) -> None:
    """Make the runs that DATA/systems.toml declares: BM25, dense, hybrid by reciprocal rank fusion."""
    from poolkit.retrieve import retrieve_folder

    with _one_line():
        table = retrieve_folder(data, depth=depth, max_usd=max_usd, told=_say)
    typer.echo(f"{len(table)} runs in {data / 'runs'}, catalogue in {data / 'systems.csv'}")
