"""What generated kernels are written with, and the launchers that run them.

Every pointwise kernel has one signature, that of NumPy's inner loops. It handles a row:

    kernel(args, steps, n)      args[k]: address of operand k, the output last
                                steps[k]: 1 if it advances with i, 0 if it is broadcast
                                n: how many elements

So one launcher serves them all, whatever they compute. For out = a + b with a (5,) and
b (1,): args = (address of a, of b, of out), steps = (1, 0, 1), n = 5.

The first half of the file are intrinsics, functions for kernels that Python has no
words for: `load`, `store`, `select`, `call`. numba calls an intrinsic while it compiles
a kernel, once for each combination of argument types, and never with values. It answers
with a signature and with `emit`, which adds LLVM instructions where the call stands:

    load(a_, i)         %p = getelementptr float, ptr %a_, i64 %i
                        %x = load float, ptr %p, !noalias !1

The second half are launchers: `run1` … `run4` for one short row, `rows` for all else.

Importing this module imports numba, so it is imported for the first kernel only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc
from numba import types as numba_types
from numba.core import cgutils as numba_cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.np.arrayobj import make_array

from minimx.core.extensions import provided
from minimx.core.kernels import threads
from minimx.core.kernels.parts import ends

# numba does not say what its builders of types and code return.
types: Any = numba_types
cgutils: Any = numba_cgutils

_ROW = types.void(types.CPointer(types.intp), types.CPointer(types.intp), types.intp)


def row_kernel(function: Any) -> Any:
    """Compile a kernel `(args, steps, n)` of one row, which only kernels call.

    args: addresses of arrays; steps: how far each moves from element to element.
    """
    compiler: Any = provided("compiling").COMPILERS[0]
    made: Any = cfunc(_ROW, cache=True, error_model="numpy", pipeline_class=compiler)
    return made(function)


def intrinsic(function: Any) -> Any:
    """Declare a function of `(typing, *types of arguments) -> (signature, emit)`."""
    return numba_intrinsic(function)


# LLVM vectorises a loop only if no store can change what a later load reads. Stores are
# in the alias scope of this name, and loads are declared `noalias` with it. An output
# may still be written right over an input (in-place): element i is read before it is
# written and never again, so the promise holds where it matters.
_SCOPE = "minimx pointwise output"


def _alias_scope(module: Any) -> Any:
    domain = module.add_metadata([ir.MetaDataString(module, "minimx pointwise")])
    scope = module.add_metadata([ir.MetaDataString(module, _SCOPE), domain])
    return module.add_metadata([scope])


@intrinsic
def operand(typing: Any, args: Any, k: Any, dtype: Any) -> Any:
    """The pointer to operand `k`, of an element type: `operand(args, 0, float32)`."""
    signature = types.CPointer(dtype.dtype)(args, k, dtype)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        address = builder.load(builder.gep(values[0], [values[1]]))
        return builder.inttoptr(address, context.get_value_type(sig.return_type))

    return signature, emit


@intrinsic
def pointer(typing: Any, array: Any) -> Any:
    """The pointer to the first element of an array, of its element type.

    What follows are accesses without a check of bounds or of negative indices.
    """
    signature = types.CPointer(array.dtype)(array)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        of_type: Any = make_array
        return of_type(sig.args[0])(context, builder, values[0]).data

    return signature, emit


@intrinsic
def halves(typing: Any, array: Any) -> Any:
    """The pointer to a complex array as reals: elements 2i and 2i + 1 are one number.

    array: complex64 gives a pointer to float32, complex128 one to float64.
    """
    signature = types.CPointer(array.dtype.underlying_float)(array)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        of_type: Any = make_array
        address = of_type(sig.args[0])(context, builder, values[0]).data
        return builder.bitcast(address, context.get_value_type(sig.return_type))

    return signature, emit


@intrinsic
def load(typing: Any, pointer: Any, i: Any) -> Any:
    """Element `i` of a pointer, converted to a value of numba (a bool is one byte)."""
    signature = pointer.dtype(pointer, types.intp)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        found = builder.load(builder.gep(values[0], [values[1]]))
        found.set_metadata("noalias", _alias_scope(builder.module))
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
        stored.set_metadata("alias.scope", _alias_scope(builder.module))
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def select(typing: Any, condition: Any, yes: Any, no: Any) -> Any:
    """`yes if condition else no`, both computed, without a jump.

    The result has the wider type of the two. A branch would keep LLVM from computing
    many elements at once.
    """
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
    """The bits of a float as an integer: float32 → int32, float64 → int64."""
    kinds = {types.float32: types.int32, types.float64: types.int64}
    return _reinterpreted(typing, value, kinds)


@intrinsic
def unbits(typing: Any, value: Any) -> Any:
    """The float with these bits: int32 → float32, int64 → float64."""
    kinds = {types.int32: types.float32, types.int64: types.float64}
    return _reinterpreted(typing, value, kinds)


@intrinsic
def spill(typing: Any, numbers: Any) -> Any:
    """The address of a tuple of integers, copied to the stack of the caller."""
    signature = types.intp(numbers)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        items = cgutils.unpack_tuple(builder, values[0])
        word = context.get_value_type(types.intp)
        buffer = cgutils.alloca_once(builder, word, size=len(items))
        for i, item in enumerate(items):
            index = ir.Constant(ir.IntType(32), i)
            builder.store(item, builder.gep(buffer, [index]))
        return builder.ptrtoint(buffer, word)

    return signature, emit


@intrinsic
def call(typing: Any, kernel: Any, args: Any, steps: Any, n: Any) -> Any:
    """Call the kernel whose machine code is at an address, on one row.

    kernel, args, steps: addresses (intp), of the code and of two arrays of intp; n:
    elements in the row.
    """
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
# Releasing the GIL and taking it back costs more than a few thousand additions, and
# wakes a thread that will find nothing to do.
#
# kernel: an address; arrays: flat, an input of out's length or of one element. They are
# written out for one to four inputs, since numba compiles no functions of any number.


@threads.jit(nogil=False)
def run1(kernel: int, a: Any, out: Any) -> None:
    """Run a kernel of one input: `run1(code, a, out)`, one row of `out.size`."""
    n = out.size
    steps = (int(a.size == n), 1)
    call(kernel, spill((a.ctypes.data, out.ctypes.data)), spill(steps), n)


@threads.jit(nogil=False)
def run2(kernel: int, a: Any, b: Any, out: Any) -> None:
    """Run a kernel of two inputs; one of a single element is broadcast (step 0)."""
    n = out.size
    args = (a.ctypes.data, b.ctypes.data, out.ctypes.data)
    steps = (int(a.size == n), int(b.size == n), 1)
    call(kernel, spill(args), spill(steps), n)


@threads.jit(nogil=False)
def run3(kernel: int, a: Any, b: Any, c: Any, out: Any) -> None:
    """Run a kernel of three inputs; single elements are broadcast."""
    n = out.size
    args = (a.ctypes.data, b.ctypes.data, c.ctypes.data, out.ctypes.data)
    steps = (int(a.size == n), int(b.size == n), int(c.size == n), 1)
    call(kernel, spill(args), spill(steps), n)


@threads.jit(nogil=False)
def run4(kernel: int, a: Any, b: Any, c: Any, d: Any, out: Any) -> None:
    """Run a kernel of four inputs; single elements are broadcast."""
    n = out.size
    args = (a.ctypes.data, b.ctypes.data, c.ctypes.data, d.ctypes.data, out.ctypes.data)
    steps = (int(a.size == n), int(b.size == n), int(c.size == n), int(d.size == n), 1)
    call(kernel, spill(args), spill(steps), n)


# -- the launchers for everything else: rows of any array, on any number of threads ----
#
# A grid holds the loops over all operands at once, an intp array with a line per axis:
#
#     line 0              0, and each operand's step along a row in elements: 0 or 1
#     line 1              the length of a row, and the same steps in bytes
#     line 2 and further  the length of an outer axis, and the steps along it in bytes;
#                         the innermost axis comes first
#
# For out (4, 3) = a (4, 3) + b (3,) in float32:
#
#          a   b  out
#     0    1   1   1      along a row, all of them advance
#     3    4   4   4      3 elements in a row, 4 bytes each
#     4   12   0  12      4 rows; the next one is 12 bytes further, but b's is the same


@threads.jit()
def _some_rows(
    kernel: int, args: Any, grid: Any, first: int, last: int, start: int, stop: int
) -> None:
    """Elements `start` to `stop` of each row from `first` up to, without, `last`.

    `here` has the address of each operand in the current row, `index` the row's
    position on each outer axis.
    """
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
def rows(part: Any, kernel: int, args: Any, grid: Any) -> None:
    """Run a kernel on every row of a grid. args (operands,): addresses, out's last.

    A part is whole rows if there are enough of them, else a piece of every row. No
    element depends on another, so the cuts do not change a bit.
    """
    first, last, start, stop = 0, 1, 0, grid[1, 0]
    for axis in range(2, grid.shape[0]):
        last *= grid[axis, 0]
    if last >= part[1]:
        first, last = ends(last, part)
    else:
        start, stop = ends(stop, part)
    _some_rows(kernel, args, grid, first, last, start, stop)


@threads.jit(nogil=False)
def rows2(kernel: int, a: Any, b: Any, out: Any, grid: Any) -> None:
    """The same for few elements: two inputs and an output, flat arrays, one thread."""
    height = 1
    for axis in range(2, grid.shape[0]):
        height *= grid[axis, 0]
    args = np.empty(3, np.intp)
    args[0], args[1], args[2] = a.ctypes.data, b.ctypes.data, out.ctypes.data
    _some_rows(kernel, args, grid, 0, height, 0, grid[1, 0])


# -- many calls in one -----------------------------------------------------------------


@threads.jit()
def run_table(table: Any) -> None:
    """Calls one after another. table (calls, 4): code, args, steps (addresses), n."""
    for row in range(table.shape[0]):
        call(table[row, 0], table[row, 1], table[row, 2], table[row, 3])


@threads.jit(nogil=False)
def run_table_holding(table: Any) -> None:
    """The same for calls of few elements, holding the GIL."""
    for row in range(table.shape[0]):
        call(table[row, 0], table[row, 1], table[row, 2], table[row, 3])
