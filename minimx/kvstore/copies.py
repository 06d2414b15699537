"""Copies of one array to several on the host, past the caches.

Stored the usual way, a line of memory is read into the cache before it is written. Of
copies that are larger than any cache that is half of the traffic. Stores with the mark
`nontemporal` do without; and the source is read from memory once for all copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types as numba_types

from minimx.core.drivers.base import address_of
from minimx.core.kernels import threads
from minimx.core.kernels.native import intrinsic
from minimx.core.kernels.parts import dealt

types: Any = numba_types

#: Bytes of a line of the cache, and of what is copied before the next array's turn.
LINE: Final = 64
RUN: Final = 4096


@intrinsic
def _copy_line(typing: Any, target: Any, source: Any) -> Any:
    """Copy the line at an address to another, a multiple of `LINE`, past the caches."""
    signature = types.void(types.intp, types.intp)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        line = ir.VectorType(ir.IntType(32), LINE // 4).as_pointer()
        to, from_ = (builder.inttoptr(value, line) for value in values)
        read = builder.load(from_)
        read.align = 1
        written = builder.store(read, to)
        written.align = LINE
        mark = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        written.set_metadata("nontemporal", mark)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def _fence(typing: Any) -> Any:
    """Let no later store be seen before those past the caches."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), emit


@threads.jit(parallel=True)
def _copy(part: Any, source: int, targets: Any, nbytes: int) -> None:
    """Copy `nbytes`, a multiple of LINE, from one address to each of several."""
    for run in dealt(-(-nbytes // RUN), part):
        begin, end = run * RUN, min((run + 1) * RUN, nbytes)
        for target in targets:
            for at in range(begin, end, LINE):
                _copy_line(target + at, source + at)
        _fence()


def copy_to_all(source: Any, targets: Sequence[Any], most: int) -> None:
    """Fill NumPy arrays with another one of their shape and type; all contiguous.

    most: how many threads may take part.
    """
    aligned = [one for one in targets if address_of(one) % LINE == 0]
    whole = source.nbytes - source.nbytes % LINE
    if aligned and whole:
        addresses = np.array([address_of(one) for one in aligned], np.intp)
        _copy.sharing(most, address_of(source), addresses, whole)
    begin = whole // source.itemsize  # a line holds whole elements
    for one in aligned:
        one.reshape(-1)[begin:] = source.reshape(-1)[begin:]
    for one in targets:
        if address_of(one) % LINE:
            np.copyto(one, source)
