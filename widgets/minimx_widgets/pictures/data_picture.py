"""`DataView` as a static picture: images, confusion, filters and layers."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from minimx_widgets import palette, svg
from minimx_widgets.training.first_layer import LOST, ZERO, Filters
from minimx_widgets.training.layer_health import KINDS
from minimx_widgets.training.predictions import Look, Seen

if TYPE_CHECKING:
    from minimx_widgets.views.data_view import DataView

Array = npt.NDArray[Any]
SIDE = 46  # pixels of an image in the picture
MOST_LAYERS = 12


def draw(view: DataView, *, dark: bool, width: int) -> str:
    """The strip above; below it confusion, filters and layers side by side."""
    text = repr(view).removeprefix("DataView(").removesuffix(")").replace(", ", " · ")
    parts = svg.heading("What the network sees", text, width, dark=dark)
    look = view.look
    if look is None or not look.strip:
        return svg.picture(width, 36, parts, title=repr(view), dark=dark)
    step = min((width - 28) / len(look.strip), SIDE + 26)
    for place, one in enumerate(look.strip):
        parts += _image(view, one, 14 + place * step, 34, step - 6, dark=dark)
    height = 34.0 + SIDE + 36
    if look.asked:
        below = [
            _confusion(view, look, 14, height + 14, width * 0.4 - 16, dark=dark),
            _filters(look, 14 + width * 0.4, height + 14, width * 0.25, dark=dark),
            _layers(look, 14 + width * 0.67, height + 14, width * 0.33 - 28, dark=dark),
        ]
        for more, bottom in below:
            parts += more
            height = max(height, bottom)
    return svg.picture(width, height + 12, parts, title=repr(view), dark=dark)


def verdict(one: Seen, *, dark: bool) -> tuple[str, str]:
    """The sign of an answer and its colour."""
    if one.guess is None:
        return "", palette.surface("muted", dark=dark)
    if one.right:
        return "✓", palette.category("activation", dark=dark)
    return "✗", palette.surface("alert", dark=dark)


def _image(
    view: DataView, one: Seen, x: float, y: float, space: float, *, dark: bool
) -> list[str]:
    """An image with its answer, and words as wide as they may be."""
    sign, colour = verdict(one, dark=dark)
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    label = view.name(one.label)
    if one.guess is not None:
        label = f"{view.name(one.guess)} {sign}"
    chance = f"{100 * one.chances[0][1]:.0f} %" if one.chances else ""
    if not one.right and one.guess is not None:
        chance += f" is {view.name(one.label)}"
    chance = chance.strip()
    middle = x + SIDE / 2
    under: dict[str, Any] = {"anchor": "middle", "space": space}
    return [
        svg.rect(x - 2, y - 2, SIDE + 4, SIDE + 4, colour, title=view.describe(one)),
        _pixels(one.pixels, x, y, SIDE, SIDE),
        svg.text(middle, y + SIDE + 15, label, ink, bold=True, **under),
        svg.text(middle, y + SIDE + 28, chance, muted, size=9.5, **under),
    ]


def _confusion(
    view: DataView, look: Look, x: float, y: float, space: float, *, dark: bool
) -> tuple[list[str], float]:
    """How often a class (row) was taken for another (column)."""
    ink, muted, card = (palette.surface(n, dark=dark) for n in ("ink", "muted", "card"))
    good = palette.category("activation", dark=dark)
    bad = palette.surface("alert", dark=dark)
    size = min(22.0, (space - 30) / max(len(look.classes), 1))
    of = "" if len(look.classes) == look.all_classes else f" of {look.all_classes}"
    title = f"label ↓ taken for → · {len(look.classes)}{of} classes"
    parts = [svg.text(x, y, title, ink, bold=True, space=space)]
    left, top = x + 30, y + 22
    for i, number in enumerate(look.classes):
        word, at = view.name(number), left + i * size + size / 2
        wide: dict[str, Any] = {"size": 10, "space": size - 3}
        parts.append(svg.text(at, top - 5, word, muted, anchor="middle", **wide))
        at, wide["space"] = top + (i + 0.5) * size + 4, 25
        parts.append(svg.text(left - 5, at, word, muted, anchor="end", **wide))
        total = look.totals[i]
        for j, other in enumerate(look.classes):
            times = int(look.confusion[i, j])
            box = (left + j * size, top + i * size, size - 1.5, size - 1.5)
            parts.append(svg.rect(*box, card))
            if not times:
                continue
            share = times / total
            text = (
                f"{view.name(number)} taken for {view.name(other)}: {times} of {total}"
            )
            colour = good if i == j else bad
            parts.append(svg.rect(*box, colour, opacity=0.15 + 0.6 * share, title=text))
            if svg.width_of(str(times), 10) <= size:
                middle, low = box[0] + box[2] / 2, box[1] + size / 2 + 3.5
                parts.append(
                    svg.text(middle, low, str(times), ink, anchor="middle", size=10)
                )
    return parts, top + size * len(look.classes)


def _filters(
    look: Look, x: float, y: float, space: float, *, dark: bool
) -> tuple[list[str], float]:
    """The weights of the first layer as tiles."""
    filters = look.filters
    if filters is None:
        return [], y
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    count, high, wide, _ = filters.tiles.shape
    of = "" if count == filters.many else f" of {filters.many}"
    title = f"{filters.name}: {count}{of}"
    parts = [svg.text(x, y, title, ink, bold=True, space=space)]
    size = 34.0
    columns = max(1, int(space // size))
    for place, tile in enumerate(coloured(filters, dark=dark)):
        row, column = divmod(place, columns)
        at = (x + column * size, y + 10 + row * size)
        shape = (size - 4) / max(high, wide)
        parts.append(_pixels(tile, *at, wide * shape, high * shape))
    bottom = y + 10 + -(-count // columns) * size
    scale = f"blue −{filters.largest:.2g} · white 0 · orange +{filters.largest:.2g}"
    if dark:
        scale = scale.replace("white", "black")
    lines, low = svg.paragraph(
        x, bottom + 10, scale, muted, space=space, size=10, step=13
    )
    return parts + lines, low - 9


def _layers(
    look: Look, x: float, y: float, space: float, *, dark: bool
) -> tuple[list[str], float]:
    """A row for each layer: whether its numbers say something."""
    from minimx_widgets.views.data_view import by_layer

    ink, muted, alert = (
        palette.surface(name, dark=dark) for name in ("ink", "muted", "alert")
    )
    parts, places = [], [x + space * share for share in (0.49, 0.73, 1.0)]
    for kind, at in zip(KINDS, places, strict=True):
        parts.append(svg.text(at, y, kind, muted, anchor="end", size=10))
    layers = by_layer(look)
    for name, kinds in [*layers.items()][:MOST_LAYERS]:
        y += 17
        word = name.partition("/")[2] or name
        parts.append(svg.text(x, y, word, ink, size=10.5, space=space * 0.3))
        for kind, at in zip(KINDS, places, strict=True):
            one = kinds.get(kind)
            if one is not None:
                label = one.word or "✓"
                colour = alert if one.word else muted
                parts.append(
                    svg.text(
                        at,
                        y,
                        label,
                        colour,
                        anchor="end",
                        size=10.5,
                        bold=bool(one.word),
                    )
                )
    if len(layers) > MOST_LAYERS:
        y += 17
        more = f"… and {len(layers) - MOST_LAYERS} more"
        parts.append(svg.text(x, y, more, muted, size=10.5))
    return parts, y + 6


def coloured(filters: Filters, *, dark: bool) -> Array:
    """Tiles as (tiles, rows, columns, 3) of uint8.

    One channel: from minus (blue) over zero (paper) to plus (orange). Three channels
    are red, green and blue themselves. What is not finite has the colour of alerts.
    """
    lost = filters.tiles == LOST
    if filters.tiles.shape[-1] == 3:
        shown = filters.tiles.astype(float)
    else:
        parts = (filters.tiles[..., 0].astype(float) - ZERO) / ZERO
        low, high = (
            _rgb(palette.category(name, dark=dark))
            for name in ("parameter", "gradient")
        )
        paper = _rgb(palette.surface("paper", dark=dark))
        weight = np.abs(parts)[..., None]
        shown = paper + weight * (np.where(parts[..., None] < 0, low, high) - paper)
    shown = np.where(
        lost.any(-1, keepdims=True), _rgb(palette.surface("mark", dark=dark)), shown
    )
    return np.clip(np.round(shown), 0, 255).astype(np.uint8)


def _rgb(colour: str) -> Array:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], float)


def _pixels(pixels: Array, x: float, y: float, wide: float, high: float) -> str:
    """Pixels as a sharp image in the picture."""
    address = base64.b64encode(png(pixels)).decode()
    return (
        f'<image x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" '
        'preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{address}"/>'
    )


def png(pixels: Array) -> bytes:
    """A PNG file of (rows, columns, 1 or 3) pixels of uint8.

    >>> png(np.zeros((2, 2, 1), np.uint8))[1:4]
    b'PNG'
    """
    high, wide, channels = pixels.shape
    kind = 0 if channels == 1 else 2
    head = struct.pack(">IIBBBBB", wide, high, 8, kind, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body
        + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )  # fmt: skip
