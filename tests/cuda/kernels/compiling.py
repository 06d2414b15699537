"""Compile every CUDA kernel that the implementations launch, without a device.

    python -m tests.cuda.kernels.compiling        prints what did not compile

NVIDIA's compiler (`pip install minimx[cuda]`) needs no GPU. They run with NumPy arrays
in place of device arrays, and what they would launch is compiled to PTX for the types
that arrive; nothing is computed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba as numba_module
import numpy as np
from numba import cuda as cuda_module

numba: Any = numba_module
tools: Any = cuda_module
_jit = tools.jit
COMPILED: set[Any] = set()
FAILED: dict[Any, str] = {}


class Kernel:
    """Stands in for a kernel; to launch it is to compile it."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function

    def __getitem__(self, configuration: Any) -> Kernel:
        return self

    def __call__(self, *args: Any) -> None:
        """Compile for these arguments, once."""
        signature = tuple(map(_type, args))
        key = self.function, signature
        if key in COMPILED or key in FAILED:
            return
        try:
            tools.compile_ptx(self.function, signature, cc=(8, 0))
            COMPILED.add(key)
        except Exception as failure:  # of any kind: it is printed with all others
            name = f"{self.function.__module__}.{self.function.__name__}"
            FAILED[key] = f"{name}{signature}: {failure}"


