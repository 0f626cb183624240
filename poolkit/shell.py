"""What every page is wrapped in: style, script, what the browser may do with them, and the way to the others."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import poolkit
from poolkit.glossary import NEWCOMERS
from poolkit.plain import escaped, named

TEMPLATES = Path(poolkit.__file__).parent / "templates"


@cache
def dressing() -> dict[str, Any]:
    """Style, script and content security policy of a page, by name.

    The policy lets this very style and this very script work, by their hashes, and images that the page
    holds; nothing else is loaded, run or sent, whatever markup got in.
    """
    style, script = ((TEMPLATES / name).read_text(encoding="utf-8") for name in ("style.css", "page.js"))
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    words = [{"word": word, "said": said} for word, said in NEWCOMERS]
    return {
        "style": style, "script": script, "policy": policy, "words": words, "version": poolkit.__version__,
        "escaped": escaped, "named": named,
    }  # fmt: skip


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def links(paths: Sequence[Path], current: str = "index") -> list[dict[str, Any]]:
    """Way to every page of a report, the present one marked."""
    found: list[dict[str, Any]] = [{"href": "index.html", "label": "Overview", "current": current == "index"}]
    for path in paths:
        label = path.stem[3:].replace("-", " ").capitalize()
        found.append({"href": f"{path.stem}.html", "label": label, "current": path.stem == current})
    return found
