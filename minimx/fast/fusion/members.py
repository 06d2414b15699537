"""What a node would be inside a fused loop.

    described(node, specs)   a `Member`, or in words why it cannot be one

Pointwise operators are lines of the loop: `Recipe`s, made of the same formulas as their
own kernels. Operators that look at the same memory in another shape are nothing at all.
Slices and stretched arrays are ways to stride through an operand; they may only come
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from minimx.core.dtypes import FLOAT32, NARROW, DType
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.kernels.formula import Formula
from minimx.core.kernels.pointwise import steps_of
from minimx.core.operators.creation import Constant, Full
from minimx.core.operators.nn import Choice
from minimx.core.operators.pointwise import Pointwise
from minimx.core.operators.shape import Slice, SliceAxis, Stretch
from minimx.core.ops.registry import Op
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.fast.fusion.strides import Strides, stretched, strided
from minimx.operators.arrays.mixed import AddN, Cast, Filled, Where, by_rows
from minimx.operators.arrays.precision import AmpCast, AmpMulticast
from minimx.operators.arrays.shape import BroadcastLike, SliceLike

#: Among the sources of a recipe: the line before.
BEFORE = -1


class Recipe(NamedTuple):
    """A line of a loop: a formula of some inputs and numbers.

    takes: which inputs; shapes: the shapes in which they stretch to that of the output.
    """

    formula: Formula
    takes: tuple[int, ...]
    shapes: tuple[Shape, ...]
    ins: tuple[DType, ...]
    out: DType
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True)
class Member:
    """A node as a part of a loop.

    outs: the specs of its outputs; recipes: for each of them the lines that compute it,
    none where an input passes unchanged. stride: how an input-only operator reads it.
    """

    outs: tuple[Spec, ...]
    recipes: tuple[tuple[Recipe, ...], ...]
    stride: Strides | None = None

    @property
    def size(self) -> int:
        """Over how many elements it loops."""
        return self.outs[0].size

    @property
    def idle(self) -> bool:
        """Whether it only looks at the same memory in another shape."""
        return self.stride is None and not any(self.recipes)

    @cached_property
    def strides(self) -> tuple[Strides, ...]:
        """How it goes through what is read from outside."""
        if self.stride is not None:
            return (self.stride,)
        return tuple(
            stretched(shape, spec.shape)
            for spec, lines in zip(self.outs, self.recipes, strict=True)
            for line in lines
            for shape in line.shapes
        )


def described(node: Node, specs: Specs) -> Member | str:
    """What a node is in a loop, or why it cannot be in one."""
    op = node.op
    if op is None:
        return "it is a variable"
    ins = [specs.get(entry) for entry in node.inputs]
    outs = [specs.get(Entry(node, slot)) for slot in range(op.visible)]
    known = [spec for spec in (*ins, *outs) if spec is not None]
    if len(known) < len(ins) + len(outs) or any(spec.eager for spec in known):
        return "its arrays are not known ahead as blocks of numbers"
    rule = _rule(op)
    if rule is None:
        return f"{op.name} is no pointwise operator"
    if any(spec.size != known[len(ins)].size for spec in outs if spec is not None):
        return "its outputs are not of one size"
    if "__alone__" in node.attrs:
        return "it adds gradients as they come, so that they need not all be there"
    if known[len(ins)].size == 0:
        return "it is empty"
    return rule(op, known[: len(ins)], known[len(ins) :])


Rule = Callable[[Any, list[Spec], list[Spec]], Member | str]


def _rule(op: Op) -> Rule | None:
    if op.is_view:
        return _view
    if isinstance(op, Pointwise) and type(op).kernel is not Pointwise.kernel:
        return None
    return next((rule for kind, rule in _RULES if isinstance(op, kind)), None)


# -- lines -----------------------------------------------------------------------------


def _one(ins: Sequence[Spec], out: Spec, formula: Formula, *numbers: float) -> Member:
    """A member that is one line of all its inputs."""
    line = Recipe(
        formula,
        tuple(range(len(ins))),
        tuple(spec.shape for spec in ins),
        tuple(spec.dtype for spec in ins),
        out.dtype,
        numbers,
    )
    return Member((out,), ((line,),))


def _pointwise(op: Pointwise, ins: list[Spec], outs: list[Spec]) -> Member | str:
    return _one(ins, outs[0], op.formula, *op.constants)


def _choice(op: Choice, ins: list[Spec], outs: list[Spec]) -> Member | str:
    if op.act_type in ("prelu", "rrelu"):
        return f"{op.act_type} has a kernel of its own"
    chosen = op.chosen()
    rule = _rule(chosen)
    if rule is None:
        return f"{chosen.name} is no pointwise operator"
    return rule(chosen, ins, outs)


def _where(op: Where, ins: list[Spec], outs: list[Spec]) -> Member | str:
    condition, *others = ins
    wide = condition.with_shape(by_rows(condition.shape, outs[0].shape))
    return _one([wide, *others], outs[0], op.formula)


def _filled(op: Filled, ins: list[Spec], outs: list[Spec]) -> Member | str:
    return _constant(outs[0], op.value)


def _created(op: Constant, ins: list[Spec], outs: list[Spec]) -> Member | str:
    if isinstance(op, Full):
        return "_full is no pointwise operator"
    return _constant(outs[0], int(op.name == "_ones"))


def _constant(out: Spec, value: int) -> Member:
    line = Recipe(Formula(str(value), ()), (), (), (), out.dtype)
    return Member((out,), ((line,),))


def _sum(op: AddN, ins: list[Spec], outs: list[Spec]) -> Member | str:
    """As many at once as the kernel of add_n takes, then further ones on top."""
    (out,) = outs
    lines: list[Recipe] = []
    todo = list(range(len(ins)))
    while todo:
        free = op.AT_ONCE - bool(lines)
        takes = (*[BEFORE] * bool(lines), *todo[:free])
        names = tuple("abcdefg"[: len(takes)])
        formula = Formula(" + ".join(names), names)
        count = len(takes)
        kinds = (out.dtype,) * count
        lines.append(Recipe(formula, takes, (out.shape,) * count, kinds, out.dtype))
        todo = todo[free:]
    return Member((out,), (tuple(lines),))


# -- conversions -----------------------------------------------------------------------

_SAME, _TRUTH = Formula("x", ("x",)), Formula("x != 0", ("x",))


def _cast(op: Op, ins: list[Spec], outs: list[Spec]) -> Member | str:
    """Every output converts one input."""
    lines = []
    for k, (spec, out) in enumerate(zip(ins, outs, strict=True)):
        if not _converts(spec.dtype, out.dtype):
            return f"{spec.dtype.name} to {out.dtype.name} is NumPy's to convert"
        formula = _TRUTH if out.dtype.kind == "b" else _SAME
        lines.append((Recipe(formula, (k,), (spec.shape,), (spec.dtype,), out.dtype),))
    return Member(tuple(outs), tuple(lines))


def _converts(old: DType, new: DType) -> bool:
    """Whether a loop rounds as the kernel of the cast does: once."""
    if old == new or not NARROW & {old, new}:
        return True
    return new == FLOAT32 if old in NARROW else old == FLOAT32


# -- ways to look ----------------------------------------------------------------------


def _view(op: Op, ins: list[Spec], outs: list[Spec]) -> Member | str:
    return Member(tuple(outs), ((),))


def _slice(op: Any, ins: list[Spec], outs: list[Spec]) -> Member | str:
    if isinstance(op, Slice) and op.step not in ((), None):
        return "only slices without a step are fused"
    shape = ins[0].shape
    steps = steps_of(shape, len(shape))
    first = sum(
        start * step for (start, _, _), step in zip(op.key(*ins), steps, strict=True)
    )
    return Member(tuple(outs), ((),), strided(outs[0].shape, steps, first))


def _stretch(op: Stretch, ins: list[Spec], outs: list[Spec]) -> Member | str:
    return Member(tuple(outs), ((),), stretched(ins[0].shape, outs[0].shape))


_RULES: tuple[tuple[Any, Rule], ...] = (
    (Pointwise, _pointwise),
    (Choice, _choice),
    (Where, _where),
    (Filled, _filled),
    (Constant, _created),
    (AddN, _sum),
    ((Cast, AmpCast, AmpMulticast), _cast),
    ((Slice, SliceAxis, SliceLike), _slice),
    (BroadcastLike, _stretch),
)
