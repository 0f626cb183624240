"""What an endpoint said: a chat completion as text, finish reason, model and tokens; a refusal by its kind."""

import re
from dataclasses import dataclass
from typing import Any

from poolkit.dialect import MOST_TOKENS

_TOO_LONG = re.compile(
    r"context.?(length|window|size)|too many (input )?tokens|(prompt|input) is too long", re.I
)
_FILTERED = re.compile(r"content.?(filter|policy|management)|responsible.?ai", re.I)


@dataclass(frozen=True)
class Answer:
    """One reply, or a failure's kind and reason; tokens are None where the server did not count them."""

    text: str | None = None
    finish: str | None = None
    model: str | None = None
    tokens: tuple[int, int, int] | None = None  # input, cached input, output
    failure: str | None = None
    note: str = ""
    sent: str = ""  # parameters that the endpoint accepted


def read_completion(reply: Any, *, model: str, key: str = "", sent: str = "") -> Answer:
    """A chat completion as an Answer.

    Parameters
    ----------
    reply : object
        The JSON that came.
    model : str
        As asked for: where the reply names none.
    key : str
        The secret, scrubbed from what the server says.
    sent : str

    Raises
    ------
    ValueError
        Where it is no chat completion.
    """
    try:
        choice, usage = reply["choices"][0], reply.get("usage") or {}
        message, finish, named = choice["message"], choice.get("finish_reason"), reply.get("model")
        text, refusal = message.get("content"), message.get("refusal")
        details = usage.get("prompt_tokens_details") or {}
        cached = details.get("cached_tokens") or 0
        counts = (usage.get("prompt_tokens"), cached, usage.get("completion_tokens"))
    except (TypeError, KeyError, IndexError, AttributeError):
        said = reply.get("error") if isinstance(reply, dict) else reply
        shown = scrubbed(str(said), key, most=100)  # before it is cut: no half key stays
        raise ValueError(f"the server's reply is not a chat completion: {shown}") from None
    known = all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts)
    known = known and cached <= usage["prompt_tokens"]  # else a call would cost less than nothing
    return Answer(
        text=text if isinstance(text, str) else None,
        finish="refusal" if refusal and finish == "stop" else str(finish or ""),
        model=scrubbed(str(named or model), key),
        tokens=counts if known else None,  # type: ignore[arg-type]
        sent=sent,
    )


def refusal_of(said: str) -> str | None:
    """The kind of failure that an error's words name, where it lies in the pair: no other try can help."""
    if _TOO_LONG.search(said):
        return "too long"
    return "filtered" if _FILTERED.search(said) else None


def scrubbed(text: str, key: str, *, most: int = 300) -> str:
    """Text without the key, on one line of bounded length."""
    safe = text.replace(key, "***") if len(key) > 3 else text
    safe = re.sub(r"\b(sk-|Bearer )[\w*-]{8,}", "***", safe)
    return " ".join(safe.encode("utf-8", "replace").decode().split())[:most]
