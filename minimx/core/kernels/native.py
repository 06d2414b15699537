"""The few machine words that the compiled loops are made of.

Every pointwise kernel has the same shape, that of a NumPy inner loop:

    kernel(args, steps, n)      args[k]: address of operand k
                                steps[k]: how many elements to advance, 0 or 1
                                n: how many elements

so that one launcher serves them all, whatever they compute on. What Python has no word
for is defined here as numba intrinsics: call a function at an address, read and write
memory, choose without a branch.

Importing this module imports numba, so it is imported for the first kernel only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import prange
from numba import types as numba_types
from numba.core import cgutils as numba_cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.np.arrayobj import make_array

from minimx.core.kernels import threads

threads.pin()

# numba does not say what its builders of types and code return.
types: Any = numba_types
cgutils: Any = numba_cgutils

KERNEL = types.void(types.CPointer(types.intp), types.CPointer(types.intp), types.intp)


def intrinsic(function: Any) -> Any:
    """Declare a function by the instructions that it becomes."""
    return numba_intrinsic(function)


# Loads promise not to meet the stores, although an output may be written right over an
# input: element i is read before it is written and never again, so the promise holds
# where it matters, and the compiler may work on many elements at once.
_PROMISE = "minimx pointwise output"


def _promise(module: Any) -> Any:
    domain = module.add_metadata([ir.MetaDataString(module, "minimx pointwise")])
    scope = module.add_metadata([ir.MetaDataString(module, _PROMISE), domain])
    return module.add_metadata([scope])


@intrinsic
def operand(typing: Any, args: Any, k: Any, dtype: Any) -> Any:
    """The typed pointer to operand `k`."""
    signature = types.CPointer(dtype.dtype)(args, k, dtype)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        address = builder.load(builder.gep(values[0], [values[1]]))
        return builder.inttoptr(address, context.get_value_type(sig.return_type))

    return signature, emit


@intrinsic
def pointer(typing: Any, array: Any) -> Any:
    """The typed pointer to the first element of an array."""
    signature = types.CPointer(array.dtype)(array)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        of_type: Any = make_array
        return of_type(sig.args[0])(context, builder, values[0]).data

    return signature, emit


@intrinsic
def halves(typing: Any, array: Any) -> Any:
    """The pointer to the first element of a complex array, as two real numbers."""
    signature = types.CPointer(array.dtype.underlying_float)(array)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        of_type: Any = make_array
        address = of_type(sig.args[0])(context, builder, values[0]).data
        return builder.bitcast(address, context.get_value_type(sig.return_type))

    return signature, emit


@intrinsic
def load(typing: Any, pointer: Any, i: Any) -> Any:
    """Element `i`."""
    signature = pointer.dtype(pointer, types.intp)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = builder.load(builder.gep(values[0], [values[1]]))
        found.set_metadata("noalias", _promise(builder.module))
        return context.data_model_manager[sig.return_type].from_data(builder, found)

    return signature, emit


@intrinsic
def store(typing: Any, pointer: Any, i: Any, value: Any) -> Any:
    """Write `value`, converted to the pointer's type, to element `i`."""
    signature = types.void(pointer, types.intp, pointer.dtype)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        model = context.data_model_manager[sig.args[2]]
        stored = builder.store(
            model.as_data(builder, values[2]), builder.gep(values[0], [values[1]])
        )
        stored.set_metadata("alias.scope", _promise(builder.module))
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def select(typing: Any, condition: Any, yes: Any, no: Any) -> Any:
    """`yes if condition else no`, both computed, without a jump."""
    common = typing.unify_types(yes, no)
    signature = common(types.boolean, common, common)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.select(*values)

    return signature, emit


def _reinterpreted(typing: Any, value: Any, kinds: dict[Any, Any]) -> Any:
    signature = kinds[value](value)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.bitcast(values[0], context.get_value_type(sig.return_type))

    return signature, emit


@intrinsic
def bits(typing: Any, value: Any) -> Any:
    """The memory of a float, read as an integer of the same size."""
    kinds = {types.float32: types.int32, types.float64: types.int64}
    return _reinterpreted(typing, value, kinds)


@intrinsic
def unbits(typing: Any, value: Any) -> Any:
    """The memory of an integer, read as a float of the same size."""
    kinds = {types.int32: types.float32, types.int64: types.float64}
    return _reinterpreted(typing, value, kinds)


@intrinsic
def spill(typing: Any, numbers: Any) -> Any:
    """Put a tuple of integers on the stack; its address."""
    signature = types.intp(numbers)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        items = cgutils.unpack_tuple(builder, values[0])
        word = context.get_value_type(types.intp)
        room = cgutils.alloca_once(builder, word, size=len(items))
        for i, item in enumerate(items):
            builder.store(item, builder.gep(room, [ir.Constant(ir.IntType(32), i)]))
        return builder.ptrtoint(room, word)

    return signature, emit


@intrinsic
def call(typing: Any, kernel: Any, args: Any, steps: Any, n: Any) -> Any:
    """Run the kernel at an address; `args` and `steps` are addresses as well."""
    word = types.intp
    signature = types.void(word, word, word, word)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        kind = context.get_value_type(types.intp)
        function = ir.FunctionType(ir.VoidType(), [kind] * 3)
        target = builder.inttoptr(values[0], function.as_pointer())
        builder.call(target, values[1:])
        return context.get_dummy_value()

    return signature, emit


