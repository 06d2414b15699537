"""A graph with sparse arrays, made ready once: what an executor runs on a CPU.

    runs = SparseRuns(graph, device, arrays, grads, reqs, settings)
    runs.takes(True, arrays, grads)            # whether it can run with these arrays
    outputs = runs.forward(True, arrays)
    runs.backward(head_grads, grads, reqs, arrays)      # of those with gradients

How much a sparse array stores is known only when it is computed, so that `Bound` cannot
plan memory for it. All else is known beforehand: which operators run, those of the
gradient included, in which storage type each result is, and which kernel computes it.
So that is found out once for each mode. The calls are those of the tape, in its order:
the numbers are the same to the bit.

Results lie in arrays that stay from run to run. A dense one takes its turn with others
of the same shape and type, unless the backward half reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from minimx.core.arrays import launch
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.arrays.transfer import copy
from minimx.core.autograd import walk
from minimx.core.autograd.tape import Leaf
from minimx.core.device import Device
from minimx.core.errors import GradientError, MXNetError
from minimx.core.events import attributed
from minimx.core.graph.passes.gradient import differentiate
from minimx.core.graph.passes.prepare import Unplanned
from minimx.core.graph.running import bulk
from minimx.core.graph.running.run import as_run
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Entry, Graph, Node
from minimx.core.graph.values.specs import Specs
from minimx.core.ops.registry import lookup
from minimx.core.ops.spec import Spec
from minimx.graphs.sparse_calls import Call, Segment, SparseWriter, planned
from minimx.nd.sparse import route

#: More gradients of one value than there are: they are added at once, as on the tape.
_ANY = 1 << 30
_KINDS = {NDArray, *route.CLASSES.values()}


class Run:
    """A graph in one mode: its segments, and the arrays of its results.

    specs: of all entries. template: `env`, which has an array for each place, as far as
    it is the same in every run; None for what callers bring, variables first. outputs:
    places. heads: the places of their gradients, None where nothing reads it.
    gradients: places, for each wanted variable; None where they are zeros.
    """

    def __init__(self, runs: SparseRuns, training: bool) -> None:
        """Raises `Unplanned`, or what operators and their gradients refuse."""
        graph = as_run(runs.graph, training)
        self.specs: Specs = _every_spec(graph, runs.specs)
        forward, outputs = {*graph.nodes}, graph.outputs
        heads: tuple[Node, ...] = ()
        gradients: list[Entry | None] = []
        if runs.wanted:
            if any(self.specs[entry].eager for entry in outputs):
                raise Unplanned("the gradient of a sparse output may be dense")
            made = differentiate(
                graph, runs.wanted, self.specs, cap=_ANY, writing=SparseWriter
            )
            pairs = zip(runs.wanted, made.gradients, strict=True)
            gradients = [None if n in made.zeros else e for n, e in pairs]
            self.specs, heads = made.specs, made.head_grads
            found = [entry for entry in gradients if entry is not None]
            graph = Graph([*outputs, *found], made.graph.nodes)
        nodes = [node for node in graph if node.op is not None]
        given = [Entry(node) for node in (*runs.specs, *heads)]
        every = [*given, *[e for node in nodes for e in _outs(node, self.specs)]]
        places = {entry: place for place, entry in enumerate(dict.fromkeys(every))}
        read = {*graph.nodes}
        self.entries = [*places]
        self.output_specs = [self.specs[entry] for entry in outputs]
        self.outputs = [places[entry] for entry in outputs]
        self.heads = [places[Entry(node)] if node in read else None for node in heads]
        self.gradients = [
            None if entry is None else places[entry] for entry in gradients
        ]
        arrays = _Arrays(self.specs, runs, {*given, *graph.outputs})
        arrays.fill(nodes, forward)
        self.template = [arrays.found.get(entry) for entry in places]
        called = [node for node in nodes if node not in arrays.views]
        calls = {node: Call(node, self.specs, places, runs.device) for node in called}
        self._calls = [*calls.values()]
        first: dict[Any, int] = {}
        same = [
            place if array is None else first.setdefault(array.chunk, place)
            for place, array in enumerate(self.template)
        ]
        halves: dict[bool, list[Segment]] = {True: [], False: []}
        sizes = bulk.limits(runs.settings, training)
        for segment in bulk.segments(called, *sizes, forward):
            joined = Segment([calls[node] for node in segment.nodes], same)
            halves[segment.nodes[0] in forward].append(joined)
        self.forward, self.backward = halves[True], halves[False]

    @property
    def holds(self) -> bool:
        """Whether the operators would still be computed in the same way."""
        return not self._calls or self._calls[0].holds


def _every_spec(graph: Graph, variables: Mapping[Node, Spec]) -> Specs:
    """The specs of all entries, in the storage types that sparse rules give."""
    found = {Entry(node): spec for node, spec in variables.items()}
    for node in graph:
        if node.op is not None:
            outs = planned(node.op, tuple([found[entry] for entry in node.inputs])).outs
            found |= {Entry(node, slot): spec for slot, spec in enumerate(outs)}
    return found


def _outs(node: Node, specs: Specs) -> Iterator[Entry]:
    """Its outputs, the hidden ones too."""
    slot = 0
    while (entry := Entry(node, slot)) in specs:
        yield entry
        slot += 1


class _Arrays:
    """The arrays of a graph's results.

    given: entries whose arrays the caller brings. found: the arrays of the others.
    views: the nodes whose result is another one's memory in another shape.
    """

    def __init__(
        self, specs: Specs, runs: SparseRuns, given: Collection[Entry]
    ) -> None:
        self._specs, self._device, self._shared = specs, runs.device, runs.shared
        self._given = given
        self.found: dict[Entry, NDArray] = {}
        self.views: set[Node] = set()
        # By spec: how many shared arrays are in use, and those that are free again.
        self._used: dict[Spec, int] = defaultdict(int)
        self._free: dict[Spec, list[NDArray]] = defaultdict(list)

    def fill(self, nodes: Sequence[Node], forward: Collection[Node]) -> None:
        """Give every result an array. nodes: in the order in which they run."""
        base: dict[Entry, Entry] = {}  # of views, what they are made of
        for node in nodes:
            if self._is_view(node):
                self.views.add(node)
                source = node.inputs[0]
                base[Entry(node)] = base.get(source, source)
        last: dict[Entry, int] = {}
        kept: set[Entry] = set()
        for number, node in enumerate(nodes):
            read = [base.get(entry, entry) for entry in node.inputs]
            last.update(dict.fromkeys([*read, *_outs(node, self._specs)], number))
            if node not in forward:
                kept |= {entry for entry in read if entry.node in forward}
        for number, node in enumerate(nodes):
            outs = [e for e in _outs(node, self._specs) if e not in self._given]
            for entry in outs:
                self.found[entry] = self._array(entry, node)
            read = [base.get(entry, entry) for entry in node.inputs]
            for entry in dict.fromkeys([*read, *outs]):
                over = last[entry] == number and entry not in kept
                if over and entry not in base and self._is_dense(entry):
                    self._free[self._specs[entry]].append(self.found[entry])

    def _is_view(self, node: Node) -> bool:
        assert node.op is not None
        if not node.op.is_view or Entry(node) in self._given:
            return False
        return self._is_dense(node.inputs[0])

    def _is_dense(self, entry: Entry) -> bool:
        """Whether it is a dense one of ours."""
        return entry not in self._given and self._specs[entry].eager is None

    def _array(self, entry: Entry, node: Node) -> NDArray:
        spec = self._specs[entry]
        if node in self.views:
            whole = self.found[node.inputs[0]]
            return NDArray(whole.chunk, spec, whole.offset)
        name = entry.node.name
        if spec.eager:
            made: NDArray = route.empty(spec, self._device, name)
            return made
        if self._free[spec]:
            return self._free[spec].pop()
        mine, number = self._shared.setdefault(spec, []), self._used[spec]
        self._used[spec] += 1
        if number == len(mine):
            mine.append(route.empty(spec, self._device, name))
        return mine[number]


class SparseRuns:
    """Runs a graph with sparse arrays forward and backward on one CPU.

    outputs: always the same arrays, which each run overwrites. wanted: the arguments
    whose gradients are computed. shared: dense arrays that all modes use in turns.
    """

    def __init__(
        self,
        graph: Graph,
        device: Device,
        arrays: Sequence[NDArray],
        grads: Sequence[NDArray | None],
        reqs: Sequence[str],
        settings: Settings,
    ) -> None:
        """Raises `Unplanned` where operators must be called one after the other.

        arrays: for arguments, then for states. grads, reqs: for each argument.
        """
        if device.device_type == "gpu":
            raise Unplanned("kernels on a GPU are launched one by one")
        self.graph, self.device, self.settings = graph, device, settings
        self._given = [array.spec for array in arrays]
        variables = [*graph.arguments, *graph.states]
        self.specs = dict(zip(variables, self._given, strict=True))
        slots = zip(variables, grads, reqs, strict=False)
        self.wanted = [
            n for n, grad, req in slots if grad is not None and req != "null"
        ]
        self.shared: dict[Spec, list[NDArray]] = {}
        self.outputs: list[NDArray] = []
        self._without = [grad is None for grad in grads]
        self._runs: dict[bool, Run] = {}
        self._last: tuple[Run, list[Any]] | None = None
        self._ones: dict[Spec, NDArray] = {}
        self._run_for(bool(self.wanted))

    @classmethod
    def of(cls, *given: Any) -> SparseRuns | None:
        """One made of these; None where operators must be called one by one."""
        try:
            return cls(*given)
        except Unplanned:
            return None

    def _run_for(self, training: bool) -> Run:
        run = self._runs.get(training)
        if run is None or not run.holds:
            try:
                with attributed(phase="forward", category="activation"):
                    run = self._runs[training] = Run(self, training)
            except MXNetError as reason:
                # Perhaps nothing ever runs; if it does, the call says it better.
                raise Unplanned(str(reason)) from reason
        return run

    def takes(
        self,
        training: bool,
        arrays: Sequence[NDArray],
        grads: Sequence[NDArray | None],
    ) -> bool:
        """Whether it can run with these arrays, which may not be those of the start.

        arrays: the values of the graph's variables; grads: for each argument.
        """
        device = self.device
        if (
            [x.spec for x in arrays] != self._given
            or [grad is None for grad in grads] != self._without
            or any(x.context is not device for x in arrays)
            or not _KINDS.issuperset(map(type, arrays))
            or launch.conversions() is not None
        ):
            return False
        try:
            self._run_for(training)
        except Unplanned:
            return False
        return True

    def forward(self, training: bool, arrays: Sequence[NDArray]) -> list[NDArray]:
        """Compute the outputs, from arrays that it takes."""
        run = self._run_for(training)
        env: list[Any] = run.template.copy()
        env[: len(arrays)] = arrays
        through: list[tuple[NDArray, NDArray]] = []
        for number, place in enumerate(run.outputs):
            shown = self._shown(number, run.output_specs[number])
            if env[place] is None:
                env[place] = shown
            else:  # an argument that goes through, or an output once more
                through.append((env[place], shown))
        for segment in run.forward:
            segment.push(env, self.device)
        for source, target in through:
            copy(source, target)
        self._last = run, env
        return self.outputs

    def _shown(self, number: int, spec: Spec) -> NDArray:
        """The array that shows an output."""
        outputs = self.outputs
        if number == len(outputs) or outputs[number].spec is not spec:
            outputs[number : number + 1] = [route.empty(spec, self.device, "output")]
        return outputs[number]

    def backward(
        self,
        head_grads: Sequence[NDArray | None],
        grads: Sequence[NDArray],
        reqs: Sequence[str],
        arrays: Sequence[NDArray],
    ) -> None:
        """Fill the gradients of the wanted variables, after `forward`.

        head_grads: for each output, None for ones. grads, reqs: for each of `wanted`.
        It may be asked again: what it reads is not overwritten.
        """
        assert self._last is not None
        run, env = self._last[0], self._last[1].copy()
        for place, grad, out in zip(run.heads, head_grads, self.outputs, strict=False):
            if place is not None:
                env[place] = self._fitting(grad, out.spec)
        late: list[tuple[Leaf, NDArray | None]] = []
        for place, target, req in zip(run.gradients, grads, reqs, strict=True):
            target._fresh_grad = True
            if place is None:
                late.append((Leaf(target, req), None))
                continue
            spec = run.specs[run.entries[place]]
            direct = req == "write" and target.spec is spec
            if direct and env[place] is None and target.context is self.device:
                env[place] = target
                continue
            if env[place] is None:
                env[place] = route.empty(spec, self.device, "gradient")
            late.append((Leaf(target, req), env[place]))
        with attributed(phase="backward", category="gradient"):
            for segment in run.backward:
                segment.push(env, self.device)
            for leaf, value in late:
                walk._store(leaf, value)

    def _fitting(self, grad: NDArray | None, spec: Spec) -> NDArray:
        """The gradient of an output: ones by default; dense, of as many rows."""
        if grad is None:
            if spec not in self._ones:
                made = route.empty(spec, self.device, "gradient")
                self._ones[spec] = invoke(lookup("ones_like").of(), [made])
            return self._ones[spec]
        found: NDArray = route.densely(grad)
        if found.spec is spec:
            return found
        if found.shape[1:] == spec.shape[1:] and found.shape[:1] > spec.shape[:1]:
            found = found[: spec.shape[0]]  # as MXNet, which reads its front
        if found.spec is not spec:
            raise GradientError(
                f"backward: head gradient {grad.shape} does not have the shape "
                f"{spec.shape} of its head."
            )
        return found
