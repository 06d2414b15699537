"""A language to test with: every letter has an accent, and each text is in brackets.

What is shown without brackets did not pass through the catalogue.

>>> pseudo("Run the cell `a.b` <b>now</b>: {n} times")
'⟦Ŕũń ţĥé ćéĺĺ `a.b` <b>ńõŵ</b>: {n} ţĩḿéś⟧'
"""

from __future__ import annotations

import re
from typing import Final

from babel.messages.catalog import Catalog

OPEN, CLOSE = "⟦", "⟧"
_ACCENTS: Final = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "áƀćďéƒǵĥĩĵķĺḿńõƥɋŕśţũṽŵẋýźÁɃĆĎÉƑǴĤĨĴĶĹḾŃÕƤɊŔŚŢŨṼŴẊÝŹ",
)
#: What a translator keeps: code, formulas, tags, entities, addresses, fields.
KEPT: Final = re.compile(
    r"(`[^`]*`|\$[^$]*\$|<code>.*?</code>|<[^>]*>|&\w+;|\]\([^)]*\)|\{\w*\}|\n)"
)


def pseudo(text: str) -> str:
    """A text in the language; a table gets brackets in its first cell."""
    parts = KEPT.split(text)
    parts[::2] = [part.translate(_ACCENTS) for part in parts[::2]]
    shown = "".join(parts)
    if shown.startswith("|"):
        return f"|{OPEN}{shown[1:].rstrip().rstrip('|')}{CLOSE}|"
    return f"{OPEN}{shown}{CLOSE}"


def translated(catalog: Catalog) -> Catalog:
    """The catalogue with every text in this language."""
    for message in catalog:
        if message.id:
            message.string = pseudo(str(message.id))
    return catalog
