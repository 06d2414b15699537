"""A device that only counts: addresses and sizes, no memory behind them.

It hands out addresses exactly as the simulated GPU does. Replay runs the real pools
over it, so that "what would another pool have done?" takes milliseconds, and tests use
it to see every decision.
"""

from __future__ import annotations

import numpy as np

from minimx.core.drivers.addressed import AddressedDriver
from minimx.core.drivers.base import Bytes

_NOTHING = np.empty(0, np.uint8)


class CountingDriver(AddressedDriver):
    """`capacity` bytes that are only counted; regions have no data."""

    def _bytes(self, start: int, nbytes: int) -> Bytes:
        return _NOTHING

    def __repr__(self) -> str:
        return f"<{self.device}: {self.total_bytes:,} bytes that are only counted>"
