"""A knob never lies: in the lab each one acts, or the lab says why it cannot."""

from __future__ import annotations

import pytest

from minimx.core.knobs import knobs
from minimx_widgets.lab.reach import RULES, Situation, reason
from tests.widgets import every_knob

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
        ("MXNET_KVSTORE_DIST_ROW_SPARSE_VERBOSE", Situation(), "not built yet"),
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
