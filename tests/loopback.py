"""A real HTTP server on 127.0.0.1 that imitates /v1/chat/completions, with faults by script.

`plan(request, number)` says what happens to the number-th request (from 0): a `Say`. As a program,
``python loopback.py --latency 0.05`` prints its address and serves until its input closes.
"""

import argparse
import asyncio
import hashlib
import json
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

MODEL = "served-model-2026-01-01"


@dataclass
class Say:
    """What the server does with one request."""

    body: Any = None  # a dict is sent as JSON, a str as it is
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    reset: bool = False  # the connection is torn
    half: bool = False  # the reply breaks off in the middle


def grade_of(request: dict[str, Any], scale: int = 3) -> int:
    """The grade that this server always gives to this content: a digest of the user message."""
    return hashlib.sha256(json.dumps(request["messages"][-1]["content"]).encode()).digest()[0] % scale


def completion(
    text: str | None, *, finish: str = "stop", tokens: tuple[int, int, int] = (500, 0, 20), **message: Any
) -> dict:
    """A chat completion that says this text."""
    usage = {
        "prompt_tokens": tokens[0],
        "completion_tokens": tokens[2],
        "total_tokens": tokens[0] + tokens[2],
    }
    usage["prompt_tokens_details"] = {"cached_tokens": tokens[1]}  # type: ignore[assignment]
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, **message},
    }
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }


def graded(grade: Any, thought: str = "It says so.", **more: Any) -> Say:
    """A reply with this grade."""
    return Say(completion(json.dumps({"thought": thought, "relevance": grade}), **more))


def error(status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None) -> Say:
    """An error as OpenAI words it."""
    return Say(
        {"error": {"message": message, "type": code, "code": code, "param": None}}, status, headers or {}
    )


class Loopback:
    """The server, in a thread of its own; `url` is its base_url."""

    def __init__(self, plan: Callable[[dict, int], Say] | None = None, *, latency: float = 0.0):
        self.plan, self.latency = plan or (lambda request, number: graded(grade_of(request))), latency
        self.requests: list[dict] = []
        self.keys: set[str] = set()
        self.paths: set[str] = set()
        self.answered: Counter[str] = Counter()  # user message -> completions sent
        self.on_sent: Callable[[bytes, Say], None] = lambda data, say: None  # a whole reply has left
        self.inside = self.widest = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Loopback":
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._halt.set)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._halt = asyncio.Event()
        self._tasks: set[asyncio.Task] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=1 << 26)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._halt.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    def answer(self, method: str, path: str, fields: dict[str, str], data: bytes) -> Say:
        """What to do with a request: here every path is /chat/completions."""
        request = json.loads(data)
        self.requests.append(request)
        return self.plan(request, len(self.requests) - 1)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        data = await reader.readexactly(int(fields.get("content-length", 0)))
        self.keys.add(fields.get("authorization", ""))
        method, path = head[0].split()[:2]
        self.paths.add(path)
        self.inside += 1
        self.widest = max(self.widest, self.inside)
        try:
            say = self.answer(method, path.removeprefix("/v1"), fields, data)
            if wait := say.wait or self.latency:
                await asyncio.sleep(wait)
            if say.reset:
                writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                return False
            text = isinstance(say.body, str | bytes)
            body = (
                say.body
                if isinstance(say.body, bytes)
                else (say.body if text else json.dumps(say.body)).encode()
            )
            kind = "text/html" if text else "application/json"
            lines = [f"HTTP/1.1 {say.status} X", f"content-type: {kind}", f"content-length: {len(body)}"]
            lines += [f"{name}: {value}" for name, value in say.headers.items()]
            writer.write(
                "\r\n".join([*lines, "", ""]).encode() + body[: len(body) // 2 if say.half else len(body)]
            )
            await writer.drain()
            if not say.half:
                self.on_sent(data, say)
            if isinstance(say.body, dict) and say.body.get("choices") and not say.half:
                self.answered[json.dumps(json.loads(data)["messages"][-1]["content"])] += 1
            return not say.half
        finally:
            self.inside -= 1


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--latency", type=float, default=0.0)
    with Loopback(latency=options.parse_args().latency) as served:
        print(served.url, flush=True)
        sys.stdin.read()
        print(
            json.dumps({"requests": len(served.requests), "most": max(served.answered.values(), default=0)})
        )
