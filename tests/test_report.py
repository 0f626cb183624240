"""Notebooks to shared pages: one whole run on a hostile toy collection, and small notebooks that fail."""

import base64
import csv
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import toy
from browser import after_running
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from pages import check_closed, read

from poolkit.report import NOTEBOOKS, known_parameters, report
from poolkit.tables import DataError

HOSTILE = (
    "<script>document.title='owned'</script> & $x_{$ </title></style> {{7*7}} [a](javascript:document.title=1) "
    "<img src=//evil onerror=\"document.title='owned'\"> \u202eturned \x1b[31mred\x1b[0m \u200fשלום 12"
)
SEEN = HOSTILE.replace("\u202e", "\u2039202E\u203a").replace("\x1b", "\u241b")  # as a page shows it
SYSTEM = f"hy&brid <b>$x_{{$ <img src=x onerror=document.title='owned'> \u200fשלום 12 {'n' * 100}"
ENDLESS = "e" * 100_000
QUERY_IDS = {"q1": f"q1{ENDLESS}", "q2": "q2<script>document.title='owned'</script>\u200fשלום"}
PAGES = sorted(p.stem for p in NOTEBOOKS.glob("*.ipynb"))
PRIVATE = {
    "OPENAI_API_KEY": "sk-secret-of-the-environment", "USER": "visible-user-name", "LOGNAME": "visible-user-name",
}  # fmt: skip
FEW = ["n_resamples=200", "n_orders=10", "n_worlds=20", "measures=nDCG@3 P@3"]


def hostile_folder(path):
    """Write the toy world with hostile and endless text in every place where text comes from files."""
    toy.toy_folder(path)
    (path / "runs" / "hybrid.run").rename(path / "runs" / f"{SYSTEM}.run")
    rows = [
        ["system", "family", "mode"],
        *([s, f + ENDLESS + HOSTILE, s + HOSTILE] for s, f in toy.FAMILIES.items()),
    ]
    rows[-1][0] = SYSTEM
    with (path / "systems.csv").open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(rows)
    texts = [{"_id": d, "title": t + HOSTILE, "text": t + HOSTILE + ENDLESS} for d, t in toy.TITLES.items()]
    toy.write_lines(path / "corpus.jsonl", [json.dumps(x) for x in texts])
    toy.write_lines(
        path / "queries.jsonl",
        [json.dumps({"_id": QUERY_IDS[q], "text": HOSTILE + ENDLESS}) for q in toy.QUERIES],
    )
    judged = (path / "judgments" / "robot.jsonl").read_text(encoding="utf-8")
    judged = judged.replace('"It says so."', json.dumps(HOSTILE + ENDLESS)).replace(
        "robot-1", "robot-1<script>"
    )
    (path / "judgments" / "robot.jsonl").write_text(judged, encoding="utf-8")
    config = (path / "collection.toml").read_text(encoding="utf-8")
    config = config.replace('"The toy world"', json.dumps("title" + HOSTILE))
    config = config.replace('"author grades"', json.dumps("author" + HOSTILE))
    config = config.replace('kind = "reader"', f'kind = "reader"\nprovenance = {json.dumps(HOSTILE)}')
    (path / "collection.toml").write_text(config, encoding="utf-8")
    for part in ("runs", "qrels", "judgments"):
        for file in (path / part).iterdir():  # an id that is hostile, and one without an end
            text = re.sub(
                r"\bd1\b", "d1<script>document.title='owned'</script>", file.read_text(encoding="utf-8")
            )
            for old, new in {"d2": f"d2{ENDLESS}", **QUERY_IDS}.items():
                text = re.sub(rf"\b{old}\b", new, text)
            file.write_text(text, encoding="utf-8")
    return path


