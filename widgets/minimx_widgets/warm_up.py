"""Load what the first training step needs while the learner still reads.

The compiler's modules and its tables of types take about a second of a first step. They
hold no arrays and no state of minimx, so nothing that is measured depends on them.
"""

from __future__ import annotations

import threading
from functools import cache
from importlib import import_module

#: What training a small network imports at its first step.
MODULES = tuple(
    f"minimx.kernels.cpu.{name}"
    for name in (
        "conv",
        "pooling",
        "norm",
        "matmul",
        "short_products",
        "reduce",
        "softmax",
        "indexing",
        "updates",
        "random",
    )
)


@cache
def begin() -> threading.Thread:
    """Load it in a thread of its own, once in a process; returns the thread."""
    thread = threading.Thread(target=load, name="minimx warm-up", daemon=True)
    thread.start()
    return thread


def load() -> None:
    """Import the kernels, and let the compiler fill its tables of types."""
    for module in MODULES:
        import_module(module)
    target = import_module("numba.core.registry").cpu_target
    # All threads read numba's registries through the same generators: a training that
    # compiles meanwhile would find them "already executing".
    with import_module("numba.core.compiler_lock").global_compiler_lock:
        target.typing_context.refresh()
        target.target_context.refresh()
