"""What wraps a page: the policy lets its own style and script work, and nothing else."""

import base64
import hashlib
import re
from pathlib import Path

from poolkit.shell import TEMPLATES, dressing, links


def test_the_policy_names_the_very_style_and_script():
    found = dressing()
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(found[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in found["policy"]
    assert found["policy"].startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in found["policy"]
    assert "http" not in found["policy"]


def test_style_and_script_ask_for_nothing():
    style, script = dressing()["style"], dressing()["script"]
    assert not re.search(r"url\(|@import|https?:", style)
    assert not re.search(
        r"https?:|fetch|XMLHttp|innerHTML|insertAdjacent|document\.write|eval|Function\(|import", script
    )
    assert "</" not in style + script


def test_no_template_has_styles_or_handlers_of_its_own():
    for path in TEMPLATES.rglob("*.j2"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\sstyle=|\son[a-z]+=|https?:", text), path


def test_links():
    found = links([Path("00-summary.ipynb"), Path("03-my-own.ipynb")], "03-my-own")
    assert [(x["href"], x["label"], x["current"]) for x in found] == [
        ("index.html", "Overview", False), ("00-summary.html", "Summary", False), ("03-my-own.html", "My own", True),
    ]  # fmt: skip
