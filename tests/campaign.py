"""The fault campaign: a server that fails in every way, and a judge that is killed again and again.

`make campaign` runs it at length, the suite a little of it. The server lives in a process of its own,
gives one grade to one content for ever, and draws a fault for each request: 429, 500, a torn connection, a
call that hangs, garbage, a filtered reply. The judge is `poolkit.judge.fill` in another process, killed with
SIGKILL at random moments and started again: forked, from a process that has imported all. The server notes
what it was asked and what it sent; the judge notes each grade as it arrives and each pair as it is shown as
done; and after each life its files are read as they lie. From these the figures follow:

judged       pairs with a grade in the end
failed       pairs without one in the end
lost         pairs shown as done, or found on disk after some life, and not on disk after a later one
twice        requests for a pair whose grade had arrived and was on disk: bought twice
wrong        pairs whose grade on disk is not the one that the server gives to their content
undelivered  grades that the server sent and nobody received: the judge was dead, or had hung up
unwritten    grades that arrived in the last milliseconds of a life that was killed, and were not on disk yet

The last two were paid for and are asked for again; no client can have them, for providers do not repeat an
answer. They are at most the calls in flight at each death.
"""

import argparse
import json
import os
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from loopback import MODEL, Loopback, Say, completion, error, grade_of, graded

FAULTS = ("429", "500", "reset", "hang", "garbage", "filter")
KEY = "sk-campaign-0000000000"
CONCURRENCY = 64


@dataclass
class Figures:
    """What a campaign found; see above."""

    pairs: int
    kills: int
    judged: int = 0
    failed: int = 0
    lost: int = 0
    twice: int = 0
    wrong: int = 0
    undelivered: int = 0
    unwritten: int = 0
    requests: dict[str, int] = field(default_factory=dict)  # by what the server did
    lives: int = 0
    seconds: float = 0.0


class Diary:
    """Lines with the machine's one clock, each whole and at once in the file, whoever is killed then."""

    def __init__(self, path: Path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, *lines: str) -> None:
        now = time.monotonic_ns()
        os.write(self._file, "".join(f"{now} {line}\n" for line in lines).encode())


def read_diary(path: Path) -> list[list[str]]:
    """Words of each line."""
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def document_of(messages: list[dict[str, Any]]) -> str:
    """Which document a request is about."""
    return "d" + messages[-1]["content"].split("text of document ")[1].split()[0]


def pairs(n: int) -> pd.DataFrame:
    """Pairs of different content."""
    return pd.DataFrame(
        {
            "query_id": [f"q{i % 3}" for i in range(n)],
            "doc_id": [f"d{i}" for i in range(n)],
            "query": [f"who is number {i % 3}" for i in range(n)],
            "title": [f"Title {i}" for i in range(n)],
            "text": [f"text of document {i} " * 5 for i in range(n)],
        }
    )


def serve(folder: Path, *, share: float, seed: int, latency: float) -> None:
    """Print the address and serve until the input closes."""
    rng, diary = random.Random(seed), Diary(folder / "server.txt")

    def plan(request: dict[str, Any], number: int) -> Say:
        draw, grade = rng.random(), grade_of(request)
        kind = FAULTS[int(draw / share)] if draw < share * len(FAULTS) else "grade"
        diary.note(f"asked {document_of(request['messages'])} {kind} {grade}")
        says = {
            "grade": graded(grade),
            "429": error(429, "slow", headers={"retry-after-ms": "20"}),
            "500": error(500, "oops"),
            "reset": Say(reset=True),
            "hang": Say(wait=600),
            "garbage": Say(completion("no idea")) if number % 2 else Say("<html>garbage"),
            "filter": error(400, "filtered", "content_filter"),
        }
        return says[kind]

    def sent(data: bytes, say: Say) -> None:
        if isinstance(say.body, dict) and "relevance" in json.dumps(say.body):
            diary.note(f"sent {document_of(json.loads(data)['messages'])}")

    with Loopback(plan, latency=latency) as server:
        server.on_sent = sent
        print(server.url, flush=True)
        sys.stdin.read()