# What a browser says of a page: that it is no wider than its window, and that what runs from right to left is held.
MEASURE = """
const leftward = /[\\u0590-\\u08ff\\u200f]/, loose = [];
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const free = texts.currentNode.data.replace(/\\u2068[^\\u2069]*\\u2069/g, "");
  const held = texts.currentNode.parentElement.closest("bdi, [dir], script, style");
  if (leftward.test(free) && !held) loose.push(free.trim().slice(0, 99));
}
const fits = document.documentElement.scrollWidth <= innerWidth;
document.title = !fits ? "too wide" : loose.length ? "not isolated: " + loose[0] : "fits";
"""


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """Folder of the whole report on the hostile toy world, run by the command from another folder."""
    root = tmp_path_factory.mktemp("published")
    hostile_folder(root / "data" / "toy")
    (root / "elsewhere").mkdir()
    given = [x for p in FEW for x in ("-p", p)]
    done = subprocess.run(
        [str(Path(sys.executable).with_name("poolkit")), "report", "../data/toy", "--out", "../reports", *given],
        cwd=root / "elsewhere", env={**os.environ, **PRIVATE, "HOME": str(root / "no-home")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "report: ../reports/toy/index.html\n"
    assert done.stderr.splitlines()[-1] == f"poolkit: toy: {PAGES[-1]} done ({len(PAGES)}/{len(PAGES)})"
    assert not list((root / "elsewhere").iterdir())
    return root / "reports" / "toy"


def test_index_and_pages_exist(published):
    assert sorted(p.stem for p in published.glob("*.html")) == [*PAGES, "index"]
    assert sorted(p.stem for p in published.glob("*.ipynb")) == PAGES
    addresses, _, text = read((published / "index.html").read_text(encoding="utf-8"))
    assert {f"{p}.html" for p in PAGES} <= set(addresses)
    assert all((published / a).exists() for a in addresses if not a.startswith(("data:", "#")))
    for page in PAGES:
        title = (
            nbformat.read(NOTEBOOKS / f"{page}.ipynb", 4).cells[0].source.splitlines()[0].removeprefix("# ")
        )
        assert title in text


@pytest.mark.parametrize("page", [*PAGES, "index"])
def test_pages_are_closed_and_link_to_each_other(published, page):
    text = (published / f"{page}.html").read_text(encoding="utf-8")
    check_closed(text)
    beside = [a for a in read(text)[0] if not a.startswith(("data:", "#"))]
    assert beside
    assert all((published / a).exists() for a in beside)


def test_pages_stay_small_whatever_they_hold(published):
    for path in published.glob("*.html"):
        assert path.stat().st_size < 1_000_000, path.name


def test_hostile_text_is_inert_and_readable_in_a_browser(published, tmp_path):
    # without the policy, so that escaping alone has to do; on a telephone; hostile text would set another title
    for page in [*PAGES, "index"]:
        text = (published / f"{page}.html").read_text(encoding="utf-8")
        text, policies = re.subn(r"<meta [^>]*Content-Security-Policy[^>]*>", "", text)
        assert policies == 1
        copy = tmp_path / f"{page}.html"
        copy.write_text(text.replace("</body>", f"<script>{MEASURE}</script></body>"), encoding="utf-8")
        title, markup = after_running(copy, tmp_path, width=400)
        assert title == "fits", page
        assert ("Copy as" in markup) == (page != "index"), page


def test_hostile_text_is_text(published):
    seen = {p: read((published / f"{p}.html").read_text(encoding="utf-8"))[2] for p in PAGES}
    for page in ("01-pool", "02-judge", "03-correlate", "08-choose"):
        assert SYSTEM in seen[page], page
    assert any(title + SEEN in seen["02-judge"] for title in toy.TITLES.values())
    assert "title" + SEEN in seen["03-correlate"]
    for text in seen.values():
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_every_page_has_an_answer_and_its_code_closed(published):
    for page in PAGES:
        text = (published / f"{page}.html").read_text(encoding="utf-8")
        assert 'class="answer"' in text, page
        assert "Provenance." in text, page
        assert '<p class="next">' in text or page == "00-summary", page
        assert "<summary>parameters and setup</summary>" in text, page
        assert "<details open" not in text, page
        assert "Traceback" not in text, page


def unexplained(text):
    """Column heads of a page that no line explains, with the caption of their table."""
    tables = re.findall(
        r'<figure class="table"><figcaption>(.*?)</figcaption>.*?<thead>(.*?)</thead>', text, re.S
    )
    heads = [(re.sub("<.*?>", "", h), told) for told, row in tables for h in re.findall(r"<th.*?</th>", row)
             if '<abbr title="' not in h]  # fmt: skip
    return len(tables), heads


def test_every_column_of_every_table_is_explained(published):
    seen = 0
    for folder in (published, NOTEBOOKS.parent / "reports" / "example"):  # the demo's pages, as committed
        for path in sorted(folder.glob("*.html")):
            tables, heads = unexplained(path.read_text(encoding="utf-8"))
            assert not heads, path
            seen += tables
    assert seen > 80


def test_no_word_of_people_where_the_labels_are_a_models():
    texts = {
        p.name: p.read_text(encoding="utf-8")
        for p in (NOTEBOOKS.parent / "reports" / "example").glob("*.html")
    }
    assert texts
    for name, text in texts.items():
        own = re.sub(
            r'<article>.*?</article>|<ul class="(?:notes|facts)">.*?</ul>|<td.*?</td>', "", text, flags=re.S
        )
        own = re.sub(r'src="data:[^"]*"|<details class="code">.*?</details>', "", own, flags=re.S)
        assert not re.findall(r"\b(?:human|people|person)\w*", read(own)[2], re.I), name


def test_parameters_reach_the_notebooks(published):
    said = read((published / "03-correlate.html").read_text(encoding="utf-8"))[2]
    assert "n_resamples = 200" in said
    assert "nDCG@3, P@3" in said


def test_files_are_written(published):
    figures, tables = published / "figures", published / "tables"
    assert {p.stem for p in figures.glob("*.svg")} == {p.stem for p in figures.glob("*.png")}
    assert {p.stem for p in figures.glob("*.csv")} == {p.stem for p in figures.glob("*.png")}
    assert {"pool-growth", "correlation", "ranks", "penalties", "best-set"} <= {
        p.stem for p in figures.glob("*.png")
    }
    for path in figures.glob("*.png"):
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with (tables / "scores.csv").open(encoding="utf-8", newline="") as rows:
        table = list(csv.DictReader(rows))
    assert [r["system"] for r in table] == ["bm25", "dense", SYSTEM]  # by author grades
    assert float(table[0]["P@3 judge"]) == 0.5
    assert not list(published.glob("*.failed.ipynb"))


def test_no_file_tells_of_the_machine_or_holds_a_key(published):
    places = [
        str(published),
        str(Path.cwd()),
        str(Path.home()),
        sys.prefix,
        "/tmp/",
        "/home/",
        socket.gethostname(),
    ]
    secrets = [x.encode() for x in {*places, *PRIVATE.values()} if len(x) > 4]
    kinds = set()
    for path in (p for p in published.rglob("*") if p.is_file()):
        kinds.add(path.suffix)
        held = path.read_bytes()
        for inner in re.findall(rb"data:image/[^;]+;base64,([A-Za-z0-9+/=]+)", held):
            held += base64.b64decode(inner)  # figures inside a page, and pictures inside those
        assert not [x for x in secrets if x in held], path.name
    assert kinds == {".html", ".ipynb", ".svg", ".png", ".csv"}
    for path in (published / "figures").glob("*.[sp][vn]g"):
        assert b"matplotlib.org" not in path.read_bytes(), path.name


def test_executed_notebooks_are_sound(published):
    for path in published.glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
        nbformat.validate(nbformat.from_dict(found))
        assert "papermill" not in found["metadata"]
        assert not any("papermill" in c["metadata"] for c in found["cells"])


def test_executed_notebooks_keep_their_parameters(published):
    cells = nbformat.read(published / "03-correlate.ipynb", 4).cells
    injected = next(c.source for c in cells if "injected-parameters" in c.metadata.get("tags", []))
    assert 'collection = "toy"' in injected
    assert 'out = "../reports/toy"' in injected


# Small notebooks


def small(
    folder, name, code, parameters="collection: str = ''  # folder\nout: str = ''  # folder of the report"
):
    cells = [new_markdown_cell(f"# {name}?"), new_code_cell(parameters), new_code_cell(code)]
    cells[1].metadata["tags"] = ["parameters"]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), folder / f"{name}.ipynb")


