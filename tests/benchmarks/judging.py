"""How fast a pool is judged: judgments a second, CPU and memory, beside the openai client's default transport.

`make bench` runs it. A server in a process of its own answers each call after 50 ms; the judge asks 64 at a
time, and every answer is stored as always. The product has one transport; the other is put in its place here.
Each filling has a process of its own, the two transports take turns, and medians are printed. CPU seconds hold
where the machine is shared; judgments a second hold on an idle one.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODEL = "bench-2026-01-01"
PASSAGE = "The river was crossed by ferry until the bridge came. " * 18  # some 1,000 characters


class Server(asyncio.Protocol):
    """The least that answers chat completions: finds where a request ends, and always says the same."""

    said = json.dumps({"thought": "Names the date and the place, and says who paid for it.", "relevance": 1})
    body = json.dumps(
        {"id": "c", "object": "chat.completion", "created": 1, "model": MODEL,
         "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
         "usage": {"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520}}
    ).encode()  # fmt: skip
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    answer = head % len(body) + body
    served, latency = 0, 0.05

    def connection_made(self, transport: Any) -> None:
        self.transport, self.seen = transport, b""

    def data_received(self, data: bytes) -> None:
        self.seen += data
        head = self.seen.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self.seen.lower().find(b"content-length:", 0, head)
        length = int(self.seen[at + 15 : self.seen.index(b"\r\n", at)])
        if len(self.seen) >= head + 4 + length:
            self.seen = self.seen[head + 4 + length :]
            asyncio.get_running_loop().call_later(self.latency, self.transport.write, self.answer)
            Server.served += 1


async def _serve(latency: float) -> None:
    loop, halt = asyncio.get_running_loop(), asyncio.Event()
    Server.latency = latency
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=1024)
    loop.add_reader(sys.stdin.fileno(), halt.set)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await halt.wait()
    print(json.dumps({"served": Server.served, "cpu": time.process_time()}), flush=True)


@contextmanager
def server(latency: float, said: dict[str, float] | None = None) -> Iterator[str]:
    """Address of a server in a process of its own; in the end `said` has what it served and its CPU seconds."""
    asked = [sys.executable, __file__, "serve", "--latency", str(latency)]
    process = subprocess.Popen(asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        (said if said is not None else {}).update(json.loads(process.communicate("\n")[0]))


def fill_once(url: str, transport: str, pairs: int, width: int) -> dict[str, float]:
    """Judge so many pairs in this process; what it took. The client is loaded before the clock starts."""
    import openai
    import pandas as pd

    import poolkit.workers  # noqa: F401
    from poolkit.judge import fill, judge_from

    if transport == "default":
        openai.DefaultAioHttpClient = openai.DefaultAsyncHttpxClient  # type: ignore[misc, assignment]
    table = pd.DataFrame(
        {
            "query_id": [f"q{i % 50}" for i in range(pairs)],
            "doc_id": [f"d{i}" for i in range(pairs)],
            "query": [f"who paid for bridge number {i % 50}" for i in range(pairs)],
            "title": [f"Bridge {i}" for i in range(pairs)],
            "text": [f"Passage {i}. {PASSAGE}" for i in range(pairs)],
        }
    )
    settings = {"model": MODEL, "base_url": url, "price": {"input": 2, "output": 8}, "concurrency": width}
    judge = judge_from("bench", settings, Path())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.jsonl"
        start, cpu = time.perf_counter(), time.process_time()
        outcome = fill(judge, table, cache_folder=Path(folder) / "cache", judgments_path=path, progress=False)
        seconds, spent = time.perf_counter() - start, time.process_time() - cpu
        lines = path.read_bytes().count(b"\n")
    if outcome.judged != pairs or lines != pairs:
        raise SystemExit(f"judged {outcome.judged} and stored {lines} of {pairs}: {outcome.stopped}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "cpu": spent, "peak": peak}


def measure(*, pairs: int = 5000, width: int = 64, latency: float = 0.05, repeats: int = 3) -> dict[str, Any]:
    """Medians of both transports, turn by turn, and what the server itself takes.

    Returns
    -------
    dict
        By transport: rate (judgments a second), cpu_ms (a judgment), peak_mib; `ratio` of the rates and
        `cpu_ratio`; server_ms: CPU of the server a request, and `ceiling`, the calls a second that this allows.
    """
    found: dict[str, list[dict[str, float]]] = {"aiohttp": [], "default": []}
    said: dict[str, float] = {}
    with server(latency, said) as url:
        for _ in range(repeats):
            for transport, rows in found.items():
                asked = [sys.executable, __file__, "fill", "--url", url, "--transport", transport,
                         "--pairs", str(pairs), "--width", str(width)]  # fmt: skip
                rows.append(
                    json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
                )
    table = {
        name: {
            "rate": statistics.median(pairs / r["seconds"] for r in rows),
            "cpu_ms": statistics.median(1000 * r["cpu"] / pairs for r in rows),
            "peak_mib": statistics.median(r["peak"] for r in rows),
        }
        for name, rows in found.items()
    }
    ours, theirs = table["aiohttp"], table["default"]
    return {
        "pairs": pairs, "width": width, "latency_ms": 1000 * latency, "repeats": repeats, "cores": os.cpu_count(),
        "load": os.getloadavg()[0], **table, "ratio": ours["rate"] / theirs["rate"],
        "cpu_ratio": theirs["cpu_ms"] / ours["cpu_ms"], "server_ms": 1000 * said["cpu"] / said["served"],
        "ceiling": min(said["served"] / said["cpu"], width / latency),
    }  # fmt: skip


def lines(found: dict[str, Any]) -> list[str]:
    """The measurements in words."""
    head = (
        f"judging {found['pairs']:,} pairs, {found['width']} at a time, server with {found['latency_ms']:.0f} ms in "
        f"another process, everything stored; medians of {found['repeats']}, load {found['load']:.1f} on "
        f"{found['cores']} cores"
    )
    rows = [
        f"{name:<18} {found[key]['rate']:6.0f} judgments/s  {found[key]['cpu_ms']:5.2f} ms CPU a judgment  "
        f"{found[key]['peak_mib']:5.0f} MiB at most"
        for name, key in (("poolkit", "aiohttp"), ("default transport", "default"))
    ]
    return [
        head, *rows,
        f"{found['ratio']:.2f} times as fast, {found['cpu_ratio']:.2f} times less CPU; the server takes "
        f"{found['server_ms']:.2f} ms CPU a request and could do {found['ceiling']:,.0f}/s",
    ]  # fmt: skip


def main() -> None:
    """Serve, fill once, or measure."""
    options = argparse.ArgumentParser(description="Speed of judging.")
    options.add_argument("what", choices=("serve", "fill", "measure"), nargs="?", default="measure")
    options.add_argument("--pairs", type=int, default=5000)
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--latency", type=float, default=0.05)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--transport", choices=("aiohttp", "default"), default="aiohttp")
    options.add_argument("--url", default="")
    given = options.parse_args()
    if given.what == "serve":
        asyncio.run(_serve(given.latency))
    elif given.what == "fill":
        print(json.dumps(fill_once(given.url, given.transport, given.pairs, given.width)))
    else:
        found = measure(pairs=given.pairs, width=given.width, latency=given.latency, repeats=given.repeats)
        print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
