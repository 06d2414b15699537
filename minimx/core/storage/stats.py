"""The counters of one pool at one moment, and bytes in words."""

from __future__ import annotations

from dataclasses import dataclass

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human(nbytes: float) -> str:
    """Bytes in the largest fitting binary unit, with three digits or the exact number.

    >>> human(0), human(1000), human(20 << 20), human(13_002_342)
    ('0 B', '1000 B', '20 MiB', '12.4 MiB')
    """
    power = 0
    while abs(nbytes) >= 1024 and power < len(UNITS) - 1:
        nbytes /= 1024
        power += 1
    digits = f"{nbytes:.1f}" if abs(nbytes) < 100 else f"{nbytes:.0f}"
    return f"{digits.removesuffix('.0')} {UNITS[power]}"


@dataclass(frozen=True)
class Stats:
    """What of a pool is in use and idle, in bytes, and how often it did what.

    live_requested: what living arrays asked for. live_rounded: the blocks they got.
    cached: idle blocks. device_used: what is taken on the device, by whomever.
    n_malloc: blocks from the device. n_hit: blocks used again. n_free: blocks given
    back. n_flush: times that the idle blocks went back to the device.
    """

    device: str
    pool: str
    n_live: int
    live_requested: int
    live_rounded: int
    cached: int
    device_used: int
    device_total: int
    peak_requested: int
    peak_rounded: int
    peak_reserved: int
    n_malloc: int
    n_hit: int
    n_free: int
    n_flush: int

    @property
    def reserved(self) -> int:
        """What the pool holds of the device: in use and idle."""
        return self.live_rounded + self.cached

    @property
    def waste(self) -> int:
        """What rounding costs: bytes in blocks in use beyond what was requested."""
        return self.live_rounded - self.live_requested

    @property
    def hit_rate(self) -> float:
        """The share of requests served from idle blocks, from 0 to 1."""
        requests = self.n_malloc + self.n_hit
        return self.n_hit / requests if requests else 0.0

    def line(self) -> str:
        """One line for people."""
        return (
            f"{self.device} {self.pool}: live {human(self.live_requested)} in "
            f"{human(self.live_rounded)} (blocks: {self.n_live:,}), idle "
            f"{human(self.cached)}; from the device {self.n_malloc:,}, used again "
            f"{self.n_hit:,} ({self.hit_rate:.0%}), flushes {self.n_flush:,}; peak "
            f"{human(self.peak_requested)}, reserved {human(self.peak_reserved)}"
        )
