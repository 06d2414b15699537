"""Variables that other programs read, beside which a misspelt one of ours stands out.

`OMP_`, `KMP_`, `DMLC_` and `PS_` belong to OpenMP, to Intel's runtime and to MXNet's
parameter server. Only some of their variables are knobs, so an unknown name is not yet
a mistake: it is one if it is nearly a knob and nothing that these programs know.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

PREFIXES = ("OMP_", "KMP_", "DMLC_", "PS_")

# How alike two names must be. OMP_NUM_THREAD is 0.97 like OMP_NUM_THREADS, and
# DMLC_LOG_STACK_DEPTH 0.87 like DMLC_LOG_STACK_TRACE_DEPTH.
NEARLY = 0.85

# What the OpenMP 5.2 standard, LLVM's and Intel's runtimes, dmlc-core and ps-lite read.
KNOWN = frozenset(
    [
        "OMP_AFFINITY_FORMAT",
        "OMP_ALLOCATOR",
        "OMP_CANCELLATION",
        "OMP_DEBUG",
        "OMP_DEFAULT_DEVICE",
        "OMP_DISPLAY_AFFINITY",
        "OMP_DISPLAY_ENV",
        "OMP_DYNAMIC",
        "OMP_MAX_ACTIVE_LEVELS",
        "OMP_MAX_TASK_PRIORITY",
        "OMP_NESTED",
        "OMP_NUM_TEAMS",
        "OMP_PLACES",
        "OMP_PROC_BIND",
        "OMP_SCHEDULE",
        "OMP_STACKSIZE",
        "OMP_TARGET_OFFLOAD",
        "OMP_TEAMS_THREAD_LIMIT",
        "OMP_THREAD_LIMIT",
        "OMP_TOOL",
        "OMP_TOOL_LIBRARIES",
        "OMP_TOOL_VERBOSE_INIT",
        "OMP_WAIT_POLICY",
        "KMP_ALL_THREADS",
        "KMP_BLOCKTIME",
        "KMP_CPUINFO_FILE",
        "KMP_DETERMINISTIC_REDUCTION",
        "KMP_DEVICE_THREAD_LIMIT",
        "KMP_DUPLICATE_LIB_OK",
        "KMP_DYNAMIC_MODE",
        "KMP_FORCE_REDUCTION",
        "KMP_FOREIGN_THREADS_THREADPRIVATE",
        "KMP_HANDLE_SIGNALS",
        "KMP_HW_SUBSET",
        "KMP_INHERIT_FP_CONTROL",
        "KMP_INIT_AT_FORK",
        "KMP_LIBRARY",
        "KMP_MAX_THREADS",
        "KMP_MONITOR_STACKSIZE",
        "KMP_NUM_THREADS",
        "KMP_PLACE_THREADS",
        "KMP_SETTINGS",
        "KMP_STACKOFFSET",
        "KMP_STACKPAD",
        "KMP_STACKSIZE",
        "KMP_STORAGE_MAP",
        "KMP_TASKLOOP_MIN_TASKS",
        "KMP_TASKING",
        "KMP_TEAMS_THREAD_LIMIT",
        "KMP_TOPOLOGY_METHOD",
        "KMP_TPAUSE",
        "KMP_USER_LEVEL_MWAIT",
        "KMP_VERSION",
        "KMP_WARNINGS",
        "DMLC_CONTAINER_ID",
        "DMLC_ENABLE_RDMA",
        "DMLC_GROUP_SIZE",
        "DMLC_INTERFACE",
        "DMLC_JOB_ARCHIVES",
        "DMLC_JOB_CLUSTER",
        "DMLC_LOCAL",
        "DMLC_LOG_BEFORE_THROW",
        "DMLC_LOG_CUSTOMIZE",
        "DMLC_LOG_DEBUG",
        "DMLC_LOG_FATAL_THROW",
        "DMLC_LOG_NODATE",
        "DMLC_LOG_STACK_TRACE",
        "DMLC_MAX_ATTEMPT",
        "DMLC_NODE_HOST",
        "DMLC_NUM_ATTEMPT",
        "DMLC_NUM_PORTS",
        "DMLC_PORT",
        "DMLC_PS_WATER_MARK",
        "DMLC_RANK",
        "DMLC_SERVER_CORES",
        "DMLC_SERVER_ID",
        "DMLC_SERVER_MEMORY_MB",
        "DMLC_TASK_ID",
        "DMLC_TRACKER_PORT",
        "DMLC_TRACKER_URI",
        "DMLC_WORKER_CORES",
        "DMLC_WORKER_ID",
        "DMLC_WORKER_MEMORY_MB",
        "PS_KEY_LOG",
        "PS_MAX_ATTEMPT",
        "PS_VAN",
        "PS_WATER_MARK",
    ]
)


def meant(name: str, declared: Iterable[str]) -> str:
    """The knob that a variable with one of these beginnings nearly is, or nothing.

    >>> meant("OMP_NUM_THREAD", ["OMP_NUM_THREADS"]), meant("OMP_PROC_BIND", ["OMP_"])
    ('OMP_NUM_THREADS', '')
    """
    prefix = name.partition("_")[0] + "_"
    if prefix not in PREFIXES or name in KNOWN:
        return ""
    family = [one for one in declared if one.startswith(prefix)]
    close = difflib.get_close_matches(name, family, n=1, cutoff=NEARLY)
    return close[0] if close else ""
