"""What each pass made of a graph: before and after in one picture, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import traitlets

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.graph.memory.sharing import StorageSharing
from minimx.core.graph.passes.prepare import Prepared, prepare
from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.running.bulk import segments
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import Specs
from minimx_widgets import esm, palette, svg
from minimx_widgets.graph_view import GraphView
from minimx_widgets.pictures.graph_diff import STATES, Diff, compare
from minimx_widgets.pictures.graph_picture import (
    FAMILY_NAMES,
    GraphPicture,
    backward_half,
    box_of,
    draw,
)
from minimx_widgets.pictures.pass_source import source_of, source_of_function
from minimx_widgets.tables import Table, Tables
from minimx_widgets.training.subject import Subject
from minimx_widgets.units import counted


@dataclass(frozen=True)
class Account:
    """What the passes did; storage: the planner's ids, by the names of nodes.

    The last three change no node: what is written over what, which block each result
    got, and which operators reach the engine together.
    """

    passes: tuple[Passed, ...]
    specs: Specs
    storage: Mapping[str, int]

    @classmethod
    def of(cls, prepared: Prepared) -> Account:
        """The account of a prepared graph."""
        graph, plan = prepared.graph, prepared.plan
        named = {
            node.name: plan.storage[Entry(node)]
            for node in graph
            if plan.storage.get(Entry(node), -1) >= 0
        }
        blocks = tuple(
            Change(_KINDS[step.kind], (step.entry.node.name,), plan.reasons[step.entry])
            for step in plan.steps
            if step.entry is not None and step.kind in _KINDS
        )
        joined = tuple(
            Change("joined", tuple(node.name for node in segment.nodes), segment.ended)
            for segment in (*prepared.forward, *prepared.backward)
        )
        decided = (("in place", plan.changes), ("blocks", blocks), ("bulk", joined))
        last = tuple(Passed(name, graph, graph, changes) for name, changes in decided)
        return cls((*prepared.passes, *last), prepared.specs, named)


class GraphPassDiff(GraphView[Account]):
    """The graph before and after each pass, with every decision and its reason.

        GraphPassDiff(net, data=(1, 1, 28, 28))

    net: a Symbol or a HybridBlock, with the shapes of its inputs by name; or a
    `Prepared`, or some `Passed`, which are drawn as they are. `training` adds the
    gradients. `shown` is the pass that is drawn, the first that did something by
    default. `parameters` draws weights as well.
    """

    _esm = esm.module("pass_diff")
    controls = (
        "node_elimination",
        "eliminate_common_expr",
        "use_fusion",
        "backward_do_mirror",
        "bulk_exec_max_node_train_fwd",
        "bulk_exec_max_node_train_bwd",
    )

    parameters = traitlets.Bool(False).tag(sync=True)
    colour = traitlets.Enum(("family", "storage"), "family").tag(sync=True, kept=True)
    #: The number of the pass that is shown, -1 for the last that changed something.
    part = traitlets.Int(-1, min=-1).tag(sync=True, kept=True)
    families: traitlets.List[Any] = traitlets.List(list(FAMILY_NAMES)).tag(sync=True)
    states: traitlets.List[Any] = traitlets.List(list(STATES)).tag(sync=True)

    def __init__(
        self,
        net: Any,
        *,
        training: bool = True,
        shown: str = "",
        parameters: bool = False,
        height: int = 430,
        **shapes: Any,
    ) -> None:
        self._training = training
        self._shown = ""
        self._fixed: Account | None = None
        self._subject: Subject | None = None
        self._diffs: dict[int, tuple[Passed, Diff]] = {}
        if isinstance(net, Prepared):
            self._fixed = Account.of(net)
        elif isinstance(net, (Passed, list, tuple)):
            passes = (net,) if isinstance(net, Passed) else tuple(net)
            self._fixed = Account(passes, {}, {})
        else:
            self._subject = Subject.of(net, shapes, "GraphPassDiff")
        super().__init__(parameters=parameters, height=height)
        if shown:
            self.show(shown)

    # -- what is drawn ----------------------------------------------------------------

    def plan(self, settings: Settings) -> Account:
        """The account of all passes under some settings."""
        if self._subject is None:
            assert self._fixed is not None
            return self._fixed
        subject = self._subject
        wanted = subject.wanted if self._training else ()
        prepared = prepare(
            subject.graph,
            subject.variables,
            wanted,
            training=self._training,
            settings=settings,
        )
        return Account.of(prepared)

    @property
    def passes(self) -> tuple[Passed, ...]:
        """What each pass did, in order."""
        return self.planned.passes

    @property
    def shown(self) -> Passed | None:
        """The pass that is drawn; None where there is none."""
        index = self._index()
        return None if index < 0 else self.passes[index]

    def show(self, name: str) -> None:
        """Draw the pass of a name. Raises ArgumentError for another one."""
        names = [passed.name for passed in self.passes]
        if name not in names:
            raise ArgumentError(
                f"GraphPassDiff: there is no pass {name!r}; there are "
                f"{', '.join(names) or 'none'}.{did_you_mean(name, names)}"
            )
        self._shown = name
        self.refresh()

    def freeze(self) -> None:
        """Keep the pictures of all passes, so that a saved page can step through."""
        parts = {str(k): self._part(k) for k in range(len(self.passes))}
        self.state = self.state | {"parts": parts}

    def diff(self, index: int) -> Diff:
        """Both graphs of a pass as one."""
        passed = self.passes[index]
        known = self._diffs.get(index)
        if known is None or known[0] is not passed:
            known = self._diffs[index] = (passed, compare(passed))
        return known[1]

    def picture(self, index: int) -> GraphPicture:
        """Where everything of a pass is drawn."""
        passed, diff = self.passes[index], self.diff(index)
        account = self.planned
        back = backward_half(passed.before) | backward_half(passed.after)
        kept = [k for k, part in enumerate(diff.parts) if self._drawn(part.node)]
        number = {old: new for new, old in enumerate(kept)}
        boxes = [
            box_of(
                part.node,
                account.specs,
                backward=part.node in back,
                state=part.state,
                decided=part.decided,
                storage=account.storage.get(part.node.name, -1),
            )
            for part in (diff.parts[k] for k in kept)
        ]
        lines = [
            (number[a], number[b], state)
            for a, b, state in diff.edges
            if a in number and b in number
        ]
        return GraphPicture.of(boxes, lines)

    def _drawn(self, node: Node) -> bool:
        if self.parameters or node.op is not None or self._subject is None:
            return True
        return node.name in self._subject.given or "head_grad" in node.name

    def _index(self) -> int:
        """The number of the pass that is drawn."""
        passes = self.passes
        for k, passed in enumerate(passes):
            if passed.name == self._shown:
                return k
        for k, passed in enumerate(passes):
            if passed.changes or len(passed.before) != len(passed.after):
                return k
        return len(passes) - 1

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        if not self.passes:
            return "GraphPassDiff(no pass)"
        first, last = self.passes[0].before, self.passes[-1].after
        done = sum(len(passed.changes) for passed in self.passes)
        return (
            f"GraphPassDiff({counted(len(self.passes), 'pass')}, "
            f"{len(first)} → {len(last)} nodes, {counted(done, 'change')})"
        ).replace("passs", "passes")

    def table(self) -> Tables:
        """The passes with what they did, and the decisions of the one that is drawn."""
        rows = []
        for k, passed in enumerate(self.passes):
            diff = self.diff(k)
            counts = [str(diff.count(state)) for state in STATES[1:]]
            sizes = [str(len(passed.before)), str(len(passed.after))]
            rows.append((passed.name, *sizes, *counts, str(len(passed.changes))))
        passes = Table.of(_HEADS, rows, "Passes, in nodes")
        shown = self.shown
        if shown is None:
            return Tables((passes,))
        decisions = [
            (change.rule, _some(change.nodes), change.reason)
            for change in shown.changes
        ]
        heads = ("rule", "nodes", "reason")
        return Tables((passes, Table.of(heads, decisions, f"Decisions: {shown.name}")))

    def message(self) -> dict[str, Any]:
        """All passes in numbers, and the picture of the one that is drawn."""
        index = self._index()
        return {
            "passes": [
                [
                    passed.name,
                    len(passed.before),
                    len(passed.after),
                    len(passed.changes),
                ]
                for passed in self.passes
            ],
            "shown": index,
            "parts": {} if index < 0 else {str(index): self._part(index)},
            "live": self._subject is not None,
        }

    def asked(self, message: Mapping[str, Any]) -> str:
        """Another pass, or weights drawn or not."""
        if message.get("kind") == "pass":
            self._shown = self.passes[int(message["index"])].name
            self.refresh()
            return ""
        if message.get("kind") == "parameters":
            self.parameters = bool(message["on"])
            self.refresh()
            return ""
        return super().asked(message)

    def _part(self, index: int) -> dict[str, Any]:
        """The picture, the decisions and their source, of one pass."""
        passed, diff = self.passes[index], self.diff(index)
        texts: dict[str, Any] = {}
        changes = []
        for change in passed.changes:
            changes.append([change.rule, list(change.nodes), change.reason])
            if change.rule not in texts:
                texts[change.rule] = _as_list(passed.name, change.rule)
        return {
            **self.picture(index).as_message(),
            "changes": changes,
            "sources": texts,
            "source": _as_list(passed.name),
            "counts": {state: diff.count(state) for state in STATES},
        }

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture of the pass that is drawn."""
        return _draw(self, dark=dark, width=width)


