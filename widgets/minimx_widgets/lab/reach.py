"""Whether a knob can act on what runs now, and why not where it cannot.

Pure: a table of rules over a `Situation`. So a panel can say "acts on graphs; this
network runs imperatively" instead of "applied". A rule names its knobs, when they can
act, and what to say where they cannot. Of several that apply the first is shown.
"""

from __future__ import annotations

from collections.abc import Callable

from minimx.core.graph.running.settings import KNOBS as OF_GRAPHS
from minimx.core.knobs import knobs
from minimx.fast.convolution import tuner
from minimx_widgets.lab.reach_stores import STORE_RULES
from minimx_widgets.lab.situation import Rule, Situation, never

#: The knobs that shape a graph when it is bound, but for the choice of convolutions.
GRAPH_KNOBS = frozenset(knobs.resolve(name) for name in OF_GRAPHS.values())
RANDOM = ("Dropout", "random", "sample", "shuffle")


def _tunes(now: Situation) -> bool:
    return now.gpu or bool(now["MINIMX_CPU_AUTOTUNE"])


def _pooled(kind: str) -> Callable[[Situation], bool]:
    def acts(now: Situation) -> bool:
        chosen = now[f"MXNET_{kind}_MEM_POOL_TYPE"]
        return chosen != "Unpooled" and not now["MXNET_USE_NAIVE_STORAGE_MANAGERS"]

    return acts


def _pool_is(kind: str, *types: str) -> Callable[[Situation], bool]:
    return lambda now: now[f"MXNET_{kind}_MEM_POOL_TYPE"] in types


def _reserve_reached(name: str) -> Callable[[Situation], bool]:
    return lambda now: bool(now[name] >= now.free - 1)


def _of_pools() -> tuple[Rule, ...]:
    found = []
    for kind in ("CPU", "GPU"):
        pool = f"MXNET_{kind}_MEM_POOL"
        found += [
            Rule(
                f"{pool}_PAGE_SIZE {pool}_RESERVE {pool}_ROUND_LINEAR_CUTOFF "
                f"MXNET_{kind}_MEM_LARGE_ALLOC_ROUND_SIZE",
                _pooled(kind),
                "this pool keeps and rounds nothing: it is Unpooled",
            ),
            Rule(
                f"{pool}_ROUND_LINEAR_CUTOFF",
                _pool_is(kind, "Round"),
                f"acts in the Round pool; this one is Naive ({pool}_TYPE)",
            ),
            Rule(
                f"MXNET_{kind}_MEM_LARGE_ALLOC_ROUND_SIZE",
                _pool_is(kind, "Naive"),
                f"acts in the Naive pool; this one is Round ({pool}_TYPE)",
            ),
            Rule(
                f"{pool}_RESERVE",
                _reserve_reached(f"{pool}_RESERVE"),
                "acts when the memory that is left is less than the reserve",
            ),
        ]
    return tuple(found)


