"""A little SVG: the pieces of which static pictures are put together.

Every function returns text. A picture made of them needs no font, script or style sheet
from anywhere else, so it looks the same in a notebook, in the book and in a file.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from minimx_widgets import palette
from minimx_widgets.language import tr

FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
# How wide characters are in DejaVu Sans, the widest of those fonts, in hundredths of
# the font's size: what fits by this table fits in each of them.
WIDTHS = {
    27: "'", 28: "ijl", 29: "IJ", 32: " ,.·", 34: "/:;\\|", 35: "f", 36: "-",
    40: "()[]t!", 41: "r", 46: '"', 50: "*_`", 52: "sz", 53: "?", 55: "c",
    56: "L", 58: "Fk", 59: "vxy", 60: "P", 61: "TYaeo", 63: "ESbdghnpqu",
    64: "$0123456789{}µ√°", 66: "K", 69: "ABRVXZ", 70: "C∇", 73: "U", 75: "HN",
    77: "DG", 78: "&", 79: "OQ", 82: "w", 84: "#+<=>^~×→←↓↑✓✗✕≈−≤≥∞", 87: "M",
    95: "%", 97: "m", 99: "W", 100: "@…—",
}  # fmt: skip
_WIDTH = {letter: width for width, letters in WIDTHS.items() for letter in letters}
# A bold character is wider by this share of the font's size.
BOLD = 0.085


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
    space: float = math.inf,
) -> str:
    """Words whose baseline starts, ends or is centred at a point.

    They are in the learner's language, if it has them. Where they are wider than
    `space` pixels they end in an ellipsis, and the browser shows all of them when they
    are pointed at.
    """
    text = tr(text)
    shown = clipped(text, space, size, bold=bold)
    if text and not shown:
        return ""
    weight = ' font-weight="600"' if bold else ""
    where = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="{_n(size)}"'
    whole = f"<title>{escape(text)}</title>" if shown != text else ""
    return f'<text {where} fill="{fill}"{weight}>{escape(shown)}{whole}</text>'


def heading(title: str, said: str, width: float, *, dark: bool) -> list[str]:
    """The first line of a picture: what it is in bold, then the key numbers."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    space = (width - 28) * (0.6 if said else 1.0)
    x = 24 + min(width_of(title, 13, bold=True), space)
    return [
        text(14, 21, title, ink, size=13, bold=True, space=space),
        text(x, 21, said, muted, size=11.5, space=width - 14 - x),
    ]


def paragraph(
    x: float,
    y: float,
    words: str,
    fill: str,
    *,
    space: float,
    size: float = 11,
    step: float = 15,
    most: int = 100,
) -> tuple[list[str], float]:
    """Words in at most so many lines of a width, and the baseline after the last."""
    lines = wrapped(words, space, size)
    if len(lines) > most:
        lines[most - 1 :] = [" ".join(lines[most - 1 :])]
    parts = [
        text(x, y + step * k, line, fill, size=size, space=space)
        for k, line in enumerate(lines)
    ]
    return parts, y + step * len(lines)


def tick(
    x: float,
    y: float,
    label: str,
    fill: str,
    left: float,
    right: float,
    size: float = 10,
) -> str:
    """A label of an axis below a point, moved so that it stays between two bounds."""
    half = width_of(label, size) / 2
    x = max(min(x, right - half), left + half)
    return text(x, y, label, fill, anchor="middle", size=size)


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


def width_of(text: str, size: float = 11, *, bold: bool = False) -> float:
    """How many pixels wide words are, or less where the font is a narrow one.

    >>> round(width_of("Convolution")), round(width_of("MXNET_HOME"))
    (66, 78)
    """
    more = BOLD if bold else 0.0
    return size * sum(_share(letter) + more for letter in text)


def _share(letter: str) -> float:
    known = _WIDTH.get(letter)
    if known is None:
        base = unicodedata.normalize("NFKD", letter)[0]
        known = _WIDTH.get(base) if base != letter else None
    if known is None:
        known = 100 if unicodedata.east_asian_width(letter) in "WF" else 90
    return known / 100


def clipped(text: str, space: float, size: float = 11, *, bold: bool = False) -> str:
    """The words cut to a width in pixels, with an ellipsis; empty if none fits.

    >>> clipped("Convolution", 40), clipped("add", 100), clipped("add", 4)
    ('Conv…', 'add', '')
    """
    if width_of(text, size, bold=bold) <= space:
        return text
    used = width_of("…", size, bold=bold)
    for place, letter in enumerate(text):
        used += width_of(letter, size, bold=bold)
        if used > space:
            return text[:place].rstrip() + "…" if place else ""
    return text


def wrapped(text: str, space: float, size: float = 11) -> list[str]:
    """The words in lines of a width in pixels; a word that is wider is broken.

    >>> wrapped("equal to the other one", 80)
    ['equal to the', 'other one']
    """
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if width_of(longer, size) <= space:
            line = longer
            continue
        lines += [line] if line else []
        line = ""
        for letter in word:
            if line and width_of(line + letter, size) > space:
                lines.append(line)
                line = ""
            line += letter
    return [*lines, line] if line else lines


def legend(
    x: float,
    y: float,
    entries: Iterable[tuple[str, str]],
    right: float,
    *,
    dark: bool,
) -> tuple[list[str], float]:
    """Coloured names in a row up to a bound, and how much lower further rows end."""
    parts, left, low = [], x, 0.0
    muted = palette.surface("muted", dark=dark)
    for name, colour in entries:
        wide = min(15 + width_of(name, 10.5), right - left)
        if x > left and x + wide > right:
            x, low = left, low + 16
        parts.append(rect(x, y + low - 9, 10, 10, colour, round_=2.5))
        parts.append(
            text(x + 15, y + low, name, muted, size=10.5, space=right - x - 15)
        )
        x += wide + 14
    return parts, low


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
