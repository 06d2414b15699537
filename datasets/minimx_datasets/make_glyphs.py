"""Draw the glyph set: `python -m minimx_datasets.make_glyphs` stores it anew.

An outline is turned once into a signed distance field: at every point of a grid, how
far away the edge of the stroke is, negative inside. An image looks such a field up
through a random affine map with a slow wobble on top. Adding to the distance makes
strokes thinner or thicker, dividing it makes edges softer; then come contrast and
noise.

Image `i` depends on `SEED` and `i` only, and every random number comes from NumPy's
`RandomState`, whose streams are frozen for good. The outlines are those of the fonts
that matplotlib ships, which change rarely; the set is stored in the package all the
same, so that everybody trains on the same pixels.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

SEED = 20_260
TRAIN, TEST = 10_000, 2_000
SIZE = 28
FONTS = (
    "DejaVuSans.ttf",
    "DejaVuSans-Bold.ttf",
    "DejaVuSans-BoldOblique.ttf",
    "DejaVuSans-Oblique.ttf",
    "DejaVuSansMono.ttf",
    "DejaVuSansMono-Bold.ttf",
    "DejaVuSansMono-BoldOblique.ttf",
    "DejaVuSansMono-Oblique.ttf",
    "DejaVuSerif.ttf",
    "DejaVuSerif-Bold.ttf",
    "DejaVuSerif-BoldItalic.ttf",
    "DejaVuSerif-Italic.ttf",
    "STIXGeneral.ttf",
    "STIXGeneralBol.ttf",
    "STIXGeneralBolIta.ttf",
    "STIXGeneralItalic.ttf",
    "cmb10.ttf",
    "cmmi10.ttf",
    "cmr10.ttf",
    "cmss10.ttf",
    "cmti10.ttf",
    "cmtt10.ttf",
)
#: Points along one side of a distance field, which covers [-1, 1] in both directions;
#: a digit stands in its middle and is one unit high.
FIELD = 65
#: Images keep 16 grey levels, as a cheap scanner would: enough to learn, small to
#: store.
LEVELS = 15

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]


def outline(font: str, digit: int) -> list[Floats]:
    """The closed polygons (n, 2) of a digit, centred on 0, one unit high, y upwards."""
    import matplotlib
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    path = Path(matplotlib.get_data_path(), "fonts", "ttf", font)
    text: Any = TextPath((0, 0), str(digit), size=100, prop=FontProperties(fname=path))
    polygons = [np.asarray(p) for p in text.to_polygons(closed_only=True)]
    points = np.concatenate(polygons)
    low, high = points.min(axis=0), points.max(axis=0)
    return [(p - (low + high) / 2) / (high[1] - low[1]) for p in polygons]


def distance(polygons: list[Floats], points: Floats) -> Floats:
    """How far each point (n, 2) is from the nearest edge; negative inside.

    Inside is where a ray to the right crosses the edges an odd number of times.
    """
    starts = np.concatenate([p[:-1] for p in polygons])
    ends = np.concatenate([p[1:] for p in polygons])
    along = ends - starts
    offset = points[:, None] - starts
    length2 = np.maximum((along**2).sum(axis=1), 1e-12)
    place = np.clip((offset * along).sum(axis=2) / length2, 0.0, 1.0)
    gap = offset - place[..., None] * along
    nearest: Floats = np.sqrt((gap**2).sum(axis=2).min(axis=1))

    y = points[:, 1, None]
    straddles = (starts[:, 1] <= y) != (ends[:, 1] <= y)
    rise = np.where(straddles, along[:, 1], 1.0)
    crossing = starts[:, 0] + (y - starts[:, 1]) / rise * along[:, 0]
    odd = (straddles & (crossing > points[:, 0, None])).sum(axis=1) % 2 == 1
    return np.where(odd, -nearest, nearest)


@cache
def field(font: str, digit: int) -> Floats:
    """The distance field (FIELD, FIELD) of a digit; the first axis is x."""
    axis = np.linspace(-1.0, 1.0, FIELD)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    return distance(outline(font, digit), grid.reshape(-1, 2)).reshape(FIELD, FIELD)


def look_up(values: Floats, x: Floats, y: Floats) -> Floats:
    """A field's value at points, linear between grid points, its border outside."""
    i = np.clip((x + 1) * (FIELD - 1) / 2, 0, FIELD - 1.001)
    j = np.clip((y + 1) * (FIELD - 1) / 2, 0, FIELD - 1.001)
    i0, j0 = i.astype(np.intp), j.astype(np.intp)
    u, v = i - i0, j - j0
    left = values[i0, j0] * (1 - v) + values[i0, j0 + 1] * v
    right = values[i0 + 1, j0] * (1 - v) + values[i0 + 1, j0 + 1] * v
    return left * (1 - u) + right * u


