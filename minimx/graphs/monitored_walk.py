"""What a walk over the tape computes, shown to a monitor, step by step.

    calls = Calls()
    calls.note(node, inputs, outs)         # for each call of the forward pass
    walk_back(heads, grads, MonitoredWalk(calls, steps, [0], callback, kept, like))

The walk itself is that of the tape, and the gradients are those without a monitor, to
the bit. `MonitoredWalk` takes down what each call hands to its inputs, and tells it as
soon as the turn of its step has come (`backward_steps.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.autograd import tape
from minimx.core.autograd.tape import Leaf
from minimx.core.autograd.walk import Pending
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.ops.registry import bind, lookup
from minimx.core.ops.spec import Spec
from minimx.graphs.backward_steps import Step

# When everything may be shown: before the first call.
_END = -2


class Calls:
    """Which calls on the tape belong to which node of a graph.

    An operator may be several calls (it may be computed with others, and inputs may be
    copied to its device first); they follow each other.

    turn: when each node was run. inputs: for each turn, where the inputs come from, and
    what they look like. place_of: where entries of the graph are on the tape.
    """

    def __init__(self) -> None:
        self.turn: dict[Node, int] = {}
        self.inputs: list[list[tuple[tape.TapeEntry | None, Spec]]] = []
        self.place_of: dict[Entry, tape.TapeEntry] = {}
        self._last: list[int] = []

    def note(
        self, node: Node, inputs: Sequence[NDArray], outs: Sequence[NDArray]
    ) -> None:
        """A node was run. inputs: as they were before they were copied anywhere."""
        made = [(Entry(node, slot), out) for slot, out in enumerate(outs)]
        for entry, value in [*zip(node.inputs, inputs, strict=True), *made]:
            if value._entry is not None:
                self.place_of[entry] = value._entry
        numbers = [x._entry[0].number for x in outs if x._entry is not None]
        self.turn[node] = len(self.inputs)
        self.inputs.append([(x._entry, x.spec) for x in inputs])
        self._last.append(max([0, *self._last[-1:], *numbers]))

    def turn_of(self, call: tape.TapeNode) -> int:
        """The turn of the node that a call belongs to."""
        return bisect_left(self._last, call.number)


class MonitoredWalk(Pending):
    """A walk that a monitor sees.

    heads: the numbers of the outputs that the walk begins at. kept: the arrays to which
    the gradients of variables will be added; as in MXNet the sum is shown. like: an
    array of the kind that gradients are.

    A gradient that was not asked for is not computed, and shown as zeros.
    """

    def __init__(
        self,
        calls: Calls,
        steps: Sequence[Step],
        heads: Sequence[int],
        callback: Callable[[str, NDArray], None],
        kept: Mapping[Node, NDArray],
        like: NDArray,
    ) -> None:
        # Nothing is written into an array of gradients before it is shown.
        super().__init__(retain=True)
        self._calls, self._callback, self._kept = calls, callback, kept
        self._steps, self._starts = [*reversed(steps)], [*reversed(heads)]
        self._like = like
        self._latest = {step.about: step for step in steps}
        self._at = len(calls.inputs)
        # What outputs begin with, what turns sent to whom, and what met where.
        self._heads: dict[int, Any] = {}
        self._sent: dict[int, list[tuple[tape.TapeEntry, Any]]] = {}
        self._met: dict[tape.TapeEntry, list[Any]] = {}

    def add(self, entry: tape.TapeEntry, gradient: Any) -> None:
        """Take down who sends what to whom."""
        super().add(entry, gradient)
        if self._starts:
            self._heads[self._starts.pop()] = self._sum([gradient], _spec(entry))
        else:
            self._sent.setdefault(self._at, []).append((entry, gradient))

    def taken(self, node: tape.TapeNode) -> tuple[tape.TapeNode, list[Any]]:
        """Tell what has been computed until now."""
        self._tell(self._calls.turn_of(node))
        for index, values in enumerate(self.arrived[node]):
            if len(values) > 1:
                self._met[node, index] = values
        return super().taken(node)

    def leaves(self) -> dict[Leaf, Any]:
        """Tell the rest."""
        self._met |= {
            (leaf, 0): lists[0]
            for leaf, lists in self.arrived.items()
            if isinstance(leaf, Leaf)
        }
        self._tell(_END)
        return super().leaves()

    def _tell(self, turn: int) -> None:
        """All steps whose turn has come, now that the walk goes on to another one."""
        self._at = turn
        while self._steps and self._turn(self._steps[-1]) > turn:
            step = self._steps.pop()
            pairs = zip(step.names, self._values(step), strict=True)
            for k, (name, value) in enumerate(pairs):
                kept = self._kept.get(step.ends[k]) if k in step.ends else None
                if kept is not None:
                    value = kept + value.as_in_context(kept.context)
                self._callback(name, value._alias())
            if step.kind == "rule" and self._latest[step.about] is step:
                self._sent.pop(self._turn(step), None)

    def _turn(self, step: Step) -> int:
        """The turn that a step belongs to; variables come before all others."""
        if step.kind == "head":
            return len(self._calls.inputs)
        node = step.about if step.kind == "rule" else step.about.node
        return self._calls.turn.get(node, -1)

    def _values(self, step: Step) -> list[Any]:
        """What a step gives, for each of its names."""
        if not step.names:
            return []
        if step.kind == "rule":
            turn = self._turn(step)
            return [self._sent_to(place, turn) for place in step.places]
        if step.kind == "head":
            return [self._heads[step.about]]
        place = self._calls.place_of[step.about]
        return [self._sum(self._met.get(place, ())[: step.upto], _spec(place))]

    def _sent_to(self, place: int, turn: int) -> Any:
        """What the node of a turn gave for one of its inputs."""
        inputs = self._calls.inputs[turn]
        entry, spec = inputs[place]
        if entry is None:
            return self._sum((), spec)
        values = [value for to, value in self._sent.get(turn, ()) if to == entry]
        # The same array may be given twice; of each call, gradients come in order.
        same = [k for k, (other, _) in enumerate(inputs) if other == entry]
        return self._sum(values[same.index(place) :: len(same)], spec)

    def _sum(self, values: Sequence[Any], spec: Spec) -> Any:
        """The sum of gradients, None being zeros."""
        there = [value for value in values if value is not None]
        if not there:
            return self._like._zeros_like_spec(spec)
        return there[0] if len(there) == 1 else bind(lookup("add_n").of(), *there)


def _spec(place: tape.TapeEntry) -> Spec:
    """What the value at a place on the tape looks like."""
    node, index = place
    return node.grad.spec if isinstance(node, Leaf) else node.outs[index]
