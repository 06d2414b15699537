"""Every knob of the runtime, to look up and to turn while something runs.

The panel is a control, not a picture: the browser sends what was turned, and gets back
what is in force. Applying a knob may take a while (another engine starts only when the
old one has drained), so it happens in a worker thread, where of several changes to one
knob that are waiting only the last is made. A refused value changes nothing; its reason
is shown at the knob.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import traitlets

from minimx.core.knobs import PRESETS, Knob, knobs
from minimx.tools import knob_show as show
from minimx_widgets import esm, palette, svg
from minimx_widgets.base import PicturedWidget
from minimx_widgets.code.finding import source
from minimx_widgets.inbox import Inbox, Message, answered
from minimx_widgets.tables import Table
from minimx_widgets.units import counted

PINNED = (
    "MXNET_ENGINE_TYPE",
    "MXNET_CPU_WORKER_NTHREADS",
    "MXNET_CPU_MEM_POOL_TYPE",
    "OMP_NUM_THREADS",
)


class KnobPanel(PicturedWidget):
    """The knobs in groups, with search, presets, reset and "show as code".

    `pinned` are shown first; `expanded` shows the groups as well. `only` restricts the
    panel to some knobs, for an exercise.
    """

    _esm = esm.module("knob_panel")

    declared: traitlets.List[Any] = traitlets.List().tag(sync=True)
    presets: traitlets.List[Any] = traitlets.List().tag(sync=True)
    #: Values, what differs from its default, what is pinned, the code: one message.
    state = traitlets.Dict().tag(sync=True)
    #: Whether a knob can be tried in a comparison.
    comparable = traitlets.Bool(False).tag(sync=True)
    height = traitlets.Int(420).tag(sync=True)
    expanded = traitlets.Bool(False).tag(sync=True, kept=True)
    #: What is searched for.
    search = traitlets.Unicode("").tag(sync=True, kept=True)

    # A panel that could not be made is closed all the same, by its finaliser.
    _inbox: Inbox | None = None
    _trying: Inbox | None = None
    _unwatch: Callable[[], None] | None = None

    def __init__(
        self,
        pinned: Sequence[str] = PINNED,
        *,
        only: Sequence[str] | None = None,
        cannot: Callable[[], Mapping[str, str]] = dict,
        compare: Callable[[str, str], str] | None = None,
        **settings: Any,
    ) -> None:
        """cannot: asked for the knobs that cannot act on what runs now, and why.

        compare: tries a value of a knob (name, text) in a comparison, turns nothing,
        and returns in words what it did.
        """
        self._cannot, self._compare = cannot, compare
        names = only or tuple(knobs.declared)
        self._names = tuple(knobs.resolve(name) for name in names)
        wanted = [knobs.resolve(name) for name in pinned]
        self._pinned = [name for name in wanted if name in self._names]
        self._first_pinned = list(self._pinned)
        self._revision = 0
        inbox = Inbox(self._answer, name="minimx knobs", overtake=True)
        trying = Inbox(self._answer, name="minimx knob tried")  # waits for steps
        self._inbox, self._trying = inbox, trying
        super().__init__(
            declared=[describe(knobs.declared[name]) for name in self._names],
            presets=[[name, preset.meaning] for name, preset in PRESETS.items()],
            state=self._state(),
            comparable=compare is not None,
            **settings,
        )
        self._unwatch = knobs.watch("*", self._turned)
        inboxes = {"compare": trying}
        self.on_msg(
            lambda _widget, message, _buffers: inboxes.get(
                message.get("kind"), inbox
            ).put(message)
        )

    def _more_names(self) -> tuple[str, ...]:
        return ("pinned",)

    def _more(self) -> dict[str, Any]:
        """Not the values of knobs: those belong to the program, and `code` has them."""
        pinned = list(self._pinned)
        return {} if pinned == self._first_pinned else {"pinned": pinned}

    def _bring(self, more: Mapping[str, Any]) -> None:
        wanted = [knobs.resolve(n) for n in more.get("pinned", self._first_pinned)]
        self._pinned = [name for name in wanted if name in self._names]
        self.state = self._state()

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        """The panel's knobs that were turned: name → (default, value)."""
        return {n: both for n, both in knobs.diff().items() if n in self._names}

    def code(self) -> str:
        """A `with` block that puts the panel's changes in force."""
        return code(self.changed)

    def table(self) -> Table:
        """The panel's knobs: value, default, when a change acts."""
        rows = []
        for name in self._names:
            knob = knobs.declared[name]
            value = knob.format(knobs.get(name)) or "(empty)"
            acts = knob.scope if knob.live else f"planned: {knob.planned_in}"
            rows.append((name, value, knob.default_text, acts))
        return Table.of(("knob", "value", "default", "acts"), rows)

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture: the pinned knobs and those that were turned."""
        return draw(self, dark=dark, width=width)

    def __repr__(self) -> str:
        live = sum(knobs.declared[name].live for name in self._names)
        turned = ", ".join(f"{name}={new}" for name, (_, new) in self.changed.items())
        ending = f", turned: {turned}" if turned else ", none turned"
        return f"KnobPanel({counted(len(self._names), 'knob')}, {live} live{ending})"

    def close(self) -> None:
        """Take the panel away; its worker thread ends."""
        if self._unwatch is not None:
            self._unwatch()
        for inbox in (self._inbox, self._trying):
            if inbox is not None:
                inbox.close()
        super().close()

    def _state(self) -> dict[str, Any]:
        self._revision += 1
        values = {n: knobs.declared[n].format(knobs.get(n)) for n in self._names}
        return {
            "values": values,
            "changed": list(self.changed),
            "pinned": list(self._pinned),
            "code": self.code(),
            "cannot": dict(self._cannot()),
            "revision": self._revision,
        }

    def refresh(self) -> None:
        """What runs has changed, and with it which knobs can act."""
        self.state = self._state()

    def _turned(self, name: str, _new: Any, _old: Any) -> None:
        """A knob was turned, here or anywhere; in the thread that turned it."""
        if name in self._names:
            self.state = self._state()

    def _answer(self, message: Message) -> None:
        """Do what the browser asked, and say how it went; in the inbox's thread."""
        self.send(answered(message, lambda: self._do(message), self.refused))

    def _do(self, message: Message) -> str:
        kind, name = message.get("kind"), str(message.get("name", ""))
        if kind == "set":
            knobs.set(**{name: message["text"]})
            value = knobs.declared[name].format(knobs.get(name))
            why = self._cannot().get(knobs.resolve(name), "")
            if why:
                return f"{name}={value} set, without effect on this run ({why}),"
            return f"{name}={value} applied"
        if kind == "reset":
            named = [name for name in message["names"] if name in self._names]
            names = named or list(self.changed)
            if names:
                knobs.reset(*names)
            self.state = self._state()
            return f"{', '.join(names) or 'Nothing'} reset"
        if kind == "preset":
            knobs.preset(name)
            return f"Preset {name!r} applied"
        if kind == "pin":
            self.pin(name)
            return f"{name} {'pinned' if name in self._pinned else 'no longer pinned'}"
        if kind == "compare" and self._compare is not None:
            return self._compare(name, str(message["text"]))
        if kind == "source":
            refusal = self.source_message(message) if message.get("error") else None
            self.send(refusal or source(name).as_message())
            return f"Source of {name} shown"
        if kind == "table":
            self.send({"kind": "table", "html": self.table().html()})
            return "Table sent"
        raise ValueError(f"KnobPanel: {kind!r} is not a message that it knows.")

    def pin(self, name: str) -> None:
        """Show a knob among the first, or no longer."""
        name = knobs.resolve(name)
        if name in self._pinned:
            self._pinned.remove(name)
        else:
            self._pinned.append(name)
        self.state = self._state()


