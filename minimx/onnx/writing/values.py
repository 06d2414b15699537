"""What a translation computes with: values of ONNX, and the call that it translates.

    @translates("_contrib_div_sqrt_dim")
    def _div_sqrt_dim(at, x):                   # at: the call; x: its input
        return x / math.sqrt(at.length(0, -1))  # a node Div

    at("Softmax", x, axis=1)                    a node of any kind
    at.op.axis                                  a setting of the operator
    at.shape(0), at.array(1)                    the shape of an input; its numbers

Numbers become constants of the type of the values that they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core.dtypes import INT64, DType
from minimx.core.errors import OperatorError
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.ops.registry import Op
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Open, normalize_axis

if TYPE_CHECKING:
    from minimx.onnx.writing.graph import Writer

BOOL = np.dtype(np.bool_)
#: {operator: its translation, (call, *inputs) -> value or list of values}.
TRANSLATIONS: dict[str, Callable[..., Any]] = {}


def translates(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a translation for the operators of these names."""

    def enter(translation: Callable[..., Any]) -> Callable[..., Any]:
        TRANSLATIONS.update(dict.fromkeys(names, translation))
        return translation

    return enter


def _node(kind: str, swapped: bool = False, gives: DType | None = None) -> Any:
    """A method that makes a node of two inputs."""

    def method(self: Value, other: Any) -> Any:
        pair = [
            self.at.as_number(v) for v in ((other, self) if swapped else (self, other))
        ]
        return self.at(kind, *pair, dtype=gives)

    return method


class Value:
    """A value of ONNX: what an input, a constant or a node gives; see `Call`."""

    __slots__ = ("_name", "at", "dtype")

    def __init__(self, at: Call, name: str | Entry, dtype: DType) -> None:
        self.at = at
        self._name = name
        self.dtype = dtype

    @property
    def name(self) -> str:
        """What it is called; an array is written to the file where this is asked."""
        if isinstance(self._name, Entry):
            self._name = self.at.writer.name_of(self._name)
        return self._name

    __add__, __radd__ = _node("Add"), _node("Add", swapped=True)
    __sub__, __rsub__ = _node("Sub"), _node("Sub", swapped=True)
    __mul__, __rmul__ = _node("Mul"), _node("Mul", swapped=True)
    __truediv__, __rtruediv__ = _node("Div"), _node("Div", swapped=True)
    __gt__, __lt__ = _node("Greater", gives=BOOL), _node("Less", gives=BOOL)
    __ge__ = _node("GreaterOrEqual", gives=BOOL)
    __le__ = _node("LessOrEqual", gives=BOOL)
    __eq__ = _node("Equal", gives=BOOL)
    __hash__ = None  # type: ignore[assignment]

    def __ne__(self, other: Any) -> Any:
        return self.at("Not", self == other)

    def __neg__(self) -> Any:
        return self.at("Neg", self)


