"""`TapeStepper`: the tape as it was recorded, and the walk back, one step at a time.

It draws what `minimx.tools.tape_watch.Watch` heard from the real tape: which calls
were written down, in which order they were walked past, which gradients were summed,
and how many bytes the tape kept at every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import traitlets

from minimx.core.engine.origin import line, where
from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.graph.passes.families import family
from minimx.core.graph.values.ir import Node
from minimx.tools.tape_watch import Call, Watch
from minimx_widgets import esm
from minimx_widgets.base import PicturedWidget
from minimx_widgets.pictures import tape_picture
from minimx_widgets.pictures.graph_picture import FAMILY_NAMES, Box, GraphPicture
from minimx_widgets.pictures.tape_steps import STATES, Step, own, sentence, steps
from minimx_widgets.tables import Table, Tables
from minimx_widgets.units import counted, human_bytes


@dataclass(frozen=True)
class TapeRun:
    """A watch with its steps and its picture, and a name for each box.

    boxes: which box a call (its number), a variable (minus its number) or an array from
    outside is; these have numbers above those of the calls. outside: for each of these
    its name, its box and the box of its first user.
    """

    watch: Watch
    steps: tuple[Step, ...]
    name: dict[int, str]
    boxes: dict[int, int]
    outside: tuple[tuple[str, int, int], ...]
    picture: GraphPicture
    sentences: tuple[str, ...]

    @property
    def peak(self) -> int:
        """The step after which the tape keeps most; the last call of such, if any."""
        most = self.kept
        full = [k for k, step in enumerate(self.steps) if step.kept == most]
        recorded = [k for k in full if self.steps[k].kind == "record"]
        return max(recorded or full[:1], default=0)

    @property
    def kept(self) -> int:
        """The most bytes that the tape kept."""
        return max((step.kept for step in self.steps), default=0)

    @property
    def sizes(self) -> list[int]:
        """The bytes of results that each box keeps."""
        found = [0] * len(self.boxes)
        for call in self.watch.calls:
            mine = {one.block: one.nbytes for one in own(self.watch.calls, call)}
            found[self.boxes[call.number]] = sum(mine.values())
        return found

    @property
    def left(self) -> int:
        """The bytes that it keeps at the end."""
        return self.steps[-1].kept if self.steps else 0

    @property
    def walked(self) -> int:
        """How many calls were walked past."""
        return sum(step.kind == "walk" for step in self.steps)


class TapeStepper(PicturedWidget):
    """A recorded tape and its way back, step by step.

        with Watch() as watch:
            with autograd.record():
                loss = net(x).sum()
            loss.backward()
        TapeStepper(watch, names={"x": x})

    watch: a `Watch`, or several by name, to choose from. names: arrays by name, where
    operators' own words (`weight` of a layer) do not tell which is which.
    `show(name, step)` shows another one, and another step.
    """

    _esm = esm.module("tape_stepper")

    height = traitlets.Int(400).tag(sync=True)
    families: traitlets.List[Any] = traitlets.List(list(FAMILY_NAMES)).tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
    #: The tape that is shown, by its number, and the step; -1: where it keeps most.
    tape = traitlets.Int(0, min=0).tag(sync=True, kept=True)
    at = traitlets.Int(-1, min=-1).tag(sync=True, kept=True)

    def __init__(
        self,
        watch: Watch | Mapping[str, Watch],
        *,
        names: Mapping[str, Any] | None = None,
        height: int = 400,
    ) -> None:
        runs = {"tape": watch} if isinstance(watch, Watch) else dict(watch)
        if not runs or not all(isinstance(one, Watch) for one in runs.values()):
            raise ArgumentError(
                "TapeStepper: give an tools.tape_watch.Watch, or several by name."
            )
        self.runs = {name: tell(one, names or {}) for name, one in runs.items()}
        super().__init__(height=height)
        self.refresh()
        self.on_msg(self._hear)

    # -- what is shown ----------------------------------------------------------------

    @property
    def shown(self) -> TapeRun:
        """What is drawn."""
        return self.runs[self._shown]

    @property
    def _shown(self) -> str:
        return list(self.runs)[self.tape]

    @property
    def step(self) -> int:
        """The number of the step that the picture shows, from 0."""
        return self.shown.peak if self.at < 0 else self.at

    def show(self, name: str = "", step: int | None = None) -> None:
        """Show another of the tapes, or another step; negative ones from the end."""
        name = name or self._shown
        if name not in self.runs:
            near = did_you_mean(name, list(self.runs))
            raise ArgumentError(f"TapeStepper: there is no tape {name!r}.{near}")
        run = self.runs[name]
        count = len(run.steps)
        wanted = run.peak if step is None else step
        if not -count <= wanted < max(count, 1):
            raise ArgumentError(f"TapeStepper: {name} has {count} steps, from 0.")
        with self.hold_trait_notifications():
            self.tape = list(self.runs).index(name)
            self.at = wanted % max(count, 1)
        self.refresh()

    @traitlets.validate("tape")
    def _valid_tape(self, proposal: Any) -> int:
        number = int(proposal["value"])
        if number >= len(self.runs):
            many = counted(len(self.runs), "tape")
            raise ArgumentError(f"TapeStepper: tape={number}: there are {many}.")
        return number

    def _bring(self, more: Mapping[str, Any]) -> None:
        if self.at >= 0:
            self.show(self._shown, self.at)
        else:
            self.refresh()

    def refresh(self) -> None:
        """Send everything to the page."""
        self.state = {
            "runs": [_message(name, run) for name, run in self.runs.items()],
            "shown": self.tape,
            "step": self.step,
            "states": list(STATES),
            "revision": self.state.get("revision", 0) + 1,
        }

    def _hear(self, _widget: Any, message: dict[str, Any], _buffers: Any) -> None:
        if message.get("kind") == "table":
            self.send({"kind": "table", "html": self.table().html()})
        elif message.get("kind") == "run":
            self.show(str(message["name"]))

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        if len(self.runs) > 1:
            sizes = [human_bytes(one.kept) for one in self.runs.values()]
            return f"TapeStepper({len(sizes)} tapes, kept={', '.join(sizes)})"
        run = self.shown
        calls = counted(len(run.watch.calls), "call")
        walked = f"{run.walked} walked past" if run.walked else "not walked back"
        kept, left = human_bytes(run.kept), human_bytes(run.left)
        return f"TapeStepper({calls}, {walked}, kept={kept}, at the end={left})"

    def table(self) -> Tables:
        """The calls with what they keep, and the steps with their bytes."""
        run = self.shown
        calls = [
            (
                str(call.number),
                run.name[call.number],
                where(call.origin),
                " ".join(one.name for one in call.kept),
                str(sum({one.block: one.nbytes for one in own(*pair)}.values())),
            )
            for call in run.watch.calls
            for pair in [(run.watch.calls, call)]
        ]
        rows = [
            (str(k), text, str(step.kept), str(step.flight), str(step.ready))
            for k, (step, text) in enumerate(
                zip(run.steps, run.sentences, strict=True), 1
            )
        ]
        heads = ("call", "operator", "line", "keeps", "bytes of results")
        more = ("step", "what happens", "kept", "between calls", "for variables")
        return Tables(
            (
                Table.of(heads, calls, f"Calls: {self._shown}"),
                Table.of(more, rows, "Steps, in bytes after each"),
            )
        )

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the step that is shown, and the bytes of all steps."""
        return tape_picture.picture(
            self.shown, self.step, repr(self), dark=dark, width=width
        )


