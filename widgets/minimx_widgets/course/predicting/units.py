"""What a number of the course counts, and how it is written.

    unit_of("KiB").factor         # 1024, in bytes
    shown(68096, "B")             # '68,096 B'

A unit of bytes, of time or of a ratio can be converted into another of its kind. What
else a card counts ("pushes", "slots", "of 10") has only its own name.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

BYTES, TIME, RATIO, COUNT = "bytes", "time", "a ratio", "a count"


class Unit(NamedTuple):
    """A unit: its kind, and how many of the kind's smallest unit it is."""

    kind: str
    factor: float


_BYTES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_BYTES |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_TIME = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}
_RATIO = {"×": 1.0, "%": 0.01}

#: All units that can be converted, by the name that the course gives them.
UNITS: Final[dict[str, Unit]] = {
    name: Unit(kind, factor)
    for kind, table in ((BYTES, _BYTES), (TIME, _TIME), (RATIO, _RATIO))
    for name, factor in table.items()
}
#: Other ways to write them, in small letters.
_ALSO: Final = {
    **dict.fromkeys(("b", "byte", "bytes"), "B"),
    **dict.fromkeys(("ki", "kib", "kibibyte", "kibibytes"), "KiB"),
    **dict.fromkeys(("mi", "mib", "mebibyte", "mebibytes"), "MiB"),
    **dict.fromkeys(("gi", "gib", "gibibyte", "gibibytes"), "GiB"),
    **dict.fromkeys(("nanosecond", "nanoseconds"), "ns"),
    **dict.fromkeys(("us", "μs", "microsecond", "microseconds"), "µs"),
    **dict.fromkeys(("millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("minute", "minutes"), "min"),
    **dict.fromkeys(("x", "fold", "time", "times"), "×"),
    **dict.fromkeys(("percent", "per cent", "pct"), "%"),
}
#: Decimal in the standard, binary in many programs: a learner is asked which is meant.
UNCLEAR: Final = {
    name: (name[0].upper().replace("K", "k") + "B", name[0].upper() + "iB")
    for name in ("k", "K", "kb", "Kb", "KB", "m", "M", "mb", "Mb", "MB")
    + ("g", "G", "gb", "Gb", "GB")
}


def named(text: str) -> str:
    """The course's name for a unit; the text itself where it has none.

    >>> named("seconds"), named("x"), named("pushes")
    ('s', '×', 'pushes')
    """
    return text if text in UNITS else _ALSO.get(text.lower(), text)


def unit_of(text: str) -> Unit:
    """The unit that a text names; a count of something for a text that names none.

    >>> unit_of("KiB"), unit_of("pushes")
    (Unit(kind='bytes', factor=1024), Unit(kind='a count', factor=1.0))
    """
    return UNITS.get(named(text), Unit(COUNT, 1.0))


def shown(value: float, unit: str = "") -> str:
    """A number as the course writes it: whole ones in full, others with four digits.

    >>> shown(68096, "B"), shown(1 / 3), shown(2355.04, "images/s"), shown(2.5e-7)
    ('68,096 B', '0.3333', '2,355 images/s', '2.5e-07')
    """
    return f"{_digits(value)} {unit}".rstrip()


def _digits(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e16:
        return f"{int(value):,}"
    if abs(value) < 1e-4:
        return f"{value:.4g}"
    behind = max(3 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{behind}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
