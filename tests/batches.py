"""The loopback server with a Batch API: /v1/files and /v1/batches, with faults by script.

Every request of a batch is answered by the same plan as a chat call would be, when the batch is first looked
at after `steps` looks. `fault(batch)` says what goes wrong with a batch: a `Fault`.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any

from loopback import Loopback, Say, error


@dataclass
class Fault:
    """What goes wrong with one batch."""

    status: str = "completed"  # how it ends
    part: float = 1.0  # share of the requests that are answered before it ends
    errors: list[dict[str, Any]] = field(default_factory=list)  # of a batch that fails
    mangle: Callable[[bytes], bytes] = bytes  # of the file of answers


class BatchLoopback(Loopback):
    """The server; `batches` has what was made, `bought` counts answers by key."""

    def __init__(self, plan=None, *, fault=None, steps: int = 1, door=None, **settings):
        super().__init__(plan, **settings)
        self.fault, self.steps = fault or (lambda batch: Fault()), steps
        self.door = door or (lambda method, path, number: None)  # a fault of the service itself: a Say
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.bought: Counter[str] = Counter()
        self.calls: list[str] = []

    def answer(self, method, path, fields, data):
        if path == "/chat/completions":
            return super().answer(method, path, fields, data)
        path = path.split("?")[0]
        self.calls.append(f"{method} {path}")
        if say := self.door(method, path, len(self.calls) - 1):
            if say.reset and (method, path) == ("POST", "/batches"):
                self._make(json.loads(data))  # made, and the client never hears of it
            return say
        if (method, path) == ("POST", "/files"):
            head = f"content-type: {fields['content-type']}\r\n\r\n".encode()
            parts = {
                part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
                for part in message_from_bytes(head + data).get_payload()
            }
            assert parts["purpose"] == b"batch"
            return Say({"id": self._file(parts["file"]), "object": "file", "purpose": "batch"})
        if (method, path) == ("POST", "/batches"):
            return Say(self._make(json.loads(data)))
        if (method, path) == ("GET", "/batches"):
            return Say({"object": "list", "data": list(self.batches.values())[::-1], "has_more": False})
        if found := re.fullmatch(r"/batches/(\w+)", path):
            return Say(self._look(found[1]))
        if found := re.fullmatch(r"/files/(\w+)/content", path):
            return Say(self.files[found[1]])
        return error(404, f"no {path}")

    def _file(self, data: bytes) -> str:
        name = f"file_{len(self.files)}"
        self.files[name] = data
        return name

    def _make(self, request: dict[str, Any]) -> dict[str, Any]:
        assert (request["endpoint"], request["completion_window"]) == ("/v1/chat/completions", "24h")
        lines = self.files[request["input_file_id"]].splitlines()
        batch = {
            "id": f"batch_{len(self.batches)}", "object": "batch", "status": "validating", "looks": 0,
            "endpoint": request["endpoint"], "input_file_id": request["input_file_id"],
            "completion_window": "24h", "created_at": int(time.time()), "metadata": request["metadata"],
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            "output_file_id": None, "error_file_id": None, "errors": None,
        }  # fmt: skip
        self.batches[batch["id"]] = batch
        return batch

    def _look(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        batch["looks"] += 1
        if batch["looks"] <= self.steps:
            batch["status"] = "in_progress"
        elif batch["status"] in ("validating", "in_progress"):
            self._end(batch)
        return batch

    def _end(self, batch: dict[str, Any]) -> None:
        fault = self.fault(batch)
        batch["status"] = fault.status
        if fault.status == "failed":
            batch["errors"] = {"object": "list", "data": fault.errors}
            return
        requests = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        good, bad = [], []
        for number, request in enumerate(requests):
            key, body = request["custom_id"], request["body"]
            if number >= fault.part * len(requests):
                code = f"batch_{fault.status}"
                bad.append({"custom_id": key, "response": None, "error": {"code": code, "message": "late"}})
                continue
            self.requests.append(body)
            say = self.plan(body, len(self.requests) - 1)
            line = {
                "custom_id": key,
                "response": {"status_code": say.status, "body": say.body},
                "error": None,
            }
            (good if say.status == 200 else bad).append(line)
            if say.status == 200:
                self.bought[key] += 1
                self.answered[json.dumps(body["messages"][-1]["content"])] += 1
        batch["request_counts"] = {"total": len(requests), "completed": len(good), "failed": len(bad)}
        for field_name, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                data = "".join(json.dumps(line) + "\n" for line in lines).encode()
                batch[field_name] = self._file(fault.mangle(data) if lines is good else data)
