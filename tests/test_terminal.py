"""What a command says: one line an error, and the exit status that goes with it."""

import warnings

import pytest
import typer

from poolkit.tables import DataError
from poolkit.terminal import one_line, pair_of


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (DataError("a.run, line 2:\n  odd"), 1, "poolkit: a.run, line 2: odd\n"),
        (ValueError("depth is 0"), 2, "poolkit: depth is 0\n"),
        (
            FileNotFoundError(2, "No such file or directory", "lost"),
            1,
            "poolkit: lost: No such file or directory\n",
        ),
        (OSError(28, "No space left on device"), 1, "poolkit: [Errno 28] No space left on device\n"),
    ],
)
def test_an_error_is_one_line_and_a_status(capsys, error, code, said):
    with pytest.raises(typer.Exit) as ended, one_line():
        raise error
    assert ended.value.exit_code == code
    assert capsys.readouterr().err == said


def test_a_warning_is_one_line_and_no_error(capsys):
    with one_line():
        warnings.simplefilter("always")
        warnings.warn("weak\nbut true", stacklevel=1)
    assert capsys.readouterr().err == "poolkit: warning: weak but true\n"


def test_a_pair_needs_an_equals_sign():
    assert pair_of("model=a=b", "--set") == ("model", "a=b")
    with pytest.raises(ValueError, match=r"^--set 'family': write NAME=VALUE$"):
        pair_of("family", "--set")
