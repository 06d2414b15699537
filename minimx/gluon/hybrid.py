"""HybridBlock: a block that can be made into a graph, and run as one.

Before `hybridize()` it runs like any block, operator by operator. After it, the first
call runs the Python code on traced values, which write the computation down as a graph
(`tracing/trace.py`). From then on calls go to the graph (`minimx.core.cached_op`):
fewer steps in Python, memory planned ahead, operators joined. As with `torch.compile`,
Python code runs only while the graph is made.

    net(x)    Block.__call__              hooks, attribution
              _through_graph              finds the graph for arguments of this form
                  _made                   the first time: `_write` it down, complete
                                          shapes, replace parts by a backend
              CachedOp                    runs it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, NamedTuple

import minimx.nd as nd
from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import conversions
from minimx.core.cached_op import CachedOp, Flags
from minimx.core.device import Context, current_context
from minimx.core.errors import ArgumentError, DeferredInitializationError, did_you_mean
from minimx.core.graph.passes.partition import backend_named, partition, print_summary
from minimx.core.graph.passes.prepare import Prepared
from minimx.core.np_semantics import is_np_array, is_np_shape
from minimx.gluon import export as files
from minimx.gluon import structure
from minimx.gluon.block import Block, _Edits
from minimx.gluon.np_arrays import refuse_mixed
from minimx.gluon.parameter.deferred import shape_is_known
from minimx.gluon.parameter.dictionary import ParameterDict
from minimx.gluon.tracing import symbolic
from minimx.gluon.tracing import trace as tracing
from minimx.gluon.tracing.deferred import Completing, placeholder
from minimx.graphs.watching import watched
from minimx.symbol import Symbol
from minimx.symbol.tracing.arrays import Traced
from minimx.symbol.tracing.arrays import tracing as tracer_of_thread

_FLAGS = tuple(field.name for field in fields(Flags))
# A block whose Python code reads shapes has a graph for each; the oldest are forgotten.
_MOST_GRAPHS = 64


class Ready(NamedTuple):
    """A graph to be called.

    written: the graph, and how arguments of a call become its inputs. op: runs it.
    learning: what is called instead in training or while gradients are recorded, if a
    backend has put operators into `op` that have no gradients.
    """

    written: tracing.Written
    op: CachedOp
    learning: Ready | None = None


class HybridBlock(structure.Formats, Block):
    """A block whose computation is the same for every input.

    Write either `forward(self, x)` like any block, or `hybrid_forward(self, F, x,
    **params)`: `F` is the operator namespace (`mx.nd`, or `mx.sym` while a graph is
    made), and the block's own parameters come in by the names of their attributes, on
    the device of `x`.

        class Scale(gluon.HybridBlock):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                self.factor = self.params.get("factor", shape=(1,), init="ones")

            def hybrid_forward(self, F, x, factor):
                return F.broadcast_mul(x, factor)

    The open shape of a parameter is learnt from the first batch, by the operator that
    it is given to, or in `infer_shape`.
    """

    def __init__(
        self, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix, params)
        self._active = False
        self._flags = Flags()
        self._backend: str | None = None
        self._watch: tuple[Callable[..., None], bool] | None = None
        self._forget_graphs()

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a hybrid block a part of this one, under a name or the next number.

        Raises ArgumentError for other blocks: they could not become a part of a graph.
        """
        if isinstance(block, Block) and not isinstance(block, HybridBlock):
            raise ArgumentError(
                f"a part of the HybridBlock {type(self).__name__} must be a "
                f"HybridBlock too, but {block!r} is a {type(block).__name__}. Use "
                "HybridSequential, HybridLambda, …, or derive from Block yourself."
            )
        super().register_child(block, name)

    # -- as a graph -------------------------------------------------------------------

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        partition_if_dynamic: bool = True,
        backend_opts: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Run the block, and its parts, as graphs from now on; or no longer.

        active: False goes back to operator by operator.
        backend: the name of one that may replace parts of the graph, as registered with
            `minimx.core.graph.passes.partition.register_backend`. backend_opts: none of
            ours takes any.
        clear: forget the graphs made so far.
        static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size:
            see `minimx.core.cached_op.Flags`.
        partition_if_dynamic: accepted; a graph whose shapes depend on numbers is run
            operator by operator in any case.
        Raises ArgumentError for other settings, and for an unknown backend.
        """
        kwargs |= backend_opts or {}
        if kwargs:
            wrong = sorted(kwargs)[0]
            known = (*_FLAGS, "active", "backend", "clear", "partition_if_dynamic")
            raise ArgumentError(
                f"hybridize has no setting {wrong!r}; it has {', '.join(known)}."
                + did_you_mean(wrong, known)
            )
        flags = {
            "static_alloc": static_alloc,
            "static_shape": static_shape,
            "inline_limit": inline_limit,
            "forward_bulk_size": forward_bulk_size,
            "backward_bulk_size": backward_bulk_size,
        }
        made = Flags(**flags) if active else Flags()  # type: ignore[arg-type]
        if backend is not None:
            backend_named(backend)  # which refuses unknown ones
        self._flags, self._active, self._backend = made, bool(active), backend
        if clear:
            self._forget_graphs()
        super().hybridize(active, **flags)

    def _forget_graphs(self) -> None:
        self._graphs: dict[Any, Ready] = {}
        self._latest: tracing.Written | None = None
        self._called: Ready | None = None
        self._known_edits = -1
        self._made_of: Any = None

    def _through_graph(self, args: tuple[Any, ...]) -> Any:
        leaves, form = structure.of_arguments(args)
        first = leaves[0] if leaves else None
        if isinstance(first, (Symbol, Traced)) or not leaves:
            return self._as_part(args, leaves)
        if self._known_edits != _Edits.count:
            self._forget_changed_parts()
        # Casts of mixed precision are written into a graph, so each choice has its own.
        key = (form, is_np_shape(), is_np_array(), conversions())
        found = self._graphs.get(key)
        if found is None:
            structure.refuse_mixture(type(self).__name__, leaves)
            found = self._graphs.get(self._by_shape(key, leaves))
        ready = found or self._made(key, args, leaves)
        if ready.learning is not None and True in tracing.recording_mode():
            ready = ready.learning
        self._called = ready
        written = ready.written
        if self._watch is not None:
            outputs = watched(written.graph, written.arrays(leaves), *self._watch)
            return written.formed(outputs)
        return written.formed(ready.op(written.arrays(leaves)))

    def _by_shape(self, key: Any, leaves: list[Any]) -> Any:
        """The key of a graph that holds for just such shapes, types and mode."""
        specs = tuple([x.spec for x in leaves])
        return (*key, specs, leaves[0].context, tracing.recording_mode())

    def _made(self, key: Any, args: tuple[Any, ...], leaves: list[Any]) -> Ready:
        """Make the graph for arguments of a form that is new."""
        written = self._write(key, args, leaves)
        if not written.complete(leaves):
            self._complete_by_running(args)
        found = Ready(written, CachedOp(written.graph, self._flags))
        if self._backend is not None:
            found = self._replaced(found)
        if written.by_shape:
            while len(self._graphs) >= _MOST_GRAPHS:
                del self._graphs[next(iter(self._graphs))]
            key = self._by_shape(key, leaves)
        self._graphs[key] = found
        self._latest = found.written
        return found

    def _replaced(self, plain: Ready) -> Ready:
        """The graph with parts replaced by the backend."""
        assert self._backend is not None
        backend = backend_named(self._backend)
        if backend is None:
            return plain
        passed = partition(plain.op.graph, backend.name)
        print_summary([passed], backend.name)
        written = plain.written.with_graph(passed.after)
        learning = None if backend.training else plain
        return Ready(written, CachedOp(written.graph, self._flags), learning)

    def _write(
        self, key: Any, args: tuple[Any, ...], leaves: list[Any]
    ) -> tracing.Written:
        """Run the Python code on traced values, all parts included."""
        if not tracing.takes_arrays(self):
            self._refuse_other_form(key)
        with _all_active(self):
            return tracing.write(self, args, leaves)

    def _refuse_other_form(self, key: Any) -> None:
        """Raise ArgumentError for arguments that the graph was not made for.

        As in MXNet, a block with `hybrid_forward` has one form: which arguments are
        arrays, and how they are nested.
        """
        name = type(self).__name__
        for value in structure.fixed(key[0]):
            raise ArgumentError(
                f"{name} is hybridized: its arguments must be arrays, None, or nested "
                f"lists of them, not {value!r}. Give such values to __init__, or call "
                "hybridize(False)."
            )
        others = [old for old in self._graphs if old[1:3] == key[1:3]]
        if others and others[0][0] != key[0]:
            raise ArgumentError(
                f"{name} was made into a graph for arguments of the form "
                f"{others[0][0]}, not {key[0]}. Call hybridize() again before "
                "arguments of another form."
            )

    def _complete_by_running(self, args: tuple[Any, ...]) -> None:
        """Run once without a graph: some layers know their shapes only then."""
        self._active = False
        try:
            with autograd.pause(train_mode=False):
                self.forward(*args)
        finally:
            self._active = True

    def _as_part(self, args: tuple[Any, ...], leaves: list[Any]) -> Any:
        """Called with symbols or traced arrays: become a part of their graph."""
        structure.refuse_mixture(type(self).__name__, leaves)
        tracer = tracer_of_thread()
        if tracer is None or not isinstance(leaves[0], Symbol):
            return self.forward(*args)
        if not tracing.takes_arrays(self):
            return self.forward(*args)
        inputs = tracing.lifted(tracer, args, is_np_array())
        return tracing.lowered(self.forward(*inputs))

    def _forget_changed_parts(self) -> None:
        """Forget the graphs if the block consists of other parts than it did."""
        self._known_edits = _Edits.count
        parts = _parts(self)
        if self._made_of is not None and parts != self._made_of:
            self._forget_graphs()
            self._known_edits = _Edits.count
        self._made_of = parts

    def optimize_for(
        self,
        x: Any,
        *args: Any,
        backend: str | None = None,
        clear: bool = False,
        **kwargs: Any,
    ) -> None:
        """Let a backend replace parts of the graph, for inputs such as these.

        Nothing is run; calls and `export` see the new graph. clear: forget those made
        for other inputs. kwargs: the flags of `hybridize`.
        """
        if not backend:
            raise ArgumentError(
                "optimize_for: say which backend, by the name that it was registered "
                "with (minimx.core.graph.passes.partition)."
            )
        self.hybridize(True, backend, clear, **kwargs)
        leaves, form = structure.of_arguments((x, *args))
        structure.refuse_mixture(type(self).__name__, leaves)
        self._forget_changed_parts()
        key = (form, is_np_shape(), is_np_array(), conversions())
        for old in (key, self._by_shape(key, leaves)):
            self._graphs.pop(old, None)
        self._made(key, (x, *args), leaves)

    @property
    def prepared(self) -> Prepared | None:
        """What the graph became for the latest call whose gradients were recorded.

        Its memory plan is `prepared.plan`, the knobs it was bound under
        `prepared.settings`. None where no such call ran as one graph.
        """
        return None if self._called is None else self._called.op.recorded

    def export(
        self, path: str, epoch: int = 0, remove_amp_cast: bool = True
    ) -> tuple[str, str]:
        """Write the graph to `path-symbol.json`, the values to `path-0000.params`.

        Both can be read by `SymbolBlock.imports`, here and in MXNet. The block must be
        hybridized and have been called. epoch: the number in the second name.
        """
        return files.write_files(self, self._latest, path, epoch, remove_amp_cast)

    def register_op_hook(
        self, callback: Callable[..., None], monitor_all: bool = False
    ) -> None:
        """Call `callback(name, operator, array)` for every output of every operator.

        It is called when the hybridized block runs, which goes operator by operator
        then; while gradients are recorded also for the mean and deviation that
        normalizations keep. monitor_all: also for what goes into each operator.
        """
        self._watch = callback, monitor_all
        for child in self._children.values():
            child._watch = self._watch

    # -- shapes -----------------------------------------------------------------------

    def infer_shape(self, *args: Any) -> None:
        """Set the open shapes of the parameters, given the block's inputs.

        args: arrays, of which only the shapes count. Operators know the shapes of
        parameters that they are given; a layer that uses a parameter in another way
        overrides this, and sets `parameter.shape`.
        """
        symbolic.settle_shapes(self, *args)

    def infer_type(self, *args: Any) -> None:
        """Set the element types of the parameters, given the block's inputs."""
        symbolic.settle_types(self, *args)

    def _learn_shapes(self, args: tuple[Any, ...]) -> bool:
        if type(self).infer_shape is HybridBlock.infer_shape:
            return False
        waiting = [p for p in self._reg_params.values() if p._deferred_init is not None]
        if not waiting or isinstance(args[0], Symbol):
            return False
        self.infer_shape(*args)
        if tracer_of_thread() is None:  # while a graph is made no values are needed
            for parameter in waiting:
                parameter._finish_deferred()
        return True

    # -- running ----------------------------------------------------------------------

    def forward(self, x: Any, *args: Any) -> Any:
        """Call `hybrid_forward` with the parameters, on the device of `x`.

        x, args: arrays, or nested lists of them; symbols or traced values while a graph
        is made. F is then `mx.sym`, else `mx.nd`. Returns what `hybrid_forward` does.
        """
        if not isinstance(x, NDArray) and symbolic.is_symbolic((x, args)):
            structure.refuse_mixture(
                type(self).__name__, structure.of_arguments((x, *args))[0]
            )
            return symbolic.write_down(self, x, *args)
        if isinstance(x, Traced):
            return self._traced_inside(x, *args)
        if self._active:  # called as net.forward(x)
            return self._through_graph((x, *args))
        if args and any(isinstance(value, Symbol) for value in args):
            structure.refuse_mixture(type(self).__name__, [x, *args])
        ctx = (
            x.context
            if isinstance(x, NDArray)
            else _context_of(type(self).__name__, (x, *args))
        )
        operators: Any = nd
        try:
            params = {name: p.data(ctx) for name, p in self._reg_params.items()}
        except DeferredInitializationError:
            params = self._with_placeholders(ctx, x, *args)
            operators = Completing()
        if ctx is current_context():
            out = self.hybrid_forward(operators, x, *args, **params)
        else:
            with ctx:  # what hybrid_forward makes from nothing belongs there too
                out = self.hybrid_forward(operators, x, *args, **params)
        return refuse_mixed(type(self).__name__, out) if is_np_array() else out

    def _traced_inside(self, *args: Any) -> Any:
        """`hybrid_forward` inside a traced `forward`: it gets symbols, not arrays."""
        tracer = tracer_of_thread()
        assert tracer is not None
        out = symbolic.write_down(self, *tracing.lowered(args))
        return tracing.lifted(tracer, out, is_np_array())

    def _with_placeholders(self, ctx: Context, *args: Any) -> dict[str, NDArray]:
        """Arrays for the first forward; placeholders where a shape is still open."""
        if type(self).infer_shape is not HybridBlock.infer_shape:
            self.infer_shape(*args)
        found = {}
        for name, parameter in self._reg_params.items():
            if parameter._deferred_init is not None and shape_is_known(parameter.shape):
                parameter._finish_deferred()
            waits = parameter._deferred_init is not None
            found[name] = placeholder(parameter) if waits else parameter.data(ctx)
        return found

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **params: Any) -> Any:
        """Compute the output with the operators of `F`. Subclasses must write it.

        F: `mx.nd` or `mx.sym`. x, args: the block's inputs. params: its parameters, by
        the names of their attributes; all of them arrays or symbols, as F wants.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has neither hybrid_forward(self, F, x, ...) nor "
            "forward(self, x, ...). Write one of them."
        )


@contextmanager
def _all_active(block: Block) -> Iterator[None]:
    """Inside the `with` block all parts are hybridized, so that the graph has them."""
    inactive: list[Block] = []

    def activate(part: Block) -> None:
        if isinstance(part, HybridBlock) and not part._active:
            inactive.append(part)
            part._active = True

    block.apply(activate)
    try:
        yield
    finally:
        for part in inactive:
            part._active = False


def _context_of(name: str, values: Any) -> Context:
    """The device of the first array in nested inputs of a block."""
    waiting = list(values)
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, NDArray):
            return value.context
        if isinstance(value, (list, tuple)):
            waiting = [*value, *waiting]
    raise structure.without_arrays(name)


def _parts(block: Block) -> Any:
    """What a block consists of; equal as long as nothing was exchanged."""
    own = [(name, p, str(p.dtype)) for name, p in block._reg_params.items()]
    return block, own, [_parts(child) for child in block._children.values()]
