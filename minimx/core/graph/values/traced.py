"""Values that write down what is done to them: gradient rules make graphs with them.

    writer = Writer(specs)
    x = writer.value(Entry(node))       # a `Traced`, for an entry of the graph
    y = (x * 2).sum()                   # computes nothing
    writer.made                         # the nodes _mul_scalar and sum
    y.entry                             # where the result is

A gradient rule is written with operators, whatever the values are. On arrays it
computes; on traced values it makes nodes, so that the gradient becomes a graph, as
under JAX's `make_jaxpr`. A traced value knows its shape and element type, as an array
does; a symbol would not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from minimx.core.arrays.calls import METHODS, Call
from minimx.core.dtypes import DType, resolve, scalar_type
from minimx.core.errors import GradientError
from minimx.core.graph.values.ir import Entry, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.ops.registry import ALIASES, REGISTRY, Op, lookup
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape


class Writer:
    """Makes nodes, in order, and keeps the specs of all that comes out of them.

    taken: names that are used already.
    name: what the next nodes are called; a number follows where it was used before.
    forward: the node of the forward half that they belong to.
    """

    def __init__(self, specs: Specs, taken: Iterable[str] = ()) -> None:
        self.specs: dict[Entry, Spec] = dict(specs)
        self.made: list[Node] = []
        self.name = ""
        self.forward: Node | None = None
        self._names = dict.fromkeys(taken, 1)

    def value(self, entry: Entry) -> Traced:
        """An entry as a value that rules can compute with."""
        return Traced(self, entry)

    def apply(
        self, op: Op, inputs: Sequence[Entry], remarks: Mapping[str, str] | None = None
    ) -> Node:
        """A new node of an operator, for inputs whose specs are known.

        remarks: its `attrs`. Raises GradientError where the result cannot be planned
        ahead, ShapeError or DTypeError for inputs that do not fit.
        """
        plan = op.plan(tuple([self.specs[entry] for entry in inputs]))
        name, of = self.unused(self.name), self.forward
        whose = ("", "") if of is None else (of.layer, of.name)
        node = Node(op, inputs, name, remarks, (), *whose)
        if plan.eager is not None:
            raise GradientError(
                f"{node.name}: what {op.name} gives cannot be planned ahead, so that "
                "it has no place in the graph of a gradient. Compute with autograd "
                "instead, without hybridizing."
            )
        for slot, spec in enumerate(plan.outs):
            self.specs[Entry(node, slot)] = spec
        self.made.append(node)
        return node

    @contextmanager
    def about(self, node: Node, name: str) -> Iterator[None]:
        """Nodes made inside the `with` block belong to a node of the forward half.

        They have its layer, and the name `name`, with a number if that is taken.
        """
        before = self.name, self.forward
        self.name, self.forward = name, node
        try:
            yield
        finally:
            self.name, self.forward = before

    def unused(self, name: str) -> str:
        """A name that no node has: this one, or with a number."""
        times = self._names[name] = self._names.get(name, 0) + 1
        return name if times == 1 else f"{name}{times}"


class Traced:
    """An output of a node that is being written; it answers to `bind` and arithmetic.

    It has the methods that operators give an array: `dout.reshape(…)`, `data.abs()`.
    """

    __slots__ = ("_writer", "entry")

    def __init__(self, writer: Writer, entry: Entry) -> None:
        self._writer = writer
        self.entry = entry

    # -- what it is -------------------------------------------------------------------

    @property
    def spec(self) -> Spec:
        """Shape and element type."""
        return self._writer.specs[self.entry]

    @property
    def shape(self) -> Shape:
        """The length of each axis."""
        return self.spec.shape

    @property
    def dtype(self) -> Any:
        """The element type, as NumPy's scalar class, as arrays have it."""
        return scalar_type(self.spec.dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.spec.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.spec.size

    def __repr__(self) -> str:
        return f"<{self.spec} {self.entry.node!r}>"

    # -- what `bind` and the tape call ------------------------------------------------

    def _bind(self, op: Op, values: Sequence[Traced]) -> Any:
        """Write an operator down."""
        node = self._writer.apply(op, [value.entry for value in values])
        made = [Traced(self._writer, Entry(node, k)) for k in range(op.visible)]
        return made[0] if op.visible == 1 else made

    def _zeros_like_spec(self, spec: Spec) -> Traced:
        op = lookup("_zeros").of(shape=spec.shape, dtype=spec.dtype.name)
        return self._bind(op, ())  # type: ignore[no-any-return]

    def _alias(self) -> Traced:
        return self

    def _neutral(self, history: bool = False) -> Traced:
        return self

    # -- arithmetic and methods -------------------------------------------------------

    def __neg__(self) -> Any:
        return self._bind(lookup("negative").of(), (self,))

    def __abs__(self) -> Any:
        return self._bind(lookup("abs").of(), (self,))

    def reshape(self, *shape: Any, **settings: Any) -> Any:
        """The same elements under another shape; see `NDArray.reshape`.

        The shape as numbers or as one tuple; 0, -1, … mean what they mean there.
        """
        return self._axes("Reshape", "shape", shape, settings)

    def transpose(self, *axes: Any, **settings: Any) -> Any:
        """The axes in another order, as numbers or one tuple; reversed by default."""
        return self._axes("transpose", "axes", axes, settings)

    def astype(self, dtype: Any) -> Any:
        """The elements converted to another type."""
        wanted: DType = resolve(dtype)
        return self._bind(lookup("cast").of(dtype=wanted.name), (self,))

    def _axes(self, op: str, setting: str, given: Any, settings: Any) -> Any:
        if len(given) == 1 and isinstance(given[0], (tuple, list)):
            given = tuple(given[0])
        if given:
            settings[setting] = given
        return self._bind(lookup(op).of(**settings), (self,))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        sheet = REGISTRY.get(ALIASES.get(name, name)) if name in METHODS else None
        if sheet is None:
            raise AttributeError(
                f"a value of a graph has no {name!r}: gradient rules are written with "
                "operators, and see no numbers."
            )
        call = Call(sheet, Traced)

        def method(*args: Any, **kwargs: Any) -> Any:
            op, values = call.sort((self, *args), kwargs)
            return self._bind(op, values)

        return method


def _operator(pair: str, scalar: str) -> Callable[[Any, Any], Any]:
    """A Python operator: its form for two values, and that for value and number."""

    def apply(self: Traced, other: Any) -> Any:
        if isinstance(other, Traced):
            return self._bind(lookup(pair).of(), (self, other))
        if isinstance(other, (int, float)):
            return self._bind(lookup(scalar).of(scalar=float(other)), (self,))
        return NotImplemented

    return apply


for _name, _pair, _scalar in (
    ("add", "add", "plus"),
    ("radd", "add", "plus"),
    ("sub", "sub", "minus"),
    ("rsub", "sub", "rminus"),
    ("mul", "mul", "mul"),
    ("rmul", "mul", "mul"),
    ("truediv", "div", "div"),
    ("rtruediv", "div", "rdiv"),
    ("mod", "mod", "mod"),
    ("rmod", "mod", "rmod"),
    ("pow", "power", "power"),
    ("rpow", "power", "rpower"),
    ("eq", "equal", "equal"),
    ("ne", "not_equal", "not_equal"),
    ("gt", "greater", "greater"),
    ("ge", "greater_equal", "greater_equal"),
    ("lt", "lesser", "lesser"),
    ("le", "lesser_equal", "lesser_equal"),
):
    setattr(
        Traced, f"__{_name}__", _operator(f"broadcast_{_pair}", f"_{_scalar}_scalar")
    )
