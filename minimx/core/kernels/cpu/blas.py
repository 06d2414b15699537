"""The matrix product of a BLAS library, callable from inside compiled kernels.

NumPy brings a BLAS along. `gemm` calls that library directly, so a kernel can hand it
submatrices (a leading dimension), transposes and running sums without Python between.

Kernels use the library with *one* thread and cut the work themselves, into pieces that
depend on shapes only. So there is one pool of threads instead of two that fight for the
cores, and a result does not depend on how many threads there are. Outside our kernels
NumPy keeps its threads: see `one_thread`.
"""

from __future__ import annotations

import ctypes
import os
import threading
from importlib import import_module
from threading import get_ident
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import carray, cfunc, types  # type: ignore[attr-defined]
from numba.np.arrayobj import make_array

from minimx.core.kernels.native import cgutils, intrinsic

ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112

# The names under which the libraries that NumPy is built with offer the same functions;
# "64" in a name says that its integers are 64 bits wide.
_PRODUCTS = ("scipy_cblas_{}64_", "cblas_{}64_", "scipy_cblas_{}", "cblas_{}")
_SETTERS = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "scipy_openblas_{}_num_threads",
    "openblas_{}_num_threads",
)
_REALS = {"sgemm": types.float32, "dgemm": types.float64}


def _find(library: ctypes.CDLL, patterns: tuple[str, ...], word: str) -> Any:
    """The first function that the library has under one of the names, or None."""
    for pattern in patterns:
        found = getattr(library, pattern.format(word), None)
        if found is not None:
            return found
    return None


def routine(word: str) -> Any:
    """The function of NumPy's BLAS with this name in cblas, or None: "strsm"."""
    return _find(_library, _PRODUCTS, word)


def _signature(real: Any, pointer: Any = types.uintp) -> Any:
    """`(order, transposes, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)` of cblas."""
    flag, size = types.int32, types.int64
    product = (real, pointer, size, pointer, size, real, pointer, size)
    return types.void(flag, flag, flag, size, size, size, *product)


def plain_product(real: Any) -> Any:
    """Three loops in the shape of cblas, for a NumPy whose BLAS we cannot find."""
    pointer = types.CPointer(real)  # type: ignore[no-untyped-call]

    @cfunc(_signature(real, pointer))
    def product(  # type: ignore[no-untyped-def]
        order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
    ):
        left = carray(a, (k if ta == TRANSPOSED else m) * lda)
        right = carray(b, (n if tb == TRANSPOSED else k) * ldb)
        out = carray(c, m * ldc)
        for i in range(m):
            for j in range(n):
                total = alpha * 0
                for p in range(k):
                    x = left[p * lda + i] if ta == TRANSPOSED else left[i * lda + p]
                    y = right[j * ldb + p] if tb == TRANSPOSED else right[p * ldb + j]
                    total += x * y
                # beta 0 means: what is in `c`, even a NaN, is not read
                old = beta * out[i * ldc + j] if beta != 0 else beta
                out[i * ldc + j] = alpha * total + old

    return product


def narrow_product(function: Any, real: Any) -> Any:
    """A product of `_signature`, for a library whose integers are 32 bits wide.

    function: cblas_sgemm or cblas_dgemm as ctypes finds it; real: numba's float32 or
    float64. The lengths are cut to 32 bits without a check.
    """
    flag, size, pointer = ctypes.c_int, ctypes.c_int, ctypes.c_size_t
    scalar = ctypes.c_float if real == types.float32 else ctypes.c_double
    matrix = (pointer, size)
    function.argtypes = (*(flag,) * 3, *(size,) * 3, scalar, *matrix, *matrix, scalar)
    function.argtypes += matrix
    function.restype = None
    narrow = np.int32

    @cfunc(_signature(real))
    def product(  # type: ignore[no-untyped-def]
        order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
    ):
        m, n, k = narrow(m), narrow(n), narrow(k)
        lda, ldb, ldc = narrow(lda), narrow(ldb), narrow(ldc)
        function(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)

    return product


