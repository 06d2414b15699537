"""A bar for whatever takes long: how far it is, and how long it may still take.

    with Bar() as bar:
        for done, file in enumerate(files):
            bar.show(done, len(files), file)

On a terminal and in a notebook it is one line that changes; elsewhere, as in a log, a
line for every tenth part. The knob MINIMX_PROGRESS turns all bars off.
"""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import TextIO

from minimx.core.knobs import knobs

WIDTH = 24


class Bar:
    """A progress bar. out: where it is drawn, standard error by default."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = sys.stderr if out is None else out
        self.start = time.perf_counter()
        self._wanted = bool(knobs.get("MINIMX_PROGRESS"))
        self._tenth = -1
        self._open = False

    def show(self, done: float, total: float, name: str = "", unit: str = "") -> None:
        """`done` of `total` steps are finished; `name` is the latest, or the next.

        total: 0 if it is not known. unit: of both numbers, `MiB` for example.
        """
        if not self._wanted:
            return
        if self._is_live():
            self.out.write("\r" + self._line(done, total, name, unit))
            self.out.flush()
            self._open = True
        elif (tenth := int(10 * done // (total or 1))) != self._tenth:
            self._tenth = tenth
            print(f"{_count(done, total, unit)}  {name}", file=self.out, flush=True)

    def close(self) -> None:
        """Leave the line of the bar."""
        if self._open:
            self.out.write("\n")
            self._open = False

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _is_live(self) -> bool:
        """Whether a line can be written over: on a terminal, and in a notebook."""
        return self.out.isatty() or type(self.out).__module__.startswith("ipykernel")

    def _line(self, done: float, total: float, name: str, unit: str) -> str:
        columns = shutil.get_terminal_size().columns
        elapsed = time.perf_counter() - self.start
        left = ""
        if 0 < done < total:
            left = f", {elapsed / done * (total - done):.0f} s left"
        filled = int(WIDTH * min(done / total, 1)) if total else 0
        bar = "#" * filled + "." * (WIDTH - filled)
        line = f"[{bar}] {_count(done, total, unit)}{left}  {name}"
        return line[: columns - 1].ljust(columns - 1)


def _count(done: float, total: float, unit: str) -> str:
    """How far it is.

    >>> _count(3, 7, ""), _count(1.25, 4.0, "MiB"), _count(5, 0, "")
    ('3 of 7', '1.2 of 4.0 MiB', '5')
    """

    def shown(number: float) -> str:
        return f"{number:.1f}" if isinstance(number, float) else str(number)

    text = f"{shown(done)} of {shown(total)}" if total else shown(done)
    return f"{text} {unit}".strip()
