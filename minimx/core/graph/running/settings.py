"""The knobs that passes look at, as one value.

    Settings.now()                       # as the knobs are
    Settings(enable_inplace=False)       # as they might be: to see what would change

A pass never reads a knob: the caller of `prepare` gives it these settings. `KNOBS` says
which knob is behind which field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minimx.core.extensions import provided
from minimx.core.knobs import knobs


@dataclass(frozen=True)
class Settings:
    """One choice of everything that shapes a prepared graph; fields are knobs."""

    eliminate_common_expr: bool = True
    node_elimination: bool = True
    use_fusion: bool = True
    fusion_least: int = 8192
    subgraph_backend: str = "NONE"
    backward_do_mirror: bool = False
    backward_mirror_step: int = 100
    mirror: str = "remap"
    enable_inplace: bool = True
    inplace_grad_sum_cap: int = 8
    match_range: int = 16
    auto_search_match_range: bool = False
    num_temp: int = 1
    exec_num_temp: int = 1
    gpu_worker_nthreads: int = 2
    memory_opt: bool = False
    bulk_exec_train: bool = True
    bulk_exec_inference: bool = True
    bulk_exec_max_node_train_fwd: int = 15
    bulk_exec_max_node_train_bwd: int = 15
    enable_cuda_graphs: bool = False
    #: What the choice of a convolution's algorithm hangs on.
    convolution: tuple[Any, ...] = ()
    gpu_worker_nstreams: int = 1
    planner: str = "sharing"

    @classmethod
    def now(cls) -> Settings:
        """The knobs in force."""
        found = {field: knobs.get(knob) for field, knob in KNOBS.items()}
        chosen_by = provided("convolution tuner").KNOBS
        return cls(**found, convolution=tuple(map(knobs.get, chosen_by)))


#: The knob behind each field.
KNOBS: dict[str, Any] = {
    "eliminate_common_expr": "MXNET_ELIMINATE_COMMON_EXPR",
    "node_elimination": "MXNET_NODE_ELIMINATION",
    "use_fusion": "MXNET_USE_FUSION",
    "fusion_least": "MINIMX_FUSION_LEAST",
    "subgraph_backend": "MXNET_SUBGRAPH_BACKEND",
    "backward_do_mirror": "MXNET_BACKWARD_DO_MIRROR",
    "backward_mirror_step": "MXNET_BACKWARD_MIRROR_STEP",
    "mirror": "MINIMX_MIRROR",
    "enable_inplace": "MXNET_EXEC_ENABLE_INPLACE",
    "inplace_grad_sum_cap": "MXNET_EXEC_INPLACE_GRAD_SUM_CAP",
    "match_range": "NNVM_EXEC_MATCH_RANGE",
    "auto_search_match_range": "NNVM_AUTO_SEARCH_MATCH_RANGE",
    "num_temp": "NNVM_EXEC_NUM_TEMP",
    "exec_num_temp": "MXNET_EXEC_NUM_TEMP",
    "gpu_worker_nthreads": "MXNET_GPU_WORKER_NTHREADS",
    "memory_opt": "MXNET_MEMORY_OPT",
    "bulk_exec_train": "MXNET_EXEC_BULK_EXEC_TRAIN",
    "bulk_exec_inference": "MXNET_EXEC_BULK_EXEC_INFERENCE",
    "bulk_exec_max_node_train_fwd": "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD",
    "bulk_exec_max_node_train_bwd": "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD",
    "enable_cuda_graphs": "MXNET_ENABLE_CUDA_GRAPHS",
    "gpu_worker_nstreams": "MXNET_GPU_WORKER_NSTREAMS",
    "planner": "MINIMX_MEMORY_PLANNER",
}

_in_force: Settings | None = None
_known: dict[Settings, Settings] = {}


def in_force() -> Settings:
    """The knobs in force; the same object until one is turned."""
    global _in_force
    if _in_force is None:
        found = Settings.now()
        _in_force = _known.setdefault(found, found)
    return _in_force


def forget(*_: object) -> None:
    """Read the knobs anew at the next call of `in_force`; a watcher of all of them."""
    global _in_force
    _in_force = None


knobs.watch(KNOBS.values(), forget)
