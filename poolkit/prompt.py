"""Prompts: (query, document) to messages, and a reply to a grade.

A prompt is a Markdown file: settings in TOML between two lines ``+++``; the fixed part, which is the same
in every call and goes first so that providers can cache it; a third line ``+++``; the part that changes.
Only ``{query}``, ``{title}``, ``{text}`` and ``{fence}`` of that part are filled in, in a single pass: what
a document holds is never read as a template. The fence is a mark made from the contents that none of them
contains.
"""

import base64
import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from poolkit.picture import picture_kind
from poolkit.tables import DataError, listed

BUNDLED = Path(__file__).parent / "prompts"
DEFAULT = BUNDLED / "graded.md"
STATUSES = ("ok", "unreadable", "out of scale", "truncated", "refused", "filtered", "too long", "endpoint")
LONGEST_THOUGHT = 600  # characters that a record keeps, once secrets are out: half a secret is one too
LONGEST_REPLY = 50_000  # characters read, from the end

_CUT_SHORT = {"length": "truncated", "content_filter": "filtered", "refusal": "refused"}
_RULE = re.compile(r"^\+\+\+[ \t]*\n", re.M)
_SLOT = re.compile(r"\{(query|title|text|fence)\}")
_REFUSAL = re.compile(
    r"\s*(i['’]?m sorry|i am sorry|sorry|i can(no|['’])t (help|assist|comply)|i won['’]t)\b", re.I
)
_JSON = json.JSONDecoder(strict=False, object_pairs_hook=lambda pairs: _distinct(pairs))


@dataclass(frozen=True)
class Prompt:
    """A prompt file, read: what is asked, and which grades may be answered."""

    name: str
    version: str
    scale: tuple[int, ...]
    words: dict[int, str]  # what each grade means
    template: str  # fixed part, a line ``+++``, changing part
    hash: str  # sha256 of scale and template: words, name and version may change for free

    @property
    def parts(self) -> tuple[str, str]:
        """The fixed part and the part with the slots."""
        fixed, _, changing = self.template.partition("\n+++\n")
        return fixed, changing


@dataclass(frozen=True)
class Reply:
    """What a reply says: a grade, or the reason why it gives none."""

    grade: int | None
    thought: str
    status: str


def read_prompt(path: Path | str) -> Prompt:
    """Read a prompt file; anything missing or unclear in it is a DataError.

    Parameters
    ----------
    path : Path or str
        A Markdown file of the form described at the top of this room.

    Returns
    -------
    Prompt
    """
    path = Path(path)
    try:
        content = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise DataError(f"{path}: the prompt cannot be read: {reason}.") from None
    pieces = _RULE.split(content)
    if len(pieces) != 4 or pieces[0].strip():
        raise DataError(
            f"{path}: found {len(pieces) - 1} lines '+++'; a prompt has three: around its settings, and "
            "between the fixed part and the part with {query}, {title} and {text}."
        )
    settings = _settings(path, pieces[1])
    scale, fixed, changing = settings["scale"], pieces[2].strip(), pieces[3].strip()
    unknown = [word for word in re.findall(r"\{\w+\}", changing) if not _SLOT.fullmatch(word)]
    if unknown:
        raise DataError(
            f"{path}: unknown {listed(unknown)}; known are {{query}}, {{title}}, {{text}}, {{fence}}."
        )
    for slot in ("{query}", "{text}"):
        if slot not in changing:
            raise DataError(f"{path}: the last part has no {slot}; the judge would not see it.")
    before, _, after = changing.partition("{text}")
    if "{fence}" not in before or "{fence}" not in after:
        raise DataError(f"{path}: no {{fence}} before and after {{text}}; a document could pretend to end.")
    template = f"{fixed}\n+++\n{changing}"
    digest = hashlib.sha256(json.dumps([scale, template]).encode()).hexdigest()
    meaning = {int(grade): str(word) for grade, word in settings["words"].items()}
    name, version = str(settings.get("name", path.stem)), str(settings.get("version", "1"))
    return Prompt(name, version, tuple(scale), meaning, template, digest)


def _settings(path: Path, text: str) -> dict[str, Any]:
    """A prompt's settings, with a scale and words for each grade."""
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: the settings between '+++' are not TOML: {error}.") from None
    scale, words = settings.get("scale"), settings.get("words")
    whole = isinstance(scale, list) and all(type(grade) is int for grade in scale)
    if not isinstance(scale, list) or not whole or len(scale) < 2 or sorted(set(scale)) != scale:
        raise DataError(f"{path}: scale is {scale!r}; give ascending whole numbers, as scale = [0, 1, 2].")
    if not isinstance(words, dict) or sorted(words) != sorted(str(grade) for grade in scale):
        raise DataError(f"{path}: [words] must have one line for each grade of the scale {scale}.")
    return settings


