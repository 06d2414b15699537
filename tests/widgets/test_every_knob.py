"""A knob never lies: in the lab each one acts, or the lab says why it cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minimx.core.knobs import knobs
from minimx_widgets.lab.reach import RULES, reason
from minimx_widgets.lab.situation import Situation
from tests.widgets import every_knob

ON_GPUS = Situation(device="gpu", devices=4, largest=65_536)
ON_HOST = replace(ON_GPUS, store="local")
pytestmark = pytest.mark.usefixtures("knobs_at_rest")


def test_in_the_default_run_each_acts_and_comes_back_or_says_why_it_cannot() -> None:
    found = {finding.name: finding for finding in every_knob.every()}
    assert found.keys() == knobs.declared.keys()
    silent = [f.name for f in found.values() if not f.why_not and not f.moved]
    assert silent == []
    acting = {name for name, finding in found.items() if not finding.why_not}
    five = {"MXNET_ENGINE_TYPE", "MXNET_CPU_MEM_POOL_TYPE", "MXNET_EXEC_ENABLE_INPLACE"}
    assert five | {"MXNET_BACKWARD_DO_MIRROR"} <= acting
    assert len(acting) >= 35


def test_between_devices_the_knobs_of_stores_act() -> None:
    found = every_knob.every_between_devices()
    assert len(found) >= 12
    assert [f for f in found if f.why_not or not f.moved] == []


def test_the_rules_name_knobs_that_there_are() -> None:
    for rule in RULES:
        assert any(rule.covers(name) for name in knobs.declared), rule.names
        for each in rule.names.split():
            known = any(
                n == each or n.startswith(each.rstrip("*")) for n in knobs.declared
            )
            assert known, each


@pytest.mark.parametrize(
    ("name", "now", "said"),
    [
        ("MXNET_USE_FUSION", Situation(way="imperative"), "runs imperatively"),
        ("MXNET_USE_FUSION", Situation(), ""),
        ("MXNET_GPU_MEM_POOL_TYPE", Situation(), "acts on a GPU"),
        ("MXNET_GPU_MEM_POOL_TYPE", Situation(device="gpu"), ""),
        ("MXNET_FC_TRUE_FP16", Situation(), "products of float16"),
        ("MXNET_FC_TRUE_FP16", Situation(dtype="float16"), ""),
        ("MINIMX_MIRROR", Situation(), "MXNET_BACKWARD_DO_MIRROR=1"),
        (
            "MINIMX_MIRROR",
            Situation(values={"MXNET_BACKWARD_DO_MIRROR": True}),
            "",
        ),
        (
            "MXNET_CUDNN_ALLOW_WINOGRAD",
            Situation(operators=frozenset({"FullyConnected"})),
            "this network has none",
        ),
        ("MXNET_OPTIMIZER_AGGREGATION_SIZE", Situation(optimizer="sgd"), ""),
        ("MXNET_OPTIMIZER_AGGREGATION_SIZE", Situation(), "such as SGD"),
        ("MXNET_KVSTORE_USETREE", Situation(), "this run has one"),
        ("MXNET_KVSTORE_USETREE", Situation(devices=2), "this run is on the CPU"),
        ("MXNET_KVSTORE_USETREE", ON_HOST, "the store local adds on the host"),
        ("MXNET_KVSTORE_USETREE", ON_GPUS, ""),
        ("MXNET_KVSTORE_TREE_ARRAY_BOUND", ON_GPUS, "MXNET_KVSTORE_USETREE=1"),
        ("MXNET_KVSTORE_REDUCTION_NTHREADS", ON_GPUS, "adds on the devices"),
        ("MXNET_KVSTORE_REDUCTION_NTHREADS", ON_HOST, "this network has none"),
        ("MXNET_KVSTORE_REDUCE_BUCKET_SIZE", ON_GPUS, "MXNET_UPDATE_ON_KVSTORE=0"),
        ("MXNET_KVSTORE_REDUCE_BUCKET_SIZE", replace(ON_GPUS, scaled=True), ""),
        ("MXNET_KVSTORE_REDUCE_BUCKET_SIZE", replace(ON_GPUS, store="nccl"), ""),
        ("MXNET_UPDATE_ON_KVSTORE", ON_GPUS, ""),
        ("MXNET_UPDATE_ON_KVSTORE", replace(ON_GPUS, scaled=True), "loss is scaled"),
        ("MXNET_KVSTORE_DIST_ROW_SPARSE_VERBOSE", ON_GPUS, "this run is one process"),
        ("MXNET_UPDATE_AGGREGATION_SIZE", ON_GPUS, "in the store nccl"),
        ("MXNET_UPDATE_AGGREGATION_SIZE", replace(ON_GPUS, store="nccl"), ""),
        ("MXNET_KVSTORE_USETREE", replace(ON_GPUS, store="nccl"), "over a ring"),
        ("MXNET_CPU_MEM_POOL_RESERVE", Situation(free=3.0), ""),
        ("MXNET_ONEDNN_ENABLED", Situation(), "oneDNN"),
        ("MXNET_ONEDNN_ENABLED", Situation(onednn=True), ""),
    ],
)
def test_what_it_says_depends_on_what_runs(
    name: str, now: Situation, said: str
) -> None:
    found = reason(name, now)
    assert said in found
    assert bool(found) == bool(said)
