"""Index pages: the choice first, what failed before all, everything escaped and closed."""

from pages import check_closed, read

from poolkit.display import answer
from poolkit.index import Failure, Page, write_contents, write_index

HOSTILE = "<script>alert(1)</script> & $x$ <img src=//evil>"


def page(folder, stem, title, *answers, **more):
    return Page(folder / f"{stem}.html", title, tuple(answer(a).markup for a in answers), **more)


def test_the_choice_leads_and_what_it_rests_on_follows(tmp_path):
    pages = [
        page(tmp_path, "01-pool", "Pool?", "Saved."), page(tmp_path, "03-correlate", "Alike?", "Alike.", "Second."),
        page(tmp_path, "08-choose", "Which?", "This one.", caveats="<p>Mind.</p>", figure="<figure>drawn</figure>"),
        page(tmp_path, "09-own", "Mine?"),
    ]  # fmt: skip
    text = write_index(tmp_path, "A & B", pages, ["lead"]).read_text(encoding="utf-8")
    check_closed(text)
    places = [text.index(x) for x in (
        "This one.", "Mind.", "drawn", "How far to trust it", "Alike.", "What it rests on", "Saved.", "More",
        "Cannot be known")]  # fmt: skip
    assert places == sorted(places)
    assert "Second." not in text
    assert "lead" not in read(text)[2]  # the caveats of the choice say it


def test_a_failure_is_said_first_and_links_to_the_cell(tmp_path):
    failed = Failure(tmp_path / "02-bad.failed.ipynb", "Bad?", f"02-bad.ipynb, cell 3: ValueError: {HOSTILE}")
    text = write_index(tmp_path, "x", [page(tmp_path, "08-choose", "Which?", "This."), failed]).read_text(
        "utf-8"
    )
    check_closed(text)
    addresses, _, words = read(text)
    assert "02-bad.failed.ipynb" in addresses
    assert "02-bad.html" not in addresses
    assert (
        words.index("1 of the pages could not be made")
        < words.index("cell 3: ValueError")
        < words.index("This.")
    )


def test_hostile_titles_answers_and_files(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "b&c.csv").write_text("x")
    pages = [page(tmp_path, "01-pool", HOSTILE, "A & B"), page(tmp_path, "02-judge", "Without an answer?")]
    text = write_index(tmp_path, HOSTILE, pages, [HOSTILE]).read_text(encoding="utf-8")
    check_closed(text)
    addresses, _, words = read(text)
    assert addresses[-1] == "tables/b&c.csv"
    assert words.count(HOSTILE) == 4  # title, heading, lead, card
    assert '<p class="answer">A &amp; B</p>' in text


def test_a_folder_of_reports_lists_them_with_their_answers(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        pages = [page(tmp_path / name, "08-choose", "Which?", f"Best of {name}."),
                 page(tmp_path / name, "03-correlate", "Alike?", f"Trust {name}.")]  # fmt: skip
        write_index(tmp_path / name, f"{name} {HOSTILE}", pages)
    for name in ("three", "copy"):
        (tmp_path / name).mkdir()
        write_index(tmp_path / name, name, [])
    for name in ("one/08-choose", "two/08-choose", "three/08-choose.failed"):
        (tmp_path / f"{name}.ipynb").touch()  # the copy holds pages alone
    text = write_contents(tmp_path).read_text(encoding="utf-8")
    check_closed(text)
    addresses, _, words = read(text)
    assert addresses == ["one/index.html", "three/index.html", "two/index.html"]
    order = ["Which?", "Best of one.", "Alike?", "Trust one.", "Best of two."]
    assert sorted(order, key=words.index) == order
    assert f"one {HOSTILE}" in words
    assert "Cannot be known" in words
