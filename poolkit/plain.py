"""Outside text made plain: no control character acts, no line is endless, all markup is escaped."""

import html
import json
import re
import unicodedata

LONGEST = 4_000  # characters of a sentence
CELL = 1_000  # of a table cell
NAME = 60  # of a name in prose or beside an axis
START, END = "\u2068", "\u2069"  # isolate what stands between: its direction ends with it
_CONTROLS = (*range(0x20), 0x7F, *range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {c: f"\u2039{c:04X}\u203a" for c in _CONTROLS}  # bidirectional overrides and isolates, C1
_SHOWN |= {c: chr(0x2400 + c) for c in range(0x20)} | {0x7F: "\u2421"}  # pictures of C0: escape is one
_ISOLATE = re.compile("(\u2068[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*\u2069)")
_LEFTWARD = {"R", "AL", "AN", "RLE", "RLO", "RLI"}  # kinds of characters that turn a line, marks included
_SHOWN |= {0x09: " ", 0x0A: "\n", 0x0D: "\n", 0x2028: "\n", 0x2029: "\n"}


def visible(text: str) -> str:
    """Text in which control characters are seen and do nothing.

    Colour codes of a terminal and marks that turn the direction of what follows would otherwise act on
    more than the text that holds them.

    Examples
    --------
    >>> visible(chr(27) + "[31mred" + chr(0x202E) + "txet")
    '␛[31mred‹202E›txet'
    """
    parts = _ISOLATE.split(text)  # every second part is an isolate of ours, or one as harmless
    parts[::2] = [part.translate(_SHOWN) for part in parts[::2]]
    return "".join(parts).encode("utf-8", "replace").decode("utf-8")


def foreign(start: bytes) -> str:
    """What is wrong with a file whose first bytes say that its text is not UTF-8; else nothing.

    Examples
    --------
    >>> foreign("q1".encode("utf-16"))
    'UTF-16, where UTF-8 is expected. Save the file as UTF-8.'
    """
    kind = json.detect_encoding(start[:4])  # by byte order marks, and by where zeros stand
    utf8 = kind.startswith("utf-8")
    return "" if utf8 else f"{kind.upper()}, where UTF-8 is expected. Save the file as UTF-8."


def shortened(text: str, most: int) -> str:
    """Text of at most so many characters: its head and its end, with dots between.

    Examples
    --------
    >>> shortened("text-embedding-3-large-256", 15)
    'text-embed…-256'
    """
    if len(text) <= most:
        return text
    end = most // 3 - 1
    return f"{text[: most - end - 1]}\u2026{text[len(text) - end :]}"


def labelled(text: object) -> str:
    """Name for a figure: visible, on one line, and short."""
    plain = str(text).replace(START, "").replace(END, "")
    return " ".join(shortened(visible(plain), NAME).split())


def named(text: object) -> str:
    """Name for prose: as `labelled`; one that may run from right to left is isolated from what follows."""
    said = labelled(text)
    return f"{START}{said}{END}" if any(unicodedata.bidirectional(c) in _LEFTWARD for c in said) else said


def escaped(text: object, most: int = LONGEST) -> str:
    """Text for HTML: visible, of at most so many characters, escaped."""
    return html.escape(shortened(visible(str(text)), most))


def isolated(text: object, most: int = LONGEST) -> str:
    """Text for HTML whose own direction of writing stays inside it."""
    said = escaped(text, most)
    return said if said.isascii() else f"<bdi>{said}</bdi>"
