"""The project as a newcomer meets it: one list of dependencies, commands that exist, nothing of this machine."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import yaml
from typer.main import get_command

from poolkit.cli import app

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = get_command(app).commands


def files():
    """Files of the project: what git tracks or would, else everything but what a build leaves."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0 and done.stdout:
        names = done.stdout.rstrip("\0").split("\0")
    else:
        names = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*")]
    left_out = re.compile(
        r"(^|/)(\.venv|staging|build|reports|\.git|__pycache__|\.[a-z]+_cache|[^/]*\.egg-info)(/|$)"
    )
    return [ROOT / n for n in names if not left_out.search(n) and (ROOT / n).is_file()]


def name_of(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower().replace("_", "-")


def test_conda_has_the_same_dependencies():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    [pip] = [x["pip"] for x in environment["dependencies"] if isinstance(x, dict)]
    listed = [x for x in pip if not x.startswith("-")]
    assert sorted(listed) == sorted(PROJECT["project"]["dependencies"])
    assert {"-e .", "-c requirements.lock"} <= set(pip)
    assert f"python{PROJECT['project']['requires-python']}" in environment["dependencies"]


def test_every_dependency_is_locked():
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pinned = [x for x in lines if x and not x.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==\S+", x) for x in pinned)
    locked = {name_of(x) for x in pinned}
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *(x for extra in extras.values() for x in extra)]
    assert {name_of(x) for x in wanted} <= locked


def test_packages_of_the_wheel():
    found = {p.parent for p in (ROOT / "poolkit").rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    names = {".".join(p.relative_to(ROOT).parts) for p in found} - {"poolkit.templates.report"}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == names
    data = PROJECT["tool"]["setuptools"]["package-data"]
    assert data["poolkit.templates"] == ["report/*"]
    endings = {p.suffix for p in (ROOT / "poolkit").rglob("*.*") if p.is_file()} - {".py", ".pyc", ".typed"}
    assert {f"*{e}" for e in endings} <= set(data["*"])


def targets():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.search(r"^\.PHONY: (.+)$", makefile, re.M)[1].split())


def test_make_targets_in_the_texts_exist():
    for text in ("README.md", "CONTRIBUTING.md"):
        named = set(
            re.findall(
                r"\bmake ([a-z]+(?:-[a-z]+)*)\b", re.sub(r"make (runs)", "", (ROOT / text).read_text("utf-8"))
            )
        )
        assert named <= targets(), (text, named - targets())
    assert {"report", "test", "lab"} <= set(re.findall(r"\bmake ([a-z]+)", README))
    done = subprocess.run(["make", "-n", *sorted(targets())], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_python_that_is_too_old_is_told_so(tmp_path):
    old = tmp_path / "python"
    old.write_text('#!/bin/sh\ncase "$1" in --version) echo "Python 3.8.1";; *) exit 1;; esac\n')
    old.chmod(0o755)
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text(encoding="utf-8"))
    asked = ["make", "report", f"PYTHON={old}"]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, env=clean)
    assert done.returncode != 0
    assert (
        "poolkit needs Python 3.11 or later; found Python 3.8.1. Try: make PYTHON="
        in done.stdout + done.stderr
    )


def test_ci_runs_make_test_and_nothing_else():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == "make test"
    assert all(re.match(r"#!|set -|cd ", x) for x in lines[:-1])
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_licence():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache-2.0" in README


def parameters():
    return [(name, p) for name, c in COMMANDS.items() for p in c.params]


def test_commands_of_the_readme_exist_and_all_are_there():
    lines = [x for x in README.splitlines() if x.startswith("    poolkit ")]
    named = {x.split()[1] for x in lines}
    assert named == set(COMMANDS)
    for line in [*lines, *re.findall(r"`(poolkit [^`]+)`", README)]:
        words = line.split("#")[0].split()[1:]
        if words[0] not in COMMANDS:
            assert words[0] == "COMMAND", line
            continue
        known = {o for p in COMMANDS[words[0]].params for o in p.opts} | {"--help"}
        assert {w for w in words[1:] if w.startswith("-")} <= known, line


def test_commands_that_other_texts_name_exist():
    pattern = re.compile(r"[`\"]poolkit ([a-z]+) [^`\"\n]*")
    for path in files():
        if path.suffix in (".py", ".md", ".toml", ".ipynb"):
            for found in pattern.finditer(path.read_text(encoding="utf-8")):
                if found[1] in COMMANDS:
                    known = {o for p in COMMANDS[found[1]].params for o in p.opts} | {"--help"}
                    asked = set(re.findall(r"(?<= )--[a-z][a-z-]+", found[0]))
                    assert asked <= known, (path, found[0])


def test_make_check_covers_format_lint_types_and_stripped_notebooks():
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", "check"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for tool in ("ruff format --check", "ruff check", "mypy", "nbstripout --keep-id --verify"):
        assert tool in done.stdout
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "ruff check" in done.stdout
    assert done.stdout.rstrip().endswith("python -m pytest")


def test_no_file_tells_of_this_machine_or_holds_a_secret():
    homes = [str(p) for p in (ROOT, Path.home()) if len(p.parts) > 2]
    telling = re.compile(
        "|".join(map(re.escape, homes))
        + r"|/(home|Users)/(?!someone)[a-z]|/root/|[A-Z]:\\Users|sk-(proj-)?[A-Za-z0-9]{24,}"
    )
    for path in files():
        if path.stat().st_size < 2_000_000 and path != Path(__file__):
            found = telling.search(path.read_text(encoding="utf-8", errors="replace"))
            assert not found, (path, found[0])


def test_files_are_text_of_one_kind():
    for path in files():
        if path.suffix in (".py", ".md", ".toml", ".j2", ".css", ".json", ".ipynb", ".yml"):
            data = path.read_bytes()
            assert b"\r" not in data, path
            assert not data or data.endswith(b"\n"), path
            assert not data.startswith(b"\xef\xbb\xbf"), path
