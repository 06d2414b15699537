"""What a page is answered that asks for source, whatever view it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minimx.core.errors import ArgumentError
from minimx_widgets.code.errors import Place, raised, source_of_error
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
    """For a widget whose page has a `CodePanel`: what it may ask for.

    A view adds its own to `source_for`; the last refusal has source in every view that
    refuses by `refused`.
    """

    #: Where the last refusal was raised.
    _raised: tuple[Place, ...] = ()

    def refused(self, error: BaseException) -> str:
        """The words of an error that the page shows; its lines are found when asked."""
        self._raised = raised(error)
        return str(error)

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The lines that the page asks for: of what it names, or of the last refusal.

        Raises `ArgumentError` where there are none.
        """
        return source_of_error(self._raised, "the refusal")

    def source_message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a page that asks for source."""
        name = str(message.get("name", "nothing"))
        if message.get("error"):
            return answered(lambda: ShowsSource.source_for(self, message), name)
        return answered(lambda: self.source_for(message), name)
