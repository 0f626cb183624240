"""What an endpoint said: a chat completion as text, finish reason, model and tokens; a refusal by its kind."""

import re
from dataclasses import dataclass
from typing import Any

from poolkit.dialect import MOST_TOKENS

_TOO_LONG = re.compile(
    r"context.?(length|window|size)|too many (input )?tokens|(prompt|input) is too long", re.I
)
_NO_MONEY = re.compile(r"insufficient.?(quota|balance|funds)|credit balance|billing", re.I)
_FILTERED = re.compile(
    r"content.?(filter|policy|management)|responsible.?ai|(input|prompt|content) was flagged|prohibited.?content|"
    r"rejected.{0,30}safety system",
    re.I,
)
_ENDS = {  # other words for what OpenAI calls length and content_filter
    **dict.fromkeys(("max_tokens", "model_length", "max_output_tokens"), "length"),
    **dict.fromkeys(("safety", "recitation", "blocklist", "prohibited_content"), "content_filter"),
}
_BROKE_OFF = ("error", "abort", "insufficient_system_resource")  # as OpenRouter, vLLM and DeepSeek say it


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
        choice, usage, named = reply["choices"][0], reply.get("usage"), reply.get("model")
        message, finish = choice["message"], str(choice.get("finish_reason") or "")
        text, refusal = message.get("content"), message.get("refusal")
    except (TypeError, KeyError, IndexError, AttributeError):
        said = reply.get("error") if isinstance(reply, dict) else reply
        shown = scrubbed(str(said), key, most=100)  # before it is cut: no half key stays
        raise ValueError(f"the server's reply is not a chat completion: {shown}") from None
    finish = _ENDS.get(finish.lower(), finish)
    if finish.lower() in _BROKE_OFF:
        raise ValueError(f"the server's reply broke off: {scrubbed(finish, key)}")
    return Answer(
        text=text if isinstance(text, str) else None,
        finish="refusal" if refusal and finish not in ("length", "content_filter") else finish,
        model=scrubbed(str(named or model), key),
        tokens=_counts(usage),
        sent=sent,
    )


def _counts(usage: Any) -> tuple[int, int, int] | None:
    """Tokens of input, cached input and output, where the server counted them and the counts can be."""
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = (details.get("cached_tokens") or 0) if isinstance(details, dict) else 0
    counts: Any = (usage.get("prompt_tokens"), cached, usage.get("completion_tokens"))
    known = all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts)
    return counts if known and cached <= counts[0] else None  # else a call would cost less than nothing


def said_of(body: object, message: str) -> str:
    """What an error says of itself, and no more: some send back all that was asked, which may say anything."""
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return " ".join(str(body[name]) for name in ("code", "type", "param", "message") if body.get(name))
    return str(body or message)


def no_money(status: int, said: str, code: object) -> bool:
    """Whether an error means that the account is empty; a rate limit's words may name billing too."""
    poor = status in (400, 403, 429) and code != "rate_limit_exceeded" and _NO_MONEY.search(said)
    return status == 402 or bool(poor)


def refusal_of(said: str) -> str | None:
    """The kind of failure that an error's words name, where it lies in the pair: no other try can help."""
    if _TOO_LONG.search(said):
        return "too long"
    return "filtered" if _FILTERED.search(said) else None


def scrubbed(text: str, key: str, *, most: int = 300) -> str:
    """Text without the key, on one line of bounded length."""
    safe = text.replace(key, "***") if len(key) > 3 else text
    safe = re.sub(r"\b(sk-|Bearer )[\w*-]{8,}", "***", safe)
    safe = re.sub(r"[\x00-\x1f\x7f-\x9f]", " ", safe)  # a terminal would obey them
    return " ".join(safe.encode("utf-8", "replace").decode().split())[:most]