def tell(watch: Watch, names: Mapping[str, Any]) -> TapeRun:
    """What a watch heard: steps, sentences, boxes and lines."""
    given = {watch.number_of(array): name for name, array in names.items()}
    given.pop(0, None)
    blocks = {watch.block_of(array): name for name, array in names.items()}
    calls = watch.calls
    name = {call.number: _called(call) for call in calls}
    for k, (user, word) in enumerate(watch.variables, 1):
        layer = calls[user - 1].layer.rpartition("/")[2]
        name[-k] = f"{layer} {word}".strip()
    name |= given
    outside = _outside(watch, blocks)
    name |= {number: text for number, text, _ in outside}
    order = [*(n for n in name if n < 0), *(n for n, _, _ in outside)]
    boxes = {number: k for k, number in enumerate([*order, *(c.number for c in calls)])}
    drawn = [_box_of_array(watch, number, name[number]) for number in order]
    drawn += [_box_of_call(watch, call, name) for call in calls]
    lines = [
        (boxes[source], boxes[call.number], "kept")
        for call in calls
        for source in dict.fromkeys(call.inputs)
        if source in boxes
    ]
    lines += [(boxes[n], boxes[user], "kept") for n, _, user in outside]
    found = steps(watch)
    sentences = tuple(sentence(watch, step, name) for step in found)
    brought = tuple((w, boxes[n], boxes[user]) for n, w, user in outside)
    picture = GraphPicture.of(drawn, lines)
    return TapeRun(watch, found, name, boxes, brought, picture, sentences)