def _type(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return numba.types.Array(numba.from_dtype(value.dtype), value.ndim, "C")
    return numba.typeof(value)


def jit(function: Any = None, **options: Any) -> Any:
    """In place of numba's: kernels are ours, what they call is numba's."""
    if function is None and set(options) == {"max_registers"}:
        return Kernel
    if function is None or options:
        return _jit(function, **options)
    return Kernel(function)


#: Operators on so many matrices; large ones are cut into blocks.
ALGEBRA = {
    **dict.fromkeys(("_linalg_potrf", "_linalg_inverse", "_linalg_det"), 1),
    **dict.fromkeys(("_linalg_gelqf", "_linalg_syevd", "_npi_svd"), 1),
    **dict.fromkeys(("_linalg_trsm", "_npi_solve"), 2),
}
#: Calls that reach further kernels: those of blocks, tiles and random numbers.
MORE: list[tuple[str, list[tuple[int, ...]], dict[str, Any]]] = [
    ("Dropout", [(3, 4)], {"training": True}),
    ("_random_uniform", [], {"shape": (4,)}),
    ("_random_normal", [], {"shape": (4,)}),
    ("_full", [], {"shape": (4,), "value": 2.0}),
    ("sum", [(2, 3000)], {"axis": 1}),
    ("mean", [(2, 3000)], {"axis": 1}),
    ("max", [(2, 3000)], {"axis": 1}),
    ("norm", [(2, 3000)], {"axis": 1}),
    ("dot", [(64, 64), (64, 64)], {}),
]
MORE += [(name, [(300, 300)] * count, {}) for name, count in ALGEBRA.items()]


def launch(op: Any, specs: tuple[Any, ...]) -> Any:
    """Run the launch of an operator on arrays of ones; the specs of its outputs."""
    plan = op.plan(specs)
    if not op.is_view and plan.on_cuda.native:
        from minimx.cuda.driver import plain

        every = (*specs, *plan.outs)
        arrays = [np.ones(s.shape or (1,), plain(s.dtype)) for s in every]
        extras = [np.random.default_rng(0)] if plan.needs_rng else []
        plan.on_cuda.kernel(*arrays, *extras)
    return plan.outs


def compile_all() -> None:
    """Launch everything; the kernels' files must not have been imported before."""
    from minimx.core.operators.pointwise import Pointwise
    from minimx.core.ops.registry import REGISTRY, lookup
    from minimx.core.ops.spec import Spec
    from minimx.operators import warm
    from tests.cuda.kernels.test_implementations import CALLS

    warm.launch = launch
    single = np.dtype("float32")
    for name, shapes, settings in [*CALLS, *MORE]:
        op = lookup(name).of(**settings)
        specs = tuple(Spec.of(shape, single) for shape in shapes)
        launch(op, specs)
        if op.differentiable and specs and not op.variadic and op.visible == 1:
            try:
                warm.launch_gradient(op, specs)
            except TypeError:
                continue  # a gradient written in arithmetic: its operators have calls
    for sheet in REGISTRY.values():
        if issubclass(sheet, Pointwise) and sheet.kernel is Pointwise.kernel:
            missing = dict.fromkeys(sheet.formula.operands[len(sheet.inputs) :], 0.5)
            specs = (Spec.of((4,), single),) * len(sheet.inputs)
            launch(sheet.of(**missing), specs)


def compile_samples() -> None:
    """The rows of the tables of operators, in three types."""
    from minimx.core.dtypes import resolve
    from minimx.core.ops.spec import Spec
    from tests.core.ops.test_every_op import SAMPLES
    from tests.cuda.kernels.test_every_op import question

    for sample in SAMPLES:
        for dtype in ("float32", "float16"):
            if dtype == "float32" or dtype in sample.dtypes:
                op, arrays, plan = question(sample, dtype)
                if plan is not None:
                    launch(op, tuple(Spec.of(a.shape, a.dtype) for a in arrays))
    for name in ("sigmoid", "_plus_scalar", "sum", "softmax", "FullyConnected"):
        for sample in (row for row in SAMPLES if row.op == name):
            shapes = [np.asarray(a).shape for a in sample.inputs]
            op = question(sample, "float32")[0]
            launch(op, tuple(Spec.of(shape, resolve("bfloat16")) for shape in shapes))


class Room:
    """In place of that of a sparse array: room for one row, or one element in each."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def rows(self, count: int) -> Any:
        """As `minimx.operators.sparse.Target` has it."""
        from minimx.core.ops.stypes import Rows

        return Rows(np.ones((1, 3), self.dtype), np.zeros(1, np.int64))

    def entries(self, count: int) -> Any:
        """The same."""
        from minimx.core.ops.stypes import Entries

        places = np.zeros(1, np.int64)
        return Entries(np.ones(1, self.dtype), places, np.zeros(2, np.int64))


def compile_sparse() -> None:
    """What exchanges storage types, and multiplies csr with dense."""
    from minimx.cuda.kernels.sparse import sparse

    for word in ("float32", "float16", "int8"):
        room, dense = Room(np.dtype(word)), np.ones((1, 3), word)
        sparse.collect_entries(dense, room)
        sparse.collect_rows(dense, room)
        sparse.spread_entries(room.entries(1), dense)
        sparse.spread_rows(room.rows(1), dense)
    parts = Room(np.dtype("float64")).entries(1)
    sparse.entries_dense(parts, np.ones((3, 2)), np.ones((1, 2)))


@contextmanager
def allocated(*wanted: tuple[Any, Any]) -> Iterator[list[Any]]:
    """In place of scratch memory of a device."""
    yield [np.ones(shape, dtype) for shape, dtype in wanted]


def by_numba(kernel: Any, blocks: int, threads: Any, *args: Any) -> None:
    """In place of a launch whose arguments are packed by us."""
    from minimx.cuda.kernels.packed import flat

    kernel[blocks, threads](*flat(args))


def round_twice() -> None:
    """A product and a sum of a fused loop must not become one instruction."""
    from minimx.core.kernels.formula import Formula
    from minimx.cuda.kernels import fused
    from minimx.fast.fusion.loop_text import Line, Loop, Operand

    real = np.dtype("float32")
    square = Line("a", Formula("x * x", ("x",)), ("x",), (real,), real, "square")
    add = Line("b", Formula("p + q", ("p", "q")), ("a", "x"), (real,) * 2, real, "add")
    loop = Loop((Operand("x", real, 1),), (square, add), (("b", real),))
    kernel = fused._compiled(loop, (True,), (1,))
    flat, whole = numba.float32[::1], numba.int64
    signature = flat, flat, whole, numba.types.UniTuple(whole, 1)
    text, _ = tools.compile_ptx(kernel.function, signature, cc=(8, 0))
    if "fma." in text or "mul.f32" not in text:
        FAILED["rounding"] = "a fused loop rounds once where its operators round twice"


def main() -> int:
    """Compile everything; 1 if something did not compile."""
    from minimx.core.knobs import knobs

    warnings.simplefilter("ignore")
    knobs.set(MXNET_CUDNN_AUTOTUNE_DEFAULT=0)  # there is no device to measure on
    tools.jit, tools.to_device = jit, lambda array: array
    from minimx.cuda.kernels import packed, scratch
    from minimx.cuda.kernels.arrays import places

    scratch.allocated, packed.launch = allocated, by_numba
    room: Any = places
    room.current_device = lambda: None  # no thread works for a device
    compile_all()
    compile_samples()
    compile_sparse()
    round_twice()
    print(*FAILED.values(), sep="\n")
    print(f"{len(COMPILED)} compiled, {len(FAILED)} failed")
    return int(bool(FAILED))


if __name__ == "__main__":
    sys.exit(main())
