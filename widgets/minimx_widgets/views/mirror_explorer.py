"""Memory against work: what is kept for the gradient, and what is computed again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import traitlets

from minimx.core.device import current_device
from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.graph.memory.memory import plan_memory
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.passes.mirror import POLICIES, chosen
from minimx.core.graph.passes.mirror_segments import Line, even_segments, root_of
from minimx.core.graph.passes.recompute import Keep
from minimx.core.graph.passes.report import Change
from minimx.core.graph.running.run import as_run
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.infer import resolved
from minimx.core.graph.values.ir import Graph, Node
from minimx.core.graph.values.specs import Specs, every_spec
from minimx.graphs.mirror_front import Point, pareto, work_of
from minimx_widgets import esm
from minimx_widgets.code.decisions import decision
from minimx_widgets.code.pieces import Code
from minimx_widgets.graph_view import GraphView
from minimx_widgets.pictures.graph_picture import GraphPicture, box_of
from minimx_widgets.tables import Table, Tables
from minimx_widgets.training.mirror_measure import Measured, raced
from minimx_widgets.training.subject import Subject
from minimx_widgets.units import human_bytes, human_share, human_time
from minimx_widgets.views.memory_plan import ROLES, Packing

#: What the knobs in force say, and what was decided node by node.
KNOBS_SAY, BY_HAND = "knobs", "by hand"
#: What becomes of results: kept, computed again, kept because they must be, and not
#: kept either, because no gradient reads them.
FATES = ("kept", "recomputed", "fixed", "let go")
#: The settings that choose among the points of the front, and do not move it.
_CHOICE = ("backward_do_mirror", "mirror")


@dataclass(frozen=True)
class Way:
    """What is drawn: a policy by its name, or a decision; count: of its segments."""

    name: str
    keep: Keep = Keep()
    count: int = 0


@dataclass(frozen=True)
class Explored:
    """One way to train the network.

    peak: the bytes of the memory plan. extra: how much more work than keeping all.
    packing: the plan, with the bytes that are needed at each step. work: the seconds of
    a step by the roofline.
    """

    keep: Keep
    packing: Packing
    peak: int
    work: float
    extra: float = 0.0

    @cached_property
    def again(self) -> frozenset[str]:
        """The names of the nodes that are computed a second time."""
        steps = zip(self.packing.steps, self.packing.doing, strict=True)
        twice = {name for name, role in steps if role == "recomputed"}
        return frozenset(
            node.name for node in self.keep.recompute if f"{node.name}_mirror" in twice
        )

    @cached_property
    def reasons(self) -> dict[str, str]:
        """Why each node is kept or computed again, by its name."""
        return {change.nodes[0]: change.reason for change in self.keep.changes}


class MirrorExplorer(GraphView[Explored]):
    """The forward graph with what is computed again, its memory over time, the front.

        MirrorExplorer(net, data=(32, 1, 28, 28))

    net: a Symbol or a HybridBlock, with the shapes of its inputs by name. `policy` is
    one of those of MINIMX_MIRROR, "none", or "knobs", which follows the knobs in force.
    `segments(count)` keeps the borders of so many segments; `toggle(name)` decides
    about one node. `measure()` runs what is drawn and puts a dot where it really lies.
    """

    _esm = esm.module("mirror_explorer")
    controls = ("backward_mirror_step", "enable_inplace")

    fates: traitlets.List[Any] = traitlets.List(list(FATES)).tag(sync=True)

    def __init__(
        self, net: Any, *, policy: str = KNOBS_SAY, height: int = 430, **shapes: Any
    ) -> None:
        self._subject = Subject.of(net, shapes, "MirrorExplorer")
        subject = self._subject
        specs = {node.name: spec for node, spec in subject.variables.items()}
        self._graph: Graph = as_run(resolved(subject.graph, specs), True)
        by_name = {node.name: node for node in self._graph.variables}
        self._variables = {by_name[n.name]: s for n, s in subject.variables.items()}
        self._wanted = tuple(by_name[node.name] for node in subject.wanted)
        self._specs: Specs = every_spec(self._graph, self._variables)
        self._line = Line(self._graph, self._wanted, self._specs)
        self._cheap = Line(self._graph, self._wanted, self._specs, expensive=False)
        self._fronts: dict[Settings, list[Point]] = {}
        self._base: dict[Settings, Explored] = {}
        self._dots: dict[Settings, dict[str, Measured]] = {}
        self._measuring = threading.Lock()
        self._way = self._chosen = Way(_known(policy, ()))
        # The knobs when it was chosen: turned back, they give it back.
        self._under = _knobs_of_choice()
        super().__init__(height=height)

    # -- choosing ---------------------------------------------------------------------

    @property
    def policy(self) -> str:
        """The policy that is drawn."""
        return self._way.name

    def choose(self, policy: str) -> None:
        """Draw what a policy does; also a point of the front, by its name."""
        self._set(_known(policy, [p.name for p in self._front_now()]), Keep(), 0)

    def segments(self, count: int, *, dear: bool = True) -> None:
        """Keep only what crosses the borders of `count` segments of like size.

        dear: also compute convolutions and products again. 1 keeps everything.
        """
        if not 1 <= count <= self.most:
            raise ArgumentError(
                f"MirrorExplorer: {count} segments of {self.most} operators; choose 1 "
                f"to {self.most}."
            )
        keep = even_segments(self._line if dear else self._cheap, count)
        word = "all" if dear else "cheap"
        self._set(f"{count} segments, {word}", keep, count)

    def toggle(self, name: str) -> None:
        """Compute a kept node again, or keep one that is computed again."""
        nodes = {node.name: node for node in self._line.nodes}
        if name not in nodes:
            near = did_you_mean(name, nodes)
            raise ArgumentError(f"MirrorExplorer: there is no operator {name!r}.{near}")
        node = nodes[name]
        if node in self._line.fixed:
            raise ArgumentError(f"{name} is kept: {self._line.fixed[node]}")
        now = self.planned.keep
        again = now.recompute ^ {node}
        titles = {change.nodes[0]: change for change in now.changes}
        rule = "recomputed" if node in again else "kept"
        titles[name] = Change(rule, (name,), "you decided so.")
        self._set(BY_HAND, Keep(again, True, tuple(titles.values()), BY_HAND), 0)

    def _more_names(self) -> tuple[str, ...]:
        return (*super()._more_names(), "policy", "segments", "dear", "again")

    def _more(self) -> dict[str, Any]:
        way, more = self._chosen, super()._more()
        if way.count:
            return more | {"segments": way.count, "dear": way.name.endswith("all")}
        if way.name == BY_HAND:
            return more | {"again": sorted(node.name for node in way.keep.recompute)}
        return more | ({} if way.name == KNOBS_SAY else {"policy": way.name})

    def _bring(self, more: Mapping[str, Any]) -> None:
        super()._bring(more)
        if "again" in more:
            self.choose("none")
            for name in more["again"]:
                self.toggle(name)
        elif "segments" in more:
            self.segments(more["segments"], dear=bool(more.get("dear", True)))
        else:
            self.choose(str(more.get("policy", KNOBS_SAY)))

    @property
    def most(self) -> int:
        """The most segments that are tried: as many as there are operators."""
        return max(1, len(self._line.nodes))

    def _set(self, name: str, keep: Keep, count: int) -> None:
        self._under, self._chosen = _knobs_of_choice(), Way(name, keep, count)
        self._go(self._chosen)
        self.refresh()

    def _go(self, way: Way) -> None:
        self._way = way
        self._plans = OrderedDict()

    def _turned(self, name: str, new: Any, old: Any) -> None:
        """A knob that chooses the policy was turned: it counts until it is back."""
        if name in ("MXNET_BACKWARD_DO_MIRROR", "MINIMX_MIRROR"):
            back = _knobs_of_choice() == self._under
            self._go(self._chosen if back else Way(KNOBS_SAY))
        super()._turned(name, new, old)

    # -- what is drawn ----------------------------------------------------------------

    def plan(self, settings: Settings) -> Explored:
        """The chosen way, planned under some settings."""
        found = self._explored(self._decided(settings), settings)
        base = self.base().work
        return replace(found, extra=found.work / base - 1 if base else 0.0)

    def _decided(self, settings: Settings) -> Keep:
        way = self._way
        if way.keep.name != "none" or way.count:
            return way.keep
        return self._keep_of(way.name, settings)

    def _keep_of(self, name: str, settings: Settings) -> Keep:
        """What a policy or a point of the front decides, by its name."""
        graph, wanted, specs = self._graph, self._wanted, self._specs
        if name == KNOBS_SAY:
            return chosen(graph, wanted, specs, settings)
        if name == "none":
            return Keep()
        if name in POLICIES:
            return POLICIES[name](graph, wanted, specs, settings)
        return next(p.keep for p in self.front() if p.name == name)

    def _explored(self, keep: Keep, settings: Settings) -> Explored:
        cap = settings.inplace_grad_sum_cap
        training = differentiate(self._graph, self._wanted, self._specs, keep, cap)
        plan = plan_memory(training.graph, training.specs, training.external, settings)
        return Explored(keep, Packing.of(plan), plan.total, work_of(training))

    def base(self) -> Explored:
        """Everything kept: what all else is compared with."""
        settings = self.settings
        if settings not in self._base:
            self._base = {settings: self._explored(Keep(), settings)}
        return self._base[settings]

    def front(self) -> list[Point]:
        """All policies and segment counts compared, by rising peak."""
        settings = self._resolved_settings()
        if settings not in self._fronts:
            graph, wanted, specs = self._graph, self._wanted, self._specs
            self._fronts[settings] = pareto(graph, wanted, specs, settings)
        return self._fronts[settings]

    def measure(self, *names: str) -> dict[str, Measured]:
        """Run ways to train, with numbers of our own, and show where they really lie.

        names: of policies or points of the front; what is drawn without any. Keeping
        everything runs beside them, and is what their time is compared with. Returns
        all that was measured under the settings in force, by name.
        """
        settings, found = self.settings, {"none": Keep()}
        for name in names or (self.policy,):
            if name == self.policy:
                keep = self.planned.keep
            else:
                _known(name, [point.name for point in self.front()])
                keep = self._keep_of(name, settings)
            found[keep.name if name == KNOBS_SAY else name] = keep
        parts = self._graph, self._variables, self._wanted
        with self._measuring:
            seen = raced(*parts, [*found.values()], settings, current_device())
            dots = self._dots.setdefault(self._resolved_settings(), {})
            dots.update(zip(found, seen, strict=True))
        self.refresh()
        return self.measured()

    def measured(self) -> dict[str, Measured]:
        """What was measured under the settings in force, by the names of the ways."""
        return dict(self._dots.get(self._resolved_settings(), {}))

    def _resolved_settings(self) -> Settings:
        every = fields(Settings)
        defaults: Any = {f.name: f.default for f in every if f.name in _CHOICE}
        return replace(self.settings, **defaults)

    def _front_now(self) -> list[Point]:
        """The front, if it has been computed already."""
        return self._fronts.get(self._resolved_settings(), [])

    def fate(self, node: Node) -> str:
        """What becomes of a node's results: one of `FATES`."""
        return self._fate(node, self.planned)

    def _fate(self, node: Node, found: Explored) -> str:
        if node in found.keep.recompute:
            return "recomputed" if node.name in found.again else "let go"
        return "fixed" if node in self._line.fixed else "kept"

    def picture(self) -> GraphPicture:
        """The forward graph without its weights."""
        return self._picture

    @cached_property
    def _picture(self) -> GraphPicture:
        given = self._subject.given
        nodes = [n for n in self._graph if n.op is not None or n.name in given]
        number = {node: k for k, node in enumerate(nodes)}
        boxes = [box_of(node, self._specs) for node in nodes]
        lines = [
            (number[entry.node], number[node], "kept")
            for node in nodes
            for entry in node.inputs
            if entry.node in number
        ]
        return GraphPicture.of(boxes, dict.fromkeys(lines))

    def source_for(self, message: Mapping[str, Any]) -> Code:
        """The rule behind what becomes of a node's results."""
        nodes = {node.name: node for node in self._line.nodes}
        name = str(message["name"])
        if name not in nodes:
            raise ArgumentError(f"{name} is given: nothing was decided on it.")
        return decision("mirror", self.fate(nodes[name]))

    # -- faces ------------------------------------------------------------------------

    def __repr__(self) -> str:
        found, base, count = self.planned, self.base(), len(self._line.nodes)
        return (
            f"MirrorExplorer({self.policy}, {len(found.again)} of {count} recomputed, "
            f"{human_bytes(found.peak)} of {human_bytes(base.peak)}, "
            f"{human_share(found.extra)} more work)"
        )

    def table(self) -> Tables:
        """The ways compared, and every node with its fate and the reason."""
        base = self.base().peak
        points = [
            (point.name + (", √N" if point.root else ""), human_bytes(point.peak),
             human_share(point.peak / base if base else 1.0), human_share(point.extra),
             "front" if point.best else "")
            for point in self.front()
        ]  # fmt: skip
        heads = ("way", "peak", "of keeping all", "extra work", "not beaten")
        reasons = self.planned.reasons
        nodes = [
            (node.name, node.op.name, self.fate(node), reasons.get(node.name, ""))
            for node in self._line.nodes
            if node.op is not None
        ]
        names = ("node", "operator", "results", "why")
        ways = Table.of(heads, points, "Ways to train, by rising peak")
        runs = [
            (name, human_bytes(seen.peak), human_time(seen.time), seen.clock,
             human_share(seen.extra), str(seen.runs), "yes" if seen.same else "no")
            for name, seen in self.measured().items()
        ]  # fmt: skip
        titles = ("way", "held", "a step", "clock", "more time", "operators",
                "same gradients")  # fmt: skip
        measured = [Table.of(titles, runs, "Measured")] if runs else []
        decided = Table.of(names, nodes, f"Nodes: {self.policy}")
        return Tables((ways, *measured, decided))

    def message(self) -> dict[str, Any]:
        """Graph, curve and front as the browser wants them."""
        found, base = self.planned, self.base()
        picture = self.picture().as_message()
        nodes = {node.name: node for node in self._line.nodes}
        reasons = found.reasons
        fates = [
            [FATES.index(self._fate(nodes[box[0]], found)), reasons.get(box[0], "")]
            if box[0] in nodes
            else [FATES.index("fixed"), "it is given."]
            for box in picture["boxes"]
        ]
        front = self._front_now()
        if not front:
            self._post({"kind": "front"})
        return {
            **picture,
            "decided": fates,
            "curve": curve(found.packing),
            "base": curve(base.packing),
            "peak": found.peak,
            "keeping": base.peak,
            "extra": found.extra,
            "policy": self.policy,
            "policies": [KNOBS_SAY, "none", *POLICIES],
            "points": [
                [p.name, p.segments, p.peak, p.extra, int(p.root), int(p.best)]
                for p in front
            ],
            "measured": [
                [name, seen.peak, seen.extra] for name, seen in self.measured().items()
            ],
            "segments": self._way.count,
            "dear": not self.policy.endswith("cheap"),
            "most": self.most,
            "root": root_of(self._line),
            "again": len(found.again),
            "live": True,
        }

    def asked(self, message: Mapping[str, Any]) -> str:
        """Another policy, other segments, a node, the front, or a measured dot."""
        kind = message.get("kind")
        if kind == "policy":
            self.choose(str(message["name"]))
        elif kind == "segments":
            self.segments(int(message["count"]), dear=bool(message["dear"]))
        elif kind == "toggle":
            self.toggle(str(message["name"]))
        elif kind == "measure":
            self.measure()
        elif kind == "front":
            self.front()
            self.refresh()
        else:
            return super().asked(message)
        return ""

    def freeze(self) -> None:
        """Keep the front in the state as well, for pages without a kernel."""
        self.front()
        self.refresh()

    def svg(self, *, dark: bool = False, width: int = 900) -> str:
        """A static picture: the graph, the curve and the front."""
        from minimx_widgets.pictures.mirror_picture import draw

        return draw(self, dark=dark, width=width)


def _knobs_of_choice() -> list[Any]:
    """The settings in force that choose among the ways to train."""
    return [getattr(Settings.now(), field) for field in _CHOICE]


def _known(policy: str, points: Sequence[str]) -> str:
    """A policy, if it is one, or a point of the front."""
    names = [KNOBS_SAY, "none", *POLICIES]
    if policy not in names and policy not in points:
        near = did_you_mean(policy, names)
        raise ArgumentError(
            f"MirrorExplorer: policy={policy!r}: choose {', '.join(names)}.{near}"
        )
    return policy


def curve(packing: Packing) -> list[list[Any]]:
    """For each step its name, what it does (a number of `ROLES`), and the bytes."""
    rows = zip(packing.steps, packing.doing, packing.needed, strict=True)
    return [[name, ROLES.index(role), nbytes] for name, role, nbytes in rows]
