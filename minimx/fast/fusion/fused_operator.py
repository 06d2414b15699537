"""The operator that a group of pointwise operators becomes.

`FusedOp` holds the group as a graph of its own, whose variables are its inputs, and the
specs of these. Its kernel is one generated loop; `source` is the text of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from minimx.core.dtypes import DType
from minimx.core.errors import OperatorError, ShapeError
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import every_spec, plan_of
from minimx.core.kernels.half import computing
from minimx.core.ops.registry import GradContext, Kernel, Op, Plan, Value
from minimx.core.ops.spec import Cost, Spec
from minimx.fast.fusion import loop as fused
from minimx.fast.fusion.loop_text import Line, Loop, Operand, write
from minimx.fast.fusion.members import BEFORE, Member, Recipe, described
from minimx.fast.fusion.strides import STILL, Strides, straight, stretched


@dataclass(frozen=True, eq=False)
class FusedOp(Op):
    """Several pointwise operators as one loop.

    graph: the operators; its variables are the inputs, in order. specs: theirs; a fused
    operator runs on no others.
    """

    name: ClassVar[str] = "_FusedOp"
    differentiable: ClassVar[bool] = False

    graph: Graph
    specs: tuple[Spec, ...]
    known: dict[Entry, Spec] = field(init=False, repr=False)
    plans: dict[tuple[Spec, ...], Plan] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        variables = self.graph.variables
        given = dict(zip(variables, self.specs, strict=True))
        object.__setattr__(self, "known", every_spec(self.graph, given))
        object.__setattr__(self, "visible", len(self.graph.outputs))
        object.__setattr__(self, "inplace", self._overlays())

    def _overlays(self) -> dict[str, tuple[str, ...]]:
        """Which inputs each output may be written over.

        The loop reads element i of such an input once, and what it writes there is
        computed from it: so it is read before it is written.
        """
        found: dict[str, tuple[str, ...]] = {}
        needs = self._needs()
        for k, (name, _) in enumerate(self.written.loop.outs):
            spec = self.known[self.graph.outputs[k]]
            fitting = [
                word
                for place, word in enumerate(self.inputs)
                if self.specs[place] is spec and self._straight(place) in needs[name]
            ]
            if fitting:
                found[f"out{k}" if k else "out"] = tuple(fitting)
        return found

    def _straight(self, place: int) -> str | None:
        """What the loop calls an input that it reads once, from end to end."""
        loop, strides, sources = self.written
        every = zip(loop.operands, strides, sources, strict=True)
        found = [(o.name, each) for o, each, s in every if s == place and not o.number]
        if len(found) != 1 or found[0][1] != straight(self.specs[place].size):
            return None
        return found[0][0]

    def _needs(self) -> dict[str, frozenset[str]]:
        """For everything in the loop that has a name: what it is computed from."""
        loop = self.written.loop
        found = {operand.name: frozenset([operand.name]) for operand in loop.operands}
        for line in loop.lines:
            found[line.name] = frozenset().union(*(found[s] for s in line.sources))
        return found

    @cached_property
    def ignores(self) -> tuple[str, ...]:
        """The inputs of which only the shape counts."""
        return tuple(word for k, word in enumerate(self.inputs) if k not in self._read)

    @property
    def _read(self) -> set[int | float]:
        loop, _, sources = self.written
        return {s for s, o in zip(sources, loop.operands, strict=True) if not o.number}

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs have numbers for names."""
        return tuple(f"data{k}" for k in range(len(self.specs)))

    @property
    def settings(self) -> dict[str, Any]:
        """What MXNet writes down of a fused operator."""
        return {"num_inputs": len(self.specs), "num_outputs": self.visible}

    def as_text(self) -> dict[str, str]:
        """The settings in words."""
        return {name: str(value) for name, value in self.settings.items()}

    @property
    def operators(self) -> tuple[Node, ...]:
        """The nodes inside."""
        return tuple(node for node in self.graph if node.op is not None)

    # -- what a sheet answers ---------------------------------------------------------

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The specs of the group's outputs."""
        if specs != self.specs:
            raise ShapeError(
                f"_FusedOp: made for {_listed(self.specs)}, called with "
                f"{_listed(specs)}. Prepare the graph again for these."
            )
        return tuple([self.known[entry] for entry in self.graph.outputs])

    def kernel(self, *specs: Spec) -> Kernel:
        """One loop, compiled at the first call."""
        size = self.infer(*specs)[0].size
        written = self.written
        return fused.launcher(written.loop, written.strides, written.sources, size)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Sequence[Value | None]:
        """Gradients are taken before nodes are fused."""
        raise OperatorError(
            "_FusedOp has no gradient: operators are fused when their gradients are in "
            "the graph already. Differentiate the graph before it is fused."
        )

    def cost(self, *specs: Spec) -> Cost:
        """All operations, but every input read once and every output written once."""
        read = self._read
        moved = sum(spec.nbytes for place, spec in enumerate(specs) if place in read)
        moved += sum(spec.nbytes for spec in self.infer(*specs))
        return Cost(self.unfused.flops, moved)

    @property
    def unfused(self) -> Cost:
        """What the operators would cost one by one."""
        costs = [plan_of(node, self.known).cost for node in self.operators]
        return sum(costs, Cost(0, 0))

    # -- the loop ---------------------------------------------------------------------

    @cached_property
    def written(self) -> Written:
        """The loop, and what it reads where."""
        return _Writing(self.graph, self.known).written()

    @property
    def source(self) -> str:
        """The Python file that numba compiles."""
        return write(self.written.loop)

    def __repr__(self) -> str:
        names = ", ".join(node.name for node in self.operators)
        return f"<fused {names}>"


