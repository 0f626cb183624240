"""A pair as it is asked, and the answer to it as one record of the judgments file."""

import json
from collections.abc import Mapping
from typing import Any

from poolkit import prompt as pr
from poolkit.answers import Answer, scrubbed
from poolkit.endpoint import BYTES_A_TOKEN
from poolkit.identity import Asked, Judge, prompt_of, short_hash, shown
from poolkit.picture import picture_tokens
from poolkit.price import REPLY_TOKENS, Price
from poolkit.records import SCHEMA, now

MESSAGE_TOKENS = 300  # at most, beside the words


def messages_of(judge: Judge, pair: Asked) -> list[dict[str, Any]]:
    """Messages that ask for the pair's grade."""
    return pr.messages(prompt_of(judge), query=pair.query, title=pair.title, text=pair.text, image=pair.image)


def tokens_of(judge: Judge, pair: Asked) -> tuple[float, int]:
    """Tokens that the pair takes: likely, with its reply, for the rate; and of input at most, for the budget.

    No token is shorter than a byte.
    """
    words = (prompt_of(judge).template, pair.query, pair.title, pair.text)
    size = sum(len(w.encode("utf-8", "replace")) for w in words)
    size += sum(
        len(json.dumps(x)) for x in judge.parameters.values() if isinstance(x, dict | list)
    )  # such as tools
    likely, most = size / BYTES_A_TOKEN + REPLY_TOKENS, size + MESSAGE_TOKENS
    if pair.image is not None:
        picture = picture_tokens(pair.image, judge.model)
        likely, most = likely + picture.likely, most + picture.most
    return likely, most


def read_answer(answer: Answer, scale: tuple[int, ...]) -> pr.Reply:
    """The grade that an answer gives, or why it gives none."""
    if answer.failure:
        return pr.Reply(None, "", answer.failure)
    return pr.parse_reply(answer.text, finish_reason=answer.finish, scale=scale)


def question(judge: Judge, pair: Asked, replicate: int) -> dict[str, Any]:
    """A record as far as it is known before the answer."""
    return {
        "schema": SCHEMA, "query_id": pair.query_id, "doc_id": pair.doc_id, "relevance": None, "thought": "",
        "status": "endpoint", "note": "", "model": judge.model, "asked": judge.model,
        "prompt_hash": prompt_of(judge).hash, "query_hash": short_hash(pair.query),
        "text_hash": pair.text_hash, "parameters": shown(judge.parameters), "sent": "", "key": pair.key,
        "replicate": replicate, "calls": 0, "tokens_in": None, "tokens_out": None, "tokens_cached": None,
        "usd": None, "cut": pair.cut, "time": "",
    }  # fmt: skip


def answered(
    record: Mapping[str, Any], reply: pr.Reply, answer: Answer, *,
    calls: int, tokens: tuple[int, int, int] | None, price: Price | None, key: str,
) -> dict[str, Any]:  # fmt: skip
    """A record with its answer.

    Parameters
    ----------
    record : mapping
        From `question`.
    reply : Reply
    answer : Answer
    calls : int
        That were made for it.
    tokens : tuple of int or None
        Input, cached input and output over all calls; None where the server did not count them.
    price : Price or None
    key : str
        The secret, which is written nowhere.
    """
    said = "" if reply.status == "ok" else answer.note or scrubbed(answer.text or "", key)
    tokens_in, tokens_cached, tokens_out = tokens or (None, None, None)
    return {
        **record, "relevance": reply.grade, "thought": scrubbed(reply.thought, key, most=pr.LONGEST_THOUGHT),
        "status": reply.status, "note": said, "model": answer.model or record["model"], "sent": answer.sent,
        "calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out, "tokens_cached": tokens_cached,
        "usd": price.usd(*tokens) if price and tokens else None, "time": now(),
    }  # fmt: skip
