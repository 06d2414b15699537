"""What every pool holds, and for whom: a table to print, to show, or to compute with.

Four words tell the same memory apart, from the inside out:

    allocated   what living arrays asked for
    in blocks   the blocks that they got, which rounding makes larger
    reserved    what the pool holds of the device: those blocks, and the cached ones
    in use      what is taken on the device, by whomever

`gpu_memory_info` knows only the last of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from minimx.core.errors import ArgumentError
from minimx.core.events import CATEGORIES, Owner
from minimx.core.storage.pool import Pool, Usage
from minimx.core.storage.stats import Stats, human
from minimx.tools.memory.report import largest_owners, who

COLUMNS = (
    "device", "pool", "allocated", "in blocks", "cached", "reserved", "peak", "in use",
    "calls", "hits", "flushes",
)  # fmt: skip
LEGEND = (
    "allocated: what living arrays asked for. cached: idle blocks. peak: of reserved.\n"
    "in use: of the device, by whomever. calls: blocks asked from the device. hits: "
    "requests\nserved from cached blocks."
)
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Holdings:
    """One device.

    categories: bytes asked for, now and at most, in the order in which views stack
    them. owners: (who, bytes asked for, blocks), the largest first.
    """

    stats: Stats
    categories: dict[str, Usage]
    owners: tuple[tuple[Owner, int, int], ...]

    @classmethod
    def of(cls, pool: Pool, most: int) -> Holdings:
        """What a pool holds now."""
        found = pool.categories()
        known = dict.fromkeys((*CATEGORIES, *found))
        categories = {name: found[name] for name in known if name in found}
        return cls(pool.stats(), categories, tuple(largest_owners(pool.in_use(), most)))

    def row(self) -> list[str]:
        """The numbers of the device, as `COLUMNS` calls them."""
        s = self.stats
        sizes = (s.live_requested, s.live_rounded, s.cached, s.reserved)
        return [
            s.device,
            s.pool,
            *map(human, sizes),
            human(s.peak_reserved),
            f"{human(s.device_used)} of {human(s.device_total)}",
            *(f"{n:,}" for n in (s.n_malloc, s.n_hit, s.n_flush)),
        ]


@dataclass(frozen=True)
class Summary:
    """What the pools hold; prints as tables, and draws itself as such in a notebook."""

    devices: tuple[Holdings, ...]

    @classmethod
    def of(cls, pools: Iterable[Pool], most: int) -> Summary:
        """Of some pools; `most` owners for each."""
        return cls(tuple(Holdings.of(pool, most) for pool in pools))

    def __getitem__(self, device: object) -> Holdings:
        """One device, by its name or itself; all of the host is `cpu(0)`."""
        known = {found.stats.device: found for found in self.devices}
        if str(device) not in known:
            raise ArgumentError(
                f"the summary has {', '.join(known) or 'no device'}, not {device}: "
                "nobody has asked it for memory yet."
            )
        return known[str(device)]

    def tables(self) -> list[tuple[str, Rows]]:
        """Captions and rows; the first row of each is its heading."""
        found: list[tuple[str, Rows]] = [
            ("", [COLUMNS, *(held.row() for held in self.devices)])
        ]
        for held in self.devices:
            name = held.stats.device
            if any(use.peak for use in held.categories.values()):
                rows = [
                    (category, human(use.live), human(use.peak))
                    for category, use in held.categories.items()
                ]
                rows.insert(0, ("category", "now", "peak"))
                found.append((f"{name}: allocated for", rows))
            if held.owners:
                named = [(human(n), who(owner, k)) for owner, n, k in held.owners]
                named.insert(0, ("bytes", "largest owners"))
                found.append((f"{name}: allocated by", named))
        return found

    def __repr__(self) -> str:
        if not self.devices:
            return "No device was asked for memory yet."
        parts = []
        for caption, rows in self.tables():
            parts += [caption] if caption else []
            parts += _aligned(rows)
        return "\n".join([*parts, LEGEND])

    def _repr_html_(self) -> str:
        if not self.devices:
            return f"<p>{self!r}</p>"
        page = ""
        for caption, (heading, *rows) in self.tables():
            body = "".join(_cells("td", row) for row in rows)
            page += (
                f"<table><caption>{escape(caption)}</caption>"
                f"<thead>{_cells('th', heading)}</thead><tbody>{body}</tbody></table>"
            )
        return f"{page}<p>{LEGEND}</p>"


def _cells(tag: str, row: Sequence[str]) -> str:
    cells = "".join(f"<{tag}>{escape(text)}</{tag}>" for text in row)
    return f"<tr>{cells}</tr>"


def _aligned(rows: Rows) -> list[str]:
    """Rows as lines; texts to the left, sizes and counts to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [cell[:1].isdigit() for cell in rows[-1]]
    return [
        "  ".join(
            cell.rjust(width) if side else cell.ljust(width)
            for cell, width, side in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]
