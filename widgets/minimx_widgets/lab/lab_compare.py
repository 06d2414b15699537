"""Compare two settings in a lab: what the sides are, and the drawer to choose them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ipywidgets

from minimx.core.errors import ArgumentError, MXNetError, did_you_mean
from minimx.core.knobs import knobs
from minimx_widgets.lab import labs
from minimx_widgets.lab.lab_settings import CHOICES, parse, text_of
from minimx_widgets.lab.turn_text import plain, value_text
from minimx_widgets.training.comparing import LEAST, MOST, STEPS, Comparison, Side
from minimx_widgets.views.side_by_side import SideBySide

if TYPE_CHECKING:
    from minimx_widgets.lab.lab import Lab

#: What is offered first.
FIRST = (
    "MXNET_EXEC_ENABLE_INPLACE",
    "MXNET_BACKWARD_DO_MIRROR",
    "MXNET_ENGINE_TYPE",
    "MXNET_CPU_MEM_POOL_TYPE",
    "dtype",
    "scaling",
    "graph",
    "learning_rate",
    "batch_size",
    "optimizer",
    "network",
)


class Comparer:
    """The comparisons of a lab, of which one is the newest."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.view: SideBySide | None = None

    @property
    def turning(self) -> bool:
        """Whether a comparison is just turning a knob for one of its sides."""
        return self.view is not None and self.view.comparison.turning

    def compare(
        self, first: Mapping[str, Any], second: Mapping[str, Any], steps: int
    ) -> SideBySide:
        """Begin to train the lab's settings with the changes of either side.

        The lab's own training is left where it is; its button goes on with it. Raises
        `ArgumentError` for unknown names and values, before anything is left.
        """
        lab = self._lab
        sides = self.side("A", first), self.side("B", second)
        comparison = Comparison(*sides, steps=steps)
        self.stop()
        labs.take_over(lab)
        lab.leave("the comparison")
        self.view = SideBySide(comparison)
        self.view.train()
        return self.view

    def against(
        self, first: Mapping[str, Any], changes: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What either side changes, where one or both may be left open.

        What only one of them names is on the other side as it is now. Without any, the
        sides are those of the last turn. Raises `ArgumentError` if there is none.
        """
        if not first and not changes:
            last = self.last_turn()
            if last is None:
                raise ArgumentError(
                    "Lab.compare: nothing differs, and nothing was turned yet. Name "
                    'what B changes, such as lab.compare(dtype="float16").'
                )
            name, old, new = last
            return {name: old}, {name: new}
        now = {name: self.text_now(name) for name in (*first, *changes)}
        return {**now, **first}, {**now, **changes}

    @property
    def under_way(self) -> bool:
        """Whether a comparison trains."""
        return self.view is not None and self.view.session.alive

    def stop(self) -> None:
        """End a comparison that is under way."""
        if self.view is not None:
            self.view.stop()

    def side(self, name: str, changes: Mapping[str, Any]) -> Side:
        """The lab's settings and knobs with changes.

        changes: settings by their names and knobs by theirs, as values or texts.
        """
        lab, settings = self._lab, self._lab.settings
        turned: dict[str, Any] = {}
        texts = []
        for given, value in changes.items():
            if given in vars(settings):
                value = value if isinstance(value, str) else f"{value}"
                settings = replace(settings, **{given: parse(given, value, lab.given)})
                texts.append(f"{plain(given)} {value}")
            else:
                knob = _declared(given)
                turned[knob.name] = knob.check(value)
                text = knob.format(turned[knob.name])
                texts.append(f"{plain(knob.name)} {value_text(knob.name, text)}")
        return Side(name, ", ".join(texts) or "as it is", replace(settings), turned)

    def last_turn(self) -> tuple[str, str, str] | None:
        """What was turned last in the lab: name, old and new text; None without one."""
        turn = self._lab.turns.last
        return None if turn is None else (turn.name, turn.old, turn.new)

    def text_now(self, name: str) -> str:
        """The value of a setting or a knob, as text."""
        settings = self._lab.settings
        if name in vars(settings):
            return text_of(settings, name)
        knob = _declared(name)
        return str(knob.format(knobs.get(knob.name)))


class ComparePanel(ipywidgets.VBox):  # type: ignore[misc]
    """What differs, its value in A and in B, and below it the comparison.

    It begins with what was turned last.
    """

    def __init__(self, comparer: Comparer) -> None:
        self._comparer = comparer
        self.view: SideBySide | None = None
        name, old, new = comparer.last_turn() or (FIRST[0], "", "")
        options = [*FIRST, *sorted(knobs.declared)]
        self.what = _field("What differs", 370, name, options)
        self.first = _field("A", 180, old)
        self.second = _field("B", 180, new)
        self.steps = ipywidgets.BoundedIntText(
            STEPS, min=LEAST, max=MOST, description="Steps each",
            style={"description_width": "initial"}, layout={"width": "150px"},
        )  # fmt: skip
        self.start = ipywidgets.Button(description="Compare", icon="columns")
        self.message = ipywidgets.HTML()
        self.place = ipywidgets.VBox()
        fields = (self.what, self.first, self.second, self.steps, self.start)
        row = ipywidgets.Box(fields)
        row.add_class("mx-compare-row")
        super().__init__([row, self.message, self.place])
        self.add_class("mx-compare")
        self.what.observe(self._chosen, "value")
        self.start.on_click(self._start)
        if not new:
            self._chosen()
        self._offer()

    def _chosen(self, _change: Any = None) -> None:
        """Another knob or setting: as it is now, and another of its values."""
        self.message.value = ""
        try:
            now = self._comparer.text_now(self.what.value)
        except ArgumentError:
            return  # a name that is still being typed
        self._offer()
        others = [value for value in self.first.options if value != now]
        self.first.value, self.second.value = now, (others or [""])[0]

    def _offer(self) -> None:
        self.first.options = self.second.options = values_of(self.what.value)

    def _start(self, _button: Any) -> None:
        name = self.what.value
        sides = {name: self.first.value}, {name: self.second.value}
        try:
            view = self._comparer.compare(*sides, self.steps.value)
        except MXNetError as refused:
            self.message.value = html.escape(str(refused))
            return
        self.message.value = ""
        before, self.view = self.view, view
        self.place.children = (view,)
        if before is not None:
            before.close()

    def close(self) -> None:
        """Stop the comparison, and take the panel away."""
        self.what.unobserve_all()
        if self.view is not None:
            self.view.close()
        for part in (*self.children[0].children, *self.children):
            part.close()
        super().close()


def _field(label: str, width: int, text: str, options: Any = ()) -> Any:
    """A text with a label and what is offered for it, so many pixels wide."""
    return ipywidgets.Combobox(
        text, options=tuple(options), description=label,
        style={"description_width": "initial"}, layout={"width": f"{width}px"},
    )  # fmt: skip


def values_of(name: str) -> tuple[str, ...]:
    """The values of a setting or a knob that has few; none for others."""
    if name in CHOICES:
        return tuple(CHOICES[name])
    if name not in knobs.declared:
        return ()
    knob = knobs.declared[name]
    if knob.type == "bool":
        return ("0", "1")
    return tuple(knob.format(value) for value in knob.choices or ())


def _declared(name: str) -> Any:
    """The declaration of a knob. Raises `ArgumentError` with the nearest name."""
    try:
        return knobs.declared[knobs.resolve(name)]
    except MXNetError as unknown:
        near = did_you_mean(name, FIRST)
        raise ArgumentError(
            f"Lab.compare: {name} is neither a setting of the lab nor a knob.{near}"
        ) from unknown
