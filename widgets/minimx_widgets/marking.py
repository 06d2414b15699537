"""`Marking`: for a widget that shows operations of a run and is no `View` of it.

A `View` is fed rows of the record. What makes a picture of a whole record in the kernel
has no feed, and takes part in the selection by this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from minimx.core.errors import ArgumentError
from minimx_widgets.base import PicturedWidget
from minimx_widgets.run import Run


class Marking(PicturedWidget):
    """What is selected in the views of a run is marked here, and the other way round.

    The page finds the selection under `run_id`, which is empty without a run, and is
    notified of what a cell selects by a message of the kind "select".
    """

    run_id = traitlets.Unicode().tag(sync=True)

    _followed: Run | None = None

    def follow(self, run: Run | None) -> None:
        """Take part in the selection of a run, and no longer in that of another."""
        if self._followed is not None:
            self._followed.marking.remove(self)
        self._followed = run
        self.run_id = "" if run is None else run.id
        if run is not None:
            run.marking.append(self)

    def select(self, op: int, *, by_page: bool = False) -> None:
        """Mark an operation in all views of the run; 0 marks none.

        by_page: the page has done so. Raises `ArgumentError` where no record is shown.
        """
        if self._followed is not None:
            self._followed.select(op, sender=self if by_page else None)
        elif op:
            raise ArgumentError(
                f"{type(self).__name__}: operation {op} cannot be marked, as no record "
                "is shown. Give record=."
            )

    def chosen(self) -> None:
        """An operation was marked in the run."""
        self._keep()

    def tell(self, message: dict[str, Any]) -> None:
        """Send a small message to the page; nothing happens without one."""
        if self.comm is not None:
            self.send(message)

    def tell_selection(self) -> None:
        """Tell a page that begins to look what is marked."""
        if self._followed is not None and self._followed.selected:
            self.tell(self._followed.selection())

    def close(self) -> None:
        """Take the view away; it follows nothing any more."""
        self.follow(None)
        super().close()

    def _marked(self) -> dict[str, Any]:
        """The part of the state that says what is marked."""
        op = 0 if self._followed is None else self._followed.selected
        return {"op": op} if op else {}

    def _bring_marked(self, more: Mapping[str, Any]) -> None:
        op = more.get("op", 0)
        if isinstance(op, bool) or not isinstance(op, int) or op < 0:
            raise ArgumentError(f"op={op!r} is not the number of an operation.")
        self.select(op)