def judge(folder: Path, url: str, life: int, n: int, *, quick: bool) -> None:
    """One life: fill the pool until nothing is failed or open; print how much is."""
    from poolkit import endpoint as ep
    from poolkit.judge import fill, judge_from
    from poolkit.progress import Meter

    diary, paid, add = Diary(folder / f"life-{life}.txt"), ep.Endpoint._paid, Meter.add

    async def noted_paid(self: Any, body: Any, tokens: int) -> Any:
        answer = await paid(self, body, tokens)
        if "relevance" in (answer.text or ""):
            diary.note(f"got {document_of(body['messages'])}")
        return answer

    def noted_add(self: Any, records: list[dict[str, Any]], *more: Any) -> None:
        diary.note(*(f"shown {r['doc_id']}" for r in records if r["status"] == "ok"))
        add(self, records, *more)

    ep.Endpoint._paid, Meter.add = noted_paid, noted_add  # type: ignore[method-assign]
    if quick:
        ep._BACKOFF = lambda state: 0.01  # type: ignore[assignment]
    os.environ["CAMPAIGN_KEY"] = KEY
    settings = {"model": MODEL, "base_url": url, "key_env": "CAMPAIGN_KEY", "timeout": 1.0,
                "price": {"input": 2, "output": 8}, "concurrency": CONCURRENCY}  # fmt: skip
    left = 1
    for _ in range(50):  # rounds, as a user would run it again until nothing is failed
        if not left:
            break
        outcome = fill(
            judge_from("j", settings, folder), pairs(n), cache_folder=folder / "cache",
            judgments_path=folder / "judgments" / "j.jsonl", retry_failed=True, progress=False,
        )  # fmt: skip
        left = outcome.remaining + sum(outcome.failed.values())
    os.write(1, f"left {left}\n".encode())


def nurse(folder: Path, url: str, n: int, *, quick: bool) -> None:
    """Start a life for each line on stdin, by fork: what takes long to import is imported once."""
    import openai  # noqa: F401

    import poolkit.judge
    import poolkit.workers  # noqa: F401

    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            try:
                judge(folder, url, int(line), n, quick=quick)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.write(1, f"{pid}\n".encode())
        os.write(1, f"ended {os.waitpid(pid, 0)[1]}\n".encode())


def on_disk(folder: Path) -> dict[str, int]:
    """Grades in the judgments file or its working copy as they lie: opened as a copy, mended by nobody."""
    grades: dict[str, int] = {}
    path = folder / "judgments" / "j.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    found = [json.loads(line) for line in lines]
    if (folder / "cache" / "j" / "cache.db").exists():
        with tempfile.TemporaryDirectory() as copy:
            for name in ("cache.db", "cache.db-wal"):
                if (folder / "cache" / "j" / name).exists():
                    shutil.copy(folder / "cache" / "j" / name, copy)
            db = sqlite3.connect(Path(copy) / "cache.db")
            try:
                values = [row[0] for row in db.execute("SELECT value FROM Cache")]
            except sqlite3.OperationalError:  # killed before it had a table
                values = []
            db.close()
        found += [json.loads(zlib.decompress(value)) for value in values]
    for record in found:
        if isinstance(record, dict) and record["status"] == "ok":
            assert grades.setdefault(record["doc_id"], record["relevance"]) == record["relevance"]
    return grades


