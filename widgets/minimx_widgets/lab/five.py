"""The five switches that come first in a lab: engine, pool, in-place, mirror, AMP.

A row of controls. Each says what it moves; after a turn it says what came of it, or why
it cannot act in the present run. Three are knobs of the process, the pool's being that
of the device that trains; the precision is made of two settings of the lab.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import traitlets

from minimx.core.errors import KnobError, did_you_mean
from minimx.core.knobs import knobs
from minimx_widgets import esm, palette, svg
from minimx_widgets.base import PicturedWidget
from minimx_widgets.inbox import Inbox, Message, answered
from minimx_widgets.lab import turn_text
from minimx_widgets.lab.reach import reason
from minimx_widgets.lab.situation import Situation
from minimx_widgets.lab.stories import STORIES
from minimx_widgets.lab.turns import Turn, Turns
from minimx_widgets.tables import Table
from minimx_widgets.training.precision import DTYPES, HALF, SCALINGS, SINGLE

ENGINE, INPLACE = "MXNET_ENGINE_TYPE", "MXNET_EXEC_ENABLE_INPLACE"
MIRROR, POLICY = "MXNET_BACKWARD_DO_MIRROR", "MINIMX_MIRROR"
POOLS = {"cpu": "MXNET_CPU_MEM_POOL_TYPE", "gpu": "MXNET_GPU_MEM_POOL_TYPE"}


@dataclass(frozen=True)
class Part:
    """One control of a switch.

    name: that of the control; kind: "choice" (a row of buttons), "select" or "toggle";
    choices: value, label, what it means. label: the word beside the control; meaning:
    what it is called where nothing stands beside it.
    """

    name: str
    kind: str
    choices: tuple[tuple[str, str, str], ...] = ()
    label: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Switch:
    """A switch: its name, what it is in plain words, what it moves, and where to look.

    views: the views that light up when it has acted, by their `data-view`.
    """

    name: str
    label: str
    meaning: str
    moves: str
    views: tuple[str, ...]
    parts: tuple[Part, ...]


ON_OFF = (("1", "on", ""), ("0", "off", ""))
SWITCHES = (
    Switch(
        "engine",
        "Engine",
        "Who runs the operations.",
        "timeline, step time",
        ("engine",),
        (
            Part("engine", "choice", (
                ("ThreadedEnginePerDevice", "per device", "workers for every device"),
                ("ThreadedEngine", "threaded", "one pool of workers for all"),
                ("NaiveEngine", "naive", "each inside the call that asks for it"),
            )),
        ),
    ),
    Switch(
        "pool",
        "Pool",
        "Where freed blocks go.",
        "the reserve",
        ("memory",),
        (
            Part("pool", "choice", (
                ("Naive", "naive", "kept, and found again by its exact size"),
                ("Round", "round", "kept in powers of two"),
                ("Unpooled", "none", "given back to the device at once"),
            )),
        ),
    ),
    Switch(
        "inplace",
        "In-place",
        "Let results be written over inputs.",
        "memory",
        ("memory",),
        (Part("inplace", "toggle", ON_OFF),),
    ),
    Switch(
        "mirror",
        "Mirror",
        "Compute again instead of keeping.",
        "memory, step time",
        ("memory", "engine"),
        (
            Part("mirror", "toggle", ON_OFF),
            Part("policy", "select", (), "policy", "policy"),
        ),
    ),
    Switch(
        "precision",
        "Precision",
        "In what layers compute; weights stay float32.",
        "memory, casts, accuracy",
        ("memory", "engine", "training"),
        (
            Part("dtype", "choice", tuple((name, name, "") for name in DTYPES)),
            Part("scaling", "select", tuple((n, n, "") for n in SCALINGS),
                 "scale", "loss scale"),
        ),
    ),
)  # fmt: skip
SETTINGS = ("dtype", "scaling")
HINT = (
    "Press Train, then turn one of these five while it trains: the strip below "
    "compares before and after."
)


class FiveSwitches(PicturedWidget):
    """The row of switches, and the stories of the documents as a menu.

    change(name, text) sets a setting of the lab: dtype, scaling or graph. It and the
    knobs are turned in a thread of the row. turns: where the row learns what came of
    it.
    """

    _esm = esm.module("lab/five")

    declared: traitlets.List[Any] = traitlets.List().tag(sync=True)
    stories: traitlets.List[Any] = traitlets.List().tag(sync=True)
    #: Values of the controls, what is turned, and the line of each switch.
    state = traitlets.Dict().tag(sync=True)
    hint = traitlets.Unicode(HINT).tag(sync=True)

    # A row that could not be made is closed all the same, by its finaliser.
    _inbox: Inbox | None = None
    _unwatch: tuple[Callable[[], None], ...] = ()

    def __init__(
        self,
        change: Callable[[str, str], object],
        *,
        turns: Turns | None = None,
        settings: Mapping[str, str] | None = None,
        **traits: Any,
    ) -> None:
        self.turns = Turns() if turns is None else turns
        self._change = change
        self._settings = {"device": "cpu(0)", "dtype": SINGLE, "scaling": "dynamic"}
        self._settings |= {"graph": "hybridized", **(settings or {})}
        self._showing = threading.Lock()
        self._revision = 0
        inbox = Inbox(self._answer, name="minimx five", overtake=True)
        self._inbox = inbox
        super().__init__(
            declared=[_declared(switch) for switch in SWITCHES],
            stories=[[name, _source_of(name)] for name in STORIES],
            **traits,
        )
        self._refresh()
        self._unwatch = (
            knobs.watch("*", lambda *_: self._refresh()),
            self.turns.watch(self._refresh),
        )
        self.on_msg(lambda _widget, message, _buffers: inbox.put(message))

    def show(self, settings: Mapping[str, str]) -> None:
        """Settings of the lab, as text, that are in force now."""
        self._settings |= settings
        self._refresh()

    def target(self, control: str) -> str:
        """The knob or setting behind a control, such as that of the device's pool."""
        if control == "pool":
            return POOLS[self._settings["device"].partition("(")[0]]
        if control in SETTINGS:
            return control
        known = {"engine": ENGINE, "inplace": INPLACE, "mirror": MIRROR}
        return {**known, "policy": POLICY}[control]

    @property
    def values(self) -> dict[str, str]:
        """What each control stands at, as text."""
        return {part.name: self._value(part.name) for part in _parts()}

    def story(self, name: str) -> None:
        """Turn what a story of the documents turns.

        Raises `KnobError` for a name that is none.
        """
        if name not in STORIES:
            near = did_you_mean(name, STORIES)
            raise KnobError(f"{name!r} is not a story: {', '.join(STORIES)}.{near}")
        knobs.set(**STORIES[name].knobs)
        for setting, text in STORIES[name].settings.items():
            if self._settings.get(setting) != text:
                self._change(setting, text)

    def why_not(self, name: str) -> str:
        """Why a knob or setting cannot act in the present run; "" if it can."""
        settings = self._settings
        if name in SETTINGS:
            if name == "dtype" or settings["dtype"] == HALF:
                return ""
            return f"only {HALF} is scaled; layers compute in {settings['dtype']}"
        device = settings["device"].partition("(")[0]
        now = Situation(settings["graph"], device, settings["dtype"], training=True)
        return reason(name, now)

    def table(self) -> Table:
        """One row per control: its value and its note."""
        rows = []
        for switch in SWITCHES:
            line = self._line(switch)["text"]
            for part in switch.parts:
                name = self.target(part.name)
                value = turn_text.value_text(name, self._value(part.name))
                rows.append((switch.label, name, value, switch.moves, line))
        return Table.of(("switch", "knob or setting", "value", "moves", "now"), rows)

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture: the five side by side."""
        return draw(self, dark=dark, width=width)

    def __repr__(self) -> str:
        parts = [
            f"{part.name}={turn_text.value_text(self.target(part.name), value)}"
            for part, value in ((part, self._value(part.name)) for part in _parts())
        ]
        return f"FiveSwitches({', '.join(parts)})"

    def close(self) -> None:
        """Take the row away; its thread ends."""
        for stop in self._unwatch:
            stop()
        if self._inbox is not None:
            self._inbox.close()
        super().close()

    def _value(self, control: str) -> str:
        name = self.target(control)
        if name in SETTINGS:
            return self._settings[name]
        return str(knobs.declared[name].format(knobs.get(name)))

    def _refresh(self) -> None:
        """Tell the page what is in force; in the thread that changed it."""
        with self._showing:  # so that the newer state is also sent later
            turned = [name for name, text in self.values.items() if text != _rest(name)]
            state = {
                "values": self.values,
                "targets": {part.name: self.target(part.name) for part in _parts()},
                "turned": turned,
                "lines": {switch.name: self._line(switch) for switch in SWITCHES},
                "turns": len(self.turns),
            }
            if {**state, "revision": self._revision} != self.state:
                self._revision += 1
                self.state = {**state, "revision": self._revision}

    def _line(self, switch: Switch) -> dict[str, Any]:
        """The note on a switch now.

        The page lights the views of the switch up whenever `answer` changes.
        """
        names = [self.target(part.name) for part in switch.parts]
        turns = self.turns.all
        last = next((turn for turn in reversed(turns) if turn.name in names), None)
        answer = f"{last.number} {last.settled} {last.note}" if last else ""
        answer = answer if last and (last.settled or last.note) else ""
        why = self.why_not(last.name if last else names[0])
        if why:
            return {"text": why, "kind": "cannot", "answer": ""}
        if last is None:
            return {"text": "", "kind": "", "answer": ""}
        newest = last.step == turns[-1].step
        return {"text": _came_of(last, newest), "kind": "turn", "answer": answer}

    def _answer(self, message: Message) -> None:
        """Do what the browser asked, and say how it went; in the inbox's thread."""
        if message.get("kind") == "table":
            self.send({"kind": "table", "html": self.table().html()})
        elif message.get("kind") == "source":
            self.send(self.source_message(message))
        elif message.get("kind") == "hint":
            self.hint = ""
        else:
            answer = answered(message, lambda: self._do(message), self.refused)
            self._refresh()
            self.send(answer)

    def _do(self, message: Message) -> str:
        name = str(message["name"])
        if message["kind"] == "story":
            self.story(name)
            return f"Story {name!r} applied"
        target, text = self.target(name), str(message["text"])
        if target in SETTINGS:
            self._change(target, text)
        else:
            knobs.set(**{target: text})
        return f"{target}={text} applied"


