"""What is shown while ranks run: their lines, and in a notebook a bar for each."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any, Final

from minimx.commands.clusters.run import Run

#: Seconds between two looks of the notebook's display.
PERIOD: Final = 0.2


class Lines:
    """Shows what ranks write, as while they begin."""

    def line(self, title: str, stream: str, text: str) -> None:
        """Show a line that a rank or a server wrote, with who it is."""
        file = sys.stdout if stream == "out" else sys.stderr
        print(f"[{title}] {text}", file=file, flush=True)

    def look(self, end: bool = False) -> None:
        """Bring up to date what else is shown."""


class Live(Lines):
    """Shows one run. In a notebook its bars are one output that changes."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._last = time.monotonic()
        self._handle = _display(Bars(run))

    def look(self, end: bool = False) -> None:
        """Bring the bars up to date, now and then."""
        if self._handle is None:
            return
        now = time.monotonic()
        if end or now - self._last > PERIOD:
            self._last = now
            self._handle.update(Bars(self._run))


class Bars:
    """A bar for each rank, in HTML. As text it is the same before and after."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __repr__(self) -> str:
        return f"progress of {ranks(self._run.size)}"

    def _repr_html_(self) -> str:
        rows = "".join(self._row(rank) for rank in range(self._run.size))
        return f'<table aria-label="{escape(repr(self))}">{rows}</table>'

    def _row(self, rank: int) -> str:
        done, total = self._run.steps.get(rank, (0, 0))
        state = self._run.state(rank)
        steps = f"{done} of {total}" if total else f"{done}" if done else ""
        if state == "finished" and not steps:
            done = total = 1
        # Without `value`, a bar says that something goes on, but not how far it is.
        value = f' value="{done}" max="{total}"' if total else ""
        value = value or (' value="0"' if state == "failed" else "")
        bar = f'<progress{value} style="width: 16em"></progress>'
        cells = (f"rank {rank}", bar, steps, state)
        return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def ranks(size: int, kind: str = "rank") -> str:
    """So many ranks, in words.

    >>> ranks(1), ranks(4)
    ('1 rank', '4 ranks')
    """
    return f"{size} {kind}" + "s" * (size != 1)


def _display(bars: Bars) -> Any:
    """Show the bars where a notebook runs; a handle that updates them, or None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display(bars, display_id=True)  # type: ignore[no-untyped-call]
