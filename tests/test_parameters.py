"""Parameters of notebooks: their own types, the nearest name; and what papermill makes of them."""

import papermill
import pytest
import toy
from papermill.exceptions import PapermillExecutionError

from poolkit.parameters import settle, typed
from poolkit.report import NOTEBOOKS

KNOWN = {"name": "str", "n": "int", "x": "float", "yes": "bool", "words": "list"}


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("name", "007", "007"), ("name", 2031, "2031"), ("n", "7", 7), ("n", 7, 7), ("x", "1", 1.0), ("x", 1, 1.0),
        ("yes", "True", True), ("words", "nDCG@10 AP@10", ["nDCG@10", "AP@10"]), ("words", '["a b"]', ["a b"]),
        ("words", [], []),
    ],
)  # fmt: skip
def test_a_value_in_its_own_type(name, given, found):
    value = typed(name, given, KNOWN)
    assert (value, type(value)) == (found, type(found))


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("n", "seven", "parameter n is 'seven'; it must be a whole number"),
        ("n", True, "parameter n is True; it must be a whole number"),
        ("n", 1.5, "parameter n is 1.5; it must be a whole number"),
        ("x", "inf", "parameter x is 'inf'; it must be a number"),
        ("yes", 1, "parameter yes is 1; it must be true or false"),
        ("words", "[1", "parameter words is '\\[1'; it must be a list"),
        ("name", ["a"], r"parameter name is \['a'\]; it must be text"),
        ("word", "a", "no notebook has a parameter 'word'. Did you mean 'words'?"),
        ("depth", 1, "no notebook has a parameter 'depth'. Known: n, name, words, x, yes."),
    ],
)
def test_what_is_refused(name, given, said):
    with pytest.raises(ValueError, match=f"^{said.replace('?', '.')}$"):
        typed(name, given, KNOWN)


DECLARED = "depth: int = 0  # ranks\nmeasures: list = []  # names"


def test_what_papermill_set_is_put_right():
    names = {
        "In": ["", DECLARED, "# Parameters\nmeasures = 'P@3'\n", "%matplotlib inline"],
        "measures": "P@3",
    }
    settle(names)
    assert names["measures"] == ["P@3"]


def test_what_papermill_set_wrongly_is_refused():
    with pytest.raises(ValueError, match=r"parameter 'dept'\. Did you mean 'depth'\?"):
        settle({"In": ["", DECLARED, "# Parameters\ndept = 5\n"], "dept": 5})


@pytest.mark.parametrize("names", [{}, {"In": []}, {"In": ["", DECLARED, "other = 1"], "other": 1}])
def test_by_hand_anything_may_be_set(names):
    before = dict(names)
    settle(names)
    assert names == before


def notebook(place, **values):
    return papermill.execute_notebook(
        str(NOTEBOOKS / "01-pool.ipynb"), str(place / "out.ipynb"), parameters=values, cwd=str(place),
        kernel_name="python3", progress_bar=False, log_output=False,
    )  # fmt: skip


def test_papermill_as_users_use_it_from_any_directory(tmp_path):
    toy.toy_folder(tmp_path / "data" / "x")
    done = notebook(tmp_path, collection="data/x", depth=2, measures="P@2")
    shown = "".join(o.get("data", {}).get("text/plain", "") for c in done.cells for o in c.get("outputs", []))
    assert "within depth 2 for 2 queries" in shown
    assert "depth = 2" in shown
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "out.ipynb"]


@pytest.mark.parametrize(
    ("given", "said"),
    [({"dept": 2}, "no notebook has a parameter 'dept'. Did you mean 'depth'?"),
     ({"depth": "deep"}, "parameter depth is 'deep'; it must be a whole number")],
)  # fmt: skip
def test_papermill_with_a_wrong_parameter_stops(tmp_path, given, said):
    with pytest.raises(PapermillExecutionError) as caught:
        notebook(tmp_path, **given)
    assert caught.value.evalue == said