def _listed(specs: Sequence[Spec]) -> str:
    return ", ".join(map(str, specs))


class Written(NamedTuple):
    """A loop, and for each operand how it is traversed and where it comes from."""

    loop: Loop
    strides: tuple[Strides, ...]
    sources: tuple[int | float, ...]


class _Read(NamedTuple):
    """A value that comes from outside: an input, seen in a shape or with strides."""

    place: int
    spec: Spec
    stride: Strides | None = None


class _Writing:
    """A group on its way to becoming a loop."""

    def __init__(self, graph: Graph, specs: dict[Entry, Spec]) -> None:
        self.graph = graph
        self.specs = specs
        self.operands: dict[Any, tuple[Operand, Strides, int | float]] = {}
        self.lines: list[Line] = []
        #: What each entry is: a name in the loop, or something to read.
        self.values: dict[Entry, str | _Read] = {}

    def written(self) -> Written:
        """The whole loop."""
        for place, node in enumerate(self.graph.variables):
            self.values[Entry(node)] = _Read(place, self.specs[Entry(node)])
        for node in self.graph:
            if node.op is not None:
                self._node(node)
        outs = []
        for entry in self.graph.outputs:
            spec = self.specs[entry]
            outs.append((self._named(self.values[entry], spec), spec.dtype))
        ordered = sorted(self.operands.values(), key=lambda found: found[0].number)
        columns = zip(*ordered, strict=True) if ordered else ((),) * 3
        operands, strides, sources = columns
        return Written(Loop(operands, tuple(self.lines), tuple(outs)), strides, sources)

    def _node(self, node: Node) -> None:
        member = described(node, self.specs)
        assert isinstance(member, Member), member
        for slot, recipes in enumerate(member.recipes):
            entry = Entry(node, slot)
            self.values[entry] = (
                self._lines(node, member.outs[slot], recipes)
                if recipes
                else self._passed(node, member)
            )

    def _passed(self, node: Node, member: Member) -> str | _Read:
        """The first input of a node that changes nothing in it."""
        value = self.values[node.inputs[0]]
        if isinstance(value, str):
            return value
        return _Read(value.place, member.outs[0], member.stride or value.stride)

    def _lines(self, node: Node, out: Spec, recipes: tuple[Recipe, ...]) -> str:
        assert node.op is not None
        name = ""
        for recipe in recipes:
            sources = []
            for place, shape in zip(recipe.takes, recipe.shapes, strict=True):
                if place == BEFORE:
                    sources.append(name)
                    continue
                value = self.values[node.inputs[place]]
                if isinstance(value, _Read) and value.stride is None:
                    value = value._replace(spec=value.spec.with_shape(shape))
                sources.append(self._named(value, out))
            ins = recipe.ins
            if recipe.numbers:
                common = np.result_type(*map(computing, ins))
                sources += [self._number(number, common) for number in recipe.numbers]
                ins += (common,) * len(recipe.numbers)
            name = f"t{len(self.lines)}"
            title = node.op.name
            line = Line(name, recipe.formula, (*sources,), ins, recipe.out, title)
            self.lines.append(line)
        return name

    def _named(self, value: str | _Read, out: Spec) -> str:
        """A value's name in the loop over `out`; read from memory, if need be."""
        if isinstance(value, str):
            return value
        walked = value.stride or stretched(value.spec.shape, out.shape)
        key = (value.place, walked)
        if key not in self.operands:
            step = walked.row_step
            name = self._next("x")
            layout = step if step in (0, 1) else None
            operand = Operand(name, value.spec.dtype, layout)
            self.operands[key] = (operand, walked, value.place)
        return self.operands[key][0].name

    def _number(self, number: float, dtype: DType) -> str:
        """The name of a setting, which is an operand that stands still."""
        key = ("number", float.hex(float(number)), dtype)
        if key not in self.operands:
            operand = Operand(self._next("k"), dtype, 0, True)
            self.operands[key] = (operand, STILL, number)
        return self.operands[key][0].name

    def _next(self, letter: str) -> str:
        names = [operand.name for operand, _, _ in self.operands.values()]
        return f"{letter}{sum(name[0] == letter for name in names)}"
