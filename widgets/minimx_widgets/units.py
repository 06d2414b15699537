"""Numbers in words, as every view writes them."""

from __future__ import annotations


def human_bytes(count: float) -> str:
    """Bytes with a binary unit.

    >>> human_bytes(0), human_bytes(131072), human_bytes(1.5 * 2**20)
    ('0 B', '128 KiB', '1.50 MiB')
    """
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    unit = 0
    while abs(value) >= 1024 and unit < len(units) - 1:
        value /= 1024
        unit += 1
    return f"{value:.0f} B" if unit == 0 else f"{_short(value)} {units[unit]}"


def human_time(ns: float) -> str:
    """Nanoseconds with a unit.

    >>> human_time(340), human_time(1500), human_time(2.5e9)
    ('340 ns', '1.50 µs', '2.50 s')
    """
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(ns) >= size:
            return f"{_short(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def human_count(value: float) -> str:
    """A count, thousands shortened.

    >>> human_count(940), human_count(12800), human_count(1e30)
    ('940', '12.8 k', '1e+30')
    """
    if abs(value) >= 1e15:
        return f"{value:.0e}"
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= size:
            return _short(value / (size if unit != " k" else 1e3)) + unit
    return _short(value)


def human_share(value: float) -> str:
    """A share of one in per cent.

    >>> human_share(0.5), human_share(0.034), human_share(0)
    ('50 %', '3.4 %', '0 %')
    """
    return f"{100 * value:.{1 if 0 < value < 0.1 else 0}f} %"


def human_loss(value: float) -> str:
    """A loss in words, one that left all bounds as well.

    >>> human_loss(0.69315), human_loss(1e30)
    ('0.6932', '1.00e+30')
    """
    return f"{value:.4f}" if not abs(value) >= 1e5 else f"{value:.2e}"


def counted(number: int, noun: str) -> str:
    """A number of things, in the singular or plural.

    >>> counted(1, "worker"), counted(3, "dependency")
    ('1 worker', '3 dependencies')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def _short(value: float) -> str:
    if abs(value) >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
