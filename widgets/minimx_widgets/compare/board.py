"""What stands above two compared timelines: figures, memory, causes, and the controls.

The widget only shows what it is given, and hands on what the page asks for: `ABCompare`
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from minimx_widgets import esm
from minimx_widgets.base import STYLE
from minimx_widgets.compare.differences import DIFFERENCE, RATIO
from minimx_widgets.inbox import Inbox, Message
from minimx_widgets.saving.states import StateOf


class Board(StateOf, anywidget.AnyWidget):
    """Figures, curves and buttons of a comparison.

    handle: does what the page asks, in a thread of the board; the newest of several
    values of a knob overtakes the others. Errors are its business.
    """

    _esm = esm.module("compare/board")
    _css = STYLE

    #: What the timelines of the pair have in common on the page.
    pair = traitlets.Unicode().tag(sync=True)
    #: The knobs that can be turned for B, as the knob panel describes them.
    declared: traitlets.List[Any] = traitlets.List().tag(sync=True)
    #: Names, figures, what is turned, what can be done: one message.
    state = traitlets.Dict().tag(sync=True)
    #: By side and device: nanoseconds, and bytes in use from then on.
    lines: traitlets.List[Any] = traitlets.List().tag(sync=True)
    #: Why they differ, in sentences, and of which revision of the state.
    why = traitlets.Dict().tag(sync=True)
    show = traitlets.Enum((DIFFERENCE, RATIO), DIFFERENCE).tag(sync=True, kept=True)

    # A board that could not be made is closed all the same, by its finaliser.
    _inbox: Inbox | None = None

    def __init__(self, handle: Callable[[Message], None], **settings: Any) -> None:
        inbox = Inbox(handle, name="minimx compare", overtake=True)
        self._inbox = inbox
        super().__init__(**settings)
        self.on_msg(lambda _widget, message, _buffers: inbox.put(message))

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a small message to the page; nothing happens without one."""
        if self.comm is not None:
            self.send(dict(message))

    def close(self) -> None:
        """Take the board away; its thread ends."""
        if self._inbox is not None:
            self._inbox.close()
        super().close()
