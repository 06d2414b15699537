"""Presets: settings that the documents recommend together, under the name they use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Preset:
    """Values that belong together, why, and the document that says so."""

    values: Mapping[str, object]
    meaning: str
    source: str


PRESETS: Mapping[str, Preset] = {
    "minimum memory": Preset(
        {"MXNET_EXEC_NUM_TEMP": 1, "MXNET_GPU_WORKER_NTHREADS": 1},
        "One workspace and one compute thread per GPU, so that as few buffers as "
        "possible are alive at the same time.",
        "env-vars-2.0.md, Settings for Minimum Memory Usage",
    ),
    "more GPU parallelism": Preset(
        {"MXNET_GPU_WORKER_NTHREADS": 2, "MXNET_EXEC_NUM_TEMP": 2},
        "Two compute threads per GPU and a workspace for each, so that independent "
        "operators overlap. Costs memory, and gains little where one operator already "
        "fills the device.",
        "env-vars-2.0.md, Settings for More GPU Parallelism",
    ),
    "no operator tuning": Preset(
        {"MXNET_USE_OPERATOR_TUNING": "0"},
        "Do not measure whether a pointwise operator is worth several threads. All of "
        "them then keep to one size, MXNET_CPU_PARALLEL_SIZE: below it one thread, "
        "from it on all. Costly loops of fewer elements lose the threads that tuning "
        "gave them. In MXNet 0 means all threads always.",
        "env-vars-2.0.md, Settings for controlling OMP tuning",
    ),
    "debug errors": Preset(
        {"MXNET_ENGINE_TYPE": "NaiveEngine", "DMLC_LOG_STACK_TRACE_DEPTH": 10},
        "Every operation runs inside the call that asks for it, so an error appears "
        "at its own line; a note names up to ten of that line's callers.",
        "env-vars-2.0.md, Engine Type and Logging",
    ),
    "every operator in the profile": Preset(
        {
            "MXNET_EXEC_BULK_EXEC_INFERENCE": 0,
            "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN": 0,
            "MXNET_EXEC_BULK_EXEC_TRAIN": 0,
        },
        "Never join operators, so that a timeline shows each one by its name.",
        "env-vars-2.0.md, Control the profiler",
    ),
    "less fragmentation": Preset(
        {
            "MXNET_GPU_MEM_POOL_TYPE": "Round",
            "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF": 28,
        },
        "Round GPU memory to powers of two up to 256 MiB, so that inputs of varying "
        "shape find blocks to reuse. The price is up to twice the bytes per block.",
        "troubleshooting-guide.md, GPU Memory Fragmentation",
    ),
    "fast CPU": Preset(
        {"KMP_AFFINITY": "granularity=fine,compact,1,0"},
        "Pin kernel threads to cores, neighbours first. The page also advises half "
        "the virtual CPUs for OMP_NUM_THREADS, which depends on the machine.",
        "performance-tips.md, Intel CPU",
    ),
    "tune convolutions": Preset(
        {"MXNET_CUDNN_AUTOTUNE_DEFAULT": 1},
        "Time the convolution algorithms that fit into the workspace and keep the "
        "fastest. Already the default since MXNet 0.9.5.",
        "performance-tips.md, Nvidia GPU",
    ),
    "reproducible": Preset(
        {"MXNET_ENFORCE_DETERMINISM": 1, "MXNET_CUDNN_AUTOTUNE_DEFAULT": 0},
        "Only kernels whose result does not depend on timing, and no choice between "
        "algorithms by stopwatch.",
        "env-vars-2.0.md, Other Environment Variables",
    ),
}
