"""numba's compiler without what kernels have no use for: half the steps, one optimizer.

    PartCompiler     compiles functions that only kernels call, or parts of a kernel
    KernelCompiler   compiles kernels

The first step of a network is nearly all compiling, so what is left out here is what a
fresh program does not wait for. None of it changes what is computed. Imports numba.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import boxing, pythonapi
from numba.core import types as numba_types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, LiteralUnroll

# numba does not say what its functions take and return.
_Compiler: Any = Compiler
_Lowering: Any = NativeLowering
_Library: Any = JITCodeLibrary
types: Any = numba_types
_python: Any = pythonapi

#: Steps for what no kernel has, such as comprehensions and functions in functions.
NEEDLESS = {InlineClosureLikes, LiteralUnroll, InlineOverloads, NopythonRewrites}


class PartLibrary(_Library):  # type: ignore[misc]
    """Instructions that wait for a kernel to take them in.

    numba optimizes a function and makes machine code of it before it puts it into its
    caller, where all is done again, and so on up to the kernel. LLVM begins with the
    callees in any case. Each function alone is simplified, briefly: its caller takes
    in fewer instructions.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager(opt=1)
        for function in module.functions:
            passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """The kernel's is optimized."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class PartLowering(_Lowering):  # type: ignore[misc]
    """numba's step from types to instructions, without machine code."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower, and let callers find the function by an object that nothing calls."""
        state.flags.no_compile = True
        super().run_pass(state)
        about, env, library = state.cr.fndesc, state.cr.env, state.library
        name, where = about.qualname, about.lookup_module()
        key = _dynfunc.make_function(where, name, "", 0, env, (library,))
        state.targetctx.insert_user_function(key, about, [library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class KernelLibrary(_Library):  # type: ignore[misc]
    """Instructions of a kernel, with those of its parts.

    numba optimizes a kernel's own functions before its parts are in it, then all that
    is in it, first cheaply and then in full. The last time is enough.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class KernelCompiler(_Compiler):  # type: ignore[misc]
    """numba's compiler for kernels, which Python calls."""

    library, lowering = KernelLibrary, _Lowering

    def define_pipelines(self) -> Any:
        """The steps, and a place for the instructions."""
        name = self.state.func_id.func_qualname
        self.state.library = self.library(self.state.targetctx.codegen(), name)
        self.state.library.enable_object_caching()
        (steps,) = super().define_pipelines()
        steps.passes = [
            (self.lowering if step is NativeLowering else step, text)
            for step, text in steps.passes
            if step not in NEEDLESS
        ]
        return [steps]


class PartCompiler(KernelCompiler):
    """numba's compiler for functions that only kernels call."""

    library, lowering = PartLibrary, PartLowering


#: The compilers of kernels and, second, of their parts.
COMPILERS = KernelCompiler, PartCompiler


@_python.unbox(types.NamedUniTuple)  # type: ignore[untyped-decorator]
def whole_numbers(kind: Any, found: Any, c: Any) -> Any:
    """Take a tuple of lengths from Python, and look for an exception once, at the end.

    numba makes each a Python int first, and looks for an exception after each: that is
    a fifth of a kernel's instructions. Tuples of other packages are left to it.
    """
    if kind.dtype != types.intp or not kind.instance_class.__module__.startswith(
        "minimx."
    ):
        return boxing.unbox_tuple(kind, found, c)
    items = [c.pyapi.tuple_getitem(found, k) for k in range(len(kind))]
    numbers = [c.pyapi.long_as_longlong(item) for item in items]
    value = c.context.make_tuple(c.builder, kind, numbers)
    return _python.NativeValue(value, is_error=c.pyapi.c_api_error())