ANSWER = "from IPython.display import HTML, display\ndisplay(HTML('<p class=\"answer\">yes</p>'))"


@pytest.fixture
def place(tmp_path):
    for name in ("notebooks", "data"):
        (tmp_path / name).mkdir()
    toy.toy_folder(tmp_path / "data" / "toy")
    return tmp_path


def run(place, *folders, **options):
    chosen = [place / "data" / f for f in folders or ("toy",)]
    return report(chosen, place / "reports", notebooks=place / "notebooks", n_jobs=1, **options)


def test_a_failing_notebook_is_not_published(place):
    before = dict(os.environ)
    small(place / "notebooks", "01-good", ANSWER)
    small(place / "notebooks", "02-bad", "raise ValueError('one\\ntwo')")
    out = place / "reports" / "toy"
    (out / "tables").mkdir(parents=True)
    for stale in ("index.html", "02-bad.html", "02-bad.ipynb", "tables/old.csv"):
        (out / stale).write_text("stale")
    told = []
    with pytest.raises(DataError) as caught:
        run(place, told=told.append)
    said = str(caught.value)
    kept = out / "02-bad.failed.ipynb"
    assert said == (
        "1 of 2 notebooks failed, so their pages are missing: toy: 02-bad.ipynb, cell 3: ValueError: one two "
        f"(see {kept})"
    )
    assert told == ["toy: 01-good done (1/2)", "toy: 02-bad failed (2/2)"]
    left = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    assert left == {"01-good.html", "01-good.ipynb", "02-bad.failed.ipynb", "index.html"}
    assert "02-bad.failed.ipynb" in read((out / "index.html").read_text(encoding="utf-8"))[0]
    text = kept.read_text(encoding="utf-8")
    assert '<a href=\\"#papermill-error-cell\\">In [3]</a>' in text
    assert 'id=\\"papermill-error-cell\\"' in text
    assert "one\\ntwo" in text
    for own in (str(NOTEBOOKS.parent), sys.prefix, str(Path.home())):
        assert own not in text
    assert "yes" in (out / "01-good.html").read_text(encoding="utf-8")
    assert dict(os.environ) == before
    small(place / "notebooks", "02-bad", ANSWER)
    assert run(place) == [out / "index.html"]
    assert not kept.exists()


