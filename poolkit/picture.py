"""Page pictures: their kind, their size, and how many tokens a model counts for them."""

import math
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

# Tokens of a picture and of each 512 x 512 tile, or a factor on patches of 32 x 32, as OpenAI's guide to
# images gives them; dated names count like the names that they begin with.
TILED = {"gpt-4.1": (85, 170), "gpt-4o": (85, 170), "gpt-4o-mini": (2833, 5667), "gpt-5": (70, 140)}
PATCHED = {
    "gpt-4.1-mini": 1.62,
    "gpt-4.1-nano": 2.46,
    "gpt-5-mini": 1.62,
    "gpt-5-nano": 2.46,
    "o4-mini": 1.72,
}
MOST_PATCHES = 1536
AREA, MOST_BY_AREA, LONGEST = (
    750,
    1600,
    1568,
)  # pixels a token, tokens, pixels: as Anthropic's guide gives them


@dataclass(frozen=True)
class PictureTokens:
    """Tokens of a picture: likely, at most, and whether the likely ones are a guess."""

    likely: int
    most: int
    guess: bool


def picture_fault(path: Path) -> str:
    """Why a file cannot be sent as a picture; nothing where it can."""
    try:
        known = picture_kind(path.read_bytes())
        _size(path)
    except OSError as error:
        return f"cannot be read: {error.strerror or 'the picture is damaged'}"
    return "" if known else "is not of a kind that endpoints take. Save it as PNG, JPEG, GIF or WebP"


def picture_kind(data: bytes) -> str:
    """Kind of a picture in lower case, by its first bytes, whatever its file is called; nothing where it is none."""
    marks = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}
    found = [kind for mark, kind in marks.items() if data.startswith(mark)]
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else "".join(found)


def picture_tokens(path: Path, model: str) -> PictureTokens:
    """Tokens that a model counts for a picture, by its size.

    Parameters
    ----------
    path : Path
        A picture that cannot be read counts as a large page.
    model : str

    Notes
    -----
    Tiles: fitted into 2048 x 2048, then its short side to 768; patches are counted as they are, up to 1536;
    by area: width x height / 750 of the picture with its long side at most 1568, up to 1600. Models that are
    not known are taken to count by area, which is a guess; at most they count a token for 14 x 14 pixels.
    """
    try:
        width, height = _size(path)
    except OSError:
        width, height = 1700, 2200
    name = re.sub(r"-\d{4}-\d{2}-\d{2}$", "", model)
    if name in PATCHED:
        patches = min(MOST_PATCHES, math.ceil(width / 32) * math.ceil(height / 32))
        tokens = math.ceil(patches * PATCHED[name])
        return PictureTokens(tokens, tokens, False)
    if name in TILED:
        base, each = TILED[name]
        fit = min(1.0, 2048 / max(width, height))
        short = 768 / (fit * min(width, height))
        likely, most = (
            base + each * _tiles(fit * scale, width, height) for scale in (min(1.0, short), short)
        )
        return PictureTokens(likely, max(likely, most), False)
    fit = min(1.0, LONGEST / max(width, height))
    likely = min(MOST_BY_AREA, math.ceil(fit * width * fit * height / AREA))
    if name.startswith("claude"):
        return PictureTokens(likely, max(MOST_BY_AREA, math.ceil(width * height / AREA)), False)
    return PictureTokens(likely, max(3000, math.ceil(width / 14) * math.ceil(height / 14)), True)


def _tiles(scale: float, width: int, height: int) -> int:
    """Tiles that cover a scaled picture."""
    return math.prod(math.ceil(round(scale * side) / 512) for side in (width, height))


def _size(path: Path) -> tuple[int, int]:
    """Width and height of a picture, of which only the head is read; an OSError where it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        try:
            with Image.open(path) as image:
                return image.size
        except Image.DecompressionBombError as error:
            raise OSError(str(error)) from None
