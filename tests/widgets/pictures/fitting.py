"""Where the words of a static picture are, and which of them do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from minimx_widgets.svg import width_of

SVG = "{http://www.w3.org/2000/svg}"
#: Pixels that words keep away from the edge of their card, and from each other.
EDGE, GAP = 4.0, 2.0
Element = ElementTree.Element


class Box(NamedTuple):
    """Words or a filled shape; of words the ink: no ascenders, no descenders."""

    what: str
    left: float
    right: float
    top: float
    low: float

    def overlap(self, other: Box) -> tuple[float, float]:
        """How far both reach into each other, across and down."""
        across = min(self.right, other.right) - max(self.left, other.left)
        return across, min(self.low, other.low) - max(self.top, other.top)


def faults(picture: str) -> list[str]:
    """What does not fit, in words.

    Words that leave the picture, that are cut while nothing tells the rest, that reach
    into others, and those over which something is drawn later.
    """
    root = ElementTree.fromstring(picture)
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    found, words, shapes = [], list[tuple[int, Box]](), list[tuple[int, Box]]()
    for place, (node, down) in enumerate(_nodes(root, 0.0)):
        kind = node.tag.removeprefix(SVG)
        if kind == "text" and (node.text or "").strip():
            words.append((place, _words(node, down)))
            if words[-1][1].what.endswith("…") and node.find(f"{SVG}title") is None:
                found.append(f"{node.text!r} is cut, and nothing tells the rest")
        elif kind == "image" or (kind == "rect" and _solid(node)):
            shapes.append((place, _shape(node, down)))
    words.sort(key=lambda one: one[1].top)
    for k, (place, one) in enumerate(words):
        if one.left < EDGE or one.right > wide - EDGE or one.top < 0 or one.low > high:
            found.append(f"{one} is not within {wide:g} by {high:g}")
        for _, other in words[k + 1 :]:
            if other.top > one.low:
                break
            across, deep = one.overlap(other)
            if across > -GAP and deep > 1:
                found.append(f"{one} reaches into {other}")
        for later, shape in shapes:
            if later > place and min(one.overlap(shape)) > 1:
                found.append(f"{one} is covered by {shape}")
    return found


def _nodes(root: Element, down: float) -> Iterator[tuple[Element, float]]:
    """Every element in the order of drawing, and how much lower its picture is."""
    for node in root:
        yield node, down
        own = float(node.get("y", 0)) if node.tag == f"{SVG}svg" else 0.0
        yield from _nodes(node, down + own)


def _words(node: Element, down: float) -> Box:
    text, size = node.text or "", float(node.get("font-size", 11))
    wide = width_of(text, size, bold="font-weight" in node.attrib)
    left, base = float(node.get("x", 0)), down + float(node.get("y", 0))
    left -= {"end": wide, "middle": wide / 2}.get(node.get("text-anchor", ""), 0.0)
    return Box(text, left, left + wide, base - 0.7 * size, base)


def _shape(node: Element, down: float) -> Box:
    x, y, wide, high = (float(node.get(n, 0)) for n in ("x", "y", "width", "height"))
    return Box(node.tag.removeprefix(SVG), x, x + wide, down + y, down + y + high)


def _solid(node: Element) -> bool:
    return float(node.get("fill-opacity", 1)) > 0.5