def test_several_collections_get_a_page_that_compares_them(place):
    toy.toy_folder(place / "data" / "other")
    names = "collection: str = ''  # folder\ncollections: list = []  # folders\nout: str = ''  # folder of the report"
    small(place / "notebooks", "00-summary", "print(collections, out)", names)
    made = run(place, "toy", "other")
    assert [p.parent.name for p in made] == ["toy", "other", "summary"]
    printed = [(p.parent / "00-summary.html").read_text(encoding="utf-8") for p in made]
    assert "[&#39;toy&#39;] ../reports/toy" in printed[0] or "['toy'] ../reports/toy" in printed[0]
    assert "['toy', 'other'] ../reports/summary" in read(printed[2])[2]
    assert all(p.exists() for p in made)


def test_a_failure_in_one_collection_stops_no_other(place):
    toy.toy_folder(place / "data" / "other")
    small(place / "notebooks", "01-some", f"assert collection != 'toy'\n{ANSWER}")
    told = []
    with pytest.raises(
        DataError, match=r"^2 of 3 notebooks failed, .* toy: 01-some\.ipynb, cell 3: AssertionError"
    ):
        run(place, "toy", "other", told=told.append)
    # the page that compares them begins with toy
    assert told == ["toy: 01-some failed (1/1)", "other: 01-some done (1/1)", "summary: 01-some failed (1/1)"]
    assert "yes" in (place / "reports" / "other" / "01-some.html").read_text(encoding="utf-8")
    listed = read((place / "reports" / "index.html").read_text(encoding="utf-8"))[0]
    assert {"toy/index.html", "other/index.html"} <= set(listed)


