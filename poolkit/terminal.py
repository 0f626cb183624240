"""What a command says: errors as one line, tables as CSV; everything heavy is imported where it is used."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def one_line() -> Iterator[None]:
    """Bad input ends with one line on stderr, wrong arguments as wrong usage; no traceback."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
            yield
    except ValueError as error:
        from poolkit.tables import DataError

        say(error)
        raise typer.Exit(1 if isinstance(error, DataError) else 2) from None
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else error)
        raise typer.Exit(1) from None


def say(message: object) -> None:
    """One line on stderr."""
    typer.echo(f"poolkit: {' '.join(str(message).split())}", err=True)


def print_csv(table: "pd.DataFrame") -> None:
    """Print a table on stdout; a reader that has seen enough is no error."""
    try:
        typer.echo(table.to_csv(index=False, lineterminator="\n"), nl=False)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def pair_of(text: str, option: str) -> tuple[str, str]:
    """Name and value of an argument NAME=VALUE.

    Examples
    --------
    >>> pair_of("depth = 20", "-p")
    ('depth', ' 20')
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"{option} {text!r}: write NAME=VALUE")
    return name.strip(), value
