"""The command line: arguments to the functions of the package, imported where used: --help answers at once."""

import json
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from poolkit.plain import visible
from poolkit.terminal import one_line, pair_of, print_csv, say

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


def _split(measures: list[str]) -> tuple[str, ...]:
    return tuple(name for text in measures for name in text.split())


@app.command()
def check(data: Data) -> None:
    """List every problem in every file, with file and line. Exit 1 if any is an error."""
    from poolkit.check import check as problems_of

    with one_line():
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

    with one_line():
        found = status_of(data, depth=depth)
    typer.echo(json.dumps(found, ensure_ascii=False) if as_json else "\n".join(status_lines(found)))


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
    with one_line():
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
    """Print scores as CSV: system, each measure with its bounds, Judged@k and the epoch.

    "all 0" and "all top": the score were every failed and unjudged document of grade 0, or of the top grade.
    Judged@k: share of the top k with a grade. epoch: a mark of the graded pairs; compare within one epoch only.
    """
    from poolkit.study import open_study, score_table

    with one_line():
        study = open_study(data, judge=labels, measures=_split(measure))
        table = score_table(study, per_query=per_query)
        say(f"scores under {study.scores.title}")
        print_csv(table)


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

    with one_line():
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

    with one_line():
        given = dict(pair_of(text, "-p") for text in parameter)
        pages = reports_of(data, out, parameters=given, n_jobs=jobs, told=say)
    for page in pages:
        typer.echo(f"report: {page}")


@app.command(name="import")
def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="ID|FOLDER|JSONL|RUN", help="ir_datasets id, BEIR or TREC folder, judgments, a run."
        ),
    ],
    data: Data,
    queries: Annotated[int, typer.Option(help="Keep this many queries, drawn by --seed; 0: all.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the draw of queries.")] = 1,
    judge: Annotated[str, typer.Option(help="Whose judgments; default: the file's name.")] = "",
    sort: Annotated[bool, typer.Option(help="Also sort that judge's file by query and document.")] = False,
    cells: Annotated[
        list[str], typer.Option("--set", metavar="COLUMN=VALUE", help="Of a run: its cells in systems.csv.")
    ] = [],  # noqa: B006
) -> None:
    """Make a collection from BEIR or TREC files or ir_datasets, or add judgments or a run to DATA's own."""
    from poolkit.imports import import_collection
    from poolkit.merge import merge_judgments

    with one_line():
        if (judge or sort) and not source.endswith(".jsonl"):
            raise ValueError(f"--judge and --sort go with a file of judgments, NAME.jsonl; got {source}")
        if cells and not source.endswith((".run", ".run.gz")):
            raise ValueError(f"--set goes with a run, NAME.run; got {source}")
        if source.endswith(".jsonl"):
            said = merge_judgments(Path(source), data, judge=judge, sort=sort)
        elif source.endswith((".run", ".run.gz")):
            from poolkit.retrieve.folder import add_run

            said = add_run(Path(source), data, dict(pair_of(text, "--set") for text in cells))
        else:
            said = import_collection(source, data, queries=queries, seed=seed)
        typer.echo("\n".join(" ".join(visible(line).split()) for line in said))


@app.command()
def retrieve(
    data: Data,
    depth: Annotated[int, typer.Option(help="Ranks each run keeps.")] = 100,
    max_usd: MaxUsd = None,
) -> None:
    """Make the runs that DATA/systems.toml declares: BM25, dense, hybrid by reciprocal rank fusion."""
    from poolkit.retrieve import retrieve_folder

    with one_line():
        table = retrieve_folder(data, depth=depth, max_usd=max_usd, told=say)
    typer.echo(f"{len(table)} runs in {data / 'runs'}, catalogue in {data / 'systems.csv'}")
