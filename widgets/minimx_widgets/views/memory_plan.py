"""The planner's work: which result lies where in the arena, how long, and why."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import traitlets

from minimx.core.errors import ArgumentError
from minimx.core.graph.memory import memory
from minimx.core.graph.memory.memory import plan_memory
from minimx.core.graph.passes.prepare import Prepared, prepare
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Node
from minimx.graphs.memory_reasons import name_of
from minimx_widgets import esm, palette, svg
from minimx_widgets.code.decisions import decision
from minimx_widgets.code.pieces import Code
from minimx_widgets.graph_view import GraphView
from minimx_widgets.pictures.graph_picture import backward_half, shared_prefix
from minimx_widgets.tables import Table, Tables
from minimx_widgets.training.subject import Subject
from minimx_widgets.units import counted, human_bytes, human_share

#: What a tensor is: its colour where storage ids do not colour.
ROLES = ("forward", "gradient", "recomputed")
#: The settings that only the planner reads: what comes before stays when they change.
PLANNERS = (
    "match_range",
    "auto_search_match_range",
    "num_temp",
    "exec_num_temp",
    "gpu_worker_nthreads",
    "enable_inplace",
)


@dataclass(frozen=True)
class Tensor:
    """One planned result.

    first, last: the steps from which and to which it is needed, counting operators.
    offset, nbytes: where it lies in the arena. block: its storage id. over: whether it
    is written over an input. reason: why it lies there; apart: why not over an input.
    """

    name: str
    op: str
    role: str
    first: int
    last: int
    offset: int
    nbytes: int
    block: int
    over: bool
    reason: str
    apart: str
    layer: str
    #: The planner's step for it, and its verdicts on writing it over an input.
    kind: str = ""
    verdicts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Packing:
    """A plan as rectangles: steps across, bytes of the arena upwards.

    steps: the names of the operators in order; doing: what each of them makes, one of
    `ROLES`. needed: the bytes that results need at each step, a result that is written
    over another one counted once with it. bound: the most of them: with these results
    in place no arena can be smaller. apart: the bytes without any sharing.
    """

    plan: memory.MemoryPlan
    tensors: tuple[Tensor, ...]
    steps: tuple[str, ...]
    doing: tuple[str, ...]
    needed: tuple[int, ...]
    arena: int
    apart: int
    bound: int

    @classmethod
    def of(cls, plan: memory.MemoryPlan) -> Packing:
        """The rectangles of a plan."""
        step, names = _steps(plan)
        apart = {change.nodes[1]: change.reason for change in plan.changes
                 if change.rule == "apart"}  # fmt: skip
        back = backward_half(plan.graph)
        nodes = [node for node in plan.numbers.nodes if node.op is not None]
        doing = tuple(_role(node, back) for node in nodes)
        tensors = []
        kinds = {step.entry: step.kind for step in plan.steps if step.entry is not None}
        verdicts: dict[str, list[str]] = {}
        for n, pair, verdict in plan.examined:
            made = plan.numbers.entries[plan.numbers.outs[n][pair.output]]
            verdicts.setdefault(name_of(made), []).append(verdict.name)
        for entry, life in plan.lifetimes.items():
            node = entry.node
            assert node.op is not None
            name = name_of(entry)
            over = entry in plan.inplace
            tensors.append(
                Tensor(
                    name, node.op.name, _role(node, back), step[life.first],
                    max(step[life.first], step[life.last]), plan.offsets[entry],
                    plan.nbytes[entry], plan.storage[entry], over,
                    plan.reasons[entry], "" if over else apart.get(name, ""),
                    node.layer or "", kinds.get(entry, ""),
                    tuple(dict.fromkeys(verdicts.get(name, ()))),
                )
            )  # fmt: skip
        tensors.sort(key=lambda tensor: (tensor.first, tensor.offset))
        needed = _needed(tensors, len(names))
        arena = max((b.offset + b.nbytes for b in plan.blocks), default=0)
        return cls(
            plan, tuple(tensors), tuple(names), doing, tuple(needed), arena,
            plan.bytes_apart, max(needed, default=0),
        )  # fmt: skip

    def tenants(self, block: int) -> list[Tensor]:
        """The tensors of a block, one after the other."""
        return [tensor for tensor in self.tensors if tensor.block == block]


def _steps(plan: memory.MemoryPlan) -> tuple[list[int], list[str]]:
    """For each place in the order of nodes its step, counting operators only."""
    step: list[int] = []
    names: list[str] = []
    for node in plan.numbers.nodes:
        step.append(len(names))
        if node.op is not None:
            names.append(node.name)
    return [*step, len(names) - 1], names


def _needed(tensors: Sequence[Tensor], steps: int) -> list[int]:
    """The bytes that are needed at each step; what shares a place there counts once."""
    held: list[dict[int, int]] = [{} for _ in range(steps)]
    for tensor in tensors:
        for step in range(tensor.first, min(tensor.last + 1, steps)):
            other = held[step].get(tensor.block, 0)
            held[step][tensor.block] = max(other, tensor.nbytes)
    return [sum(blocks.values()) for blocks in held]


def _role(node: Node, back: set[Node]) -> str:
    if node in back and "_mirror" in node.name:
        return "recomputed"
    return "gradient" if node in back else "forward"


class MemoryPlan(GraphView[Packing]):
    """The results of a graph as rectangles, packed into the arena.

        MemoryPlan(net, data=(32, 1, 28, 28))

    net: a Symbol or a HybridBlock, with the shapes of its inputs by name, or a
    `Prepared`. `training` plans the gradients as well. A step is one operator; a
    rectangle reaches from the operator that writes a result to the last that reads it,
    and lies where its storage block lies. The controls plan again with other settings.
    """

    _esm = esm.module("memory_plan")
    controls = (
        "match_range",
        "auto_search_match_range",
        "enable_inplace",
        "num_temp",
    )

    training = traitlets.Bool(True).tag(sync=True, kept=True)
    colour = traitlets.Enum(("block", "role"), "block").tag(sync=True, kept=True)

    def __init__(
        self, net: Any, *, training: bool = True, height: int = 430, **shapes: Any
    ) -> None:
        self._subject: Subject | None = None
        self._fixed: Prepared | None = None
        if isinstance(net, Prepared):
            self._fixed = net
        else:
            self._subject = Subject.of(net, shapes, "MemoryPlan")
        self._prepared: OrderedDict[Any, Prepared] = OrderedDict()
        super().__init__(training=training, height=height)

    # -- what is drawn ----------------------------------------------------------------

    def prepared(self, settings: Settings) -> Prepared:
        """The graph under some settings, as far as the planner has no say in it."""
        if self._fixed is not None:
            return self._fixed
        assert self._subject is not None
        every = fields(Settings)
        defaults: Any = {f.name: f.default for f in every if f.name in PLANNERS}
        key = (replace(settings, **defaults), self.training)
        if key not in self._prepared:
            subject = self._subject
            self._prepared[key] = prepare(
                subject.graph,
                subject.variables,
                subject.wanted if self.training else (),
                training=self.training,
                settings=settings,
            )
            while len(self._prepared) > 4:
                self._prepared.popitem(last=False)
        return self._prepared[key]

    def plan(self, settings: Settings) -> Packing:
        """The plan under some settings."""
        prepared = self.prepared(settings)
        external = prepared.external
        return Packing.of(
            plan_memory(prepared.graph, prepared.specs, external, settings)
        )

    def _bring(self, more: Mapping[str, Any]) -> None:
        with self._planning:
            self._plans.clear()
        super()._bring(more)

    def train(self, on: bool) -> None:
        """Plan for training, or for prediction."""
        with self._planning:
            self.training = on
            self._plans.clear()
        self.refresh()

    def why(self, name: str) -> str:
        """Why a result lies where it lies; by its name, such as `fc1_output`."""
        return next(
            (t.reason for t in self.planned.tensors if t.name == name),
            f"there is no planned result {name!r}",
        )

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The planner's lines that gave a result its block, or kept it off an input."""
        name = str(message["name"])
        found = next((t for t in self.planned.tensors if t.name == name), None)
        if found is None:
            raise ArgumentError(f"there is no planned result {name!r} any more.")
        pieces = decision("sharing", found.kind).pieces if found.kind else ()
        asked = decision("in place", *found.verdicts).pieces if found.verdicts else ()
        return Code(name, (*pieces, *asked))

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        found = self.planned
        plan = found.plan
        return (
            f"MemoryPlan({counted(len(found.tensors), 'tensor')} in "
            f"{counted(len(plan.blocks), 'block')}, {human_bytes(plan.total)}, "
            f"bound={human_bytes(found.bound)}, apart={human_bytes(found.apart)}, "
            f"match range={plan.match_range})"
        )

    def table(self) -> Tables:
        """The blocks with their tensors, and every decision with its reason."""
        found = self.planned
        blocks = []
        for block in found.plan.blocks:
            tenants = found.tenants(block.id)
            used = sum((t.last - t.first + 1) * t.nbytes for t in tenants)
            share = used / max(1, block.nbytes * len(found.steps))
            names = ", ".join(t.name for t in tenants[:4])
            more = f" and {len(tenants) - 4} more" if len(tenants) > 4 else ""
            blocks.append(
                (str(block.id), human_bytes(block.nbytes), str(len(tenants)),
                 human_share(share), names + more)
            )  # fmt: skip
        heads = ("block", "bytes", "tensors", "in use", "who")
        rows = [
            (t.name, human_bytes(t.nbytes), f"{t.first + 1} to {t.last + 1}",
             " ".join(filter(None, (t.reason, t.apart))))
            for t in found.tensors
        ]  # fmt: skip
        decisions = Table.of(("tensor", "bytes", "steps", "why"), rows, "Tensors")
        totals = [
            ("this plan", human_bytes(found.plan.total)),
            ("needed at once (lower bound)", human_bytes(found.bound)),
            ("without sharing", human_bytes(found.apart)),
        ]
        totals += [
            (f"match range {size}", human_bytes(total))
            for size, total in found.plan.candidates.items()
        ]
        sums = Table.of(("total", "bytes"), totals, "Totals")
        return Tables((sums, Table.of(heads, blocks, "Blocks"), decisions))

    def message(self) -> dict[str, Any]:
        """The rectangles as the browser wants them."""
        found = self.planned
        rows = [
            [t.name, t.op, ROLES.index(t.role), t.first, t.last, t.offset, t.nbytes,
             t.block, int(t.over), t.reason, t.apart, t.layer]
            for t in found.tensors
        ]  # fmt: skip
        return {
            "tensors": rows,
            "blocks": [[b.id, b.offset, b.nbytes] for b in found.plan.blocks],
            "steps": list(found.steps),
            "needed": list(found.needed),
            "total": found.plan.total,
            "arena": found.arena,
            "bound": found.bound,
            "apart": found.apart,
            "range": found.plan.match_range,
            "candidates": [[k, v] for k, v in found.plan.candidates.items()],
            "prefix": shared_prefix([tensor.name for tensor in found.tensors]),
            "live": self._subject is not None,
        }

    def asked(self, message: Mapping[str, Any]) -> str:
        """Training or prediction."""
        if message.get("kind") == "training":
            self.train(bool(message["on"]))
            return ""
        return super().asked(message)

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the plan."""
        return _draw(self, dark=dark, width=width)


# -- the static drawing ---------------------------------------------------------------

LEFT, RIGHT, TOP, BELOW = 66.0, 14.0, 34.0, 44.0


def _draw(view: MemoryPlan, *, dark: bool, width: int) -> str:
    """Rectangles over the blocks, the bytes needed at once as a line."""
    found, height = view.planned, view.height - 30
    ink, muted, rule, alert, card = (
        palette.surface(name, dark=dark)
        for name in ("ink", "muted", "line", "alert", "card")
    )
    text = (
        f"{len(found.tensors)} tensors · {counted(len(found.plan.blocks), 'block')} · "
        f"{human_bytes(found.plan.total)} · lower bound {human_bytes(found.bound)}"
    )
    parts = svg.heading("Memory plan", text, width, dark=dark)
    right, bottom = width - RIGHT, height - BELOW
    high = max(found.arena, found.bound, 1) * 1.04

    def x(step: float) -> float:
        return LEFT + step / max(1, len(found.steps)) * (right - LEFT)

    def y(nbytes: float) -> float:
        return bottom - nbytes / high * (bottom - TOP)

    for nbytes in svg.byte_ticks(high, 6):
        parts.append(svg.line([(LEFT, y(nbytes)), (right, y(nbytes))], rule))
        label = human_bytes(nbytes)
        parts.append(svg.text(LEFT - 7, y(nbytes) + 3.5, label, muted, anchor="end"))
    for step in svg.ticks(0, len(found.steps), 8):
        if step >= 1 and step == int(step):
            at, label = x(step - 0.5), f"#{step:.0f}"
            parts.append(svg.text(at, bottom + 15, label, muted, anchor="middle"))
    for block in found.plan.blocks:
        top = y(block.offset + block.nbytes)
        parts.append(svg.rect(LEFT, top, right - LEFT, y(block.offset) - top, card))
    prefix = shared_prefix([tensor.name for tensor in found.tensors])
    for tensor, until in zip(found.tensors, _until(found.tensors), strict=True):
        label = tensor.name.removeprefix(prefix)
        parts += _tensor(tensor, label, until, x, y, dark=dark)
    stairs = [(x(k + d), y(n)) for k, n in enumerate(found.needed) for d in (0, 1)]
    parts.append(svg.line(stairs, ink, width=1.3))
    ends = [(LEFT, y(found.bound)), (right, y(found.bound))]
    parts.append(svg.line(ends, alert, dash="6 4"))
    legend = [
        ("colour: storage block, cut corner: written over an input",
         palette.layer(0, dark=dark)),
        ("needed at each step", ink),
        ("the most of it: lower bound", alert),
    ]  # fmt: skip
    more, low = svg.legend(LEFT, height - 10, legend, right, dark=dark)
    return svg.picture(width, height + low, parts + more, title=repr(view), dark=dark)


def _until(tensors: Sequence[Tensor]) -> list[int]:
    """The step up to which each is seen: that in which it is written over, if it is."""
    until = [tensor.last + 1 for tensor in tensors]
    for i, tensor in enumerate(tensors):
        for k, other in enumerate(tensors[:i] if tensor.over else ()):
            if other.block == tensor.block and other.first < tensor.first:
                until[k] = min(until[k], tensor.first)
    return until


def _tensor(
    tensor: Tensor, name: str, until: int, x: Any, y: Any, *, dark: bool
) -> Sequence[str]:
    """One rectangle, with its name where it fits."""
    left, right = x(tensor.first), x(until)
    top, bottom = y(tensor.offset + tensor.nbytes), y(tensor.offset)
    colour = palette.layer(tensor.block, dark=dark)
    title = f"{tensor.name}, {human_bytes(tensor.nbytes)}: {tensor.reason}"
    wide, high = max(right - left - 1, 0.8), max(bottom - top - 0.6, 0.6)
    parts = [svg.rect(left, top, wide, high, colour, title=title, round_=1.5)]
    paper = palette.surface("paper", dark=dark)
    if tensor.over and wide > 3:
        across, down = left + min(8, wide), top + min(8, high)
        parts.append(svg.area([(left, top), (across, top), (left, down)], paper))
    if high > 13:
        middle = top + high / 2 + 3.5
        parts.append(svg.text(left + 4, middle, name, paper, size=10, space=wide - 8))
    return parts
