"""Tables flow downhill: the imports of every room."""

import ast
from pathlib import Path

import pytest

import poolkit

PACKAGE = Path(poolkit.__file__).parent
LAYERS = [
    ["tables", "picture", "price", "pace", "dialect", "progress", "resample", "plain", "parameters", "cache"],
    [
        "labels",
        "disk",
        "lines",
        "measures",
        "pool",
        "prompt",
        "answers",
        "records",
        "orders",
        "glossary",
        "drawing",
        "columns",
        "terminal",
    ],
    [
        "formats",
        "store",
        "waiting",
        "likelihood",
        "endpoint",
        "score",
        "compare",
        "states",
        "display",
        "shell",
        "tally",
    ],
    [
        "identity",
        "llama",
        "parts",
        "texts",
        "sources",
        "grid",
        "index",
        "bounds",
        "regrade",
        "replay",
        "redraw",
    ],
    ["outdated", "plan", "replies", "filling", "bulk", "datasets"],
    ["workers", "local", "parcels"],
    ["batch", "loading"],
    ["collection", "imports", "judge"],
    [
        "correlate",
        "agree",
        "disagree",
        "bias",
        "stability",
        "noise",
        "growth",
        "certify",
        "choose",
        "factors",
        "versus",
    ],
    ["figures", "maps", "curves", "charts", "story", "poolstory", "advice", "steps", "study"],
    [
        "analyse",
        "accounts",
        "boards",
        "sidebyside",
        "check",
        "exhibits",
        "ledger",
        "merge",
        "fit",
        "page",
        "render",
    ],
    ["document", "summary", "execute"],
    ["report"],
    ["cli"],
]
LAYER = {room: depth for depth, rooms in enumerate(LAYERS) for room in rooms}
ROOMS = sorted(p.stem for p in PACKAGE.glob("*.py") if p.stem != "__init__")


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("poolkit."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "poolkit":
            yield from (a.name for a in node.names if a.name in LAYER)
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("poolkit."))


def test_every_room_has_a_layer():
    assert set(ROOMS) <= set(LAYER)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_down(room):
    uphill = [x for x in imported_rooms(PACKAGE / f"{room}.py") if LAYER.get(x, -1) >= LAYER[room]]
    assert not uphill, f"{room} imports {uphill}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_a_test(room):
    tests = Path(__file__).parent
    assert (tests / f"test_{room}.py").exists()


def test_rooms_stay_small():
    long = {
        r: n
        for r in ROOMS
        if (n := len((PACKAGE / f"{r}.py").read_text(encoding="utf-8").splitlines())) > 260
    }
    assert not long
