"""How often a view may be sent something: a pure policy, without clock or channel.

A browser acknowledges what it painted. A view gets at most `rate` frames a second; with
`window` frames unacknowledged it waits, because a page that cannot keep up must not be
buried; but after `patience` seconds the newest goes out anyway, since an
acknowledgement may be stuck behind a busy kernel, and a view must never stand still.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Flow:
    """The state of one view's channel. Times are seconds of any steady clock.

    >>> flow = Flow(rate=10, window=1, patience=1)
    >>> flow.ready(0.0), flow.send(0.0), flow.ready(0.05), flow.ready(0.2)
    (True, 1, False, False)
    >>> flow.acknowledge(1); flow.ready(0.2)
    True
    """

    rate: float = 12.0
    window: int = 2
    patience: float = 1.0
    sent: int = 0
    painted: int = 0
    last: float = float("-inf")

    def ready(self, now: float, *, urgent: bool = False) -> bool:
        """Whether a frame may go out now; an urgent one need not keep its distance."""
        waited = now - self.last
        if waited < 1 / self.rate and not urgent:
            return False
        return self.sent - self.painted < self.window or waited >= self.patience

    def send(self, now: float) -> int:
        """A frame goes out; returns its number."""
        self.last = now
        self.sent += 1
        return self.sent

    def acknowledge(self, number: int) -> None:
        """The browser painted a frame, and with it all before it."""
        self.painted = max(self.painted, min(number, self.sent))
