"""One loop for several pointwise operators: read once, compute all, write once.

    launch = launcher(loop, strides, sources, size)     a callable (*ins, *outs)

`fused_text.write` says what the loop looks like; here it is compiled, when it first
runs, and launched: serially or on threads, on flat arrays or row by row.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from minimx.core.dtypes import NARROW
from minimx.core.kernels import codegen, prebuilt, threads
from minimx.core.knobs import knobs
from minimx.fast import tuning
from minimx.fast.fusion.loop_text import Loop, write
from minimx.fast.fusion.strides import Strides, grid, straight

Launch = Callable[..., None]

# -- launching -------------------------------------------------------------------------


def launcher(
    loop: Loop, strides: Sequence[Strides], sources: Sequence[int | float], size: int
) -> Launch:
    """A callable `(*ins, *outs)` that runs a loop over `size` elements.

    strides, sources: for each operand how it is traversed, and which input it is; of
    an operand that is a number, that number. Numbers come last. Compiles at the first
    call.
    """
    fixed: list[Any] = []
    places: list[int] = []
    for operand, source in zip(loop.operands, sources, strict=True):
        if operand.number:
            fixed.append(np.array([source]).astype(operand.dtype))
        else:
            places.append(int(source))
    # numba cannot be handed arrays of two-byte numbers.
    dtypes = [o.dtype for o in loop.operands] + [dtype for _, dtype in loop.outs]
    flat = NARROW.isdisjoint(dtypes) and all(
        o.number or each == straight(size)
        for o, each in zip(loop.operands, strides, strict=True)
    )
    arrays = len(loop.operands) + len(loop.outs)
    small = size < tuning.SMALL and threads.parts(size) == 1
    if flat and small and 2 <= arrays <= 5:
        return _small(loop, places, fixed)
    return _gridded(loop, strides, places, fixed, size)


def _small(loop: Loop, places: list[int], fixed: list[Any]) -> Launch:
    """Launch on flat arrays with as little Python as possible."""
    from minimx.core.kernels import native

    runs = (native.run1, native.run2, native.run3, native.run4)
    run = runs[len(loop.operands) + len(loop.outs) - 2]
    ready, outs = _Ready(loop, 0), len(loop.outs)

    def launch(*arrays: Any) -> None:
        flat = [array.ravel() for array in arrays]
        ins = [flat[k] for k in places]
        run(ready.code or ready.compiled(), *ins, *fixed, *flat[-outs:])

    def calls(*arrays: Any) -> list[prebuilt.Call]:
        n = arrays[-1].size
        operands = [*(arrays[k] for k in places), *fixed, *arrays[-outs:]]
        steps = tuple(int(x.size == n) for x in operands)
        code = ready.code or ready.compiled()
        return [prebuilt.Call(code, prebuilt.addresses(operands), steps, n)]

    return prebuilt.offers(launch, calls)


def _gridded(
    loop: Loop,
    strides: Sequence[Strides],
    places: list[int],
    fixed: list[Any],
    size: int,
) -> Launch:
    """Launch row by row, on several threads if they pay."""
    outs = len(loop.outs)
    dtypes = [o.dtype for o in loop.operands] + [dtype for _, dtype in loop.outs]
    itemsizes = [dtype.itemsize for dtype in dtypes]
    lines = grid([*strides, *[straight(size)] * outs], itemsizes, size)
    firsts = [w.offset * n for w, n in zip(strides, itemsizes, strict=False)]
    slots = list(zip(places, firsts, strict=False))
    tail = [single.ctypes.data for single in fixed]
    ready = _Ready(loop, size)

    def launch(*arrays: Any) -> None:
        starts = [array.ctypes.data for array in arrays]
        args = [starts[k] + first for k, first in slots]
        code = ready.code or ready.compiled()
        operands = np.array([*args, *tail, *starts[-outs:]])
        ready.rows(code, operands, lines)

    launch.keep = fixed  # type: ignore[attr-defined]
    return launch


# -- compiling, and reports of it -----------------------------------------------------

#: From so many kernels on, a program probably meets ever new ones.
MANY = 10_000

_warning_lock = threading.Lock()
_texts: set[str] = set()


@cache
def address(text: str) -> int:
    """Where the machine code of a loop starts; compiled if no program has done so."""
    from minimx.core.kernels import halfwords
    from minimx.fast.fusion import stack_memory

    more = [
        used for used in (halfwords, stack_memory) if f"{used.__name__} import" in text
    ]
    return int(codegen.import_generated(text, *more).kernel.address)


class _Ready:
    """The machine code of a loop, and how it is launched, once it was asked for.

    code: its address. parts: into how many pieces its work is cut. rows: the edition of
    `native.rows` that does so.
    """

    code = 0
    parts = 1
    rows: Callable[..., None]

    def __init__(self, loop: Loop, size: int) -> None:
        self.loop = loop
        self.size = size

    def compiled(self) -> int:
        """Compile now, or find what was compiled before."""
        from minimx.core.kernels import native

        text = write(self.loop)
        start = time.perf_counter()
        code = address(text)
        took = time.perf_counter() - start
        ins = tuple(operand.dtype for operand in self.loop.operands)
        outs = tuple(dtype for _, dtype in self.loop.outs)
        timed = tuning.Loop(self.loop.title, code, ins, outs)
        self.parts = tuning.parts(self.size, timed, outs[0])
        alone = native.rows.small if self.size < tuning.SMALL else native.rows.serial
        self.rows = native.rows.beside if self.parts > 1 else alone
        with _warning_lock:
            if not self.code:
                self.code = code
                _tell(text, took)
        return code


def _tell(text: str, took: float) -> None:
    """What MXNET_FUSION_VERBOSE, MXNET_RTC_VERBOSE and MXNET_RTC_SIZE_WARNING ask."""
    verbose = knobs.get("MXNET_RTC_VERBOSE")
    if verbose or knobs.get("MXNET_FUSION_VERBOSE"):
        print(text)
    if verbose:
        print(f"compiled in {took * 1e3:.1f} ms")
    before = len(_texts)
    _texts.add(text)
    if before < MANY <= len(_texts) and knobs.get("MXNET_RTC_SIZE_WARNING"):
        warnings.warn(
            f"{MANY} kernels have been generated. Each combination of operators, types "
            "and layouts needs one of its own; keep to fewer of them, or set "
            "MXNET_USE_FUSION=0. MXNET_RTC_SIZE_WARNING=0 silences this.",
            stacklevel=2,
        )