def find_prompt(name_or_path: str, folder: Path) -> Path:
    """Path of a prompt: a file beside the collection, or else a bundled one by its name."""
    bundled = sorted(path.stem for path in BUNDLED.glob("*.md"))
    for path in (folder / name_or_path, folder / f"{name_or_path}.md"):
        if path.is_file():
            return path
    if name_or_path in bundled:
        return BUNDLED / f"{name_or_path}.md"
    raise DataError(
        f"prompt {name_or_path!r}: no such file in {folder}, and bundled are only {', '.join(bundled)}."
    )


def clean(text: str) -> str:
    """Text that can be sent as UTF-8: half characters become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def messages(
    prompt: Prompt, *, query: str, title: str, text: str, image: Path | None = None
) -> list[dict[str, Any]]:
    """Messages that ask for one grade: the fixed part as system message, then query and document.

    Parameters
    ----------
    prompt : Prompt
    query, title, text : str
        Hostile or not: they are filled in once and never looked at again.
    image : Path, optional
        A picture of the page, sent after the text.

    Returns
    -------
    list of dict
    """
    fixed, changing = prompt.parts
    values = {"query": clean(query), "title": clean(title), "text": clean(text)}
    together = "\n".join(values.values())
    fence = hashlib.sha256(together.encode()).hexdigest()[:16]
    while fence in together:
        fence = hashlib.sha256(fence.encode()).hexdigest()[:16]
    values["fence"] = fence
    content: Any = _SLOT.sub(lambda slot: values[slot[1]], changing)
    if image is not None:
        picture = {"type": "image_url", "image_url": {"url": _data_url(image)}}
        content = [{"type": "text", "text": content}, picture]
    return [{"role": "system", "content": fixed}, {"role": "user", "content": content}]


def reply_format(scale: Sequence[int]) -> dict[str, Any]:
    """The ``response_format`` that holds an endpoint to one thought and one grade of the scale."""
    properties = {"thought": {"type": "string"}, "relevance": {"type": "integer", "enum": list(scale)}}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(properties)}
    schema["additionalProperties"] = False
    return {"type": "json_schema", "json_schema": {"name": "judgment", "strict": True, "schema": schema}}


def parse_reply(text: str | None, *, finish_reason: str | None, scale: Sequence[int]) -> Reply:
    """Read one grade from a reply, or say why there is none; nothing is clamped, rounded or guessed.

    The finish reason is looked at first. Then the last JSON object with a ``relevance`` decides, wherever it
    stands in the reply: 1, 1.0 and "1" are grades; true, 1.5, null and lists are not.

    Parameters
    ----------
    text : str or None
        The reply as it came.
    finish_reason : str or None
        As the endpoint gave it; "refusal" where it marked the text as one.
    scale : sequence of int
        Grades that exist.

    Returns
    -------
    Reply
        Status 'ok' with a grade, or a named failure without.

    Examples
    --------
    >>> parse_reply('{"thought": "Names the date.", "relevance": 2}', finish_reason="stop", scale=(0, 1, 2))
    Reply(grade=2, thought='Names the date.', status='ok')
    """
    if finish_reason in _CUT_SHORT:
        return Reply(None, "", _CUT_SHORT[finish_reason])
    text = (text or "")[-LONGEST_REPLY:]
    last, end = _last_object(text)
    if last is None or '"relevance"' in text[end:]:  # an answer that was begun after the last whole one
        return Reply(None, "", "refused" if last is None and _REFUSAL.match(text) else "unreadable")
    thought = last.get("thought")
    thought = " ".join(clean(thought).split()) if isinstance(thought, str) else ""
    grade = _whole(last["relevance"])
    if grade is None:
        return Reply(None, thought, "unreadable")
    return Reply(grade, thought, "ok") if grade in scale else Reply(None, thought, "out of scale")


def _last_object(text: str) -> tuple[dict[str, Any] | None, int]:
    """The last JSON object with a relevance, and where it ends."""
    last, end, at = None, 0, text.find("{")
    for _ in range(1000):  # a reply of nothing but braces is not worth more
        if at < 0:
            break
        try:
            found, after = _JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            after = at + 1
        else:
            if "relevance" in found:
                last, end = found, after
        at = text.find("{", after)
    return last, end


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, unless it says one thing twice."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _whole(value: object) -> int | None:
    """The whole number that a value is, if it is one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,3}\s*", value, re.A):
        return int(value)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return None


def _data_url(image: Path) -> str:
    """A picture as text, as the endpoint takes it."""
    data = image.read_bytes()
    return f"data:image/{picture_kind(data)};base64,{base64.b64encode(data).decode()}"