def _parts() -> list[Part]:
    return [part for switch in SWITCHES for part in switch.parts]


def _rest(control: str) -> str:
    """What a control stands at when it was not turned."""
    at_rest = {"dtype": SINGLE, "scaling": SCALINGS[0], "pool": "Naive"}
    known = {"engine": ENGINE, "inplace": INPLACE, "mirror": MIRROR, "policy": POLICY}
    if control in at_rest:
        return at_rest[control]
    knob = knobs.declared[known[control]]
    return str(knob.format(knob.default))


def _declared(switch: Switch) -> dict[str, Any]:
    """A switch as the browser wants it."""
    message = asdict(switch)
    for part in message["parts"]:
        if part["name"] == "policy":
            names = knobs.declared[POLICY].choices
            part["choices"] = [[name, name, ""] for name in names]
    return message


def _source_of(name: str) -> str:
    """What a story does and where it is from, for its tooltip."""
    story = STORIES[name]
    return f"{story.meaning} ({story.source})" if story.source else story.meaning


def _came_of(turn: Turn, newest: bool) -> str:
    """What came of a turn, in a line: the lab's note, else the main figure."""
    if turn.note:
        return turn.note
    found = turn_text.main(turn)
    if found is not None and turn.settled:
        return found.text
    return turn_text.progress(turn, newest=newest)


