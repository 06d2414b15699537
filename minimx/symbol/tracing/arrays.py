"""Arrays that are written down instead of computed: how `forward(self, x)` is traced.

A traced array has a shape and an element type, and stands for an output of a graph; it
has no numbers. Whatever operators are called with it become nodes:

    with Tracer(mx.cpu()) as tracer:
        x = tracer.variable("data", Spec.of((2, 3), FLOAT32))
        y = mx.nd.relu(x) + 1            # <traced float32[2, 3] _plusscalar0>
    Graph([y.place])                     # data -> relu -> _plus_scalar

Its spec takes over the calls (`Spec.takes_over`), as those of sparse arrays do, so that
ordinary arrays pay nothing. Code that asks for numbers (`if x.sum() > 0`, `float(x)`)
gets an error, since the graph would keep what the first batch answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import get_ident
from typing import Any

from minimx import name as naming
from minimx.core.arrays import indexing
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.chunk import Chunk
from minimx.core.arrays.launch import invoke, tracers
from minimx.core.device import Device
from minimx.core.dtypes import DType, resolve
from minimx.core.engine.origin import capture, where
from minimx.core.errors import DeviceError, NotImplementedForSymbol
from minimx.core.events import owner
from minimx.core.graph.values.infer import has_own, infer
from minimx.core.graph.values.ir import Entry, Graph, Node, rewritten
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Open, Shape
from minimx.graphs.portable import OURS
from minimx.np.multiarray import ndarray
from minimx.symbol.functions import hint_of
from minimx.symbol.symbol import Symbol, placed
from minimx.symbol.tracing import looping
from minimx.symbol.tracing.indexing import picked, reshaped


class TracedSpec(Spec):
    """The shape and type of an array that is written down."""

    __slots__ = ()
    _known: dict[tuple[Shape, DType], Spec] = {}


class _NoMemory(Chunk):
    """What a traced array lies in: a device, and no bytes."""

    __slots__ = ()

    def memory(self) -> Any:
        raise _no_numbers("its memory")


def _no_numbers(what: str) -> NotImplementedForSymbol:
    return NotImplementedForSymbol(
        f"{what}: an array has a shape but no numbers while a block is made into a "
        "graph."
    )


def _refused(word: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise _no_numbers(word)

    method.__name__ = word
    method.__doc__ = "Refused: there are no numbers while a block is made into a graph."
    return method


class Traced(NDArray):
    """An array that stands for an output of a graph in the making."""

    __slots__ = ("place", "tracer")

    def __init__(self, tracer: Tracer, spec: Spec, place: Entry) -> None:
        who = owner(place.node.name)
        super().__init__(
            _NoMemory(tracer.device, 0, who), TracedSpec.of(spec.shape, spec.dtype)
        )
        self.tracer = tracer
        self.place = place

    @property
    def plain_spec(self) -> Spec:
        """Its spec, as one of an array with numbers."""
        return Spec.of(self.spec.shape, self.spec.dtype)

    def __repr__(self) -> str:
        return f"<traced {self.spec!r} {self.place.node.name}>"

    __str__ = __repr__

    def __bool__(self) -> bool:
        if self.size == 0:
            return False
        raise _no_numbers("true or false")

    def _as_kind(self, kind: type[Traced]) -> Any:
        return kind(self.tracer, self.spec, self.place)

    def _alias(self) -> Any:
        return self._as_kind(type(self))

    def _neutral(self, history: bool = False) -> Any:
        return self._as_kind(Traced)

    def as_nd_ndarray(self) -> Any:
        """The array as one of `mx.nd`."""
        return self._as_kind(Traced)

    def as_np_ndarray(self) -> Any:
        """The array as one of `mx.np`."""
        return self._as_kind(NumpyTraced)

    def detach(self) -> Any:
        """The same numbers, cut off from gradients; in a graph that is a node."""
        return invoke(lookup("BlockGrad").of(), [self])

    def as_in_context(self, context: Device) -> Any:
        """Itself; a graph runs on one device."""
        if context is not self.context:
            raise DeviceError(
                f"a graph runs on one device, here {self.context}; it cannot move "
                f"arrays to {context} in between. Move them before the block is called."
            )
        return self

    as_in_ctx = to_device = as_in_context

    def _bind(self, op: Op, values: Any) -> Any:
        return invoke(op, values)

    def _assign(self, value: NDArray) -> None:
        raise _in_place("x[:] = …")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise _in_place("x[key] = value")

    def __getitem__(self, key: Any) -> Any:
        found = None
        if indexing.is_basic(key):
            found = picked(self, indexing.complete(self.shape, key))
        return super().__getitem__(key) if found is None else found


for _word in (
    *("view", "asnumpy", "asscalar", "item", "tolist", "wait_to_read", "wait_to_write"),
    *("__float__", "__int__", "__index__", "__array__", "__dlpack__", "__buffer__"),
    *("__reduce__", "attach_grad", "backward", "copyto", "__contains__"),
):
    setattr(Traced, _word, _refused(_word))


class NumpyTraced(Traced, ndarray):
    """The same as one of `mx.np`."""

    __slots__ = ()
    __hash__ = Traced.__hash__

    def reshape(self, *shape: Any, order: str = "C", **kwargs: Any) -> Any:
        """The elements under another shape; one length may be -1."""
        wanted: Any = shape or (kwargs.get("newshape", kwargs.get("shape")),)
        if order != "C" or None in wanted:
            return super().reshape(*shape, order=order, **kwargs)
        wanted = wanted[0] if isinstance(wanted[0], (tuple, list)) else wanted
        return reshaped(self, tuple(wanted))

    def __format__(self, spec: str) -> str:
        return repr(self)


def _in_place(what: str) -> NotImplementedForSymbol:
    return NotImplementedForSymbol(
        f"{what} (or +=, out=): arrays cannot be changed in place while a block is "
        "made into a graph. Write x = x + … instead, or use where, concat, index_copy."
    )


class Tracer:
    """Writes down what a thread calls inside `with`, for arrays on one device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.specs: dict[Entry, Spec] = {}  # of every entry that an array stands for
        self.parameters: dict[Node, Any] = {}
        self.captured: dict[int, tuple[Entry, NDArray]] = {}
        self.lines: dict[str, str] = {}  # who made the nodes that only minimx has
        self.saw_arrays = False  # Python code met arrays whose shapes it could ask
        self._outer: Any = None

    def __enter__(self) -> Tracer:
        self._outer = tracers.get(get_ident())
        tracers[get_ident()] = self
        return self

    def __exit__(self, *_: object) -> None:
        if self._outer is None:
            del tracers[get_ident()]
        else:
            tracers[get_ident()] = self._outer

    # -- values -----------------------------------------------------------------------

    def variable(self, name: str, spec: Spec) -> Node:
        """A new variable of the graph."""
        node = Node(None, (), name)
        self.specs[Entry(node)] = Spec.of(spec.shape, spec.dtype)
        return node

    def array(self, entry: Entry, numpy: bool) -> Traced:
        """The array that stands for an entry."""
        self.saw_arrays = True
        if entry not in self.specs:
            self._learn([entry])
        return (NumpyTraced if numpy else Traced)(self, self.specs[entry], entry)

    def know(self, parameter: Any) -> Node:
        """The variable of a parameter of a block."""
        node: Node = parameter.var().outputs[0].node
        self.parameters[node] = parameter
        return node

    def parameter(self, parameter: Any, numpy: bool) -> Traced | None:
        """The array that stands for a parameter; None while its shape is open."""
        shape = parameter.shape
        if shape is None or any(length <= 0 for length in shape):
            return None
        entry = Entry(self.know(parameter))
        self.specs[entry] = Spec.of(tuple(shape), resolve(parameter.dtype))
        return self.array(entry, numpy)

    def entry_of(self, array: NDArray) -> Entry:
        """The entry that an array stands for; arrays with numbers become variables."""
        if isinstance(array, Traced):
            if array.tracer is not self:
                raise NotImplementedForSymbol(
                    f"{array!r} belongs to a block that was made into a graph earlier. "
                    "Return what later calls need; do not keep it in an attribute."
                )
            return array.place
        found = self.captured.get(id(array))
        if found is None:
            name = naming.current().get(None, "constant")
            entry = Entry(self.variable(name, array.spec))
            found = self.captured[id(array)] = entry, array
        return found[0]

    # -- calls ------------------------------------------------------------------------

    def writes(self, values: Any) -> bool:
        """Whether nested values hold an array that is written down."""
        if isinstance(values, (list, tuple)):
            return any(map(self.writes, values))
        return isinstance(values, Traced)

    def control(self, kind: str, *given: Any) -> Any:
        """Write `foreach`, `while_loop` or `cond` down."""
        return getattr(looping, kind)(self, *given)

    def write(
        self,
        op: Op,
        inputs: Sequence[NDArray],
        out: Any,
        device: Device | None = None,
        kind: Any = None,
    ) -> Any:
        """Write a call down; returns the arrays that stand for its outputs."""
        if out is not None:
            raise _in_place(op.name)
        device = inputs[0].context if inputs else device
        if device is not self.device or any(x.context is not device for x in inputs):
            raise DeviceError(
                f"{op.name}: a graph runs on one device, here {self.device}; an array "
                f"lives on another. Move it there before the block is called."
            )
        entries = [self.entry_of(x) for x in inputs]
        specs = _results(op, tuple(Spec.of(x.shape, x.spec.dtype) for x in inputs))
        name = naming.current().get(None, hint_of(op.name).lower())
        node = placed(op, entries, name).outputs[0].node
        if op.name in OURS:
            self.lines[node.name] = where(capture())
        numpy = issubclass(type(inputs[0]) if inputs else kind, ndarray)
        for slot, spec in enumerate(specs):
            self.specs[Entry(node, slot)] = spec
        outs = [self.array(Entry(node, slot), numpy) for slot in range(op.visible)]
        return outs[0] if op.visible == 1 else outs

    # -- symbols ----------------------------------------------------------------------

    def _learn(self, entries: Iterable[Entry]) -> None:
        """The specs of what blocks wrote down as symbols, and of their parameters."""
        new = [
            Entry(node, slot)
            for node in Graph(list(entries))
            for slot in range(node.visible)
            if Entry(node, slot) not in self.specs
        ]
        known: dict[str, Spec] = {}

        def cut(node: Node, _: tuple[Entry, ...]) -> Sequence[Entry] | None:
            specs = [self.specs.get(Entry(node, k)) for k in range(node.visible)]
            if None in specs:
                return None
            stands = [Node(None, (), f"{node.name} {len(known)} {k}") for k in specs]
            known.update((s.name, k) for s, k in zip(stands, specs, strict=True) if k)
            return [Entry(stand) for stand in stands]

        rest = rewritten(Graph(new), cut)
        shapes: dict[str, Open] = {name: spec.shape for name, spec in known.items()}
        found = infer(rest, shapes, {name: spec.dtype for name, spec in known.items()})
        for entry, own in zip(new, rest.outputs, strict=True):
            spec = found.spec(own)
            if spec is None:
                raise NotImplementedForSymbol(
                    f"the shape of {entry.name} depends on data, or on a parameter "
                    "whose shape is open."
                )
            self.specs[entry] = spec
            parameter = self.parameters.get(entry.node)
            if parameter is not None:
                parameter.shape = spec.shape


def _results(op: Op, specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
    """The specs of what an operator gives, hidden outputs left away."""
    if op.eager is not None and not has_own(op, "infer"):
        raise NotImplementedForSymbol(f"{op.name}: the shape of its result depends on")
    found = op.infer(*specs)
    return found if isinstance(found, tuple) else (found,)


def _write(op: Op, inputs: Sequence[NDArray], out: Any) -> Any:
    """What a call with a traced array among its inputs (or as `out`) comes to."""
    tracer = tracers.get(get_ident())
    if tracer is None:
        raise NotImplementedForSymbol(
            f"{op.name}: an input belongs to a block that was made into a graph "
            "earlier. Return what later calls need; do not keep it in an attribute."
        )
    return tracer.write(op, inputs, out)


TracedSpec.eager = staticmethod(_write)


def tracing() -> Tracer | None:
    """The tracer of this thread, if it makes a block into a graph just now."""
    return tracers.get(get_ident()) if tracers else None


def as_symbol(array: Traced) -> Symbol:
    """The entry that a traced array stands for, as a symbol."""
    return Symbol([array.place])
