"""Kernels in parts, one for each thread, which numba compiles once.

numba's `prange` makes the body of a loop a second function with wrappers around it, and
without threads the kernel is a third one: two to four times the work for the compiler.
Here a kernel is one plain function. It knows which part it is, as a block of a CUDA
kernel does, and takes its share of a loop; what numba gives is its pool of threads.

    entry(function, body)       the function `(parts, *args)` that Python calls

`threads.jit` puts them together; kernels take their shares with `parts.dealt`.
Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils as numba_cgutils
from numba.core import types as numba_types
from numba.core.callconv import excinfo_ptr_t
from numba.extending import intrinsic

from minimx.core.extensions import provided

types: Any = numba_types
cgutils: Any = numba_cgutils

PART = types.UniTuple(types.intp, 2)
_BYTES, _WORD, _CODE = cgutils.voidptr_t, cgutils.intp_t, ir.IntType(32)
#: What the pool calls: (where the first part's number is, how many parts, steps, data).
_WORKER = ir.FunctionType(
    ir.VoidType(), [x.as_pointer() for x in (_BYTES, _WORD, _WORD)] + [_BYTES]
)
#: The pool itself: a worker and its arguments, inner axes, arrays, threads.
_POOL = ir.FunctionType(ir.VoidType(), [_BYTES] * 5 + [_WORD] * 3)


provided("compiling").watch()


@intrinsic
def run_parts(typing: Any, body: Any, held: Any, parts: Any, args: Any) -> Any:
    """Run `body((k, parts), *args)` for every k below parts, each on a thread.

    held: this thread has the GIL, and gives it away meanwhile. parts: below 2 all is
    done on this thread. If parts fail, the exception of one of them is raised.
    """
    kinds = (PART, *args)
    inner = body.dispatcher.get_compile_result(body.get_call_type(typing, kinds, {}))

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        context.add_linking_libs((inner.library,))
        _, held, wanted, packed = values
        many = builder.icmp_signed(">", wanted, _WORD(1))
        parts = builder.select(many, wanted, _WORD(1))
        fields = [_WORD, packed.type, _CODE, excinfo_ptr_t]  # the last two: a failure
        shared = cgutils.alloca_once(builder, ir.LiteralStructType(fields))
        places = [cgutils.gep_inbounds(builder, shared, 0, k) for k in range(4)]
        for place, value in zip(places, (parts, packed, _CODE(0)), strict=False):
            builder.store(value, place)
        worker = _worker(context, builder.module, inner, shared.type)
        # the pool adds k times the step to an address for part k: to 0, that is k
        lengths = ir.Constant(_BYTES, None), parts, _WORD(1)
        given = [cgutils.alloca_once_value(builder, value) for value in lengths]
        given.append(builder.bitcast(shared, _BYTES))
        python, thread = context.get_python_api(builder), given[0]
        with builder.if_then(held):
            thread = cgutils.alloca_once_value(builder, python.save_thread())
        with builder.if_else(many) as (several, alone):
            with several:
                pool = cgutils.get_or_insert_function(
                    builder.module, _POOL, "numba_parallel_for"
                )
                words = [builder.bitcast(x, _BYTES) for x in (worker, *given)]
                builder.call(pool, [*words, _WORD(0), _WORD(1), parts])
            with alone:
                builder.call(worker, given)
        with builder.if_then(held):
            python.restore_thread(builder.load(thread))
        code, reason = builder.load(places[2]), builder.load(places[3])
        status = context.call_conv._get_return_status(builder, code, reason)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.void(body, types.boolean, types.intp, args), emit


def _worker(context: Any, module: Any, inner: Any, shared: Any) -> Any:
    """The function that runs some parts and notes failures; all calls are in it."""
    worker = ir.Function(module, _WORKER, f"parts of {inner.fndesc.mangled_name}")
    worker.linkage = "internal"
    worker.attributes.add("noinline")
    builder = ir.IRBuilder(worker.append_basic_block())
    first = builder.ptrtoint(builder.load(worker.args[0]), _WORD)
    data = builder.bitcast(worker.args[3], shared)
    places = [cgutils.gep_inbounds(builder, data, 0, k) for k in range(4)]
    parts, packed = builder.load(places[0]), builder.load(places[1])
    function = context.declare_function(module, inner.fndesc)
    with cgutils.for_range(builder, builder.load(worker.args[1])) as loop:
        numbers = builder.add(first, loop.index), parts
        part = context.make_tuple(builder, PART, numbers)
        values = part, *cgutils.unpack_tuple(builder, packed)
        status, _ = context.call_conv.call_function(
            builder, function, types.none, inner.signature.args, values
        )
        with cgutils.if_unlikely(builder, status.is_error):
            builder.store(status.code, places[2])
            builder.store(status.excinfoptr, places[3])
    builder.ret_void()
    return worker


def entry(function: Any, body: Any, steps: bool) -> Any:
    """The function `(parts, *args)` for Python that runs a kernel, to be compiled.

    parts: how many there are, 1 for the calling thread; 0 for the same, keeping the
    GIL. function: the kernel as it is written. body: the same, compiled as a part of
    others. steps: its second argument counts steps, and all parts wait for each other
    after every step; it is to be compiled so that it has no GIL.
    """
    code = function.__code__
    names = list(code.co_varnames[1 : code.co_argcount])
    held, given = "False" if steps else "parts_ > 0", ", ".join(names)
    call = f"run_(body_, {held}, parts_, ({given},))"
    if steps:
        call = f"for {names[0]} in range(steps_): {call}"
        names[0] = "steps_"
    name = function.__name__
    text = f"def {name}(parts_, {', '.join(names)}):\n    {call}\n"
    scope = {"run_": run_parts, "body_": body}
    exec(compile(text, code.co_filename, "exec"), scope)
    made: Any = scope[name]
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made
