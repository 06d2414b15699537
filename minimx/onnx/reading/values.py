"""What reads the nodes of ONNX: symbols, arrays that are known, and the node itself.

    @reads("Gemm")
    def _gemm(at, a, b, c=None):            # at: the node; a, b, c: what goes in
        return at.use("dot", a, b)          # a node of the graph; of arrays, an array

    at.get("alpha", 1.0)                    an attribute
    at.numbers(1), at.shape(0)              an input that must be known; a shape

An operator on arrays that are all known is computed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minimx import nd
from minimx.core.arrays.array import NDArray
from minimx.core.device import cpu
from minimx.core.errors import DTypeError, OperatorError
from minimx.core.np_semantics import is_np_shape
from minimx.core.ops.registry import bind, lookup
from minimx.core.shapes import Open
from minimx.symbol.symbol import Symbol, placed, single

if TYPE_CHECKING:
    from minimx.onnx.reading.graph import Reader


class Known(NamedTuple):
    """An array that the file holds, or that follows from those; shape: in ONNX."""

    name: str
    array: NDArray
    shape: tuple[int, ...]


class ShapeOf(NamedTuple):
    """The shape of a value, as a vector; of its axes some are open."""

    value: Any


def as_array(name: str, array: Any) -> NDArray:
    """An array of minimx with the numbers of NumPy's; of no axes, it gets one."""
    try:
        return nd.array(np.atleast_1d(array), ctx=cpu(), dtype=array.dtype)
    except DTypeError as reason:
        raise DTypeError(f"import_model: the array {name!r}: {reason}") from None


#: The most elements of a constant that is computed while a file is read.
MOST = 1 << 28

#: {kind of node: what reads it, (node, *inputs) -> value or list of values}.
READERS: dict[str, Callable[..., Any]] = {}


def reads(*kinds: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter what reads the nodes of these kinds."""

    def enter(reader: Callable[..., Any]) -> Callable[..., Any]:
        READERS.update(dict.fromkeys(kinds, reader))
        return reader

    return enter


class Read:
    """One node of ONNX, while it is read.

    attributes: {name: number, text, list or array}. names: of its inputs; "" for one
    that is left out. out: the shape of its first output, as far as it is known.
    """

    def __init__(self, reader: Reader, proto: Any, attributes: dict[str, Any]) -> None:
        self.reader, self.kind = reader, proto.op_type
        self.attributes = attributes
        self.names = list(proto.input)
        self.outputs = list(proto.output)
        self.name = self.outputs[0] or proto.name

    # -- what is known ----------------------------------------------------------------

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or what it is where the node has none."""
        return self.attributes.get(name, default)

    @property
    def out(self) -> Open:
        """The shape of the first output."""
        return self.reader.shapes.get(self.outputs[0])

    def shape(self, k: int = 0) -> Open:
        """The shape of an input, as far as it is known."""
        return self.reader.shape_of(self.names[k])

    def ndim(self, k: int = 0) -> int:
        """How many axes an input has. Raises OperatorError if that is not known."""
        found = self.shape(k)
        if found is None:
            raise self.refused(
                f"needs the number of axes of {self.names[k]!r}, which is not known"
            )
        return len(found)

    def given(self, k: int) -> bool:
        """Whether there is an input of that number."""
        return k < len(self.names) and self.names[k] != ""

    def numbers(self, k: int) -> list[Any]:
        """The numbers of an input that must not depend on data, as a flat list."""
        value = self.reader.values.get(self.names[k])
        if not isinstance(value, Known):
            raise self.refused(
                f"has an input {self.names[k]!r} that is computed from data, where "
                "minimx wants a constant"
            )
        return value.array.asnumpy().reshape(-1).tolist()  # type: ignore[no-any-return]

    def axes(self, k: int) -> list[int] | None:
        """Axes: an attribute in old files, an input in newer ones; None without any."""
        if "axes" in self.attributes:
            return list(self.attributes["axes"])
        return self.numbers(k) if self.given(k) else None

    def refused(self, why: str) -> OperatorError:
        """The error for what minimx does not have. why: 'has …'."""
        return OperatorError(
            f"import_model: the node {self.name!r} ({self.kind}) {why}."
        )

    def only(self, **wanted: Any) -> None:
        """Refuse attributes of other values; each is named with the one that works."""
        for name, value in wanted.items():
            found = self.get(name, value)
            if found != value:
                raise self.refused(f"has {name}={found!r}; only {value!r} can be read")

    # -- operators --------------------------------------------------------------------

    def use(self, name: str, *values: Any, **settings: Any) -> Any:
        """An operator of minimx on values; a list where it has several outputs."""
        sheet: Any = lookup(name)
        if "np_shape" in sheet.__dataclass_fields__:
            settings["np_shape"] = is_np_shape()
        op = sheet.of(**settings)
        if values and all(isinstance(value, Known) for value in values):
            outs = op.infer(*(value.array.spec for value in values))
            self.check_size(
                sum(s.size for s in (outs if isinstance(outs, tuple) else (outs,)))
            )
            made = bind(op, *(value.array for value in values))
            found = made if isinstance(made, list) else [made]
            known = [Known(self.reader.unique(self.name), a, a.shape) for a in found]
            return known if isinstance(made, list) else known[0]
        entries = [single(op, self.symbol(value)) for value in values]
        made = placed(op, entries, self.reader.unique(self.name))
        return list(made) if len(made) > 1 else made

    def check_size(self, count: float) -> None:
        """Refuse to compute a constant that is larger than any network has."""
        if not 0 <= count <= MOST:
            raise self.refused(f"makes a constant of {count:,} elements")

    def symbol(self, value: Any) -> Symbol:
        """A value as a symbol: of an array, the variable that has it."""
        if isinstance(value, ShapeOf):
            raise self.refused(
                "computes with a shape that is open. Export the model with fixed shapes"
            )
        return self.reader.variable(value) if isinstance(value, Known) else value

    def known(self, array: NDArray, word: str) -> Known:
        """An array that becomes a parameter, named after the node."""
        return Known(self.reader.unique(f"{self.name}_{word}"), array, array.shape)

    def scalar(self, value: Any) -> float | None:
        """The number of a constant that has only one, on no axis or on one."""
        if isinstance(value, Known) and value.shape in ((), (1,)):
            return float(value.array.asscalar())
        return None

    def chain(self, name: str, values: Sequence[Any]) -> Any:
        """An operator of two inputs, over several."""
        found = values[0]
        for value in values[1:]:
            found = self.use(name, found, value)
        return found