def _as_list(name: str, rule: str = "") -> list[Any] | None:
    found = source_of(name, rule)
    if found is None and name in _DECIDERS:
        found = source_of_function(_DECIDERS[name])
    return None if found is None else [found.file, found.line, found.text]


#: Who decides what is no pass of its own.
_DECIDERS: dict[str, Any] = {
    "in place": StorageSharing._verdict,
    "blocks": StorageSharing._match,
    "bulk": segments,
}
_KINDS = {"new": "new", "reuse": "reused", "grow": "enlarged"}


def _some(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_HEADS = ("pass", "before", "after", *STATES[1:], "decisions")
SIDE, TOP, BELOW = 290.0, 40.0, 30.0
TALLEST = 1500.0


def _draw(view: GraphPassDiff, *, dark: bool, width: int) -> str:
    """The picture on the left, the decisions on the right."""
    shown = view.shown
    if shown is None:
        parts = svg.heading("Passes", "no pass", width, dark=dark)
        return svg.picture(width, 60, parts, title=repr(view), dark=dark)
    index = view._index()
    layout = view.picture(index).layout
    text = f"{shown.name}: {len(shown.before)} → {len(shown.after)} nodes"
    parts = svg.heading("Passes", text, width, dark=dark)
    # Decisions stand beside the picture, or below it where it needs the full width.
    beside = bool(shown.changes) and layout.width < width - SIDE - 40
    space = width - SIDE - 40 if beside else width - 28
    scale = min(1.0, space / max(layout.width, 1), TALLEST / max(layout.height, 1))
    left = 14 + max(0.0, (space - layout.width * scale) / 2)
    parts += draw(view.picture(index), x=left, y=TOP, scale=scale, dark=dark)
    bottom = TOP + layout.height * scale
    x, y = (width - SIDE - 6, TOP + 10) if beside else (14, bottom + 24)
    listed, end = _decisions(shown, x, y, SIDE if beside else width - 20, dark=dark)
    height = max(bottom, end) + BELOW
    diff = view.diff(index)
    states = [(s, palette.state(s, dark=dark)) for s in STATES if diff.count(s)]
    legend, low = svg.legend(14, height - 10, states, width - 14, dark=dark)
    parts += [*listed, *legend]
    return svg.picture(width, height + low, parts, title=repr(view), dark=dark)


def _decisions(
    passed: Passed, x: float, y: float, space: float, *, dark: bool, most: int = 12
) -> tuple[list[str], float]:
    """The first decisions with their reasons, and where they end."""
    ink, muted = (palette.surface(name, dark=dark) for name in ("ink", "muted"))
    parts = []
    for change in passed.changes[:most]:
        names = f"{change.rule}: {_some(change.nodes, 3)}"
        parts.append(svg.text(x, y, names, ink, bold=True, space=space - 10))
        lines, y = svg.paragraph(
            x, y + 13, change.reason, muted, space=space - 10, size=10, step=13
        )
        parts, y = [*parts, *lines], y + 7
    if len(passed.changes) > most:
        more = f"and {len(passed.changes) - most} more"
        parts.append(svg.text(x, y, more, muted, size=10))
        y += 16
    return parts, y
