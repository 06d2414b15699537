"""CachedOp: a graph that is called like an operator, prepared once for many calls.

    op = CachedOp(graph, Flags(static_alloc=True))
    outputs = op(arrays)                # for graph.arguments, then graph.states

It is what `hybridize` puts in the place of a block's Python code; MXNet's class of the
same name (`src/imperative/cached_op.cc`). What happens in a call:

    1  `_variant` looks for a `Variant` (`running/variant.py`): a program for these
       shapes, this device and mode, and these knobs. At the first call it is made by
       `prepare` (all passes) and `Program` (kernels, memory), which takes far longer.
    2  `Variant.call` pushes the forward half to the engine and returns the outputs.
    3  While autograd records, `_record` puts one node on the tape for the whole call.
       Its gradient, `_CachedCall.grad`, pushes the backward half.

The backward half is planned for gradients of all outputs. A call of which some outputs
have none is repeated as planned for the others (`repeated`), and so are later calls.

Run operator by operator (`_one_by_one`) are graphs that cannot be planned ahead (shapes
that depend on numbers, sparse arrays, operators written in Python), short ones while
recording (see `inline_limit`), and gradients that are to be differentiated themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minimx.core import autograd, np_semantics
from minimx.core.arrays import launch
from minimx.core.arrays.array import NDArray
from minimx.core.autograd import tape
from minimx.core.autograd.rerun import gradients_through
from minimx.core.device import Device, current_context
from minimx.core.drivers import kernels_as_on
from minimx.core.errors import ArgumentError, GradientError
from minimx.core.graph.memory.workspaces import Workspace
from minimx.core.graph.passes.partition import print_summary
from minimx.core.graph.passes.prepare import Prepared, Unplanned, prepare
from minimx.core.graph.running.bulk import limits
from minimx.core.graph.running.program import Program
from minimx.core.graph.running.run import evaluate
from minimx.core.graph.running.settings import Settings, in_force
from minimx.core.graph.running.variant import Call, Variant
from minimx.core.graph.values.infer import resolved
from minimx.core.graph.values.ir import Graph, Node
from minimx.core.ops.registry import GradContext, Op
from minimx.core.ops.spec import Spec

__all__ = ["CachedOp", "Flags"]

#: For how many combinations of shapes and modes a graph keeps programs.
VARIANTS_KEPT = 64
Wanted = tuple[bool, ...]
#: What tells calls apart: specs and device of the inputs, mode of training, which of
#: them get a gradient, NumPy's rules of shapes, which outputs have a gradient.
Key = tuple[tuple[Spec, ...], Device, bool, Wanted, bool, Wanted | None]


@dataclass(frozen=True)
class Flags:
    """How a graph is to be run; the settings of `hybridize`.

    static_alloc: keep the memory from call to call. static_shape: also bind every
    operator to it once; needs static_alloc, else ArgumentError. inline_limit: a graph
    of at most so many operators is recorded operator by operator. forward_bulk_size,
    backward_bulk_size: how many operators are joined into one operation of the engine;
    None: as the knobs MXNET_EXEC_BULK_EXEC_... say.
    """

    static_alloc: bool = False
    static_shape: bool = False
    inline_limit: int = 2
    forward_bulk_size: int | None = None
    backward_bulk_size: int | None = None

    def __post_init__(self) -> None:
        if self.static_shape and not self.static_alloc:
            raise ArgumentError(
                "static_shape=True binds operators to memory that stays, so it needs "
                "static_alloc=True."
            )

    def sizes(
        self, settings: Settings, training: bool
    ) -> tuple[int | None, int | None]:
        """How many operators are joined, forward and backward; None: all of a half.

        By these flags, or else by the knobs in `settings` for the mode `training`.
        """
        forward, backward = limits(settings, training)
        if self.forward_bulk_size is not None:
            forward = self.forward_bulk_size
        if self.backward_bulk_size is not None:
            backward = self.backward_bulk_size
        return forward, backward


class CachedOp:
    """A graph to be called with an array for each of its variables."""

    def __init__(self, graph: Graph, flags: Flags | None = None) -> None:
        # In the order of the calls that were traced: the gradients of a value that is
        # used several times are added in this order, as the tape does.
        self.graph = graph if graph.order else graph.as_made()
        self.flags = flags or Flags()
        self.variables: tuple[Node, ...] = (*graph.arguments, *graph.states)
        operators = sum(node.op is not None for node in graph)
        short = operators <= self.flags.inline_limit
        self._inline = short and not self.flags.static_alloc
        # The variants, None for calls that cannot be planned, and the knobs that they
        # were made for.
        self._settings: Settings | None = None
        self._variants: dict[Key, Variant | None] = {}
        # Which outputs had a gradient in the latest backward; None: all of them.
        self._flows: Wanted | None = None
        # The workspaces that the programs of a device share.
        self._workspaces: dict[Device, list[Workspace]] = {}
        #: What the latest recorded call became, while no knob has made it out of date.
        self.recorded: Prepared | None = None

    def __call__(
        self, inputs: Sequence[NDArray], ctx: Device | None = None
    ) -> list[NDArray]:
        """The outputs, recorded if `autograd` records.

        inputs: an array for each of `graph.arguments`, then of `graph.states`, which
        the call changes. ctx: the device; by default that of the first input, or the
        current one. Raises ArgumentError for another number of arrays.
        """
        if len(inputs) != len(self.variables):
            raise ArgumentError(
                f"a graph of {len(self.variables)} variables "
                f"({', '.join(node.name for node in self.variables[:8])}) was called "
                f"with {len(inputs)} arrays. Give one for each."
            )
        if ctx is None:
            ctx = inputs[0].context.home if inputs else current_context()
        mode = autograd.state
        wanted: Wanted = ()
        if mode.recording:
            wanted = tuple([x._entry is not None for x in inputs])
            if self._inline:
                return self._one_by_one(inputs, ctx)
        if launch.watching is not None:  # a monitor looks at each operator's results
            return self._one_by_one(inputs, ctx)
        variant = self._variant(inputs, ctx, mode.training, wanted)
        if variant is None or any(x.chunk.device.home is not ctx for x in inputs):
            return self._one_by_one(inputs, ctx)
        call, outputs = variant.call(inputs)
        if True in wanted:
            self.recorded = variant.prepared
            _record(_CachedCall(self, variant), call, inputs, outputs)
        return outputs

    def _one_by_one(self, inputs: Sequence[NDArray], ctx: Device) -> list[NDArray]:
        """Call the operators in order, as if they were called by hand."""
        pairs = list(zip(self.variables, inputs, strict=True))
        runs = resolved(self.graph, {node.name: array.spec for node, array in pairs})
        return evaluate(runs, dict(pairs), ctx)

    def _variant(
        self,
        inputs: Sequence[NDArray],
        ctx: Device,
        training: bool,
        wanted: Wanted,
    ) -> Variant | None:
        """The variant for a call like this one; None if it cannot be planned."""
        settings = in_force()
        if settings is not self._settings:
            self._variants.clear()
            self.recorded = None
            self._settings = settings
        specs = tuple([x.spec for x in inputs])
        key = (specs, ctx, training, wanted, np_semantics.is_np_shape(), self._flows)
        try:
            return self._variants[key]
        except KeyError:
            pass
        if len(self._variants) >= VARIANTS_KEPT:
            self._variants.pop(next(iter(self._variants)))
        made = self._variants[key] = self._made(key, settings)
        return made

    def repeated(
        self,
        call: Call,
        inputs: Sequence[NDArray],
        wanted: Wanted,
        flows: Wanted,
    ) -> Call:
        """A call once more, by a variant whose backward half takes other gradients.

        inputs: those of the call. wanted: which of them get a gradient. flows: which
        outputs have one. Zeros for the other outputs would cost time, and would become
        NaN where a slope is infinite. Later calls are planned for these outputs.
        """
        self._flows = flows
        with autograd.pause(train_mode=call.training), call.draws():
            variant = self._variant(inputs, call.device, call.training, wanted)
            assert variant is not None
            return variant.call(self._unchanged(inputs))[0]

    def _unchanged(self, inputs: Sequence[NDArray]) -> list[NDArray]:
        """The same inputs; states, which a call changes, as copies."""
        first_state = len(self.graph.arguments)
        copies = [state.copy() for state in inputs[first_state:]]
        return [*inputs[:first_state], *copies]

    def prepared(self, key: Key, settings: Settings) -> Prepared:
        """The graph after all passes, for calls of one kind under some settings.

        Raises `Unplanned` or `GradientError` where the passes cannot plan it.
        """
        specs, ctx, training, wanted, _, flows = key
        learning = [n for n, want in zip(self.variables, wanted, strict=False) if want]
        return prepare(
            self.graph,
            dict(zip(self.variables, specs, strict=True)),
            learning,
            training=training,
            settings=settings,
            sizes=self.flags.sizes(settings, training or bool(learning)),
            flows=flows,
            kind=kernels_as_on(ctx),
        )

    def _made(self, key: Key, settings: Settings) -> Variant | None:
        specs, ctx, *_ = key
        if any(spec.eager is not None for spec in specs):
            return None
        try:
            prepared = self.prepared(key, settings)
        except (Unplanned, GradientError):  # operator by operator it may run, or raises
            return None
        print_summary(prepared.passes, settings.subgraph_backend)
        # Calls of one graph wait for each other in any case, as they change the same
        # states or belong to one training: so variants need no workspaces of their own.
        shared = self._workspaces.setdefault(ctx, [])
        program = Program(prepared, ctx, self.flags.static_shape, shared)
        return Variant(program, self.flags.static_alloc, self.flags.static_shape)


class _CachedCall(Op):
    """The operator of the node that a call of a graph has on the tape."""

    name = "_CachedOp"
    variadic = True
    writes_gradients = True

    def __init__(self, cached_op: CachedOp, variant: Variant) -> None:
        object.__setattr__(self, "cached_op", cached_op)
        object.__setattr__(self, "variant", variant)
        object.__setattr__(self, "visible", variant.prepared.heads)

    def grad(self, at: GradContext, dout: Any, *saved: Any) -> Sequence[Any]:
        """Push the backward half; saved: the `Call`, then its inputs."""
        variant: Variant = self.variant  # type: ignore[attr-defined]
        call: Call = saved[0]
        inputs = saved[1:]
        douts = dout if isinstance(dout, tuple) else (dout,)
        cached_op: CachedOp = self.cached_op  # type: ignore[attr-defined]
        if autograd.state.recording:
            return _recorded_gradients(cached_op, call, inputs, douts, at.wants)
        flows = tuple([dout is not None for dout in douts])
        if not variant.fits(flows):
            call = cached_op.repeated(call, inputs, at.wants, flows)
        return call.variant.gradients(call, douts, at.targets, at.retain)


def _record(
    op: _CachedCall,
    call: Call,
    inputs: Sequence[NDArray],
    outputs: Sequence[NDArray],
) -> None:
    """Put a call on the tape, which keeps its memory until backward has used it."""
    tape.drop_null_grads(inputs)
    saved: list[Any] = [(call, -1 - op.visible, None)]
    saved += [tape.saved(x, position) for position, x in enumerate(inputs)]
    node = tape.TapeNode(
        op,
        [x._entry for x in inputs],
        tuple([x.spec for x in inputs]),
        tuple([x.spec for x in outputs]),
        saved,
        call.op_id,
    )
    for index, out in enumerate(outputs):
        out._entry = (node, index)


def _recorded_gradients(
    cached_op: CachedOp,
    call: Call,
    inputs: Sequence[NDArray],
    douts: Sequence[NDArray | None],
    wants: Sequence[bool],
) -> list[Any]:
    """The gradients by operators that are recorded, for gradients of gradients."""
    fixed = [x if w else x._alias() for x, w in zip(inputs, wants, strict=True)]
    with autograd.pause(train_mode=autograd.is_training()):
        fixed = cached_op._unchanged(fixed)  # the call has changed states once

    def forward(values: Sequence[NDArray]) -> list[NDArray]:
        with autograd.train_mode() if call.training else autograd.predict_mode():
            return cached_op._one_by_one(values, call.device)

    with call.draws():
        return gradients_through(forward, fixed, douts, wants)