def draw(row: FiveSwitches, *, dark: bool, width: int) -> str:
    """Five columns: name, value, what it moves, the note."""
    ink, muted, rule, mark = (
        palette.surface(name, dark=dark) for name in ("ink", "muted", "line", "mark")
    )
    parts = [svg.text(14, 21, "Five switches", ink, size=13, bold=True)]
    wide = (width - 28) / len(SWITCHES)
    for i, switch in enumerate(SWITCHES):
        x, space = 14 + i * wide, wide - 12
        values = [
            turn_text.value_text(row.target(part.name), row._value(part.name))
            for part in switch.parts
        ]
        turned = any(part.name in row.state["turned"] for part in switch.parts)
        parts.append(svg.rect(x, 32, space, 3, mark if turned else rule, round_=1.5))
        fill, value = mark if turned else ink, ", ".join(values)
        parts.append(
            svg.text(x, 52, switch.label, ink, size=12, bold=True, space=space)
        )
        parts.append(svg.text(x, 70, value, fill, size=11.5, space=space))
    # What they move stands on as many lines as the longest needs, then the notes.
    moves = [f"moves: {switch.moves}" for switch in SWITCHES]
    notes = [row.state["lines"][switch.name]["text"] for switch in SWITCHES]
    low = 87.0
    for words, most in ((moves, 2), (notes, 3)):
        texts = [
            svg.paragraph(
                14 + i * wide, low, text, muted,
                space=wide - 12, size=10.5, step=13, most=most,
            )
            for i, text in enumerate(words)
        ]  # fmt: skip
        parts += [part for more, _ in texts for part in more]
        low = max(end for _, end in texts) + 4
    return svg.picture(width, low + 4, parts, title=repr(row), dark=dark)
