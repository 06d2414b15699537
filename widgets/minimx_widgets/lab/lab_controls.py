"""The controls of a lab: what to train, how, and the buttons.

A control, not a picture: it holds the fields and sends commands. The lab decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anywidget
import traitlets

from minimx.core.errors import MXNetError
from minimx_widgets import esm
from minimx_widgets.base import STYLE
from minimx_widgets.code.asking import ShowsSource
from minimx_widgets.code.errors import Place, raised, source_of_error
from minimx_widgets.code.pieces import Code
from minimx_widgets.inbox import Inbox, Message
from minimx_widgets.saving.states import StateOf

#: What the buttons ask for, beside "stop", and the methods of a lab that do it.
COMMANDS = {
    "train": "train", "pause": "pause", "step": "step", "undo": "undo",
    "recall": "recall", "save": "save_here",
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """One setting: its name, its label, what it means, and what may be chosen.

    A field that `rebuilds` begins training afresh when it is changed.
    """

    name: str
    label: str
    meaning: str
    choices: tuple[tuple[str, str], ...] = ()
    rebuilds: bool = False

    def as_message(self) -> dict[str, Any]:
        """The field as the browser wants it."""
        return {
            "name": self.name,
            "label": self.label,
            "meaning": self.meaning,
            "choices": [list(choice) for choice in self.choices] or None,
            "rebuilds": self.rebuilds,
        }


class LabControls(StateOf, ShowsSource, anywidget.AnyWidget):
    """Fields and buttons. `change(name, text)` and `command(word)` do what they ask.

    Both are called in a thread of the controls, one after the other, so they may take
    their time; errors of the family `MXNetError` and `ValueError` go back to the field.
    """

    _esm = esm.module("lab/lab_controls")
    _css = STYLE

    run_id = traitlets.Unicode().tag(sync=True)
    fields: traitlets.List[Any] = traitlets.List().tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)
    status = traitlets.Dict().tag(sync=True)

    #: Where the error was raised that ended the training.
    ended: tuple[Place, ...] = ()

    # Controls that could not be made are closed all the same, by their finaliser.
    _inbox: Inbox | None = None

    def __init__(
        self,
        fields: list[Field],
        *,
        change: Callable[[str, str], None],
        command: Callable[[str], str],
        **settings: Any,
    ) -> None:
        self._change, self._command = change, command
        inbox = Inbox(self._do, name="minimx lab")
        self._inbox = inbox
        messages = [field.as_message() for field in fields]
        super().__init__(fields=messages, **settings)
        self.on_msg(lambda _widget, message, _buffers: inbox.put(message))

    @traitlets.observe("settings")
    def _settings_changed(self, _change: Any) -> None:
        self._keep()

    def tell(
        self,
        status: dict[str, Any],
        *,
        keep: bool,
        error: BaseException | None = None,
    ) -> None:
        """Show how training goes. `keep` also stores it for pages opened later.

        error: what ended it, of which only the lines are kept.
        """
        self.ended = () if error is None else raised(error)
        if keep:
            self.status = status
        elif self._inbox and self._inbox.thread:  # a browser is there
            self.send({"kind": "status", "status": status})

    def say(self, text: str, *, ok: bool = True) -> None:
        """Say on the page what was done, or why not."""
        if self._inbox and self._inbox.thread:
            self.send({"kind": "said", "ok": ok, "text": text})

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The lines that raised what ended the training."""
        return source_of_error(self.ended, "what ended the training")

    def close(self) -> None:
        """Take the controls away; their thread ends."""
        if self._inbox is not None:
            self._inbox.close()
        super().close()

    def _do(self, message: Message) -> None:
        if message["kind"] == "source":
            self.send(self.source_message(message))
        elif message["kind"] == "command":
            try:
                if done := self._command(str(message["command"])):
                    self.say(done)
            except (MXNetError, ValueError) as refused:
                self.say(self.refused(refused), ok=False)
        elif message["kind"] == "set":
            self._set(str(message["name"]), str(message["value"]))

    def _set(self, name: str, text: str) -> None:
        answer = {"kind": "answer", "name": name, "ok": True, "text": ""}
        try:
            self._change(name, text)
        except (MXNetError, ValueError) as refused:
            answer |= {"ok": False, "text": self.refused(refused)}
        self.send(answer)
