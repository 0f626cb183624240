"""Which parameters an endpoint takes: learnt from its first refusal, and not sent again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


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
        lesson = None
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
