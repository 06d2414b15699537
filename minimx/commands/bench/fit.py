"""The law behind a table: a batch of b images takes t(b) = t0 + b · t1 seconds.

t0 is what every batch pays, however small: launches, Python, weights read once. t1 is
what an image costs. So the speed b / t(b) rises with the batch and saturates at 1 / t1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from minimx.core.errors import ArgumentError

#: The share of the peak from which on a larger batch hardly pays.
ENOUGH = 0.9


@dataclass(frozen=True)
class Saturation:
    """t(b) = t0 + b · t1 in seconds.

    worst: how far the law is off, as a share. largest: the largest batch it was fitted
    to, beyond which it only promises; 0 if it is not known.
    """

    t0: float
    t1: float
    worst: float
    largest: int = 0

    @property
    def peak(self) -> float:
        """Images per second that no batch size exceeds."""
        return 1 / self.t1

    @property
    def enough(self) -> int:
        """The smallest batch that reaches 90 % of the peak."""
        exact = ENOUGH / (1 - ENOUGH) * self.t0 / self.t1
        return max(1, int(np.ceil(exact - 1e-9)))

    def speed(self, batch: float) -> float:
        """Images per second at a batch size."""
        return batch / (self.t0 + batch * self.t1)

    def __str__(self) -> str:
        beyond = ""
        if self.enough > self.largest > 0:
            beyond = f" (an extrapolation: the largest measured is {self.largest})"
        return (
            f"t(b) = {self.t0 * 1e3:.3g} ms + b · {self.t1 * 1e3:.3g} ms, peak "
            f"{self.peak:.4g} images/s, 90 % of it from batch {self.enough} on"
            f"{beyond}; off by at most {self.worst:.0%}"
        )


def saturation(speeds: Mapping[int, float]) -> Saturation | None:
    """The law that fits measured speeds, in images per second by batch size, best.

    Errors count in proportion to the time. None for fewer than two batch sizes, or if
    the time does not grow with the batch.

    >>> law = saturation({b: b / (0.030 + b * 0.010) for b in (1, 2, 4, 8)})
    >>> round(law.t0, 6), round(law.t1, 6), law.enough
    (0.03, 0.01, 27)
    """
    if any(batch < 1 or not speed > 0 for batch, speed in speeds.items()):
        raise ArgumentError(f"batch sizes and speeds must be above 0: {dict(speeds)}.")
    if len(speeds) < 2:
        return None
    batches = np.array(sorted(speeds), dtype=float)
    times = batches / np.array([speeds[int(batch)] for batch in batches])
    parts = np.stack([1 / times, batches / times], axis=1)
    (t0, t1), *_ = np.linalg.lstsq(parts, np.ones(len(times)), rcond=None)
    if t0 < 0:  # no batch is for free: images alone take the time
        t0, shares = 0.0, batches / times
        t1 = shares.sum() / (shares**2).sum()
    if t1 <= 0:
        return None
    worst = np.abs((t0 + batches * t1) / times - 1).max()
    return Saturation(float(t0), float(t1), float(worst), int(batches[-1]))
