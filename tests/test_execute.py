"""One notebook: run with its own parameters, published with no trace of the machine; reports test how it fails."""

import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from poolkit.execute import ROOT, _forget_machine, publish
from poolkit.index import Page

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def test_parameters_that_a_notebook_lacks_are_left_out(tmp_path):
    cells = [
        new_markdown_cell("# Is it?"),
        new_code_cell("depth: int = 0  # ranks"),
        new_code_cell("print(depth)"),
    ]
    cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), tmp_path / "01-own.ipynb")
    (tmp_path / "out").mkdir()
    made = publish(
        tmp_path / "01-own.ipynb", tmp_path / "out", cwd=tmp_path, values={"depth": 5, "other": 1}, title="toy",
        paths=[],
    )  # fmt: skip
    assert isinstance(made, Page)
    assert (made.path.name, made.title) == ("01-own.html", "Is it?")
    executed = nbformat.read(tmp_path / "out" / "01-own.ipynb", 4)
    assert executed.cells[-1].outputs[0].text == "5\n"
    assert "other" not in "".join(c.source for c in executed.cells)


def test_what_tells_of_the_machine_goes():
    lines = [f"File {place}/x.py" for place in (ROOT / "poolkit", sys.prefix, Path.home() / "lib")]
    outputs = [
        new_output("stream", name="stderr", text=f"{ROOT}: a warning"),
        new_output("stream", name="stdout", text="kept"),
        new_output("error", ename="E", evalue="v", traceback=lines),
    ]  # fmt: skip
    cell = new_code_cell(
        "x", outputs=outputs, metadata={"papermill": {"duration": 1}, "tags": ["hide-input"]}
    )
    found = new_notebook(cells=[cell], metadata={"papermill": {"input_path": str(ROOT)}, **KERNEL})
    _forget_machine(found)
    text = nbformat.writes(found)
    assert "kept" in text
    assert "x.py" in text
    assert "papermill" not in text
    for place in (ROOT, sys.prefix, Path.home()):
        assert str(place) not in text
