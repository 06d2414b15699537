"""A graph on arrays that stay the same: what an executor runs where it can.

There is a program for predicting and one for training, on one piece of memory. Outputs
and gradients are written to their places at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core import autograd, rng
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.chunk import Chunk
from minimx.core.arrays.launch import invoke
from minimx.core.arrays.transfer import copy
from minimx.core.device import Device
from minimx.core.drivers import kernels_as_on
from minimx.core.errors import GradientError
from minimx.core.events import attributed, owner
from minimx.core.graph.memory.arena import Arena, SharedMemory
from minimx.core.graph.passes.partition import print_summary
from minimx.core.graph.passes.prepare import Prepared, Unplanned, prepare
from minimx.core.graph.running.program import Program
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec


class Run:
    """A program, its memory, and where its arrays are in `env`."""

    def __init__(
        self, prepared: Prepared, device: Device, memory: SharedMemory
    ) -> None:
        self.program = Program(prepared, device, fixed=True)
        self.prepared = prepared
        self.arena: Arena = self.program.arena(memory)
        index = {entry: i for i, entry in enumerate(prepared.external)}
        self.outs = [index[entry] for entry in prepared.outputs]
        self.grads = [index[entry] for entry in prepared.gradients]
        self.heads = [index[Entry(node)] for node in prepared.head_grads]
        read = {*prepared.graph.nodes}
        self.reads_head = [node in read for node in prepared.head_grads]
        self.specs = [prepared.specs.get(entry) for entry in prepared.external]
        self.env: list[NDArray | None] = [None] * len(index)


class Bound:
    """Runs a graph forward and backward on arrays of fixed specs."""

    def __init__(
        self,
        graph: Graph,
        device: Device,
        variables: Sequence[Node],
        specs: Sequence[Spec],
        wanted: Sequence[Node],
        settings: Settings,
        memory: SharedMemory | None = None,
    ) -> None:
        """Raises `Unplanned` where the graph cannot be planned ahead.

        memory: that of another one, to be used in turns.
        """
        self.graph = graph
        self.device = device
        self.variables = tuple(variables)
        self.wanted = tuple(wanted)
        self.memory = memory or SharedMemory()
        self._specs = dict(zip(self.variables, specs, strict=True))
        self._settings = settings
        self._runs: dict[tuple[bool, bool], Run] = {}
        self._last: Run | None = None
        self._training = False
        # Whether backward has overwritten what forward has kept.
        self._spent = False
        self.outputs: list[NDArray] = []
        self.run_for(bool(self.wanted), bool(self.wanted))

    @property
    def prepared(self) -> Prepared:
        """The graph after all passes; with the gradients, if some are wanted."""
        both = bool(self.wanted)
        return self.run_for(both, both).prepared

    def run_for(self, training: bool, gradients: bool) -> Run:
        """The program for a mode, prepared when it is first asked for.

        training: operators such as dropout and batch normalization behave as in
        training. gradients: the program has a backward half. Memory is planned for each
        mode apart.
        """
        run = self._runs.get((training, gradients))
        if run is None:
            prepared = prepare(
                self.graph,
                self._specs,
                self.wanted if gradients else (),
                training=training,
                settings=self._settings,
                kind=kernels_as_on(self.device),
            )
            print_summary(prepared.passes, self._settings.subgraph_backend)
            with attributed(phase="forward", category="activation"):
                run = Run(prepared, self.device, self.memory)
            self._runs[training, gradients] = run
        return run

    def forward(self, training: bool, arrays: Sequence[NDArray]) -> list[NDArray]:
        """Compute the outputs: always the same arrays, which each run overwrites.

        arrays: the values of the graph's variables in the order of `graph.inputs`, with
        the shapes and element types that were bound.
        """
        self._training = training
        self._start(self.run_for(training, training and bool(self.wanted)), arrays)
        return self.outputs

    def _start(self, run: Run, arrays: Sequence[NDArray]) -> None:
        env: list[NDArray | None] = [None] * len(run.env)
        env[: len(arrays)] = arrays
        first = not self.outputs
        through: list[tuple[NDArray, NDArray]] = []
        for number, place in enumerate(run.outs):
            found = env[place]
            if first:
                self.outputs.append(self._new(run, place, found, arrays))
            shown = self.outputs[number]
            if found is None:
                env[place] = shown
            else:  # an argument that goes through, or an output once more
                through.append((found, shown))
        run.env = env
        run.arena.draws = {}
        run.program.forward(run.arena, env)
        for source, target in through:
            if source is not target:
                copy(source, target)
        self._last, self._spent = run, False

    def _new(
        self, run: Run, place: int, found: NDArray | None, arrays: Sequence[NDArray]
    ) -> NDArray:
        spec = run.specs[place] if found is None else found.spec
        assert spec is not None
        kind = type(arrays[0]) if arrays else NDArray
        return kind(Chunk(self.device, spec.nbytes, owner("output")), spec)

    def backward(
        self,
        head_grads: Sequence[NDArray | None],
        grads: Sequence[NDArray | None],
        reqs: Sequence[str],
        arrays: Sequence[NDArray],
    ) -> None:
        """Fill the gradients of the wanted variables; None among head_grads are ones.

        grads, reqs: for each of `wanted`.
        """
        run = self._ready(arrays)
        env = run.env.copy()
        for number, place in enumerate(run.heads):
            if run.reads_head[number]:
                grad = head_grads[number]
                if grad is None:
                    grad = invoke(lookup("ones_like").of(), [self.outputs[number]])
                env[place] = grad
        late: list[tuple[NDArray, NDArray, str]] = []
        for place, grad, req in zip(run.grads, grads, reqs, strict=True):
            if grad is None:
                continue
            spec = run.specs[place]
            if env[place] is None and req == "write" and grad.spec is spec:
                env[place] = grad
                continue
            if env[place] is None:
                assert spec is not None
                chunk = Chunk(self.device, spec.nbytes, owner("gradient"))
                env[place] = NDArray(chunk, spec)
            found = env[place]
            assert found is not None
            late.append((grad, found, req))
        with attributed(phase="backward", category="gradient"):
            run.program.backward(run.arena, env)
            self._spent = True
            for target, value, req in late:
                _store(target, value._neutral(), req)

    def _ready(self, arrays: Sequence[NDArray]) -> Run:
        """The last run with all that backward needs; computed anew if it is gone."""
        run = self._last
        if run is None:
            raise GradientError("backward: there was no forward. Call it first.")
        if run.prepared.wanted and not self._spent:
            return run
        drawn = _drawn(run)
        run = self.run_for(self._training, True)
        states = len(self.graph.arguments)
        with autograd.pause(train_mode=self._training):
            kept: list[Any] = [x.copy() for x in arrays[states:]]
        with rng.replaying(self.device, drawn):
            self._start(run, [*arrays[:states], *kept])
        return run


def _drawn(run: Run) -> list[Any]:
    """In which states the random streams were that a run drew from."""
    if not run.program.draws:
        return []
    for place in run.outs:
        out = run.env[place]
        assert out is not None
        out.wait_to_read()
    assert run.arena.draws is not None
    return [run.arena.draws[key] for key in run.program.draws]


def _store(target: NDArray, value: NDArray, req: str) -> None:
    if req == "add":
        value = invoke(lookup("elemwise_add").of(), [target._neutral(), value])
    target._assign(value)


__all__ = ["Bound", "Unplanned"]
