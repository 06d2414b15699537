"""The primitives of a region, one for each chain, and the layouts between them.

    made = Network(dnnl, graph, specs, threads)
    made.run(arrays, workspace, weights)

oneDNN chooses the layout that a chain computes in; the next chain takes it as it is.
Copies to and from plain layouts are left where values come in or go out. Weights are
copied to the layout that a chain wants at each run, or once if the copies are kept
(`packed`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import c_float, c_void_p
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from minimx.core.dtypes import FLOAT32
from minimx.core.errors import MXNetError
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.knobs import knobs
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec
from minimx.fast.onednn.chains import Chain, chains, step
from minimx.fast.onednn.convolution import shapes_of, steps_of
from minimx.fast.onednn.library import (
    ADD,
    ALIGNMENT,
    BIAS,
    DST,
    MULTIPLY,
    RELU,
    SCRATCHPAD,
    SRC,
    WEIGHTS,
    Library,
    Owner,
    aligned,
    numbers,
)
from minimx.fast.onednn.packed import packed
from minimx.operators.quantized.fused import NORM

FORCE_FC_AB_FORMAT = "MXNET_ONEDNN_FORCE_FC_AB_FORMAT"
_INFERENCE, _TRAINING, _DIRECT = 96, 64, 1
# Pooling: the average with what lies in the padding, or of the image alone.
_MAX, _AVERAGE, _AVERAGE_INSIDE = 0x1FF, 0x2FF, 0x3FF
_LAYOUT = {SRC: 129, WEIGHTS: 131, DST: 133}
_FROM, _TO = 1, 17
_ZERO = np.zeros(1, np.float32)
#: The operand of the n-th thing that follows is the first times n + 1, and the second.
_AFTER, _SECOND = 32768, 2
# Batch normalization: mean and variance, scale and shift are given; their arguments.
_GIVEN, _STATISTICS = 1 | 2 | 4, (51, 52, 49, 50)
#: The first of several sources.
_SOURCES = 1024


class Buffer:
    """Some bytes of the workspace; first, last: the calls that use it.

    offset: where it begins, once all calls are known. output: the position of the
    array of the caller that takes its place, or -1.
    """

    def __init__(self, nbytes: int, at: int) -> None:
        self.nbytes, self.first, self.last = nbytes, at, at
        self.offset, self.output = 0, -1


class Outside(NamedTuple):
    """An array of the caller, by its position among inputs and outputs."""

    position: int


class Made(NamedTuple):
    """An array that `run` makes: a vector of a batch normalization; the last is 0."""

    which: int


class Value(NamedTuple):
    """Numbers in a layout, and where they are."""

    layout: c_void_p
    place: Buffer | Outside | Made


class Call(NamedTuple):
    """A primitive and its arguments; packs: the weight that it copies, or -1.

    Instead of a primitive, a kernel of ours, which changes an array where it lies. (The
    library's relu makes 0 of a NaN.)
    """

    primitive: c_void_p | Callable[..., None]
    args: dict[int, Value]
    packs: int = -1


class Weight(NamedTuple):
    """A weight that is copied: which input, the copy's code, layouts, its buffer."""

    position: int
    code: c_void_p
    plain: c_void_p
    wanted: c_void_p
    buffer: Buffer


class Network(Owner):
    """A region, prepared. graph: its nodes; specs: of all their entries."""

    def __init__(self, dnnl: Library, graph: Graph, specs: Specs, threads: int) -> None:
        super().__init__(dnnl, threads)
        self._specs = specs
        self._calls: list[Call] = []
        self._buffers: list[Buffer] = []
        self._weights: list[Weight] = []
        self._vectors: list[Callable[[Sequence[Any]], Any]] = []
        self._position = {node: k for k, node in enumerate(graph.variables)}
        self._values: dict[Node, Value] = {}
        self._ab = bool(knobs.get(FORCE_FC_AB_FORMAT))
        nodes = [node for node in graph if node.op is not None]
        steps = {node: step(node, specs) or "" for node in nodes}
        for chain in chains(nodes, steps, graph.outputs):
            words = [steps[node] for node in chain]
            self._values[chain[-1]] = getattr(self, f"_{words[0]}")(chain, words)
        for number, entry in enumerate(graph.outputs, start=len(self._position)):
            self._give(self._values[entry.node], specs[entry].shape, number)
        inside = [buffer for buffer in self._buffers if buffer.output < 0]
        # At least a byte: a kernel is given a workspace, or none.
        self.nbytes = max(1, _laid_out(inside))

    # -- the parts that all chains have ------------------------------------------------

    def _plain(self, shape: Sequence[int]) -> c_void_p:
        return self.ours(shape, "float32")

    def _any(self, shape: Sequence[int]) -> c_void_p:
        return self.any_layout(shape, "float32")

    def _call(self, pd: c_void_p, args: dict[int, Value], packs: int = -1) -> None:
        """One more primitive, with the scratch memory that it wants."""
        layout = self.scratch(pd)
        if self._dnnl.size(layout):
            args = {**args, SCRATCHPAD: self._new(layout)}
        for value in args.values():
            if isinstance(value.place, Buffer):
                value.place.last = len(self._calls)
        self._calls.append(Call(self.primitive(pd), args, packs))

    def _new(self, layout: c_void_p) -> Value:
        """Room in the workspace."""
        buffer = Buffer(self._dnnl.size(layout), len(self._calls))
        self._buffers.append(buffer)
        return Value(layout, buffer)

    def _reorder(self, source: c_void_p, target: c_void_p) -> c_void_p:
        ends = source, self._dnnl.engine, target, self._dnnl.engine
        return self.description("reorder", *ends, self.attributes())

    def _copy(self, source: Value, target: Value) -> None:
        pd = self._reorder(source.layout, target.layout)
        self._call(pd, {_FROM: source, _TO: target})

    def _give(self, value: Value, shape: Sequence[int], position: int) -> None:
        """Let the caller have a value: computed where it wants it, if that is plain."""
        plain, place = self._plain(shape), value.place
        assert isinstance(place, Buffer)
        if place.output < 0 and self._dnnl.same(value.layout, plain):
            place.output = position
        else:
            self._copy(value, Value(plain, Outside(position)))

    def _in(self, value: Value, layout: c_void_p) -> Value:
        """A value in a layout."""
        if self._dnnl.same(value.layout, layout):
            return value
        made = self._new(layout)
        self._copy(value, made)
        return made

    def _value(self, entry: Entry, shape: Sequence[int] = ()) -> Value:
        """What a node reads; shape: how to see it, if it is not that of the entry."""
        shape = shape or self._specs[entry].shape
        if entry.node in self._position:
            return Value(self._plain(shape), Outside(self._position[entry.node]))
        value = self._values[entry.node]
        if shape == self._specs[entry].shape:
            return value
        plain = self._in(value, self._plain(self._specs[entry].shape))
        return Value(self._plain(shape), plain.place)

    def _weight(self, entry: Entry, plain: c_void_p, wanted: c_void_p) -> Value:
        """A weight in the layout that a primitive wants."""
        position = self._position[entry.node]
        if self._dnnl.same(plain, wanted):
            return Value(plain, Outside(position))
        value, number = self._new(wanted), len(self._weights)
        pd = self._reorder(plain, wanted)
        self._call(pd, {_FROM: Value(plain, Outside(position)), _TO: value}, number)
        code = self._calls[-1].primitive
        assert isinstance(value.place, Buffer)
        assert isinstance(code, c_void_p)
        self._weights.append(Weight(position, code, plain, wanted, value.place))
        return value

    # -- chains ------------------------------------------------------------------------

    def _convolution(self, chain: Chain, words: list[str]) -> Value:
        node = chain[0]
        op: Any = node.op
        at = op.geometry(self._specs[node.inputs[0]])
        shapes, engine = shapes_of(at), self._dnnl.engine
        bias = None if op.no_bias else self._value(node.inputs[2])
        data = self._value(node.inputs[0])
        free = {arg: self._any(shapes[arg]) for arg in (SRC, WEIGHTS, DST)}

        def described(dst: c_void_p, after: Sequence[Any]) -> c_void_p:
            ends = free[SRC], free[WEIGHTS], bias and bias.layout, dst
            attr = self.attributes([(kind, v and v.layout) for kind, v in after])
            settings = engine, _TRAINING, _DIRECT, *ends, *steps_of(at)
            return self.description("convolution_forward", *settings, attr)

        pd = described(free[DST], ())
        dst = self._dnnl.layout(pd, _LAYOUT[DST])
        after = self._following(chain, words, dst)
        # A plain layout means a product of matrices. What follows one is not compiled:
        # relu takes 30 ns an element there, and our own less than 1.
        plain = self._dnnl.same(dst, self._plain(shapes[DST]))
        bent = plain and after[-1:] == [(RELU, None)]
        after = after[:-1] if bent else after
        if after:
            pd = described(dst, after)
        wanted = {arg: self._dnnl.layout(pd, _LAYOUT[arg]) for arg in free}
        args = {
            SRC: self._in(data, wanted[SRC]),
            WEIGHTS: self._weight(
                node.inputs[1], self._plain(shapes[WEIGHTS]), wanted[WEIGHTS]
            ),
        }
        return self._ended(pd, args, bias, after, dst, bent)

    _fused = _convolution  # which has what follows as settings

    def _product(self, chain: Chain, words: list[str]) -> Value:
        node = chain[0]
        op: Any = node.op
        rows, features = op.rows(self._specs[node.inputs[0]])
        data = self._value(node.inputs[0], (rows, features))
        data = self._in(data, self._plain((rows, features)))
        bias = None if op.no_bias else self._value(node.inputs[2], (op.num_hidden,))
        plain = self._plain((op.num_hidden, features))
        weight = plain if self._ab else self._any((op.num_hidden, features))
        dst = self._plain((rows, op.num_hidden))
        after = self._following(chain, words, dst)
        ends = data.layout, weight, bias and bias.layout, dst
        attr = self.attributes([(kind, v and v.layout) for kind, v in after])
        settings = self._dnnl.engine, _INFERENCE, *ends, attr
        pd = self.description("inner_product_forward", *settings)
        wanted = self._dnnl.layout(pd, _LAYOUT[WEIGHTS])
        args = {SRC: data, WEIGHTS: self._weight(node.inputs[1], plain, wanted)}
        made = self._ended(pd, args, bias, after, dst)
        return Value(self._plain(self._specs[Entry(chain[-1])].shape), made.place)

    def _pooling(self, chain: Chain, words: list[str]) -> Value:
        entry = chain[0].inputs[0]
        op: Any = chain[0].op
        data, spec = self._value(entry), self._specs[entry]
        kernel, stride, pad, stops = op.sizes(spec)
        lengths = zip(stops, stride, kernel, spec.shape[2:], pad, strict=True)
        behind = [(out - 1) * s + k - size - p for out, s, k, size, p in lengths]
        steps = stride, kernel, (0, 0), pad, behind
        free = self._any((*spec.shape[:2], *stops))
        kind = _MAX
        if op.pool_type == "avg":
            kind = _AVERAGE if op.count_include_pad is not False else _AVERAGE_INSIDE
        settings = self._dnnl.engine, _INFERENCE, kind, data.layout, free
        pd = self.description(
            "pooling_forward", *settings, *map(numbers, steps), self.attributes()
        )
        return self._ended(
            pd, {SRC: data}, None, (), self._dnnl.layout(pd, _LAYOUT[DST])
        )

    def _concat(self, chain: Chain, words: list[str]) -> Value:
        values = [self._value(entry) for entry in chain[0].inputs]
        shapes = [self._specs[entry].shape for entry in chain[0].inputs]
        try:
            pd = self._joined(values)
        except MXNetError:  # of layouts that do not fit each other
            plain = [self._plain(shape) for shape in shapes]
            values = [self._in(v, p) for v, p in zip(values, plain, strict=True)]
            pd = self._joined(values)
        args = {_SOURCES + number: value for number, value in enumerate(values)}
        return self._ended(pd, args, None, (), self._dnnl.layout(pd, _LAYOUT[DST]))

    def _joined(self, values: Sequence[Value]) -> c_void_p:
        layouts = (c_void_p * len(values))(*[value.layout.value for value in values])
        ends = self._dnnl.engine, None, len(values), 1, layouts
        return self.description("concat", *ends, self.attributes())

    def _norm(self, chain: Chain, words: list[str]) -> Value:
        node = chain[0]
        op: Any = node.op
        data, engine = self._value(node.inputs[0]), self._dnnl.engine
        ends = data.layout, data.layout, c_float(op.eps), _GIVEN, self.attributes()
        pd = self.description("batch_normalization_forward", engine, _INFERENCE, *ends)
        named = zip(_STATISTICS, node.inputs[1:], strict=True)
        args = {SRC: data, **{arg: self._value(entry) for arg, entry in named}}
        return self._ended(pd, args, None, (), data.layout, bent=len(chain) > 1)

    def _following(
        self, chain: Chain, words: list[str], dst: c_void_p
    ) -> list[tuple[int, Value | None]]:
        """What is done to the results of a chain's first node; dst: their layout."""
        found = self._own(chain[0], dst) if words[0] == "fused" else []
        for before, node, word in zip(chain, chain[1:], words[1:], strict=False):
            if word == "norm":
                found += self._scaling(node.op, node.inputs[1:])
            elif word == "add":
                one, two = node.inputs
                other = two if one.node is before else one
                found.append((ADD, self._in(self._value(other), dst)))
            else:
                found.append((RELU, None))
        return found

    def _own(self, node: Node, dst: c_void_p) -> list[tuple[int, Value | None]]:
        """What a fused operator does itself to the results of its convolution."""
        op: Any = node.op
        named = dict(zip(op.inputs, node.inputs, strict=True))
        found: list[tuple[int, Value | None]] = []
        if op.with_bn:
            found += self._scaling(op, [named[word] for word in NORM])
        if op.with_act:
            found.append((RELU, None))
        if op.with_sum:
            found.append((ADD, self._in(self._value(named["sum"]), dst)))
        if op.with_postsum_act:
            found.append((RELU, None))
        return found

    def _scaling(self, op: Any, parameters: Sequence[Entry]) -> list[tuple[int, Value]]:
        """A batch normalization: a scale, then a shift, for each channel."""
        places = [self._position[e.node] for e in parameters]
        layout = self._plain((1, self._specs[parameters[0]].shape[0], 1, 1))
        first = len(self._vectors)
        self._vectors += [partial(half, op.eps, places) for half in (_scale, _shift)]
        pair = Value(layout, Made(first)), Value(layout, Made(first + 1))
        return list(zip((MULTIPLY, ADD), pair, strict=True))

    def _ended(
        self, pd: c_void_p, args: dict[int, Value], bias: Value | None,
        after: Sequence[tuple[int, Value | None]], dst: c_void_p, bent: bool = False,
    ) -> Value:  # fmt: skip
        """The call of a chain, with its last arguments; what it gives.

        bent: a relu of our own follows, where the result lies.
        """
        made = self._new(dst)
        args[DST] = made
        if bias is not None:
            args[BIAS] = bias
        for number, (_, other) in enumerate(after):
            which = WEIGHTS if other is None else _SECOND
            slope = Value(self._plain((1,)), Made(-1))
            args[_AFTER * (number + 1) | which] = other or slope
        self._call(pd, args)
        if bent:
            size = self._dnnl.size(made.layout) // FLOAT32.itemsize
            bend = lookup("relu").of().compute(Spec.of((size,), FLOAT32))
            assert isinstance(made.place, Buffer)
            made.place.last = len(self._calls)
            self._calls.append(Call(bend, {DST: made}))
        return made

    # -- running -----------------------------------------------------------------------

    def same(self, one: c_void_p, other: c_void_p) -> bool:
        """Whether two layouts are equal."""
        return self._dnnl.same(one, other)

    def run(
        self, arrays: Sequence[Any], workspace: Any, weights: Mapping[int, Any]
    ) -> None:
        """Compute; arrays: inputs, then outputs. weights: variables, by position."""
        base = workspace.ctypes.data
        vectors = [*[make(arrays) for make in self._vectors], _ZERO]
        kept = [self._kept(one, arrays, weights) for one in self._weights]
        elsewhere = {
            id(one.buffer): copy.ctypes.data
            for one, copy in zip(self._weights, kept, strict=True)
            if copy is not None
        }

        def address(place: Buffer | Outside | Made) -> int:
            if isinstance(place, Buffer) and place.output >= 0:
                return int(arrays[place.output].ctypes.data)
            if isinstance(place, Buffer):
                return int(elsewhere.get(id(place), base + place.offset))
            if isinstance(place, Made):
                return int(vectors[place.which].ctypes.data)
            return int(arrays[place.position].ctypes.data)

        for number, call in enumerate(self._calls):
            if call.packs >= 0 and kept[call.packs] is not None:
                continue
            if not isinstance(call.primitive, c_void_p):
                place = call.args[DST].place
                assert isinstance(place, Buffer)
                numbers_of = workspace[place.offset : place.offset + place.nbytes]
                if place.output >= 0:
                    numbers_of = arrays[place.output].reshape(-1)
                flat = numbers_of.view(FLOAT32)
                call.primitive(flat, flat)
                continue
            memories = {
                arg: self.memory(
                    ("call", number, arg), value.layout, address(value.place)
                )
                for arg, value in call.args.items()
            }
            self.execute(call.primitive, memories)
        self.wait()

    def _kept(
        self, one: Weight, arrays: Sequence[Any], weights: Mapping[int, Any]
    ) -> Any:
        """The copy of a weight that is kept, or None."""
        var = weights.get(one.position)
        if var is None:
            return None
        source = arrays[one.position].ctypes.data

        def make() -> Any:
            buffer = aligned(one.buffer.nbytes)
            place = buffer.ctypes.data
            self.execute(
                one.code,
                {
                    _FROM: self.memory((one.position, _FROM), one.plain, source),
                    _TO: self.memory((one.position, _TO), one.wanted, place),
                },
            )
            self.wait()
            return buffer

        return packed.take(var, source, one.wanted, self, make)


def _scale(eps: float, places: Sequence[int], arrays: Sequence[Any]) -> Any:
    """As `BatchNorm` computes it in prediction."""
    gamma, _, _, variance = [arrays[place] for place in places]
    return gamma * np.divide(1, np.sqrt(variance + eps), dtype=gamma.dtype)


def _shift(eps: float, places: Sequence[int], arrays: Sequence[Any]) -> Any:
    _, beta, mean, _ = [arrays[place] for place in places]
    return beta - mean * _scale(eps, places, arrays)


def _laid_out(buffers: Sequence[Buffer]) -> int:
    """Give each buffer its place; how many bytes all of them take together.

    Buffers that are in use at the same time do not overlap; the first gap that is large
    enough is taken.
    """
    placed: list[Buffer] = []
    most = 0
    for one in buffers:
        size = -(-one.nbytes // ALIGNMENT) * ALIGNMENT
        at = 0
        beside = (b for b in placed if b.first <= one.last and one.first <= b.last)
        for other in sorted(beside, key=lambda b: b.offset):
            if at + size <= other.offset:
                break
            at = max(at, other.offset + -(-other.nbytes // ALIGNMENT) * ALIGNMENT)
        one.offset = at
        most = max(most, at + size)
        placed.append(one)
    return most
