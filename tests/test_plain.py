"""Outside text made plain: what acts is seen, what is endless ends."""

import pytest

from poolkit.plain import escaped, foreign, isolated, labelled, named, shortened, visible


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("a\x00b\x7fc", "a␀b␡c"),
        ("a\tb\r\nc\u2028d", "a b\n\nc\nd"),
        ("\u202eevil\u2066x", "‹202E›evil‹2066›x"),
        ("\u200fשלום\u200e", "\u200fשלום\u200e"),  # harmless where isolated, and common in such texts
        ("\x85\x9b31m", "‹0085›‹009B›31m"),
        ("a\ud800b", "a?b"),
        ("naïve 検索 😀", "naïve 検索 😀"),
    ],
)
def test_visible(text, said):
    assert visible(text) == said


def test_shortened_keeps_both_ends():
    assert shortened("abc", 3) == "abc"
    assert shortened("0123456789", 9) == "012345…89"
    long = shortened("x" * 100_000 + "end", 60)
    assert (len(long), long[-3:]) == (60, "end")


def test_names_are_short_and_on_one_line():
    assert named("a\nb") == "a b"
    assert len(named("n" * 100_000)) == 60


def test_a_name_that_runs_from_right_to_left_ends_with_itself():
    assert named("minilm-é") == "minilm-é"
    for name in ("שלום", "x\u200fy", "\u061c"):
        assert named(name) == f"\u2068{name}\u2069"
        assert visible(named(name)) == named(named(name)) == named(name)
        assert labelled(named(name)) == name
    # what only looks like ours: nothing inside such a pair can leave it, and one alone is seen
    assert visible("\u2068a\u2069") == "\u2068a\u2069"
    assert visible("\u2068a\u202eb\u2069 \u2068") == "‹2068›a‹202E›b‹2069› ‹2068›"


def test_escaped_and_isolated():
    assert escaped("<b>&'\"") == "&lt;b&gt;&amp;&#x27;&quot;"
    assert isolated("<b>") == "&lt;b&gt;"
    assert isolated("שלום<") == "<bdi>שלום&lt;</bdi>"
    assert len(escaped("&" * 9_000)) == 5 * 3_999 + 1


@pytest.mark.parametrize("text", ["", "q", "q1", "q1 Q", '{"', "é", "检索检索", "\ufeffq1 Q0"])
def test_only_what_is_not_utf8_is_foreign(text):
    assert foreign(text.encode()) == ""


def test_utf16_is_foreign_with_and_without_a_mark():
    said = [foreign('{"_id"'.encode(kind)) for kind in ("utf-16", "utf-16-le", "utf-16-be", "utf-32-le")]
    assert [x.partition(",")[0] for x in said] == ["UTF-16", "UTF-16-LE", "UTF-16-BE", "UTF-32-LE"]
