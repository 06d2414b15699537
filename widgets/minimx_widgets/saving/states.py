"""`Stateful`: what a reader has set in a view, as one short string.

    text = view.state_string           # 'EngineTimeline:1?axis=events&op=12'
    EngineTimeline(record).state_string = text

A view tags each trait that belongs to its state with `kept=True`; a page writes what is
set on it into these traits, so that it finds them again when it is loaded anew. What
the kernel alone knows (knobs that are tried, moves of a game) a view gives in `_more`
and takes back in `_bring`. What stands at its usual value is left out of the string.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from minimx.core.errors import ArgumentError, MXNetError, did_you_mean
from minimx_widgets.saving import state_text

#: What a value of the wrong kind raises in views that take it.
_REFUSALS = (
    MXNetError,
    traitlets.TraitError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
)


class Stateful(traitlets.HasTraits):
    """The base of what has a state string."""

    #: What a page needs to write the string: the kind of view, the usual values of the
    #: traits that are kept, and what only the kernel knows.
    keeps = traitlets.Dict().tag(sync=True)

    @traitlets.default("keeps")
    def _first_keeps(self) -> dict[str, Any]:
        return {
            "view": self._state_name(),
            "version": state_text.VERSION,
            "usual": self._usual(),
            "more": self._more(),
        }

    # What subclasses say

    def _state_name(self) -> str:
        """The kind of view; the state of one kind is not taken by another."""
        return type(self).__name__

    def _more(self) -> dict[str, Any]:
        """What belongs to the state beside traits; what is usual is left out."""
        return {}

    def _bring(self, more: Mapping[str, Any]) -> None:
        """Take `more` back; what is missing is at its usual value.

        May raise for what cannot be: everything is put back then.
        """

    def _more_names(self) -> tuple[str, ...]:
        """The names that `_more` can have."""
        return ()

    # The string

    @property
    def state_string(self) -> str:
        """What is set in the view, as one short string without spaces.

        Assigning one brings that state back. Raises `ArgumentError` for the state of
        another kind of view, of another version, or with values that cannot be; the
        view stays as it was then.
        """
        return state_text.written(self._state_name(), self._parts())

    @state_string.setter
    def state_string(self, text: str) -> None:
        mine = self._state_name()
        view, parts = state_text.parsed(text)
        if view != mine:
            raise ArgumentError(
                f"state_string: this is the state of a {view}, and here is a {mine}. "
                f"Assign it to a {view}."
            )
        known = [*self._usual(), *self._more_names()]
        for name in parts:
            if name not in known:
                near = did_you_mean(name, known)
                raise ArgumentError(
                    f"state_string: a {mine} keeps no {name!r}; it keeps "
                    f"{', '.join(known) or 'nothing'}.{near}"
                )
        before = self._parts()
        try:
            self._take(parts)
        except _REFUSALS as refused:
            self._take(before)
            raise ArgumentError(
                f"state_string: {refused} The view stays as it was."
            ) from refused

    def _take(self, parts: Mapping[str, Any]) -> None:
        usual = self._usual()
        traits = self.traits(kept=True)
        values = {
            name: traits[name]._validate(self, parts.get(name, usual[name]))
            for name in usual
        }
        for name, value in values.items():
            setattr(self, name, value)
        self._bring({n: v for n, v in parts.items() if n not in usual})
        self._keep()

    def _parts(self) -> dict[str, Any]:
        """What is not at its usual value, by name."""
        usual = self._usual()
        found = {name: getattr(self, name) for name in usual}
        return {n: v for n, v in found.items() if v != usual[n]} | self._more()

    def _usual(self) -> dict[str, Any]:
        return {
            name: trait.default(self) for name, trait in self.traits(kept=True).items()
        }

    def _keep(self) -> None:
        """What only the kernel knows may have changed: tell the page."""
        more = self._more()
        if more != self.keeps["more"]:
            self.keeps = {**self.keeps, "more": more}

    @traitlets.observe("state")
    def _state_changed(self, _change: Any) -> None:
        self._keep()


class StateOf(Stateful):
    """The widget of an `owner` that is none itself, and whose state it shows."""

    owner: HasState | None = None

    def belong(self, owner: HasState) -> None:
        """From now on the state is that of `owner`."""
        self.owner = owner
        self.keeps = self._first_keeps()

    def _state_name(self) -> str:
        return type(self.owner or self).__name__

    def _more(self) -> dict[str, Any]:
        return {} if self.owner is None else self.owner.state_parts()

    def _more_names(self) -> tuple[str, ...]:
        return () if self.owner is None else self.owner.state_names()

    def _bring(self, more: Mapping[str, Any]) -> None:
        if self.owner is not None:
            self.owner.bring_state(more)


class HasState:
    """What is no widget and has a state string, which its page shows and copies."""

    def state_widget(self) -> StateOf:
        """The widget that shows the state."""
        raise NotImplementedError

    def state_names(self) -> tuple[str, ...]:
        """The names of all parts that a state can have."""
        raise NotImplementedError

    def state_parts(self) -> dict[str, Any]:
        """What is not at its usual value, by name."""
        raise NotImplementedError

    def bring_state(self, parts: Mapping[str, Any]) -> None:
        """Take parts back; what is missing is at its usual value."""
        raise NotImplementedError

    @property
    def state_string(self) -> str:
        """What is set, as one short string without spaces; see `Stateful`."""
        return self.state_widget().state_string

    @state_string.setter
    def state_string(self, text: str) -> None:
        self.state_widget().state_string = text


def window() -> Any:
    """A trait for the stretch that a page shows.

    [] for all of a record, or its newest part while it runs; [width] for the newest
    part in a width of one's own; [low, high] for a stretch.
    """
    return traitlets.List(traitlets.Float()).tag(sync=True, kept=True)


def checked_window(view: str, value: list[float]) -> list[float]:
    """A window that can be. Raises `ArgumentError`."""
    low, high = (0.0, *value)[-2:] if value else (0.0, 1.0)
    if len(value) > 2 or not low < high:
        raise ArgumentError(
            f"{view}: window={value}: give [], [width], or [low, high] with low < high."
        )
    return value
