"""What an operator is: one data sheet each, found by name in the registry."""

from __future__ import annotations

from minimx.core.knobs import knobs
from minimx.core.ops import devices, registry
from minimx.core.ops.registry import (
    GradContext,
    Kernel,
    Op,
    Site,
    Types,
    Value,
    bind,
    lookup,
    register,
)
from minimx.core.ops.spec import Cost, Spec

__all__ = [
    "Cost", "GradContext", "Kernel", "Op", "Site", "Spec", "Types", "Value", "bind",
    "lookup", "register", "registry",
]  # fmt: skip

# A plan holds on how many threads its kernel runs, in which type it adds, and by which
# algorithm it convolves; when one of these knobs is turned, plans are made anew.
knobs.watch(
    (
        "MXNET_CPU_PARALLEL_SIZE",
        "MXNET_OMP_MAX_THREADS",
        "MXNET_LIBRARY_PATH",
        "MXNET_SAFE_ACCUMULATION",
        "MXNET_TUNING_WEIGHT_SCALE",
        "MXNET_USE_NUM_CORES_OPERATOR_TUNING",
        "MXNET_USE_OPERATOR_TUNING",
        "OMP_NUM_THREADS",
        *devices.KNOBS,
    ),
    lambda name, new, old: registry.forget_plans(),
)
