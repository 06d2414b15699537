"""Memory on the stack for loops over blocks of elements. Importing it imports numba.

    alloca(float32, 1024)                     a pointer to that many numbers
    load_stack(p, i), store_stack(p, i, x)    read and write

Unlike `load` and `store` they promise nothing: what was written is what is read.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types as numba_types
from numba.core import cgutils as numba_cgutils
from numba.extending import intrinsic as numba_intrinsic

from minimx.core.kernels.native import intrinsic

types: Any = numba_types
cgutils: Any = numba_cgutils


@numba_intrinsic(prefer_literal=True)
def alloca(typing: Any, dtype: Any, count: Any) -> Any:
    """A pointer to `count` numbers on the stack; count must be written as a number."""
    signature = types.CPointer(dtype.dtype)(dtype, count)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        kind = context.get_data_type(sig.return_type.dtype)
        length = ir.Constant(ir.IntType(64), count.literal_value)
        found = cgutils.alloca_once(builder, kind, size=length)
        found.align = 64
        return found

    return signature, emit


@intrinsic
def load_stack(typing: Any, pointer: Any, i: Any) -> Any:
    """Element `i`."""
    signature = pointer.dtype(pointer, types.intp)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = builder.load(builder.gep(values[0], [values[1]]))
        return context.data_model_manager[sig.return_type].from_data(builder, found)

    return signature, emit


@intrinsic
def store_stack(typing: Any, pointer: Any, i: Any, value: Any) -> Any:
    """Write `value` to element `i`."""
    signature = types.void(pointer, types.intp, pointer.dtype)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        model = context.data_model_manager[sig.args[2]]
        stored = model.as_data(builder, values[2])
        builder.store(stored, builder.gep(values[0], [values[1]]))
        return context.get_dummy_value()

    return signature, emit
