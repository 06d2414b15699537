"""Load what the first training step needs before Train is pressed.

The compiler's modules and its tables of types take most of a second of a first step.
They hold no arrays and no state of minimx, so nothing that is measured depends on them.
They are loaded where a lab is made and not in a thread beside it: the compiler's lock
and Python's locks of imports may be taken in either order, and two threads that load
could wait for each other for ever.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

#: What training a small network imports at its first step.
MODULES = (
    *(
        f"minimx.core.kernels.cpu.{name}"
        for name in (
            *("conv", "pooling", "norm", "matmul", "reduce", "softmax", "indexing"),
            "random",
        )
    ),
    "minimx.operators.kernels.updates.updates",
    "minimx.fast.cpu.short_products",
)


@cache
def load() -> None:
    """Import the kernels, and let the compiler fill its tables of types; once."""
    for module in MODULES:
        import_module(module)
    lock = import_module("numba.core.compiler_lock").global_compiler_lock
    target = import_module("numba.core.registry").cpu_target
    with lock:
        target.typing_context.refresh()
        target.target_context.refresh()
