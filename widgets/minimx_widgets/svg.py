"""A little SVG: the pieces of which static pictures are put together.

Every function returns text. A picture made of them needs no font, script or style sheet
from anywhere else, so it looks the same in a notebook, in the book and in a file.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from minimx_widgets import palette

FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
# The mean width of a character as a share of the font's size, for cutting labels.
CHARACTER = 0.56


def picture(
    width: float, height: float, parts: Iterable[str], *, title: str, dark: bool
) -> str:
    """A whole picture: a card with a title for those who cannot see it."""
    paper = palette.surface("paper", dark=dark)
    edge = palette.surface("line", dark=dark)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" '
        f'height="{_n(height)}" font-family={quoteattr(FONT)} font-size="11">'
        f"<title>{escape(title)}</title>"
        f'<rect x="0.5" y="0.5" width="{_n(width - 1)}" height="{_n(height - 1)}" '
        f'rx="8" fill="{paper}" stroke="{edge}"/>{"".join(parts)}</svg>'
    )


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    opacity: float = 1.0,
    title: str = "",
    round_: float = 0.0,
) -> str:
    """A filled box; `title` is shown by the browser when it is pointed at."""
    shape = f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
    shape += f' fill="{fill}"' + (f' rx="{_n(round_)}"' if round_ else "")
    shape += f' fill-opacity="{_n(opacity)}"' if opacity < 1 else ""
    return f"{shape}><title>{escape(title)}</title></rect>" if title else shape + "/>"


def text(
    x: float,
    y: float,
    text: str,
    fill: str,
    *,
    anchor: str = "start",
    size: float = 11,
    bold: bool = False,
) -> str:
    """Words whose baseline starts, ends or is centred at a point."""
    weight = ' font-weight="600"' if bold else ""
    where = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="{_n(size)}"'
    return f'<text {where} fill="{fill}"{weight}>{escape(text)}</text>'


def line(
    points: Sequence[tuple[float, float]],
    stroke: str,
    *,
    width: float = 1.0,
    dash: str = "",
    opacity: float = 1.0,
) -> str:
    """A line through points."""
    places = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    faint = f' stroke-opacity="{_n(opacity)}"' if opacity < 1 else ""
    return (
        f'<polyline points="{places}" fill="none" stroke="{stroke}" '
        f'stroke-width="{_n(width)}"{dashes}{faint}/>'
    )


def area(points: Sequence[tuple[float, float]], fill: str, title: str = "") -> str:
    """A filled shape."""
    places = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    inside = f"<title>{escape(title)}</title>" if title else ""
    return f'<polygon points="{places}" fill="{fill}">{inside}</polygon>'


def dot(x: float, y: float, fill: str, title: str = "") -> str:
    """A point of a chart."""
    inside = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="3" fill="{fill}">{inside}</circle>'


def clipped(text: str, space: float, size: float = 11) -> str:
    """The words cut to a width in pixels, with an ellipsis; empty if none fits.

    >>> clipped("Convolution", 40), clipped("add", 100), clipped("add", 4)
    ('Convo…', 'add', '')
    """
    fits = int(space / (size * CHARACTER))
    if len(text) <= fits:
        return text
    return text[: fits - 1] + "…" if fits > 1 else ""


def wrapped(text: str, space: float, size: float = 11) -> list[str]:
    """The words in lines of a width in pixels.

    >>> wrapped("equal to the other one", 80)
    ['equal to the', 'other one']
    """
    return textwrap.wrap(text, max(8, int(space / (size * CHARACTER))))


def legend(
    x: float, y: float, entries: Iterable[tuple[str, str]], *, dark: bool
) -> list[str]:
    """Coloured names in a row."""
    parts = []
    for name, colour in entries:
        parts.append(rect(x, y - 9, 10, 10, colour, round_=2.5))
        muted = palette.surface("muted", dark=dark)
        parts.append(text(x + 15, y, name, muted, size=10.5))
        x += 29 + len(name) * 10.5 * CHARACTER
    return parts


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round values between two bounds: steps of 1, 2 or 5 times a power of ten.

    >>> ticks(0, 10, 5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    if not high > low:
        return []
    power = 10.0 ** math.floor(math.log10((high - low) / count))
    step = next(m * power for m in (1, 2, 5, 10) if m * power * count >= high - low)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def byte_ticks(high: float, count: int) -> list[int]:
    """Multiples of a power of two up to a bound.

    >>> byte_ticks(1000, 5)
    [0, 256, 512, 768]
    """
    step = 1
    while high / step > count:
        step *= 2
    return list(range(0, int(high) + 1, step))


def _n(value: float) -> str:
    """A coordinate: one decimal where it matters."""
    return f"{value:.1f}".removesuffix(".0")


def stacked(pictures: Sequence[str], width: float, gap: float = 8) -> str:
    """Whole pictures one below the other, as one."""
    parts, y = [], 0.0
    for one in pictures:
        high = float(one.split('height="', 1)[1].split('"', 1)[0])
        parts.append(one.replace("<svg ", f'<svg y="{_n(y)}" ', 1))
        y += high + gap
    high = max(y - gap, 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(high)}" '
        f'width="{_n(width)}" height="{_n(high)}">{"".join(parts)}</svg>'
    )
