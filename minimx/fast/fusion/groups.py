"""Neighbouring pointwise operators become one operator with one loop.

Three operators one after the other read and write memory three times each; one loop
reads once and writes once. Which nodes join is decided in one pass from inputs to
outputs, as in MXNet:

    A node that can be a member looks at the groups of its inputs. It joins the first
    that takes it, and further ones that take it are merged into that one. If there is
    none, it starts a group.

    A group takes no node that depends on it by a detour, for then the detour would wait
    for the group and the group for the detour. So each node carries the groups that it
    must not join: those its inputs carry, and those it looks at from outside.

    Forward and backward nodes do not mix, nor do nodes of different places.

    Slices and stretched arrays start a group, and join none.

Our loops ask for more than MXNet's: all members have one number of elements, nothing
inside a group is stretched, and the rows of all operands fit into one grid. Views at
the border of a group stay outside, where they cost nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from minimx.core.errors import OperatorError
from minimx.core.graph.passes.report import Change, Passed
from minimx.core.graph.values.ir import Entry, Graph, Node, outputs_of
from minimx.core.graph.values.specs import Specs
from minimx.fast.fusion.fused_operator import FusedOp
from minimx.fast.fusion.members import Member, described
from minimx.fast.fusion.strides import Strides, together


def fuse(
    graph: Graph, specs: Specs, forward: Collection[Node] | None = None, least: int = 0
) -> Passed:
    """The graph with groups of pointwise operators as one node each.

    specs: those of all entries. forward: the nodes of the forward half, where the graph
    has a backward one. least: loops over fewer elements are not worth a kernel of their
    own. Results are equal to the bit.
    """
    members = {node: described(node, specs) for node in graph}
    grouping = _Grouping(graph, members, forward)
    changes: list[Change] = []
    groups = []
    for group in grouping.groups():
        nodes = _trimmed(graph, group, members)
        reason = _too_little(nodes, members, least)
        if reason is None:
            groups.append(nodes)
        elif len(group) > 1:
            names = tuple(node.name for node in group)
            changes.append(Change("dissolved", names, reason))
    if not groups:
        return Passed("fuse", graph, graph, (*grouping.changes, *changes))
    contracted = Contraction(graph, specs, groups)
    after = contracted.graph()
    fused = [contracted.change(nodes) for nodes in groups]
    return Passed(
        "fuse", graph, after, (*fused, *grouping.changes, *changes), contracted.made
    )


def _too_little(
    nodes: Sequence[Node], members: dict[Node, Member | str], least: int
) -> str | None:
    """Why a group is not worth a loop of its own."""
    working = [members[node] for node in nodes]
    sizes = [m.size for m in working if isinstance(m, Member) and not m.idle]
    if len(sizes) < 2:
        return "fewer than two of them compute anything"
    if sizes[0] < least:
        return f"{sizes[0]} elements are fewer than {least}"
    return None


# -- who joins whom --------------------------------------------------------------------


@dataclass(eq=False)
class _Group:
    """Nodes that will be one, and what must hold of further ones.

    bit: itself and all that were merged into it. barred: the groups that none of it
    may join. side: forward or backward, and the place.
    """

    bit: int
    first: int
    size: int
    side: object
    cuts: tuple[Strides, ...] = ()
    barred: int = 0
    nodes: list[Node] = field(default_factory=list)


class _Grouping:
    """The pass from inputs to outputs."""

    def __init__(
        self,
        graph: Graph,
        members: dict[Node, Member | str],
        forward: Collection[Node] | None,
    ) -> None:
        self.nodes = graph.nodes
        self.members = members
        self.forward = forward
        self.changes: list[Change] = []
        self.place = {node: k for k, node in enumerate(self.nodes)}
        self.owner: dict[Node, _Group] = {}
        #: For each node, as bits, the groups that what follows it must not join.
        self.barred = [0] * len(self.nodes)
        self.count = 0
        for k, node in enumerate(self.nodes):
            for entry in node.inputs:
                self.barred[k] |= self.barred[self.place[entry.node]]
            self._settle(k, node)

    def groups(self) -> Iterator[list[Node]]:
        """All groups, in the order of their first nodes."""
        seen: set[_Group] = set()
        for node in self.nodes:
            group = self.owner.get(node)
            if group is not None and group not in seen:
                seen.add(group)
                yield sorted(group.nodes, key=self.place.__getitem__)

    def _settle(self, k: int, node: Node) -> None:
        """Find or make the group of a node."""
        member = self.members[node]
        around = [self.owner[e.node] for e in node.inputs if e.node in self.owner]
        taken: list[_Group] = []
        if isinstance(member, Member) and member.stride is None:
            taken = self._taking(k, node, member, list(dict.fromkeys(around)))
        for group in around:
            if group not in taken:
                self.barred[k] |= group.bit
        if not isinstance(member, Member) or together(member.strides) is None:
            return
        if not taken:
            side = self._side(node)
            taken = [_Group(1 << self.count, k, member.size, side)]
            taken[0].barred = self.barred[k]
            self.count += 1
        self._join(k, node, member, taken)

    def _taking(
        self, k: int, node: Node, member: Member, around: list[_Group]
    ) -> list[_Group]:
        """Those of the groups around a node that take it, all of them together."""
        taken: list[_Group] = []
        strides = list(member.strides)
        for group in around:
            reason = self._refused(k, node, member, group)
            if reason is None and together([*strides, *group.cuts]) is None:
                reason = "their rows fit into no common grid"
            if reason is None:
                taken.append(group)
                strides += group.cuts
            elif reason:
                names = (node.name, group.nodes[-1].name)
                self.changes.append(Change("apart", names, reason))
        return taken

    def _refused(self, k: int, node: Node, member: Member, group: _Group) -> str | None:
        """Why a group does not take a node; "" where that is no news."""
        if self._side(node) != group.side:
            return "groups do not cross from forward to backward, or between places"
        if self.barred[k] & group.bit:
            return f"a detour outside leads from {group.nodes[0].name} to {node.name}"
        if member.size != group.size:
            return f"it loops over {member.size} elements, the group over {group.size}"
        return None

    def _side(self, node: Node) -> object:
        place = node.attrs.get("ctx_group", node.attrs.get("__ctx_group__"))
        return self.forward is None or node in self.forward, place

    def _join(self, k: int, node: Node, member: Member, taken: list[_Group]) -> None:
        """Enter a node in the first group, and merge the others into that."""
        into, *others = taken
        for other in others:
            into.bit |= other.bit
            into.first = min(into.first, other.first)
            into.cuts += other.cuts
            into.nodes += other.nodes
            for moved in other.nodes:
                self.owner[moved] = into
        into.cuts += member.strides
        into.nodes.append(node)
        self.owner[node] = into
        barred = self.barred[k]
        for other in taken:
            barred |= other.barred
        if barred & ~into.barred or others:
            self._bar(into, barred, k)
        self.barred[k] |= into.barred

    def _bar(self, group: _Group, barred: int, upto: int) -> None:
        """A group waits for more than before; so does all that waits for the group."""
        group.barred = barred
        for k in range(group.first, upto):
            inside = self.owner.get(self.nodes[k]) is group
            if inside or self.barred[k] & group.bit:
                self.barred[k] |= barred


def _trimmed(
    graph: Graph, nodes: list[Node], members: dict[Node, Member | str]
) -> list[Node]:
    """A group without the views at its border: there they cost nothing."""
    users: dict[Node, list[Node]] = {node: [] for node in nodes}
    inside = set(nodes)
    views = {n for n in nodes if isinstance(m := members[n], Member) and m.idle}
    if not views:
        return nodes
    for node in nodes:
        for entry in node.inputs:
            if entry.node in users:
                users[entry.node].append(node)
    todo = list(views)
    while todo:
        node = todo.pop()
        first = node.inputs[0].node not in inside
        last = not any(user in inside for user in users[node])
        if node in inside and (first or last):
            inside.discard(node)
            todo += [n for n in (node.inputs[0].node, *users[node]) if n in views]
    return [node for node in nodes if node in inside]


# -- the new graph ---------------------------------------------------------------------


class Contraction:
    """A graph whose groups are one node each."""

    def __init__(
        self,
        graph: Graph,
        specs: Specs,
        groups: Sequence[Sequence[Node]],
        kind: type[FusedOp] = FusedOp,
    ) -> None:
        self.before = graph
        self.kind = kind
        self.specs = specs
        self.group = {node: nodes for nodes in groups for node in nodes}
        #: Where each node's outputs are found in the new graph.
        self.made: dict[Node, Sequence[Entry]] = {}
        self.order: list[Node] = []
        self.names: dict[str, int] = {}
        #: What nodes outside its group need.
        self.wanted = set(graph.outputs)
        for node in graph:
            mine = self.group.get(node)
            self.wanted |= {
                e for e in node.inputs if self.group.get(e.node) is not mine
            }

    def graph(self) -> Graph:
        """The new graph, in the old order; a group runs where its last node ran."""
        for node in self.before.nodes:
            if node is self.group.get(node, (node,))[-1]:
                self._make_after_its_inputs(node)
        outputs = [self._moved(entry) for entry in self.before.outputs]
        return Graph(outputs, self.order if self.before.order else ())

    def _make_after_its_inputs(self, last: Node) -> None:
        todo, waiting = [last], set[int]()
        while todo:
            node = todo[-1]
            if node in self.made:
                todo.pop()
                continue
            unit = self.group.get(node, (node,))
            missing = [e.node for e in _outside(unit) if e.node not in self.made]
            if not missing:
                self._make(node, unit)
            elif node in self.group and id(unit) in waiting:
                raise OperatorError(
                    f"the group around {node.name} waits for itself: its "
                    "operators were put together wrongly."
                )
            else:
                waiting.add(id(unit))
                todo += reversed(missing)

    def change(self, nodes: Sequence[Node]) -> Change:
        """What is reported of a group."""
        fused = self.node(nodes)
        assert isinstance(fused.op, FusedOp)
        before, after = fused.op.unfused, fused.op.cost(*fused.op.specs)
        reason = (
            f"one loop moves {after.bytes_moved} bytes, the {len(nodes)} operators "
            f"moved {before.bytes_moved}"
        )
        return Change("fused", (fused.name, *(node.name for node in nodes)), reason)

    def node(self, nodes: Sequence[Node]) -> Node:
        """What a group became."""
        return next(self.made[n][0].node for n in nodes if n in self.made)

    def _moved(self, entry: Entry) -> Entry:
        return self.made[entry.node][entry.slot]

    def _make(self, node: Node, unit: Sequence[Node]) -> None:
        if node in self.group:
            self._make_fused(unit)
            return
        inputs = tuple(map(self._moved, node.inputs))
        kept = node if inputs == node.inputs else node.with_inputs(inputs)
        self.made[node] = outputs_of(kept)
        self.order.append(kept)

    def _make_fused(self, nodes: Sequence[Node]) -> None:
        """A group as a node, whose operator has a copy of the group inside."""
        inside = set(nodes)
        outer = dict.fromkeys(
            e for n in nodes for e in n.inputs if e.node not in inside
        )
        made = {e: Entry(Node(None, (), f"input_{k}")) for k, e in enumerate(outer)}
        feeds = {inner.node: entry for entry, inner in made.items()}
        for node in nodes:
            copy = node.with_inputs([made[entry] for entry in node.inputs])
            for slot in range(node.visible):
                made[Entry(node, slot)] = Entry(copy, slot)
        outputs = [
            Entry(node, slot)
            for node in nodes
            if any(Entry(node, slot) in self.wanted for slot in range(node.visible))
            for slot in range(node.visible)
        ]
        graph = Graph([made[entry] for entry in outputs])
        ins = [feeds[variable] for variable in graph.variables]
        op = self.kind(graph, tuple([self.specs[entry] for entry in ins]))
        last = nodes[-1]
        places = {name: last.attrs[name] for name in _PLACES if name in last.attrs}
        fused = Node(
            op,
            [self._moved(entry) for entry in ins],
            self._named(nodes),
            places,
            layer=last.layer,
            forward=last.forward,
        )
        self.order.append(fused)
        for place, entry in enumerate(outputs):
            found = self.made.setdefault(entry.node, [])
            assert isinstance(found, list)
            found.append(Entry(fused, place))

    def _named(self, nodes: Sequence[Node]) -> str:
        """The names of the operators, as in MXNet; with a number from the second on."""
        word = "_".join(node.op.name for node in nodes if node.op is not None)
        if self.kind is not FusedOp:
            word = self.kind.name.strip("_")
        count = self.names[word] = self.names.get(word, -1) + 1
        return f"{word}_{count}" if count else word


#: Remarks that say where a node runs.
_PLACES = ("ctx_group", "__ctx_group__")


def _outside(nodes: Sequence[Node]) -> list[Entry]:
    """What these nodes need of others."""
    inside = set(nodes)
    return [e for node in nodes for e in node.inputs if e.node not in inside]
