"""The newest rows of a table, and how many older ones had to go."""

from __future__ import annotations

import threading

from minimx.core.record.tables import Row

# The ring may grow this far past its capacity before old rows are cut off in one go;
# cutting moves all the others, so it should not happen at every row.
SLACK = 4096


class Ring:
    """The last `capacity` rows; `dropped` says how many came before them.

    `add` may be called from any thread, also by a finaliser that interrupts `add`.
    Rows have positions, counted from the first ever added, that never change.
    """

    __slots__ = ("_cut", "_lock", "_rows", "capacity")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._rows: list[Row] = []
        self._cut = 0  # rows cut off, which is the position of _rows[0]
        self._lock = threading.RLock()

    def add(self, row: Row) -> None:
        """Append a row; the oldest goes if there is no room."""
        rows = self._rows
        rows.append(row)  # one step for the interpreter, so it needs no lock
        if len(rows) > self.capacity + SLACK:
            self._trim()

    @property
    def total(self) -> int:
        """How many rows were ever added."""
        with self._lock:
            return self._cut + len(self._rows)

    @property
    def dropped(self) -> int:
        """How many rows had to go."""
        return max(self.total - self.capacity, 0)

    def __len__(self) -> int:
        return min(self.total, self.capacity)

    def since(self, position: int = 0) -> tuple[int, list[Row]]:
        """The kept rows from a position on, and the position of the first of them."""
        with self._lock:
            newest = self._cut + len(self._rows)
            first = min(max(position, newest - self.capacity), newest)
            return first, self._rows[max(first - self._cut, 0) :]

    def _trim(self) -> None:
        with self._lock:
            excess = len(self._rows) - self.capacity
            if excess > 0:
                del self._rows[:excess]
                self._cut += excess
