"""The course in the pseudo-language, and what of a text is not in its brackets."""

from __future__ import annotations

import functools
import html
import re
import tempfile
from pathlib import Path

from minimx_widgets import language
from minimx_widgets.course.predicting.units import UNITS
from minimx_widgets.course.translating import catalogs, pseudo
from minimx_widgets.language import Language

_HIDDEN = re.compile(r"<(style|svg|code|pre)\b.*?</\1>", re.DOTALL)
_BRACKETED = re.compile(f"{pseudo.OPEN}[^{pseudo.OPEN}{pseudo.CLOSE}]*{pseudo.CLOSE}")


@functools.cache
def texts() -> dict[str, str]:
    """Every text of the course, in the pseudo-language."""
    catalog = catalogs.read(catalogs.FOLDER / catalogs.TEMPLATE)
    good, problems = catalogs.usable(pseudo.translated(catalog))
    assert problems == []
    return good


@functools.cache
def pseudo_language() -> Language:
    """The language, as a kernel reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / language.FILE
        path.write_bytes(catalogs.compiled(texts(), "pseudo"))
        return language.read(path)


def outside(shown: str) -> list[str]:
    """The words of a text or of HTML outside of brackets, without code and units."""
    text = re.sub(r"<[^>]*>", "", _HIDDEN.sub("", shown))
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "", text)
    while (inner := _BRACKETED.sub("", text)) != text:
        text = inner
    words = re.findall(r"[^\W\d_]{3,}", html.unescape(text))
    return [word for word in words if word not in UNITS]


def english(shown: str) -> list[str]:
    """Pairs of English words that a translated sentence has taken over as values."""
    text = re.sub(r"<[^>]*>", " ", _HIDDEN.sub("", shown))
    return re.findall(r"\b[a-z]{3,} [a-z]{3,}\b", re.sub("`[^`]*`", "", text))
