"""Notebook 10: what fusion and shared parts save, and a kernel of one's own.

`traffic` adds up what the kernels of a prepared graph move, under any settings, and
`combined` what becomes of a graph if only some of its duplicates are merged. `race` and
`crossing` time a kernel with and without threads. The checks run the learner's kernel
twice: in Python, on arrays that count every access, and compiled.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minimx import nd
from minimx.core import autograd, engine
from minimx.core.dtypes import FLOAT32
from minimx.core.errors import ArgumentError
from minimx.core.graph.passes.cse import share
from minimx.core.graph.passes.prepare import prepare
from minimx.core.graph.running.settings import Settings
from minimx.core.graph.values.ir import Graph
from minimx.core.graph.values.specs import Specs, every_spec, plan_of
from minimx.core.knobs import knobs
from minimx.core.ops import Op, Spec
from minimx.core.ops.registry import REGISTRY, bind
from minimx.fast.fusion.fused_operator import FusedOp
from minimx.fast.fusion.groups import fuse
from minimx.symbol import Symbol
from minimx_widgets.course.accesses import Accesses, counted, counted_on_threads
from minimx_widgets.course.parts.checks import Feedback, check
from minimx_widgets.course.parts.text import code

SENTENCE = (
    "A pointwise operator spends its time on fetching numbers from memory and bringing "
    "them back; one loop over several operators fetches and brings back once, whatever "
    "it computes in between."
)

HINTS = (
    "Draw the formula as operators and count: which arrays must be read at all, and "
    "which must be written? Everything in between fits in local variables.",
    "<code>x</code> stands in the formula twice, but it needs to be read once: "
    "<code>v = x[i]</code>. The sheet hands arrays of any shape to the kernel; "
    "<code>.ravel()</code> makes them flat and copies nothing. The gradient of "
    "<code>r</code> is <code>dout</code> itself; for that of <code>x</code>, "
    "differentiate <code>x * s(beta * x)</code> by the product rule.",
    "A worked solution of a similar problem: x · tanh(scale · x). "
    + code(
        """
        @njit(nogil=True)
        def tanh_gate(x, scale, out):
            for i in range(x.size):
                v = x[i]
                out[i] = v * math.tanh(scale * v)

        @mx.ops.register("tanh_gate")
        class TanhGate(mx.ops.Op):
            "x * tanh(scale * x): out has the shape of data."

            saves = ("data",)
            scale: float = 1.0

            def infer(self, data):
                return data

            def kernel(self, data):
                return lambda x, out: tanh_gate(x.ravel(), self.scale, out.ravel())

            def grad(self, at, dout, data):
                t = (self.scale * data).tanh()
                return (dout * (t + self.scale * data * (1 - t * t)),)
        """
    ),
)


# -- what graphs move ------------------------------------------------------------------


class Traffic(NamedTuple):
    """What one run of a graph is made of.

    kernels: the operators that run. bytes_moved: what they read and write together.
    outputs: how many arrays the kernel with the most outputs writes.
    """

    kernels: tuple[Op, ...]
    bytes_moved: int
    outputs: int

    @classmethod
    def of(cls, graph: Graph, specs: Specs) -> Traffic:
        """The traffic of a graph whose entries are known."""
        nodes = [node for node in graph if node.op is not None]
        kernels = tuple([node.op for node in nodes if node.op is not None])
        moved = sum(plan_of(node, specs).cost.bytes_moved for node in nodes)
        return cls(kernels, moved, max(op.visible for op in kernels))


def traffic(symbol: Symbol, shapes: dict[str, Any], **settings: Any) -> Traffic:
    """What a symbol moves once it is prepared for prediction.

    shapes: those of the variables, by name. settings: fields of Settings, such as
    use_fusion=False; the others are the defaults.
    """
    specs = _specs(symbol, shapes)
    prepared = prepare(symbol.graph, specs, settings=Settings(**settings))
    return Traffic.of(prepared.graph, prepared.specs)


def combined(
    symbol: Symbol, shapes: dict[str, Any], merged: Callable[[str], bool]
) -> Traffic:
    """What fusion makes of a graph in which only some operators may be merged.

    merged: for an operator's name, whether its duplicates are merged.
    """
    among = [n for n in symbol.graph if n.op is not None and merged(n.op.name)]
    graph = share(symbol.graph, among).after
    specs = every_spec(graph, _specs(symbol, shapes))
    fused = fuse(graph, specs)
    carried = every_spec(fused.after, _specs(symbol, shapes))
    return Traffic.of(fused.after, carried)


def loops(found: Traffic) -> list[FusedOp]:
    """The fused loops among the kernels."""
    return [op for op in found.kernels if isinstance(op, FusedOp)]


def _specs(symbol: Symbol, shapes: dict[str, Any]) -> dict[Any, Spec]:
    missing = [n.name for n in symbol.graph.variables if n.name not in shapes]
    if missing:
        raise ArgumentError(f"give the shapes of {', '.join(missing)}, by name.")
    return {n: Spec.of(shapes[n.name], FLOAT32) for n in symbol.graph.variables}


# -- threads ---------------------------------------------------------------------------

#: The sizes that are tried.
SIZES = tuple(1 << k for k in range(10, 23))
ROUNDS, REPEATS = 8, 15  # so many that other programs are away in some of them


def race(function: Callable[..., Any], size: int) -> tuple[float, float]:
    """Microseconds of a kernel over so many elements: on one thread, on several.

    The best of a few runs, on a thread that asks and does, so that the queue of the
    engine is not timed.
    """
    best = [float("inf"), float("inf")]
    x = nd.random.uniform(shape=(size,))
    out = nd.empty((size,))
    for _ in range(ROUNDS):
        for several in (0, 1):
            start_at = 0 if several else size + 1
            with knobs(
                MXNET_ENGINE_TYPE="NaiveEngine",
                MXNET_CPU_PARALLEL_SIZE=start_at,
                OMP_NUM_THREADS=max(2, int(knobs.get("OMP_NUM_THREADS"))),
            ):
                for _ in range(REPEATS):
                    start = time.perf_counter()
                    function(x, out=out)
                    best[several] = min(best[several], time.perf_counter() - start)
    return best[0] * 1e6, best[1] * 1e6


def crossing(times: Sequence[tuple[int, float, float]]) -> int:
    """From which size on threads are quicker, at it and at all larger ones.

    times: (size, on one thread, on several). Where they never are: twice the last size.
    """
    found = 2 * times[-1][0]
    for size, alone, together in reversed(times):
        if together >= alone:
            break
        found = size
    return found


# -- the exercises ---------------------------------------------------------------------

Reference = Callable[..., Any]
_FEW, _MANY, BETA = 10, 1000, 1.5


def _arrays(count: int, size: int) -> list[Any]:
    # From the same seed each time: the same attempt gets the same feedback.
    chance = np.random.default_rng(10)
    return [chance.normal(size=size).astype(np.float32) for _ in range(count)]


@check
def check_scaled(attempt: Any) -> Feedback:
    """The faded exercise: `attempt(x, w, b, out)` is max(x * w + b, 0), in one loop."""
    if not hasattr(attempt, "py_func"):
        return _not_numba(attempt, "kernel(x, w, b, out)")
    ins = _arrays(3, _FEW)
    found = counted(attempt, *ins, np.full(_FEW, np.nan, np.float32))
    wrong = _faults(found, _scaled(*ins))
    if wrong is not None:
        return wrong
    many = _arrays(3, _MANY)
    out = np.full(_MANY, np.nan, np.float32)
    attempt(*many, out)
    return _different(out, _scaled(*many)) or _praised(found, 8)


@check
def check_gated(attempt: Any) -> Feedback:
    """The free exercise: `attempt` is a registered sheet of r + x * s(beta * x)."""
    wrong = _no_sheet(attempt)
    if wrong is not None:
        return wrong
    op = attempt.of(beta=BETA)
    x, r = _arrays(2, _FEW)
    spec = Spec.of((_FEW,), FLOAT32)
    # What `register` checks is put round the learner's own method.
    own = inspect.unwrap(attempt.kernel)(op, spec, spec)
    found = counted(own, x, r, np.full(_FEW, np.nan, np.float32))
    if not found.compiled:
        return _not_numba(own, "a kernel that calls your numba function")
    wrong = _faults(found, _gated(x, r, BETA)) or _runs(attempt)
    return wrong or _praised(found, 10)


@check
def check_on_gpu(attempt: Any) -> Feedback:
    """The same for CUDA: `attempt(x, r, beta, out)` does the work of one thread.

    Its threads are run one after the other, in Python: 12 of them for 10 elements.
    Where there is a CUDA device, it is compiled and run there as well.
    """
    x, r = _arrays(2, _FEW)
    out = np.full(_FEW, np.nan, np.float32)
    try:
        found = counted_on_threads(attempt, x, r, BETA, out, blocks=3, threads=4)
    except IndexError as error:
        return Feedback(
            False,
            f"one of 12 threads went beyond the 10 elements: {error}",
            "threads without an element do nothing",
            "blocks are full, arrays need not be: `if i < x.size`",
        )
    (written,) = found.of("output")
    if not written.writes.all():
        return Feedback(
            False,
            f"{np.sum(written.writes == 0)} of 10 elements of {written.name} were not "
            "written by any thread",
            "each element is written by the thread whose number it has",
            "`i = cuda.grid(1)` counts through all blocks, threadIdx.x through one",
        )
    most = max(memory.writes.max() for memory in found.memories)
    if most > 2:
        return Feedback(
            False,
            f"an element was written by {most} threads",
            "each thread writes the one element that is its own",
            "the loop: on a GPU the threads are the loop, and `cuda.grid(1)` is the i",
        )
    wrong = _faults(found, _gated(x, r, BETA))
    if wrong is not None:
        return wrong
    device = _on_device(attempt)
    if isinstance(device, Feedback):
        return device
    return Feedback(True, f"{found.total} accesses by 12 threads; {device}")


def _on_device(attempt: Any) -> Feedback | str:
    """Run a kernel on a CUDA device, if there is one; what is wrong or where."""
    from numba import cuda as numba_cuda

    cuda: Any = numba_cuda  # which numba has no types for
    if not cuda.is_available():
        return "no CUDA device is here, so they were run in Python only"
    x, r = _arrays(2, _MANY)
    out = cuda.to_device(np.full(_MANY, np.nan, np.float32))
    kernel = attempt if hasattr(attempt, "py_func") else cuda.jit(attempt)
    kernel[-(-_MANY // 128), 128](cuda.to_device(x), cuda.to_device(r), BETA, out)
    return _different(out.copy_to_host(), _gated(x, r, BETA)) or "and on a CUDA device"


def _scaled(x: Any, w: Any, b: Any) -> Any:
    return np.maximum(x * w + b, 0)


def _gated(x: Any, r: Any, beta: float) -> Any:
    return r + x / (1 + np.exp(-beta * x))


def _not_numba(attempt: Any, wanted: str) -> Feedback:
    name = getattr(attempt, "__name__", repr(attempt))
    return Feedback(
        False,
        f"{name} is not compiled by numba",
        f"{wanted}, with @njit above the function",
        "Python takes about a microsecond for each element, a compiled loop a "
        "thousandth of it",
    )


def _praised(found: Accesses, operators: int) -> Feedback:
    each = found.per_element
    return Feedback(
        True,
        f"{each:g} accesses for each element; as operators they are {operators}, "
        f"{operators / each:.2g} times as many",
    )


# -- what can be wrong with a kernel ---------------------------------------------------


def _faults(found: Accesses, wanted: Any) -> Feedback | None:
    """What is wrong with a counted run: the result first, then wasted accesses."""
    (out,) = found.of("output")
    never = np.flatnonzero(out.writes == 0)
    if never.size:
        return Feedback(
            False,
            f"{never.size} of {out.values.size} elements of {out.name} were not "
            f"written, the first is {out.name}[{never[0]}]",
            "every element is written",
            "the loop: `out[i] = …` for each i from 0 to size - 1",
        )
    return _different(out.values, wanted) or _wasted(found)


def _different(seen: Any, wanted: Any) -> Feedback | None:
    far = ~np.isclose(seen, wanted, rtol=1e-4, atol=1e-5)
    if not far.any():
        return None
    i = int(np.flatnonzero(far)[0])
    return Feedback(
        False,
        f"element {i} is {seen[i]:.4g}",
        f"{wanted[i]:.4g}",
        "the formula, for one element with paper and pencil",
    )


def _wasted(found: Accesses) -> Feedback | None:
    """The first access that a fused loop does without."""
    (out,) = found.of("output")
    each = f"{found.per_element:g} accesses for each element"
    for memory in found.of("temporary"):
        return Feedback(
            False,
            f"an array of {memory.values.size} elements was made on the way; {each}",
            "no array but the inputs and the output",
            "intermediate results: one number at a time, in a local variable. What "
            "whole arrays compute, they write down and read again",
        )
    for memory in found.of("input"):
        if memory.writes.any():
            return Feedback(
                False,
                f"{memory.name} was written to",
                "inputs stay as they are",
                "the owner of an input: another operator may need it, too",
            )
        if memory.reads.max() > 1:
            return Feedback(
                False,
                f"{memory.name} was read {memory.reads.max()} times for an element; "
                f"{each}",
                "one read for each input and element",
                f"read once, `v = {memory.name}[i]`, and go on with v",
            )
    if out.reads.any() or out.writes.max() > 1:
        return Feedback(
            False,
            f"{out.name} was read {out.reads.sum()} times and written "
            f"{out.writes.sum()} times; {each}",
            "one write for each element, and no read",
            "out as scratch paper: a local variable costs no access",
        )
    return None


# -- what can be wrong with a sheet ----------------------------------------------------


def _no_sheet(attempt: Any) -> Feedback | None:
    if not (inspect.isclass(attempt) and issubclass(attempt, Op)):
        return Feedback(
            False,
            f"{attempt!r} is no data sheet",
            'a class of mx.ops.Op under @mx.ops.register("gated")',
        )
    if attempt not in REGISTRY.values():
        return Feedback(
            False,
            f"{attempt.__name__} is not registered",
            '@mx.ops.register("gated") above the class',
        )
    if len(attempt.inputs) != 2 or "beta" not in attempt.of().settings:
        text = ", ".join((*attempt.inputs, *attempt.of().settings))
        return Feedback(
            False,
            f"it takes {text}",
            "two arrays and the number beta",
            'a fact has no type, `inputs = ("data", "other")`; a setting has one, '
            "`beta: float = 1.0`",
        )
    return None


def _runs(sheet: type[Op]) -> Feedback | None:
    """Run a sheet as an operator: shapes, the setting, gradients."""
    for shape in ((7,), (3, 5), (2, 3, 4)):
        for beta in (1.0, BETA):
            x, r = (nd.array(a.reshape(shape)) for a in _arrays(2, int(np.prod(shape))))
            for array in (x, r):
                array.attach_grad()
            with autograd.record():
                y = bind(sheet.of(beta=beta), x, r)
            y.backward()
            engine.wait_all()
            wrong = _unlike(x, r, y, beta)
            if wrong is not None:
                return wrong
    return None


def _unlike(x: Any, r: Any, y: Any, beta: float) -> Feedback | None:
    data, other = x.asnumpy(), r.asnumpy()
    if y.shape != data.shape or not np.allclose(
        y.asnumpy(), _gated(data, other, beta), rtol=1e-4, atol=1e-5
    ):
        return Feedback(
            False,
            f"compiled, with arrays of shape {data.shape} and beta={beta}, it gives "
            "something else",
            "r + x * s(beta * x) for any shape and any beta",
            "the sheet: does the kernel get flat arrays, and `self.beta`?",
        )
    s = 1 / (1 + np.exp(-beta * data))
    wanted = {"r": np.ones_like(s), "x": s + beta * data * s * (1 - s)}
    for name, array in (("r", r), ("x", x)):
        if not np.allclose(array.grad.asnumpy(), wanted[name], rtol=1e-3, atol=1e-4):
            return Feedback(
                False,
                f"the gradient of {name} is wrong for beta={beta}",
                f"{'dout' if name == 'r' else 'dout * (s + beta * x * s * (1 - s))'}",
                "grad: one gradient for each input, in their order, times dout; "
                "beta counts as well",
            )
    return None