# -- launchers for small arrays: typed, serial, holding the GIL ------------------------
#
# Giving the GIL away and asking for it back costs more than a few thousand additions,
# and wakes a thread that will find nothing to do.


@threads.jit(nogil=False)
def run1(kernel: int, a: Any, out: Any) -> None:
    """Run a kernel of one input on flat arrays."""
    n = out.size
    steps = (int(a.size == n), 1)
    call(kernel, spill((a.ctypes.data, out.ctypes.data)), spill(steps), n)


@threads.jit(nogil=False)
def run2(kernel: int, a: Any, b: Any, out: Any) -> None:
    """Run a kernel of two inputs on flat arrays; an input may be a single element."""
    n = out.size
    args = (a.ctypes.data, b.ctypes.data, out.ctypes.data)
    steps = (int(a.size == n), int(b.size == n), 1)
    call(kernel, spill(args), spill(steps), n)


@threads.jit(nogil=False)
def run3(kernel: int, a: Any, b: Any, c: Any, out: Any) -> None:
    """Run a kernel of three inputs on flat arrays; inputs may be single elements."""
    n = out.size
    args = (a.ctypes.data, b.ctypes.data, c.ctypes.data, out.ctypes.data)
    steps = (int(a.size == n), int(b.size == n), int(c.size == n), 1)
    call(kernel, spill(args), spill(steps), n)


@threads.jit(nogil=False)
def run4(kernel: int, a: Any, b: Any, c: Any, d: Any, out: Any) -> None:
    """Run a kernel of four inputs on flat arrays; inputs may be single elements."""
    n = out.size
    args = (a.ctypes.data, b.ctypes.data, c.ctypes.data, d.ctypes.data, out.ctypes.data)
    steps = (int(a.size == n), int(b.size == n), int(c.size == n), int(d.size == n), 1)
    call(kernel, spill(args), spill(steps), n)


# -- the launchers for everything else: rows of any array, on any number of threads ----
#
# A grid says how to walk through all operands at once, one line for each axis:
#
#     line 0              0, and each operand's step along a row in elements: 0 or 1
#     line 1              the length of a row, and the same steps in bytes
#     line 2 and further  the length of an outer axis, and the steps along it in bytes;
#                         the innermost axis comes first


@threads.jit()
def _some_rows(
    kernel: int, args: Any, grid: Any, first: int, last: int, start: int, stop: int
) -> None:
    """Elements `start` to `stop` of rows `first` to `last`."""
    operands, axes = args.size, grid.shape[0]
    here = np.empty(operands, np.intp)
    index = np.zeros(axes, np.intp)
    row = first
    for k in range(operands):
        here[k] = args[k] + start * grid[1, k + 1]
    for axis in range(2, axes):
        index[axis] = row % grid[axis, 0]
        row //= grid[axis, 0]
        for k in range(operands):
            here[k] += index[axis] * grid[axis, k + 1]
    for _ in range(first, last):
        call(kernel, here.ctypes.data, grid[0, 1:].ctypes.data, stop - start)
        for axis in range(2, axes):  # to the next row, as an odometer does
            index[axis] += 1
            ahead = 1
            if index[axis] == grid[axis, 0]:
                index[axis] = 0
                ahead = 1 - grid[axis, 0]
            for k in range(operands):
                here[k] += ahead * grid[axis, k + 1]
            if ahead == 1:
                break


@threads.jit(parallel=True)
def rows(kernel: int, args: Any, grid: Any, parts: int) -> None:
    """Run a kernel on every row of a grid. args (operands,): addresses.

    The work is dealt to `parts` threads: whole rows if there are enough of them, else a
    part of every row.
    """
    n = grid[1, 0]
    height = 1
    for axis in range(2, grid.shape[0]):
        height *= grid[axis, 0]
    for part in prange(parts):
        if height >= parts:
            first, last = height * part // parts, height * (part + 1) // parts
            _some_rows(kernel, args, grid, first, last, 0, n)
        else:
            start, stop = n * part // parts, n * (part + 1) // parts
            _some_rows(kernel, args, grid, 0, height, start, stop)


@threads.jit(nogil=False)
def rows2(kernel: int, a: Any, b: Any, out: Any, grid: Any) -> None:
    """The rows of small flat arrays, two inputs and an output."""
    height = 1
    for axis in range(2, grid.shape[0]):
        height *= grid[axis, 0]
    args = np.empty(3, np.intp)
    args[0], args[1], args[2] = a.ctypes.data, b.ctypes.data, out.ctypes.data
    _some_rows(kernel, args, grid, 0, height, 0, grid[1, 0])


# -- many calls in one -----------------------------------------------------------------


@threads.jit()
def run_table(table: Any) -> None:
    """Calls in a row. table (calls, 4): kernel, addresses of args and steps, n."""
    for row in range(table.shape[0]):
        call(table[row, 0], table[row, 1], table[row, 2], table[row, 3])


@threads.jit(nogil=False)
def run_table_holding(table: Any) -> None:
    """The same for short ones, keeping the GIL."""
    for row in range(table.shape[0]):
        call(table[row, 0], table[row, 1], table[row, 2], table[row, 3])
