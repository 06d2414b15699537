"""Memory over time, as sums over the rows of a record's `mem` table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.events import CATEGORIES, PHASES
from minimx.core.record.tables import Array, Strings, allocation_changes

QUANTITIES = ("requested", "rounded", "reserved")
GROUPINGS = ("category", "device", "phase")

IDLE = "idle"  # the band of what pools hold and no array uses


@dataclass(frozen=True, eq=False)
class Curve:
    """Bytes in use after each event, in bands that add up.

    t: nanoseconds of each event, (n,). row: its row in `mem`, (n,). bands: their
    names, in the order in which views stack them. nbytes: (bands, n). complete: False
    if the record dropped events, so that the level at the start is unknown.
    """

    t: Array
    row: Array
    bands: tuple[str, ...]
    nbytes: Array
    complete: bool = True

    @property
    def total(self) -> Array:
        """All bands together, (n,)."""
        return np.asarray(self.nbytes.sum(axis=0))

    @property
    def peak(self) -> int:
        """The highest point of the sum, in bytes."""
        return int(self.total.max(initial=0))

    @property
    def at_peak(self) -> int:
        """The index of the first event at which the peak is reached; -1 if none."""
        return int(self.total.argmax()) if len(self.t) else -1

    def __repr__(self) -> str:
        return (
            f"Curve({len(self.t):,} events, peak {self.peak:,} bytes, "
            f"{', '.join(self.bands) or 'no bands'})"
        )


def memory_curve(
    mem: Array,
    strings: Strings,
    device: str | None = None,
    quantity: str = "requested",
    by: str = "category",
    complete: bool = True,
) -> Curve:
    """What was in use over time, from rows of `mem`.

    device: "gpu(0)", or None for all together. quantity: "requested" (what arrays
    asked for), "rounded" (the blocks they got) or "reserved" (what the pools held of
    the devices; idle blocks are a band of their own). by: what the bands are,
    "category", "device" or "phase". Raises `ArgumentError` for other words.
    """
    _one_of("quantity", quantity, QUANTITIES)
    _one_of("by", by, GROUPINGS)
    row = np.arange(len(mem))
    if device is not None:
        row = np.flatnonzero(mem["device"] == strings.find(device))
    mem = mem[row]
    sign = _signs(mem, strings)
    size = mem["requested" if quantity == "requested" else "rounded"]
    change = sign * size
    bands, nbytes = _stack(mem[by], change, strings, _order(by))
    if quantity == "reserved":
        idle = _reserved(mem, sign, strings) - nbytes.sum(axis=0)
        bands, nbytes = (*bands, IDLE), np.vstack([nbytes, idle[None]])
    if not complete:  # blocks older than the oldest row came back
        nbytes -= np.minimum(nbytes.min(axis=1, initial=0), 0)[:, None]
    return Curve(mem["t"], row, bands, nbytes, complete)


def allocated_after(mem: Array, strings: Strings, row: int) -> Array:
    """The rows of `mem` that allocated what is in use after row `row`."""
    sign = _signs(mem, strings)[: row + 1]
    given, back = np.flatnonzero(sign == 1), np.flatnonzero(sign == -1)
    return given[~np.isin(mem["block"][given], mem["block"][back])]


def _signs(mem: Array, strings: Strings) -> Array:
    """What each event does to the number of blocks in use."""
    begins, ends = (
        np.isin(mem["event"], [strings.find(name) for name in names])
        for names in (("live", "alloc", "hit"), ("free",))
    )
    return allocation_changes(mem["block"], begins, ends)


def _reserved(mem: Array, sign: Array, strings: Strings) -> Array:
    """What the pools held of the device after each event."""

    def is_event(name: str) -> Array:
        return np.asarray(mem["event"] == strings.find(name))

    fresh = (is_event("alloc") | is_event("live")) & (sign == 1)
    taken = fresh | is_event("cached")
    returned = is_event("flush") | is_event("release")
    change = np.where(taken, mem["rounded"], 0) - np.where(returned, mem["rounded"], 0)
    return np.asarray(np.cumsum(change))


def _stack(
    label: Array, change: Array, strings: Strings, order: Sequence[str]
) -> tuple[tuple[str, ...], Array]:
    """One running sum per label: the known labels in their order, then the others."""
    present = np.unique(label[change != 0])
    names = {strings.texts[number]: number for number in present.tolist()}
    bands = [name for name in order if name in names]
    bands += sorted(name for name in names if name not in order)
    nbytes = np.zeros((len(bands), len(label)), np.int64)
    for i, band in enumerate(bands):
        np.cumsum(np.where(label == names[band], change, 0), out=nbytes[i])
    return tuple(bands), nbytes


def _order(by: str) -> Sequence[str]:
    return {"category": CATEGORIES, "phase": PHASES}.get(by, ())


def _one_of(what: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        raise ArgumentError(
            f"memory_curve: {what}={given!r}: choose {', '.join(known[:-1])} or "
            f"{known[-1]}.{did_you_mean(str(given), known)}"
        )
