"""The Batch API of an endpoint: a file of requests goes up, a file of answers comes down within a day."""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import quote

import openai
from openai.types import FileObject
from pydantic import BaseModel, BeforeValidator, ValidationError

from poolkit.answers import Answer, read_completion, refusal_of
from poolkit.endpoint import Endpoint, QueueFull
from poolkit.price import Stop

ENDED = ("completed", "failed", "expired", "cancelled")
REMEMBERED = 3 * 86_400  # seconds: an older batch was over long ago
URL: Final = "/v1/chat/completions"
_OR_EMPTY = BeforeValidator(lambda value: {} if value is None else value)  # null is as good as nothing


def _one_word(status: object) -> object:
    """A status as OpenAI spells it."""
    word = status.lower() if isinstance(status, str) else status
    return "cancelled" if word == "canceled" else word


class Unsure(Stop):
    """The run ends, and a batch may have been made or not."""


class _Counts(BaseModel):
    completed: int = 0
    total: int = 0


class _Fault(BaseModel):
    code: str | None = None
    message: str | None = None


class _Errors(BaseModel):
    data: list[_Fault] = []


class Batch(BaseModel):
    """A batch as the endpoint shows it: what is read of it, checked; gateways leave out the rest."""

    id: str
    status: Annotated[str, BeforeValidator(_one_word)]
    created_at: float | None = None
    metadata: Annotated[dict[str, Any], _OR_EMPTY] = {}
    request_counts: Annotated[_Counts, _OR_EMPTY] = _Counts()
    errors: Annotated[_Errors, _OR_EMPTY] = _Errors()
    output_file_id: str | None = None
    error_file_id: str | None = None

    @property
    def said(self) -> str:
        """How far it is, in words."""
        counts = self.request_counts
        done = f", {counts.completed:,} of {counts.total:,} done" if self.status == "in_progress" else ""
        return self.status + done

    @property
    def why(self) -> str:
        """Why it failed, in words."""
        faults = [f"{fault.code}: {fault.message}" for fault in self.errors.data[:3]]
        return "; ".join(faults) or "no reason given"

    @property
    def files(self) -> list[str]:
        """Files of answers and of errors, as far as there are any."""
        return [file for file in (self.output_file_id, self.error_file_id) if file]


class _Page(BaseModel):
    data: list[Any]
    has_more: bool = False


@dataclass(frozen=True)
class Returned:
    """One line that came back: an answer for good, or none."""

    key: str
    answer: Answer | None = None
    late: bool = False  # not asked, since the batch expired


def request_line(key: str, body: dict[str, Any]) -> bytes:
    """One request of a batch's file."""
    request = {"custom_id": key, "method": "POST", "url": URL, "body": body}
    return json.dumps(request).encode() + b"\n"


async def make(endpoint: Endpoint, name: str, lines: Sequence[bytes]) -> str:
    """The id of the batch of this name: found, or made now.

    A second try looks for it once more: a connection may break after the batch was made.

    Raises
    ------
    QueueFull, Stop
        It was not made.
    Unsure
        It may have been made.
    """
    unsure = False

    async def uploaded(client: openai.AsyncOpenAI) -> str:
        data = (f"{name}.jsonl", b"".join(lines))
        file = await client.files.create(file=data, purpose="batch")
        if not isinstance(file, FileObject):  # the client lets anything through
            raise ValueError("the server's reply is no file")
        return str(file.id)

    async def made(client: openai.AsyncOpenAI) -> str:
        nonlocal unsure
        before = unsure
        if before and (found := await _find(client, name)):
            return found
        unsure = True
        try:
            batch = await client.post("/batches", cast_to=object, body={
                "input_file_id": file_id, "endpoint": URL, "completion_window": "24h",
                "metadata": {"poolkit": name},
            })  # fmt: skip
        except openai.APIStatusError as error:
            unsure = before or error.status_code >= 500  # an earlier try may have made it, unlisted yet
            raise
        return Batch.model_validate(batch).id

    if found := await find(endpoint, name):
        return found
    file_id = await endpoint.service("upload a batch", uploaded)
    try:
        return await endpoint.service("make a batch", made)
    except (Stop, QueueFull) as stop:
        raise Unsure(str(stop)) if unsure else stop from None


async def find(endpoint: Endpoint, name: str) -> str:
    """The id of the batch of this name, or nothing."""
    return await endpoint.service("list batches", lambda client: _find(client, name))


async def _find(client: openai.AsyncOpenAI, name: str) -> str:
    after, seen = dict[str, str](), set[str]()
    while True:
        options: Any = {"params": {"limit": 100, **after}}
        page = _Page.model_validate(await client.get("/batches", cast_to=object, options=options))
        batches = list(filter(None, map(_batch, page.data)))
        if page.data and not batches:
            raise ValueError("the endpoint's list of batches has another form")
        for batch in batches:
            empty = batch.status in ("expired", "cancelled") and not batch.request_counts.completed
            if batch.metadata.get("poolkit") == name and batch.status != "failed" and not empty:
                return batch.id
        if (
            not page.has_more
            or not batches
            or (batches[-1].created_at or math.inf) < time.time() - REMEMBERED
        ):
            return ""
        if batches[-1].id in seen:  # else it would be read for ever
            raise ValueError("the endpoint's list of batches begins anew at each page")
        seen.add(batches[-1].id)
        after = {"after": batches[-1].id}


def _batch(thing: Any) -> Batch | None:
    """One of the endpoint's list; None for what somebody else left there in another form."""
    try:
        return Batch.model_validate(thing)
    except ValidationError:
        return None


async def look(endpoint: Endpoint, batch_id: str) -> Batch:
    """How far a batch is."""
    path = f"/batches/{quote(batch_id, safe='')}"

    async def looked(client: openai.AsyncOpenAI) -> Batch:
        return Batch.model_validate(await client.get(path, cast_to=object))

    return await endpoint.service("look at a batch", looked)


async def fetch(endpoint: Endpoint, file_id: str) -> list[bytes]:
    """Lines of a file of answers; a page of something else is no such file, and is asked for again."""

    async def fetched(client: openai.AsyncOpenAI) -> list[bytes]:
        try:
            lines = (await client.files.content(file_id)).content.splitlines()
        except openai.NotFoundError:  # it was deleted, or kept too long: nobody can have it any more
            return []
        if lines and not any(read_line(line, endpoint).key for line in lines):
            raise ValueError("no line of it is an answer")
        return lines

    return await endpoint.service("fetch answers", fetched)


def read_line(line: bytes, endpoint: Endpoint) -> Returned:
    """One line of a batch's answers or errors; an empty key where it is none.

    A refusal that lies in the pair is its answer. Any other failure, and a reply that is no chat
    completion, is no answer: the pair may be asked again.
    """
    try:
        item = json.loads(line)
        key, response, error = str(item["custom_id"]), item.get("response") or {}, item.get("error") or {}
        status, body, code = response.get("status_code"), response.get("body"), error.get("code")
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return Returned("")
    if status == 200:
        try:
            return Returned(key, read_completion(body, model=endpoint.model, key=endpoint.key))
        except ValueError:
            return Returned(key)
    said = json.dumps([error, body])
    if kind := refusal_of(said):
        return Returned(key, Answer(failure=kind, note=endpoint.scrubbed(f"HTTP {status}: {said}")))
    return Returned(key, late=code == "batch_expired")
