"""Levels of the mirror planner: what is kept for the gradient, and what is recomputed.

    game = MirrorGame(net, budget=0.1, data=(16, 64))

Each result of the forward pass that the gradient reads is kept until then, or computed
a second time. Keeping takes memory, recomputing takes work, of which there is a budget.
All is counted on the plan that the runtime makes of the marked graph; so is the
optimum, over all decisions within the budget. `policy` writes the decisions as remarks
`force_mirroring` of the symbol, which the runtime obeys.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from minimx import symbol
from minimx.core.errors import ArgumentError
from minimx.core.graph.memory.sharing import numbered
from minimx.core.graph.passes.mirror_rule import marked
from minimx.core.graph.passes.prepare import Prepared, prepare
from minimx.core.graph.passes.recompute import Keep, Recomputation
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Graph
from minimx.core.graph.values.specs import every_spec, plan_of
from minimx.graphs.mirror_front import SPEED
from minimx.symbol import Symbol
from minimx_widgets.levels.game import Bar, Choice, Cost, Game, Row, Scene
from minimx_widgets.levels.play import chosen
from minimx_widgets.training.subject import Subject
from minimx_widgets.units import counted, human_bytes, human_share

#: More results than so many are too many decisions to try them all.
MOST = 8
#: What the runtime decides without a remark, and MXNet's rule.
SETTINGS = Settings(use_fusion=False)
POLICIES = ("remap", "segments", "sqrt")


@dataclass(frozen=True)
class Outcome:
    """A training graph that was planned: its bytes, and the ns of work of a step."""

    made: Prepared
    peak: int
    work: int


#: The decisions: of each result in order, whether it is recomputed.
Decided = tuple[bool, ...]


class MirrorGame(Game[Decided]):
    """The results of a network in the order in which they are computed.

    net: a Symbol, with the shapes of its inputs by name. budget: how much more work a
    step may take, as a share. Raises `ArgumentError` for a net with too many results.
    """

    kinds = (
        ("kept", "activation"),
        ("computed again", "gradient"),
        ("asked", "temporary"),
    )

    def __init__(
        self,
        net: Symbol,
        name: str = "mirror",
        lesson: str = "",
        *,
        budget: float = 0.1,
        **shapes: Any,
    ) -> None:
        self.net, self.name, self.lesson, self.budget = net, name, lesson, budget
        self._subject = Subject.of(net, shapes, "MirrorGame")
        graph = self._subject.graph
        specs = every_spec(graph, self._subject.variables)
        outputs = {entry.node for entry in graph.outputs}
        self.nodes = [n for n in graph if n.op is not None and n not in outputs]
        if not 1 <= len(self.nodes) <= MOST:
            raise ArgumentError(
                f"MirrorGame: {len(self.nodes)} results to decide on; give a network "
                f"with 1 to {MOST} operators beside its outputs."
            )
        found = [specs[Entry(node)] for node in self.nodes]
        self.sizes = [spec.size * spec.dtype.itemsize for spec in found]
        again = Recomputation(graph, specs)
        self.never = [again.why_not(node) or "" for node in self.nodes]
        self._known: dict[Decided, Outcome] = {}
        self._policies: dict[str, Outcome] = {}

    # -- the runtime's plan ------------------------------------------------------------

    def outcome(self, state: Decided) -> Outcome:
        """What a step takes; what is not decided yet is kept."""
        whole = state + (False,) * (len(self.nodes) - len(state))
        if whole not in self._known:
            pairs = zip(self.nodes, whole, strict=True)
            keep = Keep(frozenset(node for node, again in pairs if again))
            self._known[whole] = self._planned(marked(self._subject.graph, keep))
        return self._known[whole]

    def _planned(self, graph: Graph, settings: Settings = SETTINGS) -> Outcome:
        variables = {node: self._by_name[node.name] for node in graph.variables}
        by_name = {node.name: node for node in graph.variables}
        wanted = [by_name[node.name] for node in self._subject.wanted]
        made = prepare(graph, variables, wanted, training=True, settings=settings)
        work = 0.0
        for node in made.graph:
            if node.op is not None:
                cost = plan_of(node, made.specs).cost
                work += max(cost.flops / SPEED[0], cost.bytes_moved / SPEED[1])
        return Outcome(made, made.plan.total, round(work * 1e9))

    @cached_property
    def _by_name(self) -> dict[str, Any]:
        return {node.name: spec for node, spec in self._subject.variables.items()}

    def extra(self, work: int) -> float:
        """How much more work that is than keeping all, as a share."""
        return work / self.outcome(()).work - 1

    def _within(self, state: Decided) -> bool:
        return self.extra(self.outcome(state).work) <= self.budget

    # -- rules -------------------------------------------------------------------------

    def begin(self) -> Decided:
        """Nothing is decided, all is kept."""
        return ()

    def over(self, state: Decided) -> bool:
        """Whether all is decided."""
        return len(state) == len(self.nodes)

    def question(self, state: Decided) -> str:
        """The result."""
        if self.over(state):
            again = [n.name for n, x in zip(self.nodes, state, strict=True) if x]
            return f"Computed again: {', '.join(again) or 'nothing'}."
        node = self.nodes[len(state)]
        assert node.op is not None
        return (
            f"{node.name} ({node.op.name}) has {human_bytes(self.sizes[len(state)])}. "
            "Keep it for the gradient, or compute it again?"
        )

    def coming(self, state: Decided) -> tuple[str, ...]:
        """The results after this one."""
        return tuple(node.name for node in self.nodes[len(state) + 1 :])

    def choices(self, state: Decided) -> tuple[Choice, ...]:
        """To keep, and to recompute where that is possible and within the budget."""
        if self.over(state):
            return ()
        number = len(state)
        return (
            Choice("keep", f"keep {self.nodes[number].name}", number),
            Choice(
                "recompute",
                f"compute {self.nodes[number].name} again",
                number,
                self._refusal(state),
            ),
        )

    def _refusal(self, state: Decided) -> str:
        number = len(state)
        name, never = self.nodes[number].name, self.never[number]
        if never:
            return f"{name} cannot be computed a second time: {never}"
        again = (*state, True)
        if not self._within(again):
            extra = human_share(self.extra(self.outcome(again).work))
            before = human_share(self.extra(self.outcome(state).work))
            return (
                f"Computing {name} again brings the extra work from {before} to "
                f"{extra}; the budget is {human_share(self.budget)}. Keep it, or go "
                "back and keep something else."
            )
        return ""

    def after(self, state: Decided, key: str) -> Decided:
        """The state with one more decision."""
        return (*state, chosen(self.choices(state), key, self.name).key == "recompute")

    # -- cost --------------------------------------------------------------------------

    def cost(self, state: Decided) -> Cost:
        """The bytes of the plan, and the ns of work of a step."""
        found = self.outcome(state)
        return found.peak, found.work

    def says(self, cost: Cost) -> str:
        """Bytes, and extra work."""
        return f"{human_bytes(cost[0])} at {human_share(self.extra(cost[1]))} more work"

    def numbers(self, state: Decided) -> tuple[tuple[str, str], ...]:
        """Bytes, extra work, and the budget."""
        peak, work = self.cost(state)
        return (
            ("planned", human_bytes(peak)),
            ("more work", human_share(self.extra(work))),
            ("budget", human_share(self.budget)),
        )

    # -- for the search: all decisions within the budget -------------------------------

    def tried(self, state: Decided) -> Iterator[tuple[str, Decided]]:
        """Both, as far as the rules let."""
        for one in self.choices(state):
            if not one.refused:
                yield one.key, (*state, one.key == "recompute")

    def least(self, state: Decided) -> Cost:
        """What it costs at the end; nothing is known before: a plan may do anything."""
        return self.cost(state) if self.over(state) else (0, 0)

    def same(self, state: Decided) -> Hashable:
        """The decisions themselves."""
        return state

    # -- picture -----------------------------------------------------------------------

    def scene(self, state: Decided) -> Scene:
        """A row for each result: from where it is computed to where it is read last."""
        made = self.outcome(state).made
        external = [entry for entry in made.external if entry in made.specs]
        found = numbered(made.graph, made.specs, external)
        spans: dict[str, tuple[int, int]] = {}
        last = {e: n for n, reads in enumerate(found.reads) for e in reads}
        for n, node in enumerate(found.nodes):
            if node.op is not None:
                ends = [last.get(e, n) for e in found.outs[n]]
                spans[node.name] = n, max(ends, default=n)
        sizes = self.sizes
        rows, bars = [], []
        for k, node in enumerate(self.nodes):
            rows.append(Row(node.name, human_bytes(sizes[k]), sizes[k] / max(sizes)))
            for kind, name in ((0, node.name), (1, f"{node.name}_mirror")):
                if name not in spans:
                    continue
                start, end = spans[name]
                asked = k == len(state)
                said = f"{name}: computed at node {start}, read last at node {end}"
                shown = 2 if asked and not kind else kind
                bars.append(
                    Bar(k, start, end + 1, name, said, shown, later=k >= len(state))
                )
        end = len(found.nodes)
        now = end if self.over(state) else spans[self.nodes[len(state)].name][0]
        return Scene(tuple(rows), tuple(bars), end, now, "node")

    # -- the runtime -------------------------------------------------------------------

    def compared(self) -> dict[str, Cost]:
        """What the runtime's own mirror policies cost, whatever their work."""
        if not self._policies:
            graph = self._subject.graph
            self._policies["keep all"] = self.outcome(())
            for name in POLICIES:
                how = Settings(use_fusion=False, backward_do_mirror=True, mirror=name)
                self._policies[name] = self._planned(graph, how)
        return {name: (one.peak, one.work) for name, one in self._policies.items()}

    def ran(self, made: Any) -> Cost:
        """The cost of a symbol that a class with `mark` has marked."""
        net = symbol.load_json(self.net.tojson())
        found = self._planned(made().mark(net).graph)
        return found.peak, found.work

    def policy(self, state: Decided, name: str) -> str:
        """The decisions as remarks of the symbol's nodes, as source text."""
        pairs = list(zip(self.nodes, state, strict=True))
        again = [node.name for node, recomputed in pairs if recomputed]
        kept = [node.name for node, recomputed in pairs if not recomputed]
        return f'''class {name}:
    """{counted(len(again), "result")} computed again: {self.says(self.cost(state))}.

    executor = {name}().mark(net).simple_bind(mx.cpu(), grad_req="write", ...)
    """

    AGAIN = {again!r}
    KEPT = {kept!r}

    def mark(self, net):
        """Write the remarks force_mirroring, and return the symbol."""
        inside = net.get_internals()
        for name in self.AGAIN + self.KEPT:
            inside[name + "_output"]._set_attr(force_mirroring=name in self.AGAIN)
        return net
'''