def places(random: RandomState) -> tuple[Floats, Floats]:
    """Where each pixel of an image looks in a distance field: random affine, wobble."""
    row, column = np.mgrid[0:SIZE, 0:SIZE]
    x = (column - (SIZE - 1) / 2 - random.uniform(-1.7, 1.7)) / SIZE
    y = ((SIZE - 1) / 2 - row - random.uniform(-1.7, 1.7)) / SIZE

    angle, shear = np.deg2rad(random.uniform(-16, 16)), random.uniform(-0.26, 0.26)
    height = random.uniform(0.63, 0.84)
    width = height * random.uniform(0.8, 1.2)
    x, y = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    x, y = (x + shear * y) / width, y / height

    for _ in range(2):
        depth, phase = random.uniform(0.0, 0.04), random.uniform(0, 2 * np.pi, size=2)
        waves = random.uniform(2.0, 5.0, size=2)
        x, y = (
            x + depth * np.sin(waves[0] * y + phase[0]),
            y + depth * np.sin(waves[1] * x + phase[1]),
        )
    return x, y


def draw(digit: int, random: RandomState) -> Bytes:
    """One image (SIZE, SIZE) of a digit, white on black, in steps of 255 / LEVELS."""
    font = FONTS[random.randint(len(FONTS))]
    to_edge = look_up(field(font, digit), *places(random))
    bolder = random.uniform(-0.03, 0.055)
    softness = random.uniform(0.06, 0.16)
    ink = np.clip(0.5 - (to_edge - bolder) / softness, 0.0, 1.0)

    ink = ink * random.uniform(0.65, 1.0) + random.uniform(0.0, 0.05)
    ink += random.normal(0.0, random.uniform(0.01, 0.08), size=ink.shape)
    return (np.rint(np.clip(ink, 0, 1) * LEVELS) * (255 // LEVELS)).astype(np.uint8)


def labels() -> Bytes:
    """The label (n,) of every image; both halves hold every digit equally often."""
    random = RandomState(SEED)
    shuffled = [random.permutation(count) % 10 for count in (TRAIN, TEST)]
    return np.concatenate(shuffled).astype(np.uint8)


def make(index: int, label: int) -> Bytes:
    """The image (SIZE, SIZE) that stands at a place of the set, anew."""
    return draw(label, RandomState([SEED, index]))


def pack(images: Bytes) -> Bytes:
    """Two neighbouring pixels in one byte; `unpack` undoes it.

    >>> image = np.array([[0, 17], [255, 34]], dtype=np.uint8)
    >>> pack(image).tolist(), unpack(pack(image)).tolist()
    ([[1], [242]], [[0, 17], [255, 34]])
    """
    levels = images // (255 // LEVELS)
    packed: Bytes = levels[..., 0::2] * np.uint8(16) + levels[..., 1::2]
    return packed


def unpack(packed: Bytes) -> Bytes:
    """The images that `pack` packed."""
    levels = np.stack([packed >> 4, packed & 15], axis=-1)
    return (levels * np.uint8(255 // LEVELS)).reshape(*packed.shape[:-1], -1)


def main() -> None:
    """Draw the whole set and store it beside this file."""
    digits = labels()
    images = np.stack([make(index, int(digit)) for index, digit in enumerate(digits)])
    target = Path(__file__).parent / "data" / "glyphs.npz"
    target.parent.mkdir(exist_ok=True)
    np.savez_compressed(target, packed=pack(images), labels=digits)
    print(f"{target.name}: {len(digits):,} images, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
