"""What a page is answered that asks for source, whatever view it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minimx.core.errors import ArgumentError
from minimx_widgets.code.pieces import Code


def answered(find: Callable[[], Code], name: str) -> dict[str, Any]:
    """The pieces that `find` gives, or why there are none, as a page wants them.

    name: what was asked about, shown where `find` raises `ArgumentError`.
    """
    try:
        return find().as_message()
    except ArgumentError as unknown:
        return {"kind": "source", "name": name, "error": str(unknown)}


class ShowsSource:
    """For a view of a run whose page has a `CodePanel`: it answers in the feed."""

    run: Any

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The lines that the page asks for. Raises `ArgumentError` for none."""
        raise NotImplementedError

    def _hear(self, widget: Any, message: dict[str, Any], buffers: Any) -> None:
        if message.get("kind") == "source":
            name = str(message.get("name", "nothing"))
            self.run.feed.post(
                lambda: self.tell(answered(lambda: self.source_for(message), name))  # type: ignore[attr-defined]
            )
        else:
            super()._hear(widget, message, buffers)  # type: ignore[misc]
