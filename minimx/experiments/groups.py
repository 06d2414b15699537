"""Which knobs can be replayed, by what they act on; and why others cannot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.knobs import knobs as registry
from minimx.core.storage.policy import BYPASS, PREFIXES, knob_names
from minimx.experiments.graphs import PLANNING
from minimx.experiments.machine import SPEEDS

POOLS: Final = (*(name for kind in PREFIXES for name in knob_names(kind)), BYPASS)
CAPACITY: Final = "MINIMX_SIM_GPU_MEMORY"
THREADS: Final = {
    "MXNET_CPU_WORKER_NTHREADS": "cpu_workers",
    "MXNET_CPU_PRIORITY_NTHREADS": "cpu_priority",
    "MXNET_GPU_WORKER_NTHREADS": "gpu_workers",
    "MXNET_GPU_COPY_NTHREADS": "gpu_copy",
}
ENGINE: Final = "MXNET_ENGINE_TYPE"
BULKS: Final = (
    "MXNET_EXEC_BULK_EXEC_TRAIN",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD",
)
SCHEDULING: Final = (ENGINE, *THREADS, *BULKS)
DELAY: Final = "MINIMX_SIM_DELAY"
REPLAYED: Final = (*POOLS, CAPACITY, *SCHEDULING, *SPEEDS, *PLANNING)
KEPT: Final = (*REPLAYED, DELAY)


def checked(changes: Mapping[str, object]) -> dict[str, Any]:
    """Changes by their true names, as values of the knobs' types.

    Raises `KnobError` for knobs that do not exist and for wrong values, and
    `ArgumentError` for those that a replay cannot turn.
    """
    found = {}
    for name, value in changes.items():
        declared = registry.declared[registry.resolve(name)]
        if declared.name not in REPLAYED:
            raise ArgumentError(
                f"replay: {declared.name} cannot be replayed. It acts on what "
                "operators compute, or on parts that leave no decisions in a record, "
                "so only a run can say what it changes. These can: "
                f"{', '.join(REPLAYED)}." + did_you_mean(declared.name, REPLAYED)
            )
        found[declared.name] = declared.check(value)
    return found


def value_of(values: Mapping[str, Any], name: str) -> Any:
    """The value of a knob in a record; its default where the record has none."""
    return values.get(name, registry.declared[name].default)