class Call:
    """One node of the graph, while it is translated.

    op: with its settings. inputs: a value for each of its inputs. out: the shape of the
    first output, as far as it is known.
    """

    def __init__(self, writer: Writer, node: Node, op: Op) -> None:
        self.writer, self.node, self.op = writer, node, op
        self.inputs = [Value(self, e, writer.dtype(e)) for e in node.inputs]
        self.out: Open = writer.open.shapes.get(Entry(node))

    # -- what is known ----------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The element type of the first output."""
        return self.writer.dtype(Entry(self.node))

    def shape(self, k: int = 0) -> Open:
        """The shape of an input: None for axes that stay open, or for all of it."""
        return self.writer.open.shapes.get(self.node.inputs[k])

    def ndim(self, k: int = 0) -> int:
        """How many axes an input has."""
        return len(self.writer.static.shapes[self.node.inputs[k]] or ())

    def axis(self, axis: int, k: int = 0) -> int:
        """An axis of an input, counted from the front."""
        return normalize_axis(self.op.name, axis, self.ndim(k))

    def length(self, k: int, axis: int) -> int:
        """The length of an axis of an input; refuses one that stays open."""
        shape = self.shape(k)
        found = None if shape is None else shape[axis]
        if found is None:
            raise self.refused(
                f"needs the length of axis {axis}, which is open here. Fix it in "
                "dynamic_input_shapes, or export with dynamic=False"
            )
        return found

    def array(self, k: int) -> Any:
        """The numbers of an input that is known, else None."""
        found = self.writer.constants.get(self.node.inputs[k])
        return None if found is None else found.asnumpy()

    def refused(self, why: str) -> OperatorError:
        """The error for what the translation cannot say. why: 'needs …'."""
        return OperatorError(
            f"export_model: the node {self.node.name!r} ({self.op.name}) {why}."
        )

    # -- nodes and constants ----------------------------------------------------------

    def __call__(
        self,
        kind: str,
        *inputs: Any,
        dtype: DType | None = None,
        outputs: int = 0,
        **attributes: Any,
    ) -> Any:
        """What a new node gives: a value, or a list of so many `outputs`.

        inputs: values, numbers, or None for one that is left out. dtype: the element
        type of what comes out; that of the first input without it. attributes: those of
        None are left out.
        """
        first = next(v.dtype for v in inputs if isinstance(v, Value))
        names = ["" if v is None else self.as_value(v, first).name for v in inputs]
        kept = {word: v for word, v in attributes.items() if v is not None}
        made = self.writer.add(self.node.name, kind, names, max(outputs, 1), kept)
        values = [Value(self, name, dtype or first) for name in made]
        return values if outputs else values[0]

    def as_value(self, value: Any, dtype: DType) -> Value:
        """A value as it is, a number as a constant of a type, cut off for integers."""
        if isinstance(value, Value):
            return value
        return self.constant(np.asarray(value).astype(dtype))

    def as_number(self, value: Any) -> Any:
        """What a comparison gave, as 1 or 0 in the type of the first input."""
        if isinstance(value, Value) and value.dtype == BOOL != self.inputs[0].dtype:
            return self.cast(value, self.inputs[0].dtype)
        return value

    def constant(self, array: Any) -> Value:
        """An array that is written to the file."""
        found = np.asarray(array)
        return Value(self, self.writer.constant(self.node.name, found), found.dtype)

    def whole(self, *numbers: int) -> Value:
        """Whole numbers as a vector, such as the axes of Squeeze."""
        return self.constant(np.array(numbers, np.int64))

    def cast(self, value: Value, dtype: DType) -> Any:
        """A value in another element type; itself if it has that."""
        if value.dtype == dtype:
            return value
        kind = self.writer.kind_of(dtype)
        made: Value = self("Cast", value, dtype=dtype, to=kind)
        return made

    # -- what many translations need --------------------------------------------------

    def indices(self, value: Value, length: int, mode: str = "clip") -> Any:
        """Places on an axis of a length, as ONNX wants them: whole and inside."""
        found = self.cast(value, INT64)
        if mode == "clip":
            return self("Clip", found, 0, length - 1)
        if mode == "wrap":
            return self("Mod", found, length)
        return found

    def reshaped(self, value: Value, old: Open, new: Open) -> Any:
        """A value in another shape, of which axes may be open.

        old: that of the first input, if the value has the same first axes. new: that
        of the output. One open axis is what is left; those before it must be kept.
        """
        if new is None:
            raise self.refused("needs a shape that is not known here")
        codes = [-1 if n is None else n for n in new]
        kept = self._kept() if old is not None and codes.count(-1) > 1 else 0
        for place in range(kept):
            if codes[place] == -1 and codes.count(-1) > 1:
                codes[place] = 0
        if codes.count(-1) > 1 or 0 in new:
            raise self.refused(
                f"has a result of shape {new}, of which ONNX cannot be told all axes. "
                "Fix some in dynamic_input_shapes, or export with dynamic=False"
            )
        return self("Reshape", value, self.whole(*codes))

    def _kept(self) -> int:
        """How many of the first axes the output has from the first input."""
        given = self.longer(1000)
        made = self.op.infer(*given)
        out = made[0] if isinstance(made, tuple) else made
        pairs = zip(given[0].shape, out.shape, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def longer(self, times: int) -> list[Spec]:
        """The specs of the inputs with open axes longer, each by another factor."""
        found = []
        for k, entry in enumerate(self.node.inputs):
            shape, now = self.shape(k), self.writer.static.shapes[entry] or ()
            lengths = [
                times * (axis + 2) * (n or 1)
                if shape is None or shape[axis] is None
                else n or 0
                for axis, n in enumerate(now)
            ]
            found.append(Spec.of(tuple(lengths), self.writer.dtype(entry)))
        return found

    def transposed(self, value: Value, order: Sequence[int]) -> Any:
        """A value with its axes in another order."""
        if list(order) == sorted(order):
            return value
        return self("Transpose", value, perm=list(order))

    def hidden(self, value: Value, lengths: Value, axis: int, fill: float) -> Any:
        """A value with a number in place of what lies beyond the length of its row.

        lengths: of a shape that stretches to that of the value; axis: from the front.
        """
        shape = [-1 if k == axis else 1 for k in range(self.ndim())]
        steps = np.arange(self.length(0, axis)).reshape(shape)
        kept = self.constant(steps.astype(np.int64)) < self.cast(lengths, INT64)
        return self.chosen(kept, value, fill)

    def chosen(self, condition: Value, yes: Any, no: Any) -> Any:
        """Elements of one value or another, or numbers; one must be a value."""
        dtype = yes.dtype if isinstance(yes, Value) else no.dtype
        pair = self.as_value(yes, dtype), self.as_value(no, dtype)
        mask = self.cast(condition, BOOL)
        return self("Where", mask, *pair, dtype=dtype)