# NumPy's own module: looking a symbol up in it also searches the BLAS it is linked to.
_library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
_alive: list[Any] = []  # adapters must outlive the code that jumps to them


def _address(word: str) -> int:
    found = routine(word)
    if found is None:
        _alive.append(plain_product(_REALS[word]))
    elif not found.__name__.endswith("64_"):
        _alive.append(narrow_product(found, _REALS[word]))
    else:
        return ctypes.cast(found, ctypes.c_void_p).value or 0
    return int(_alive[-1].address)


for _word, _real in _REALS.items():
    # Compiled kernels on disk ask for these two symbols by name, so they must be there
    # before any such kernel is loaded: every kernel file that multiplies imports us.
    binding.add_symbol(f"minimx_{_word}", _address(_word))


@intrinsic
def gemm(
    typing: Any, ta: Any, tb: Any, m: Any, n: Any, k: Any,
    a: Any, a_at: Any, lda: Any, b: Any, b_at: Any, ldb: Any,
    beta: Any, c: Any, c_at: Any, ldc: Any,
) -> Any:  # fmt: skip
    """Inside compiled kernels: c = op(a) · op(b) + beta · c.

    op(a) is (m, k), op(b) is (k, n), c is (m, n); ta, tb: transpose what is stored.
    a, b, c: contiguous float32 or float64 arrays of any shape, of which only the memory
    counts: the matrix starts at element `_at`, its rows are `ld` elements apart.
    """
    size, flag, real = types.int64, types.boolean, a.dtype
    lengths, words = (size, size), {kind: word for word, kind in _REALS.items()}
    matrices = (a, *lengths, b, *lengths, real, c, *lengths)
    signature = types.void(flag, flag, size, *lengths, *matrices)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        def start(place: int) -> Any:
            of_type: Any = make_array
            array = of_type(sig.args[place])(context, builder, values[place])
            return builder.gep(array.data, [values[place + 1]])

        order, yes, no = map(ir.IntType(32), (ROW_MAJOR, TRANSPOSED, PLAIN))
        given = [order, *(builder.select(turn, yes, no) for turn in values[:2])]
        given += [*values[2:5], context.get_constant(real, 1), start(5), values[7]]
        given += [start(8), values[10], values[11], start(12), values[14]]
        kind, name = [value.type for value in given], f"minimx_{words[real]}"
        function = ir.FunctionType(ir.VoidType(), kind), name
        builder.call(cgutils.get_or_insert_function(builder.module, *function), given)
        return context.get_dummy_value()

    return signature, emit


class _OneThread:
    """`with one_thread:` BLAS uses one thread; what it used before returns at the end.

    Several engine threads may be inside at once, and each of them several times; the
    first one to enter and the last one to leave do the switching. A thread that is
    interrupted while it enters is taken out again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depths: dict[int, int] = {}  # by thread: how often it is inside
        self._before: int | None = None
        self._get = _find(_library, _SETTERS, "get")
        self._set = _find(_library, _SETTERS, "set")

        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._alone)

    def _alone(self) -> None:
        """After a fork: the threads that were inside are not in this process."""
        self._lock, self._depths = threading.Lock(), {}

    def __enter__(self) -> None:
        if self._set is None:
            return
        me = get_ident()
        depth = self._depths.get(me, 0)
        try:
            if depth:
                self._depths[me] = depth + 1
                return
            with self._lock:
                if self._before is None:
                    self._before = self._get()
                self._depths[me] = 1
                self._set(1)
        except BaseException:
            self._back(me, depth)
            raise

    def __exit__(self, *_: object) -> None:
        if self._set is None:
            return
        me = get_ident()
        depth = self._depths.get(me, 1) - 1
        try:
            self._back(me, depth)
        except BaseException:
            self._back(me, depth)
            raise

    def _back(self, me: int, depth: int) -> None:
        """Set how deep a thread is inside; a second time changes nothing."""
        if depth:
            self._depths[me] = depth
            return
        with self._lock:
            self._depths.pop(me, None)
            if not self._depths and self._before is not None:
                self._set(self._before)
                self._before = None


one_thread = _OneThread()
