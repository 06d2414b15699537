"""When the knobs of stores can act in a lab, by its devices and its store."""

from __future__ import annotations

from minimx_widgets.lab.situation import Rule, Situation, never
from minimx_widgets.training.spread import LOCAL, NCCL

_TREES = "MINIMX_KVSTORE_TREE MXNET_KVSTORE_LOGTREE MXNET_KVSTORE_TREE_*"


def _fills(now: Situation) -> bool:
    """Whether a weight is so large that several threads add its gradients."""
    bound = now["MXNET_KVSTORE_BIGARRAY_BOUND"]
    return not now.largest or bool(now.largest >= bound)


def _is_cut(now: Situation) -> bool:
    """Whether a weight is so large that its gradients are cut over trees."""
    bound = now["MXNET_KVSTORE_TREE_ARRAY_BOUND"]
    return not now.largest or bool(now.largest > bound)


STORE_RULES: tuple[Rule, ...] = (
    Rule(
        "MXNET_KVSTORE_SLICE_THRESHOLD MXNET_KVSTORE_DIST_ROW_SPARSE_VERBOSE "
        "DMLC_ROLE DMLC_NUM_WORKER DMLC_NUM_SERVER DMLC_PS_* PS_*",
        never,
        "acts in a job of several processes; this run is one process",
    ),
    Rule(
        "MXNET_ENABLE_GPU_P2P MINIMX_SIM_LINKS MXNET_UPDATE_ON_KVSTORE "
        "MXNET_KVSTORE_* MXNET_UPDATE_AGGREGATION_SIZE",
        lambda now: now.devices > 1,
        "acts between several devices; this run has one",
    ),
    Rule(
        "MXNET_KVSTORE_SERIAL_PUSH",
        never,
        "acts on row-sparse gradients; this network has none",
    ),
    Rule(
        "MXNET_UPDATE_AGGREGATION_SIZE",
        lambda now: now.store == NCCL,
        "acts in the store nccl; this run takes another one",
    ),
    Rule(
        "MXNET_UPDATE_AGGREGATION_SIZE",
        lambda now: not now["MXNET_KVSTORE_REDUCE_BUCKET_SIZE"],
        "MXNET_KVSTORE_REDUCE_BUCKET_SIZE decides what a call carries",
    ),
    Rule(
        f"MXNET_KVSTORE_USETREE {_TREES}",
        lambda now: now.store != NCCL,
        "acts in the store device; nccl sends over a ring",
    ),
    Rule(
        f"MXNET_ENABLE_GPU_P2P MINIMX_SIM_LINKS MXNET_KVSTORE_USETREE {_TREES}",
        lambda now: now.gpu,
        "acts on copies between GPUs; this run is on the CPU",
    ),
    Rule(
        f"MXNET_ENABLE_GPU_P2P MINIMX_SIM_LINKS MXNET_KVSTORE_USETREE {_TREES}",
        lambda now: now.store != LOCAL,
        "acts where GPUs add; the store local adds on the host",
    ),
    Rule(
        _TREES,
        lambda now: bool(now["MXNET_KVSTORE_USETREE"]),
        "acts with MXNET_KVSTORE_USETREE=1",
    ),
    Rule(
        "MXNET_KVSTORE_TREE_BACKTRACK",
        lambda now: now["MINIMX_KVSTORE_TREE"] == "mxnet",
        "acts on MXNet's search for trees (MINIMX_KVSTORE_TREE=mxnet)",
    ),
    Rule(
        "MXNET_KVSTORE_TREE_ARRAY_BOUND",
        _is_cut,
        "acts on weights of more elements than it says; this network has none",
    ),
    Rule(
        "MXNET_KVSTORE_REDUCTION_NTHREADS MXNET_KVSTORE_BIGARRAY_BOUND",
        lambda now: now.store == LOCAL,
        "acts where the host adds; this store adds on the devices",
    ),
    Rule(
        "MXNET_KVSTORE_REDUCTION_NTHREADS MXNET_KVSTORE_BIGARRAY_BOUND",
        _fills,
        "acts on weights of as many elements as MXNET_KVSTORE_BIGARRAY_BOUND says; "
        "this network has none",
    ),
    Rule(
        "MXNET_KVSTORE_BIGARRAY_BOUND",
        lambda now: now["MXNET_KVSTORE_REDUCTION_NTHREADS"] > 1,
        "acts with several threads (MXNET_KVSTORE_REDUCTION_NTHREADS)",
    ),
    Rule(
        "MXNET_UPDATE_ON_KVSTORE",
        lambda now: not now.scaled,
        "the loss is scaled, so devices update: a store could not skip a step",
    ),
    Rule(
        "MXNET_KVSTORE_REDUCE_BUCKET_SIZE",
        lambda now: now.store == NCCL or not now.updates_in_store,
        "acts on gradients that come back to devices: MXNET_UPDATE_ON_KVSTORE=0",
    ),
    Rule(
        "MXNET_CPU_PRIORITY_NTHREADS",
        lambda now: now.devices > 1,
        "acts on work with priority, the sums over devices; this run has one device",
    ),
    Rule(
        "MXNET_CPU_PRIORITY_NTHREADS",
        lambda now: not now.gpu or now.store == LOCAL,
        "acts on urgent work of the CPU; here GPUs add",
    ),
)
