"""A small picture of a notebook: the richest of those that it is stored with.

The stored outputs came from running the notebook. Their words are drawn as bars: so
small they could not be read, and some of them would answer a question of the course.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from minimx_widgets.course.teaching import exercises
from minimx_widgets.course.teaching.exercises import NotANotebook

SVG: Final = "http://www.w3.org/2000/svg"
KIND: Final = "image/svg+xml"
#: Of the font's size: the width of a letter, the height of a bar, and its foot.
WIDE, HIGH, FOOT = 0.5, 0.55, 0.05


def picture(path: Path) -> str:
    """The picture of a notebook with outputs, as a `data:` address; "" for none."""
    try:
        book = exercises.read(path)
    except NotANotebook:
        return ""
    found = max(_stored(book), key=len, default="")
    return address(without_words(found)) if found else ""


def address(svg: str) -> str:
    """What an image may have as its source."""
    return f"data:{KIND};base64,{base64.b64encode(svg.encode()).decode()}"


def without_words(svg: str) -> str:
    """The picture with a bar in the place of each text.

    Raises ValueError for what is no SVG.
    """
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"this is no SVG: {error}") from None
    size = _number(root.get("font-size"), 11)
    for parent in list(root.iter()):
        for child in list(parent):
            name = child.tag.rpartition("}")[2]
            if name in ("title", "desc"):
                parent.remove(child)
            elif name == "text":
                _to_bar(child, size)
    for name in ("aria-label", "role"):
        root.attrib.pop(name, None)
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _to_bar(text: ElementTree.Element, size: float) -> None:
    """Make a text a rectangle of about its size, at its place."""
    size = _number(text.get("font-size"), size)
    width = WIDE * size * len("".join(text.itertext()).strip())
    before = {"middle": 0.5, "end": 1.0}.get(text.get("text-anchor", ""), 0.0)
    x, y = _number(text.get("x"), 0), _number(text.get("y"), 0)
    kept: dict[str, str] = {
        name: value
        for name, value in text.attrib.items()
        if name in ("fill", "transform", "opacity")
    }
    end, tail = (HIGH + FOOT) * size, text.tail
    text.clear()
    text.tail = tail
    text.tag = f"{{{SVG}}}rect"
    text.attrib.update(kept)
    text.set("x", f"{x - before * width:.1f}")
    text.set("y", f"{y - end + FOOT * size:.1f}")
    text.set("width", f"{width:.1f}")
    text.set("height", f"{HIGH * size:.1f}")
    text.set("fill-opacity", "0.45")


def _number(text: str | None, otherwise: float) -> float:
    """A length in pixels; `otherwise` for one in other words ("1em", none)."""
    try:
        return float((text or "").removesuffix("px"))
    except ValueError:
        return otherwise


def _stored(book: dict[str, Any]) -> Iterator[str]:
    for cell in book["cells"]:
        for output in cell.get("outputs", ()):
            yield "".join(output.get("data", {}).get(KIND, ""))