def run(
    folder: Path,
    *,
    n: int,
    kills: int,
    seed: int = 1,
    share: float = 0.1,
    quick: bool = False,
    life_s: float = 2.0,
) -> Figures:
    """One campaign in an empty folder.

    Parameters
    ----------
    folder : Path
    n : int
        Pairs.
    kills : int
        Deaths by SIGKILL: three of four up to `life_s` seconds after an answer was received, the others up to
        `life_s` seconds after the judge has begun.
    seed : int
        Of the faults and the moments.
    share : float
        Of each fault, in the requests.
    quick : bool
        Wait little between attempts.
    life_s : float
    """
    start, rng, figures = time.monotonic(), random.Random(seed), Figures(n, 0)
    options = ["--share", str(share), "--seed", str(seed), "--latency", "0.01", "--pairs", str(n)]
    options += ["--quick"] if quick else []
    server = _started("serve", folder, *options)
    url = server.stdout.readline().strip()
    nursery = _started("nursery", folder, *options, "--url", url)
    known: dict[str, tuple[int, int]] = {}  # document -> since when its grade was held, and the grade
    try:
        left = n
        while left:
            pid = _said(nursery, f"{figures.lives}\n")
            killed = False
            if figures.kills < kills:
                if rng.random() < 0.75:  # else also while the store opens and the pairs are planned
                    _wait_for_an_answer(folder / f"life-{figures.lives}.txt", nursery)
                killed = not select.select([nursery.stdout], [], [], rng.uniform(0, life_s))[0]
                if killed:
                    os.kill(int(pid), signal.SIGKILL)
                    figures.kills += 1
            said = dict(
                [nursery.stdout.readline().split()] + ([] if killed else [nursery.stdout.readline().split()])
            )
            assert (said["ended"] == str(int(signal.SIGKILL))) if killed else (said["ended"] == "0")
            left = n if killed else int(said["left"])
            _after(folder, figures, known, killed=killed)
            assert figures.lives <= kills + 1, "a life ended with something left"
    finally:
        nursery.communicate()
        server.communicate()
    final = {doc_id: grade for doc_id, (_, grade) in known.items()}
    book, truth = read_diary(folder / "server.txt"), dict[str, int]()
    for when, what, doc_id, *more in book:
        if what == "asked":
            truth[doc_id] = int(more[1])
            held = known.get(doc_id)
            figures.twice += bool(held and int(when) > held[0])
    figures.judged, figures.failed = len(final), n - len(final)
    figures.wrong = sum(truth.get(doc_id) != grade for doc_id, grade in final.items())
    figures.requests = dict(Counter(line[2 + 1] for line in book if line[1] == "asked").most_common())
    got = sum(
        line[1] == "got" for life in range(figures.lives) for line in read_diary(folder / f"life-{life}.txt")
    )
    figures.undelivered = sum(line[1] == "sent" for line in book) - got
    figures.seconds = round(time.monotonic() - start, 1)
    return figures


def _started(what: str, folder: Path, *options: str) -> subprocess.Popen[str]:
    """One of the processes, with pipes."""
    program = [sys.executable, __file__, what, str(folder), *options]
    return subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def _said(process: subprocess.Popen[str], line: str) -> str:
    """What a process answers to a line."""
    process.stdin.write(line)
    process.stdin.flush()
    return process.stdout.readline().strip()


def _wait_for_an_answer(diary: Path, nursery: subprocess.Popen[str]) -> None:
    """Wait until this life has received something, or is over."""
    while not (diary.exists() and diary.stat().st_size):
        if select.select([nursery.stdout], [], [], 0.005)[0]:
            return


def _after(folder: Path, figures: Figures, known: dict[str, tuple[int, int]], *, killed: bool) -> None:
    """Compare what one life noted with what it left on disk."""
    diary = read_diary(folder / f"life-{figures.lives}.txt")
    figures.lives += 1
    disk, end = on_disk(folder), time.monotonic_ns()
    got = {doc_id: int(when) for when, what, doc_id in diary if what == "got"}
    shown = {doc_id for _, what, doc_id in diary if what == "shown"}
    figures.lost += len((shown | set(known)) - set(disk))
    figures.lost += sum(disk.get(doc_id, grade) != grade for doc_id, (_, grade) in known.items())
    unwritten = set(got) - set(disk)
    assert killed or not unwritten  # a life that ends by itself has written all that it received
    figures.unwritten += len(unwritten)
    for doc_id, grade in disk.items():
        known.setdefault(doc_id, (got.get(doc_id, end), grade))


def main() -> None:
    """Serve, judge, or the whole campaign."""
    options = argparse.ArgumentParser(description="The fault campaign.")
    options.add_argument("what", choices=("serve", "nursery", "run"), nargs="?", default="run")
    options.add_argument("folder", type=Path, nargs="?")
    options.add_argument("--pairs", type=int, default=10_000)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--share", type=float, default=0.1)
    options.add_argument("--latency", type=float, default=0.01)
    options.add_argument("--url", default="")
    options.add_argument("--quick", action="store_true")
    given = options.parse_args()
    if given.what == "serve":
        serve(given.folder, share=given.share, seed=given.seed, latency=given.latency)
    elif given.what == "nursery":
        nurse(given.folder, given.url, given.pairs, quick=given.quick)
    else:
        bad = 0
        for name, kills in (("faults", 0), ("faults and kills", given.kills)):
            with tempfile.TemporaryDirectory() as scratch:
                found = run(Path(scratch), n=given.pairs, kills=kills, seed=given.seed, share=given.share)
            print(f"{name}: {json.dumps(asdict(found))}", flush=True)
            bad += found.failed + found.lost + found.twice + found.wrong + (found.kills < kills)
        sys.exit(bool(bad))


if __name__ == "__main__":
    main()