def code(changed: dict[str, tuple[Any, Any]]) -> str:
    """Python that turns knobs to these values for the length of a block.

    >>> print(code({"MXNET_ENGINE_TYPE": ("ThreadedEnginePerDevice", "NaiveEngine")}))
    with mx.knobs(MXNET_ENGINE_TYPE="NaiveEngine"):
        ...
    """
    if not changed:
        return "# No knob differs from its default."
    settings = [f"{name}={_literal(value)}" for name, (_, value) in changed.items()]
    if len(settings) == 1:
        return f"with mx.knobs({settings[0]}):\n    ..."
    inside = "".join(f"    {setting},\n" for setting in settings)
    return f"with mx.knobs(\n{inside}):\n    ..."


def _literal(value: Any) -> str:
    """A value as Python source, text in double quotes."""
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, str) else repr(value)


def describe(knob: Knob) -> dict[str, Any]:
    """A declaration as the browser wants it: texts, numbers and lists only."""
    example = knob.example
    trial = example and {
        "acts_in": example.acts_in,
        "words": show.tried(example),
        "code": example.typed(),
        "prints": example.output(),
        "program": example.program(knob.name),
    }
    return {
        "trial": trial,
        "name": knob.name,
        "aliases": list(knob.aliases),
        "type": knob.type,
        "kind": knob.kind,
        "default": knob.format(knob.default),
        "default_text": knob.default_text,
        "choices": list(knob.choices),
        "low": knob.low,
        "high": knob.high,
        "unit": knob.unit,
        "group": knob.group,
        "scope": knob.scope,
        "made": knob.made,
        "live": knob.live,
        "planned_in": knob.planned_in,
        "observable": knob.observable,
        "meaning": knob.meaning,
        "sources": list(knob.sources),
    }


ROW, TOP = 24, 40


def draw(panel: KnobPanel, *, dark: bool, width: int) -> str:
    """The first and the turned knobs as rows: name, value, default, when it acts."""
    shown = [*panel.state["pinned"]]
    shown += [name for name in panel.changed if name not in shown]
    ink, muted, line, mark = (
        palette.surface(name, dark=dark) for name in ("ink", "muted", "line", "mark")
    )
    text = repr(panel).split("(")[1].split(", turned")[0].removesuffix(")")
    parts = svg.heading("Knobs", text, width, dark=dark)
    values, defaults = width * 0.43, width * 0.66
    for i, name in enumerate(shown):
        knob = knobs.declared[name]
        y = TOP + i * ROW
        turned = name in panel.changed
        parts.append(svg.line([(14, y), (width - 14, y)], line))
        if turned:
            parts.append(svg.dot(18, y + 12, mark))
        value = knob.format(knobs.get(name)) or "(empty)"
        y += 16
        parts.append(svg.text(28, y, name, ink, bold=turned, space=values - 36))
        fill, space = mark if turned else ink, defaults - values - 8
        parts.append(svg.text(values, y, value, fill, space=space))
        acts = _ACTS[knob.scope] if knob.live else "planned"
        space = width - 24 - svg.width_of(acts) - defaults
        default = f"default {knob.default_text}"
        parts.append(svg.text(defaults, y, default, muted, space=space))
        parts.append(svg.text(width - 14, y, acts, muted, anchor="end"))
    height = TOP + len(shown) * ROW + 10
    return svg.picture(width, height, parts, title=repr(panel), dark=dark)


_ACTS = {
    "live": "next op",
    "bind": "next bind",
    "restart": "restarts its part",
    "create": "when made anew",
}