def test_a_kernel_that_dies_is_a_failure_in_one_line(place):
    small(place / "notebooks", "01-dies", "import os; os._exit(1)")
    with pytest.raises(
        DataError, match=r"^1 of 1 notebooks failed, .* toy: 01-dies\.ipynb: Kernel died[^\n]*$"
    ):
        run(place)
    assert not (place / "reports" / "toy" / "01-dies.html").exists()


def test_warnings_of_a_notebook_are_not_published(place):
    small(
        place / "notebooks",
        "01-warns",
        f"import sys; print(sys.argv, collection * 9, file=sys.stderr)\n{ANSWER}",
    )
    run(place)
    for kind in ("html", "ipynb"):
        text = (place / "reports" / "toy" / f"01-warns.{kind}").read_text(encoding="utf-8")
        assert "toytoy" not in text
        assert "yes" in text


def test_parameters_are_read_in_their_own_type(place):
    kinds = "name: str = '' n: int = 1 x: float = 1.0 yes: bool = False words: list = []"
    lines = [f"{k}  # explained" for k in re.findall(r"\w+: \w+ = \S+", kinds)]
    small(place / "notebooks", "01-kinds", "print(repr((name, n, x, yes, words)))", "\n".join(lines))
    given = {"name": "007", "n": "7", "x": "1", "yes": "True", "words": "nDCG@10 AP@10"}
    run(place, parameters=given)
    said = read((place / "reports" / "toy" / "01-kinds.html").read_text(encoding="utf-8"))[2]
    assert "('007', 7, 1.0, True, ['nDCG@10', 'AP@10'])" in said


def test_no_notebooks(place):
    with pytest.raises(
        DataError, match=r"no notebooks in .*run from a checkout of poolkit or name their folder"
    ):
        run(place)


def test_a_collection_that_cannot_be_read_is_said_once(place):
    small(place / "notebooks", "01-good", ANSWER)
    (place / "data" / "toy" / "queries.jsonl").unlink()
    with pytest.raises(DataError, match=r"^queries\.jsonl: absent; write one"):
        run(place)
    assert not (place / "reports").exists()


@pytest.mark.parametrize("chosen", [None, "", "elsewhere"])
def test_what_is_loaded_first_serves_all_pages(place, monkeypatch, chosen):
    small(place / "notebooks", "01-where", "import os\nprint('at', os.environ['POOLKIT_CACHE'], 'end')")
    monkeypatch.delenv("POOLKIT_CACHE") if chosen is None else monkeypatch.setenv("POOLKIT_CACHE", chosen)
    seen = []
    monkeypatch.setattr("poolkit.report.open_study", lambda *a, **o: seen.append(os.environ["POOLKIT_CACHE"]))
    run(place)
    assert seen == [str(place / "reports" / ".cache") if chosen is None else chosen]
    assert f"at {seen[0]} end" in (place / "reports" / "toy" / "01-where.html").read_text(encoding="utf-8")
    assert os.environ.get("POOLKIT_CACHE") == chosen


def test_known_parameters():
    known = known_parameters()
    assert known["depth"] == "int"
    assert known["measures"] == "list"
    assert re.fullmatch("(int|str|float|bool|list)( (int|str|float|bool|list))*", " ".join(known.values()))
