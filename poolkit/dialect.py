"""How an endpoint is spoken to: which model names stay the same, which parameters it takes.

What it does not take is learnt from its first refusal, and not sent again.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

OPENAI = "https://api.openai.com/v1"
_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_ECHO = re.compile(r"""["']input["']\s*:""")  # what follows is what was sent, which may name anything
RESERVED = {"model", "messages", "stream", "n", "api_key"}
MOST_TOKENS = 10**9
_SECRET = re.compile(r"api.?key|authoriz|auth.?token|access.?token|secret|password|^token$", re.I)
_KEY = re.compile(r"\b(sk-|Bearer )[\w*-]{8,}")


def address_fault(base_url: str, key_env: str) -> str:
    """What is wrong with an address, or with the name of its key's variable, in words; nothing where all is well."""
    try:
        parts = urlsplit(base_url)
        good = parts.port != 0 and re.fullmatch(r"[!-~]*", base_url)
    except ValueError:  # its words may hold a key
        good = None
    if not good:
        return "base_url is no address: its host or port is wrong, or it holds a space"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "base_url must begin with http:// or https:// and a host"
    if parts.username or parts.password or parts.query or parts.fragment:
        return "base_url holds more than an address. Keys belong in a variable: see key_env"
    if not re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)?", key_env):
        return "key_env must be the name of an environment variable, never a key"
    return ""


def is_alias(model: str, base_url: str) -> bool:
    """Whether a model's name may mean another model tomorrow: OpenAI's names without a date, and any "latest"."""
    dated = re.search(r"-\d{4}(-\d{2}-\d{2})?(:|$)", model)
    return model.endswith("latest") or (base_url.rstrip("/") == OPENAI and not dated)


def parameters_fault(parameters: Mapping[str, Any]) -> str:
    """What is wrong with sampling parameters of collection.toml, in words; nothing where all is well."""
    for name, value in sorted(parameters.items()):
        if name in RESERVED or _SECRET.search(name) or _KEY.search(str(value)):
            return f"parameters cannot hold {name!r}; poolkit sets it, or it is a secret"
        if name in _OTHER_NAME and (type(value) is not int or not 0 < value <= MOST_TOKENS):
            found = f"parameters: {name} is {str(value)[:40]!r}"
            return f"{found}; it must be a whole number from 1 to {MOST_TOKENS:,}"
        if name == "response_format" and not isinstance(value, dict):
            return f"parameters: {name} is {str(value)[:40]!r}; it must be a table"
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            return f"parameters: {name} is {str(value)[:40]!r}, which JSON cannot hold; give text or a number"
    return ""


@dataclass
class Dialect:
    """Parameters as configured, and what an endpoint was found not to take of them."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    learnt: list[str] = field(default_factory=list)

    def form(self, response_format: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters to send, as this endpoint is known to take them."""
        form = {**self.parameters}
        form.setdefault("response_format", dict(response_format))
        for name, other in _OTHER_NAME.items():
            if f"{name} is called {other}" in self.learnt and name in form:
                form[other] = form.pop(name)
                break
        if "no json_schema" in self.learnt:
            form["response_format"] = {"type": "json_object"}
        return {name: value for name, value in form.items() if f"no {name}" not in self.learnt}

    def learn(self, said: str, form: Mapping[str, Any], *, only_format: bool = False) -> bool:
        """Note which parameter of this form a refusal names; False when it names none."""
        lesson, said = None, _ECHO.split(said)[0]
        if (
            re.search("response_format|json_schema|grammar|structured output", said)
            and "response_format" in form
        ):
            schema = form["response_format"].get("type") == "json_schema"
            lesson = "no json_schema" if schema else "no response_format"
        elif not only_format:
            named = [name for name in sorted(form) if re.search(rf"\b{re.escape(name)}\b", said)]
            if named:
                name = named[0]
                lesson = f"{name} is called {_OTHER_NAME[name]}" if name in _OTHER_NAME else f"no {name}"
        if lesson and lesson not in self.learnt:
            self.learnt.append(lesson)
        return lesson is not None


def spoken(form: Mapping[str, Any]) -> str:
    """Parameters on one line, in a fixed order; a response format by its type."""
    shown = {
        name: value.get("type", "object") if isinstance(value, dict) else value
        for name, value in form.items()
    }
    return " ".join(f"{name}={shown[name]}" for name in sorted(shown))