def _called(call: Call) -> str:
    layer = call.layer.rpartition("/")[2]
    return f"{call.op.name} ({layer})" if layer else f"{call.op.name} #{call.number}"


def _outside(watch: Watch, given: Mapping[int, str]) -> list[tuple[int, str, int]]:
    """Arrays without a gradient that calls keep: number, name, first user."""
    found: dict[int, tuple[int, str, int]] = {}
    for call in watch.calls:
        for one in call.kept:
            mine = one in own(watch.calls, call)
            if not mine and one.source == 0 and one.block not in found:
                number = len(watch.calls) + 1 + len(found)
                text = given.get(one.block, f"{one.name}, {human_bytes(one.nbytes)}")
                found[one.block] = (number, text, call.number)
    return list(found.values())


def _box_of_array(watch: Watch, number: int, name: str) -> Box:
    facts = [("array", name)]
    if number < 0:
        facts += [("grad_req", watch.reqs[-number - 1]), ("memory", "the caller's own")]
    else:
        facts.append(("memory", "the caller's own; it has no gradient"))
    what = "variable" if number < 0 else "from outside"
    return Box(name, what, "variable", facts=tuple(facts))


def _box_of_call(watch: Watch, call: Call, name: Mapping[int, str]) -> Box:
    facts = [("call", f"{call.op.name}, the {_nth(call.number)} on the tape")]
    if call.layer:
        facts.append(("layer", call.layer))
    place = where(call.origin)
    if place:
        facts.append(("line", place))
        text = line(call.origin)
        facts += [("", text)] if text else []
    for spec in call.outs[: call.op.visible][:2]:
        shape = "×".join(map(str, spec.shape)) or "scalar"
        facts.append(("result", f"{shape} {spec.dtype.name}"))
    mine = {one.block for one in own(watch.calls, call)}
    for block in {one.block: one for one in call.kept}.values():
        whose = "" if block.block in mine else ", the caller's own"
        if block.source > 0 and block.source != call.number:
            whose = f", result of {name[block.source]}"
        size = f"{block.nbytes:,} B{whose}"
        facts.append((f"keeps {block.name}", size))
    if not call.kept:
        facts.append(("keeps", "nothing"))
    kind = family(Node(call.op, (), name[call.number]))
    label = call.layer.rpartition("/")[2] or f"call {call.number}"
    return Box(label, call.op.name, kind, facts=tuple(facts))


def _nth(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    end = "th" if number % 100 in (11, 12, 13) else ends.get(number % 10, "th")
    return f"{number}{end}"


def _message(name: str, run: TapeRun) -> dict[str, Any]:
    """A tape as the page wants it."""
    boxes = run.boxes
    rows = []
    for step, text in zip(run.steps, run.sentences, strict=True):
        changes = [[boxes[at], state] for at, state in step.changes if at in boxes]
        sent = [boxes[at] for at in dict.fromkeys(step.sent) if at in boxes]
        at = boxes.get(step.at, -1)
        bytes_ = [step.kept, step.flight, step.ready]
        rows.append([step.kind, at, text, sent, changes, *bytes_])
    return {
        "name": name,
        **run.picture.as_message(),
        "steps": rows,
        "peak": run.peak,
        "walked": run.walked,
        "calls": len(run.watch.calls),
        "outside": [[box, user] for _, box, user in run.outside],
        "kept": run.sizes,
    }
