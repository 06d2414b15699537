"""Every variable that a document or MXNet's code names is declared, once and fully."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from minimx.core.knobs import PRESETS, Knob, knobs
from minimx.core.knobs.declarations import DECLARATIONS, GROUPS
from minimx.tools.knob_show import SCOPES

# The names that stand in the five documents: the environment-variable pages of 0.x, 1.x
# and 2.0, the performance tips and the troubleshooting guide.
NAMED_IN_DOCUMENTS = [
    "DMLC_LOG_STACK_TRACE_DEPTH",
    "KMP_AFFINITY",
    "MXNET_BACKWARD_DO_MIRROR",
    "MXNET_CPU_MEM_LARGE_ALLOC_ROUND_SIZE",
    "MXNET_CPU_MEM_POOL_PAGE_SIZE",
    "MXNET_CPU_MEM_POOL_RESERVE",
    "MXNET_CPU_MEM_POOL_ROUND_LINEAR_CUTOFF",
    "MXNET_CPU_MEM_POOL_TYPE",
    "MXNET_CPU_NNPACK_NTHREADS",
    "MXNET_CPU_PARALLEL_RAND_COPY",
    "MXNET_CPU_PARALLEL_SIZE",
    "MXNET_CPU_PINNED_MEM_LARGE_ALLOC_ROUND_SIZE",
    "MXNET_CPU_PINNED_MEM_POOL_PAGE_SIZE",
    "MXNET_CPU_PINNED_MEM_POOL_RESERVE",
    "MXNET_CPU_PINNED_MEM_POOL_ROUND_LINEAR_CUTOFF",
    "MXNET_CPU_PINNED_MEM_POOL_TYPE",
    "MXNET_CPU_PRIORITY_NTHREADS",
    "MXNET_CPU_TEMP_COPY",
    "MXNET_CPU_WORKER_NTHREADS",
    "MXNET_CUDA_ALLOW_TENSOR_CORE",
    "MXNET_CUDA_GRAPHS_DBG_FILE",
    "MXNET_CUDA_GRAPHS_DBG_FILE_FLAGS",
    "MXNET_CUDA_GRAPHS_MAX_LOG_ENTRIES",
    "MXNET_CUDA_GRAPHS_VERBOSE",
    "MXNET_CUDA_LIB_CHECKING",
    "MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION",
    "MXNET_CUDNN_ALGO_VERBOSE_LEVEL",
    "MXNET_CUDNN_ALLOW_FFT",
    "MXNET_CUDNN_ALLOW_REDUCED_PRECISION_REDUCTION",
    "MXNET_CUDNN_ALLOW_WINOGRAD",
    "MXNET_CUDNN_AUTOTUNE_DEFAULT",
    "MXNET_CUDNN_DISABLED_CONV_DGRAD_ENGINES",
    "MXNET_CUDNN_DISABLED_CONV_FWD_ENGINES",
    "MXNET_CUDNN_DISABLED_CONV_WGRAD_ENGINES",
    "MXNET_CUDNN_HEUR_MODE",
    "MXNET_CUDNN_LIB_CHECKING",
    "MXNET_ELIMINATE_COMMON_EXPR",
    "MXNET_ENABLE_CUDA_GRAPHS",
    "MXNET_ENABLE_CYTHON",
    "MXNET_ENABLE_GPU_P2P",
    "MXNET_ENABLE_OPERATOR_TUNING",
    "MXNET_ENFORCE_CYTHON",
    "MXNET_ENFORCE_DETERMINISM",
    "MXNET_ENGINE_TYPE",
    "MXNET_EXEC_BULK_EXEC_INFERENCE",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD",
    "MXNET_EXEC_BULK_EXEC_TRAIN",
    "MXNET_EXEC_ENABLE_INPLACE",
    "MXNET_EXEC_MATCH_RANGE",
    "MXNET_EXEC_NUM_TEMP",
    "MXNET_FC_TRUE_FP16",
    "MXNET_FUSION_VERBOSE",
    "MXNET_GLUON_REPO",
    "MXNET_GPU_COPY_NTHREADS",
    "MXNET_GPU_CUDNN_DROPOUT_STATE_COPY",
    "MXNET_GPU_MEM_LARGE_ALLOC_ROUND_SIZE",
    "MXNET_GPU_MEM_POOL_PAGE_SIZE",
    "MXNET_GPU_MEM_POOL_RESERVE",
    "MXNET_GPU_MEM_POOL_ROUND_LINEAR_CUTOFF",
    "MXNET_GPU_MEM_POOL_TYPE",
    "MXNET_GPU_PARALLEL_RAND_COPY",
    "MXNET_GPU_TEMP_COPY",
    "MXNET_GPU_WORKER_NSTREAMS",
    "MXNET_GPU_WORKER_NTHREADS",
    "MXNET_HOME",
    "MXNET_KVSTORE_BIGARRAY_BOUND",
    "MXNET_KVSTORE_LOGTREE",
    "MXNET_KVSTORE_REDUCE_BUCKET_SIZE",
    "MXNET_KVSTORE_REDUCTION_NTHREADS",
    "MXNET_KVSTORE_SLICE_THRESHOLD",
    "MXNET_KVSTORE_TREE_ARRAY_BOUND",
    "MXNET_KVSTORE_TREE_BACKTRACK",
    "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY",
    "MXNET_KVSTORE_USETREE",
    "MXNET_LIBRARY_PATH",
    "MXNET_MEMORY_OPT",
    "MXNET_MKLDNN_CACHE_NUM",
    "MXNET_MKLDNN_ENABLED",
    "MXNET_MP_OPENCV_NUM_THREADS",
    "MXNET_MP_WORKER_NTHREADS",
    "MXNET_ONEDNN_CACHE_NUM",
    "MXNET_ONEDNN_ENABLED",
    "MXNET_ONEDNN_FORCE_FC_AB_FORMAT",
    "MXNET_OPTIMIZER_AGGREGATION_SIZE",
    "MXNET_PROFILER_AUTOSTART",
    "MXNET_PROFILER_MODE",
    "MXNET_RNN_USE_WEIGHT_CACHE",
    "MXNET_RTC_VERBOSE",
    "MXNET_SAFE_ACCUMULATION",
    "MXNET_STORAGE_FALLBACK_LOG_VERBOSE",
    "MXNET_SUBGRAPH_BACKEND",
    "MXNET_UPDATE_ON_KVSTORE",
    "MXNET_USE_FUSION",
    "MXNET_USE_MKLDNN_RNN",
    "MXNET_USE_NAIVE_STORAGE_MANAGERS",
    "MXNET_USE_NUM_CORES_OPERATOR_TUNING",
    "MXNET_USE_ONEDNN_RNN",
    "MXNET_USE_OPERATOR_TUNING",
    "NNVM_EXEC_MATCH_RANGE",
    "OMP_NUM_THREADS",
]

# Names that no document has, but MXNet's code or its transport library reads.
READ_BY_THE_CODE = [
    "DMLC_NUM_SERVER",
    "DMLC_NUM_WORKER",
    "DMLC_PS_ROOT_PORT",
    "DMLC_PS_ROOT_URI",
    "DMLC_PS_VAN_TYPE",
    "DMLC_ROLE",
    "MXNET_BACKWARD_MIRROR_STEP",
    "MXNET_CPU_PINNED_POOL_PAGE_SIZE",
    "MXNET_CPU_POOL_PAGE_SIZE",
    "MXNET_ENGINE_INFO",
    "MXNET_EXEC_INPLACE_GRAD_SUM_CAP",
    "MXNET_EXEC_VERBOSE_LOGGING",
    "MXNET_FUSION_SIZE_WARNING",
    "MXNET_GPU_POOL_PAGE_SIZE",
    "MXNET_INFER_STORAGE_TYPE_VERBOSE_LOGGING",
    "MXNET_KVSTORE_DIST_ROW_SPARSE_VERBOSE",
    "MXNET_KVSTORE_SERIAL_PUSH",
    "MXNET_MEM_PLAN_VERBOSE_LOGGING",
    "MXNET_MKLDNN_FORCE_FC_AB_FORMAT",
    "MXNET_NODE_ELIMINATION",
    "MXNET_OMP_MAX_THREADS",
    "MXNET_OUTPUT_TUNING_DATA",
    "MXNET_RTC_SIZE_WARNING",
    "MXNET_SUBGRAPH_VERBOSE",
    "MXNET_TUNING_WEIGHT_SCALE",
    "MXNET_UPDATE_AGGREGATION_SIZE",
    "MXNET_USE_NAIVE_STORAGE_MANAGER",
    "MXNET_VERBOSE_TUNING_INFO",
    "NNVM_AUTO_SEARCH_MATCH_RANGE",
    "NNVM_EXEC_NUM_TEMP",
    "PS_DROP_MSG",
    "PS_HEARTBEAT_INTERVAL",
    "PS_HEARTBEAT_TIMEOUT",
    "PS_RESEND",
    "PS_RESEND_TIMEOUT",
    "PS_VERBOSE",
]

# The parts of the system in which planned knobs will act.
PARTS = {
    "CUDA devices",
    "convolution tuner",
    "data loading workers",
    "distributed kvstore",
    "fast call path",
    "graph execution",
    "graph memory planner",
    "graph replay",
    "kvstore",
    "mixed precision",
    "oneDNN backend",
    "operator tuning",
    "profiler",
    "recomputation",
    "recurrent layers",
    "shared workspaces",
    "sparse arrays",
    "thread pinning",
}


def declaration(name: str) -> Knob:
    """The knob that a name or an alias belongs to."""
    return next(k for k in DECLARATIONS if name in (k.name, *k.aliases))


every_knob = pytest.mark.parametrize("knob", DECLARATIONS, ids=lambda knob: knob.name)


@pytest.mark.parametrize("name", NAMED_IN_DOCUMENTS)
def test_a_documented_variable_is_a_knob_that_names_its_document(name: str) -> None:
    assert declaration(name).sources, name


@pytest.mark.parametrize("name", READ_BY_THE_CODE)
def test_an_undocumented_variable_is_a_knob(name: str) -> None:
    assert name in knobs


def test_only_documented_variables_name_documents() -> None:
    with_sources = {knob.name for knob in DECLARATIONS if knob.sources}
    assert with_sources == {declaration(name).name for name in NAMED_IN_DOCUMENTS}


def test_no_name_is_declared_twice() -> None:
    names = Counter(n for knob in DECLARATIONS for n in (knob.name, *knob.aliases))
    assert [name for name, count in names.items() if count > 1] == []


@every_knob
def test_a_declaration_is_complete(knob: Knob) -> None:
    assert knob.group in {group.GROUP for group in GROUPS}
    assert knob.scope in SCOPES
    assert (knob.scope == "create") == bool(knob.made)
    assert knob.status in ("live", "planned")
    assert knob.observable.endswith(".")
    assert knob.meaning.endswith(".")
    assert "  " not in knob.meaning + knob.observable
    assert len(knob.summary) <= 150
    if knob.live:
        assert knob.planned_in == ""
    else:
        assert knob.planned_in in PARTS
    for place in knob.sources:
        assert re.fullmatch(r"[a-z0-9.-]+\.md:\d+", place), place


@every_knob
def test_a_meaning_names_only_variables_that_exist(knob: Knob) -> None:
    for name in re.findall(r"\b(?:MXNET|NNVM|MINIMX|DMLC|PS)_[A-Z0-9_]+", knob.meaning):
        assert name in knobs, name


@every_knob
def test_the_default_is_a_value_that_the_knob_takes(knob: Knob) -> None:
    text = knob.format(knob.default)
    assert knob.parse(text) == knob.default
    assert knob.parse("") == knob.default
    if text:
        assert knob.check(knob.default) == knob.default


@every_knob
def test_a_follower_follows_a_knob_of_its_own_type(knob: Knob) -> None:
    if knob.follows:
        leader = knobs.declared[knob.follows]
        assert not leader.follows
        assert (leader.type, leader.default) == (knob.type, knob.default)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_holds_values_that_its_knobs_take(name: str) -> None:
    preset = PRESETS[name]
    assert preset.meaning.endswith(".")
    assert preset.source
    for knob, value in preset.values.items():
        knobs.declared[knob].check(value)
