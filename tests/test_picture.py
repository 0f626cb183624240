"""Page pictures: kinds by their bytes, tokens by their sizes."""

import pytest
from PIL import Image

from poolkit.picture import PictureTokens, picture_fault, picture_kind, picture_tokens


def picture(path, width=40, height=30, kind="PNG"):
    Image.new("RGB", (width, height), "white").save(path, kind)
    return path


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_kind_is_known_by_its_bytes_not_its_name(tmp_path, kind):
    path = picture(tmp_path / "page.jpg", kind=kind)
    assert picture_kind(path.read_bytes()) == kind.lower()
    assert picture_fault(path) == ""


def test_faults(tmp_path):
    path = tmp_path / "page.png"
    assert picture_fault(path) == "cannot be read: No such file or directory"
    path.write_bytes(b"<html>not found</html>")
    assert picture_fault(path).startswith("cannot be read: ")
    picture(path, kind="BMP")
    assert picture_fault(path) == "is not of a kind that endpoints take. Save it as PNG, JPEG, GIF or WebP"
    assert picture_kind(b"") == ""
    whole = picture(path).read_bytes()
    path.write_bytes(whole[:20])
    assert picture_fault(path).startswith("cannot be read: ")


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        # The providers' own worked examples, and what an invoice showed for the fourth.
        ("gpt-4o", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1105),
        ("gpt-4.1-mini", (1024, 1024), 1659),  # 1,024 patches x 1.62
        ("gpt-4.1-2025-04-14", (1800, 2400), 765),
        ("claude-sonnet-4-6", (200, 200), 54),
        ("claude-sonnet-4-6", (1000, 1000), 1334),
        ("claude-sonnet-4-6", (1092, 1092), 1590),
        ("gpt-4o-mini", (1024, 1024), 2833 + 4 * 5667),
        ("o4-mini", (8000, 8000), 2642),  # 1,536 patches at most x 1.72
        ("claude-sonnet-4-6", (3000, 3000), 1600),
    ],
)
def test_tokens_by_size(tmp_path, model, size, tokens):
    found = picture_tokens(picture(tmp_path / "page.png", *size), model)
    assert (found.likely, found.guess) == (tokens, False)
    assert found.most >= tokens


def test_a_small_picture_may_be_blown_up(tmp_path):
    # 512 x 512 is one tile as it is and four when its sides become 768: a budget holds four.
    assert picture_tokens(picture(tmp_path / "p.png", 512, 512), "gpt-4.1") == PictureTokens(255, 765, False)


def test_a_model_that_nobody_knows_is_a_guess(tmp_path):
    path = picture(tmp_path / "p.png", 1240, 1754)
    # By area at most 1,600; a token for 14 x 14 pixels would be 89 x 126.
    assert picture_tokens(path, "qwen2.5-vl") == PictureTokens(1600, 89 * 126, True)
    assert picture_tokens(tmp_path / "gone.png", "qwen2.5-vl").likely == 1600