RULES: tuple[Rule, ...] = (
    Rule(
        "MXNET_CPU_PINNED_MEM_*",
        never,
        "acts on page-locked memory (cpu_pinned); this run uses none",
    ),
    Rule(
        "MXNET_GPU_* MXNET_ENABLE_CUDA_GRAPHS MXNET_CUDA_GRAPHS_* MINIMX_SIM_GPU_* "
        "MINIMX_SIM_LAUNCH MINIMX_SIM_DRIVER_CALL MINIMX_SIM_HOST_BANDWIDTH "
        "MINIMX_SIM_DELAY MINIMX_CUDA MINIMX_CUDA_VERBOSE MXNET_CUDA_ALLOW_TENSOR_CORE "
        "MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION",
        lambda now: now.gpu,
        "acts on a GPU; this run is on the CPU",
    ),
    Rule(
        "MINIMX_CUDA MINIMX_SIM_GPU_MEMORY MINIMX_SIM_GPU_PRESET",
        never,
        "acts when no array lives on the GPU: stop the training first",
    ),
    Rule(
        "MINIMX_SIM_GPUS",
        never,
        "acts on the list of devices; this training has its own",
    ),
    *STORE_RULES,
    Rule(
        "MXNET_CUDA_LIB_CHECKING MXNET_CUDNN_LIB_CHECKING MINIMX_CUDA_VERBOSE",
        lambda now: now.cuda,
        "acts on a real CUDA device; this machine has none",
    ),
    Rule(
        "MXNET_CUDA_GRAPHS_*",
        lambda now: bool(now["MXNET_ENABLE_CUDA_GRAPHS"]),
        "acts with MXNET_ENABLE_CUDA_GRAPHS=1",
    ),
    Rule(
        "MXNET_ENABLE_CUDA_GRAPHS MXNET_CUDA_GRAPHS_*",
        lambda now: now.way == "static",
        "acts on static graphs; choose Runs: static",
    ),
    Rule(
        "MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES",
        lambda now: bool(now["MXNET_CUDA_GRAPHS_VERBOSE"]),
        "acts with MXNET_CUDA_GRAPHS_VERBOSE=1",
    ),
    Rule(
        "MXNET_CUDA_GRAPHS_DBG_FILE_FLAGS",
        lambda now: bool(now["MXNET_CUDA_GRAPHS_DBG_FILE"]),
        "acts with a file in MXNET_CUDA_GRAPHS_DBG_FILE",
    ),
    Rule(
        "MXNET_ONEDNN_* MXNET_USE_ONEDNN_RNN MXNET_RNN_USE_WEIGHT_CACHE",
        lambda now: now.onednn,
        'needs the library oneDNN: pip install "minimx[onednn]"',
    ),
    Rule(
        "MXNET_ONEDNN_FORCE_FC_AB_FORMAT MXNET_USE_ONEDNN_RNN "
        "MXNET_RNN_USE_WEIGHT_CACHE",
        never,
        "acts on predictions; this run trains",
    ),
    # What reads data, files and sparse arrays
    Rule(
        "MXNET_MP_*",
        never,
        "acts in the worker processes of a DataLoader; this run reads arrays",
    ),
    Rule(
        "MXNET_HOME MXNET_GLUON_REPO",
        never,
        "acts when a data set or a model is looked up; this run has its data",
    ),
    Rule(
        "MXNET_STORAGE_FALLBACK_LOG_VERBOSE",
        lambda now: now.has("sparse", "cast_storage"),
        "acts on sparse arrays; this network has none",
    ),
    Rule(
        "MXNET_LIBRARY_PATH",
        never,
        "acts on operators that are called after it was loaded; the graph is bound",
    ),
    # Convolutions
    Rule(
        "MXNET_CUDNN_* MINIMX_CPU_AUTOTUNE MINIMX_CUDNN_INVERTED_LIMIT "
        "MXNET_CPU_NNPACK_NTHREADS MXNET_ENFORCE_DETERMINISM",
        lambda now: now.has("Convolution", "conv"),
        "acts on convolutions; this network has none",
    ),
    Rule(
        "MXNET_CUDNN_AUTOTUNE_DEFAULT MINIMX_CUDNN_INVERTED_LIMIT "
        "MXNET_CUDNN_ALLOW_FFT MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION",
        _tunes,
        "acts where algorithms are tuned: on a GPU, or with MINIMX_CPU_AUTOTUNE=1",
    ),
    Rule(
        "MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION",
        lambda now: now.dtype != "float32",
        "acts on sums of two-byte numbers; this run computes in float32",
    ),
    # Numbers
    Rule(
        "MXNET_FC_TRUE_FP16",
        lambda now: now.dtype == "float16",
        "acts on products of float16; this run computes in another type",
    ),
    Rule(
        "MXNET_SAFE_ACCUMULATION",
        lambda now: now.dtype == "float16" and now.has("softmax", "Norm", "norm"),
        "acts on sums of float16 in softmax and norms; this run has none",
    ),
    Rule(
        "MXNET_CPU_PARALLEL_RAND_COPY MXNET_GPU_PARALLEL_RAND_COPY "
        "MXNET_GPU_CUDNN_DROPOUT_STATE_COPY",
        lambda now: now.has(*RANDOM),
        "acts on operators that draw random numbers; this network has none",
    ),
    Rule(
        "MXNET_OPTIMIZER_AGGREGATION_SIZE",
        lambda now: now.optimizer in ("sgd", "momentum"),
        "acts on optimizers that update several weights at once, such as SGD",
    ),
    # Threads
    Rule(
        "MXNET_CPU_WORKER_NTHREADS KMP_AFFINITY MXNET_GPU_WORKER_NTHREADS "
        "MXNET_GPU_COPY_NTHREADS",
        lambda now: now["MXNET_ENGINE_TYPE"] == "ThreadedEnginePerDevice",
        "acts on the workers of ThreadedEnginePerDevice; another engine runs",
    ),
    Rule(
        "MXNET_OMP_MAX_THREADS",
        lambda now: not now.threads_given,
        "acts while OMP_NUM_THREADS is not set; it has a value",
    ),
    Rule(
        "MXNET_USE_NUM_CORES_OPERATOR_TUNING MXNET_TUNING_WEIGHT_SCALE "
        "MXNET_VERBOSE_TUNING_INFO MXNET_OUTPUT_TUNING_DATA",
        lambda now: now["MXNET_USE_OPERATOR_TUNING"] != ("0",),
        "acts while operators are tuned (MXNET_USE_OPERATOR_TUNING)",
    ),
    *_of_pools(),
    # Graphs
    Rule(
        " ".join(GRAPH_KNOBS)
        + " MXNET_MEM_PLAN_VERBOSE_LOGGING MXNET_EXEC_VERBOSE_LOGGING "
        "MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING MXNET_SUBGRAPH_VERBOSE "
        "MXNET_FUSION_VERBOSE MXNET_RTC_VERBOSE MXNET_RTC_SIZE_WARNING "
        "MXNET_CPU_TEMP_COPY",
        lambda now: now.graphs,
        "acts on graphs; this network runs imperatively",
    ),
    Rule(
        "MINIMX_MIRROR MXNET_BACKWARD_MIRROR_STEP",
        lambda now: bool(now["MXNET_BACKWARD_DO_MIRROR"]),
        "acts with MXNET_BACKWARD_DO_MIRROR=1",
    ),
    Rule(
        "MXNET_BACKWARD_MIRROR_STEP",
        lambda now: now["MINIMX_MIRROR"] in ("remap", "1.x"),
        "acts on the mirrors of MXNet; MINIMX_MIRROR names another one",
    ),
    Rule(
        "MXNET_EXEC_BULK_EXEC_MAX_NODE_*",
        lambda now: bool(now["MXNET_EXEC_BULK_EXEC_TRAIN"]),
        "acts with MXNET_EXEC_BULK_EXEC_TRAIN=1",
    ),
    Rule(
        "MINIMX_FUSION_LEAST MXNET_FUSION_VERBOSE MXNET_RTC_VERBOSE "
        "MXNET_RTC_SIZE_WARNING",
        lambda now: bool(now["MXNET_USE_FUSION"]),
        "acts with MXNET_USE_FUSION=1",
    ),
    Rule(
        "MXNET_FUSION_VERBOSE MXNET_RTC_VERBOSE",
        never,
        "acts when a fused kernel is made for the first time; these are made",
    ),
    Rule(
        "MXNET_VERBOSE_TUNING_INFO MXNET_OUTPUT_TUNING_DATA",
        never,
        "acts when a loop is measured for the first time; these are measured",
    ),
    Rule(
        "MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING",
        never,
        "acts when a symbol is bound; this network is a Gluon block",
    ),
    Rule(
        "MXNET_RTC_SIZE_WARNING",
        never,
        "acts after thousands of fused kernels; this network has a few",
    ),
    Rule(
        "MXNET_SUBGRAPH_VERBOSE",
        lambda now: now["MXNET_SUBGRAPH_BACKEND"] != "NONE",
        "acts with a backend in MXNET_SUBGRAPH_BACKEND",
    ),
    Rule(
        "NNVM_EXEC_MATCH_RANGE NNVM_AUTO_SEARCH_MATCH_RANGE MXNET_MEMORY_OPT",
        lambda now: now["MINIMX_MEMORY_PLANNER"] == "sharing",
        "acts on MXNet's planner (MINIMX_MEMORY_PLANNER=sharing)",
    ),
    Rule(
        "NNVM_EXEC_MATCH_RANGE",
        lambda now: (
            not (now["NNVM_AUTO_SEARCH_MATCH_RANGE"] or now["MXNET_MEMORY_OPT"])
        ),
        "the range is searched (NNVM_AUTO_SEARCH_MATCH_RANGE, MXNET_MEMORY_OPT)",
    ),
    # The rest of the house
    Rule(
        "MXNET_PROFILER_MODE MINIMX_PROFILER_MODE_OF",
        lambda now: bool(now["MXNET_PROFILER_AUTOSTART"]),
        "acts while the profiler runs: MXNET_PROFILER_AUTOSTART=1",
    ),
    Rule(
        "DMLC_LOG_STACK_TRACE_DEPTH",
        never,
        "acts on the message of an error",
    ),
    Rule("MINIMX_RECORD_CAPACITY", never, "acts on the record of the next training"),
    Rule(
        "MXNET_ENABLE_CYTHON MXNET_ENFORCE_CYTHON",
        never,
        "acts when a process starts; this one runs",
    ),
    Rule("MINIMX_CACHE", never, "acts when a kernel is compiled; these are"),
    Rule("MINIMX_PROGRESS", never, "acts on the command `minimx compile`"),
)


def reason(name: str, now: Situation) -> str:
    """Why a knob cannot act on what runs; empty if it can."""
    knob = knobs.declared[knobs.resolve(name)]
    if not knob.live:
        return f"not built yet: {knob.planned_in}"
    for rule in RULES:
        if rule.covers(knob.name) and not rule.acts(now):
            return rule.otherwise
    return ""


def reasons(now: Situation) -> dict[str, str]:
    """Why knobs cannot act on what runs, for those that cannot."""
    found = {name: reason(name, now) for name in knobs.declared}
    return {name: why for name, why in found.items() if why}


def about_graphs(name: str) -> bool:
    """Whether a knob shapes the graphs of training: what it changes is seen in them."""
    known = name in GRAPH_KNOBS or name in tuner.KNOBS
    return known and name not in ("MXNET_EXEC_BULK_EXEC_INFERENCE", "OMP_NUM_THREADS")


def shapes_programs(name: str) -> bool:
    """Whether a knob acts on what is fixed when a graph is bound: it, or its kernels.

    Among the latter are how many threads a loop takes and what is logged on the way.
    """
    knob = knobs.declared[name]
    return knob.scope == "bind" or knob.group == "graph passes and kernels"
