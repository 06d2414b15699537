"""Code that is copied: it runs, and puts the knobs in force that were turned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minimx as mx
from minimx_widgets import (
    ABCompare,
    GraphPassDiff,
    KnobPanel,
    KVStoreView,
    MemoryPlan,
    MirrorExplorer,
    PoolMap,
)
from tests.widgets.graphs import deep
from tests.widgets.saving.test_states import recorded


def panel() -> KnobPanel:
    mx.knobs.set(
        MXNET_CPU_WORKER_NTHREADS=3,
        MXNET_GPU_WORKER_NTHREADS=1,
        MXNET_EXEC_ENABLE_INPLACE=False,
        MINIMX_SIM_HOST_BANDWIDTH=7.5,
        MXNET_ENGINE_TYPE="ThreadedEngine",
    )
    return KnobPanel()


def pool() -> PoolMap:
    view = PoolMap(recorded(), device="cpu(0)")
    view.what_if(type="Round", cutoff=28)
    return view


def plan() -> MemoryPlan:
    view = MemoryPlan(deep(4), data=(4, 8))
    view.what_if(match_range=3, enable_inplace=False)
    return view


def passes() -> GraphPassDiff:
    view = GraphPassDiff(deep(4), data=(4, 8))
    field = next(name for name in view.controls)
    now = getattr(view.settings, field)
    view.what_if(**{field: (not now) if isinstance(now, bool) else now + 1})
    return view


def mirror() -> MirrorExplorer:
    view = MirrorExplorer(deep(4), data=(4, 8))
    view.what_if(backward_mirror_step=7)
    return view


def compared() -> ABCompare:
    return ABCompare(
        recorded(), MXNET_CPU_WORKER_NTHREADS=3, MXNET_CPU_MEM_POOL_TYPE="Round"
    )


def store() -> KVStoreView:
    view = KVStoreView("perceptron", store="local")
    view.try_knob("MXNET_KVSTORE_BIGARRAY_BOUND", 12345)
    return view


#: What makes a view with something turned in it, and what its code puts in force.
TURNED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "KnobPanel": (
        panel,
        {"MXNET_CPU_WORKER_NTHREADS": 3, "MXNET_EXEC_ENABLE_INPLACE": False,
         "MINIMX_SIM_HOST_BANDWIDTH": 7.5, "MXNET_ENGINE_TYPE": "ThreadedEngine"},
    ),
    "PoolMap": (
        pool,
        {"MXNET_CPU_MEM_POOL_TYPE": "Round",
         "MXNET_CPU_MEM_POOL_ROUND_LINEAR_CUTOFF": 28},
    ),
    "MemoryPlan": (
        plan, {"NNVM_EXEC_MATCH_RANGE": 3, "MXNET_EXEC_ENABLE_INPLACE": False},
    ),
    "GraphPassDiff": (passes, {}),
    "MirrorExplorer": (mirror, {"MXNET_BACKWARD_MIRROR_STEP": 7}),
    "ABCompare": (
        compared, {"MXNET_CPU_WORKER_NTHREADS": 3, "MXNET_CPU_MEM_POOL_TYPE": "Round"},
    ),
    "KVStoreView": (store, {"MXNET_KVSTORE_BIGARRAY_BOUND": 12345}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def at_rest() -> Iterator[None]:
    yield
    mx.knobs.reset()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TURNED)
def test_the_code_of_a_view_gives_the_same_knobs(name: str) -> None:
    make, wanted = TURNED[name]
    view = make()
    text = view.code()
    view.close()
    mx.knobs.reset()
    assert text.startswith("with mx.knobs(")
    inside: dict[str, Any] = {"mx": mx}
    exec(text.replace("    ...", "    found = dict(mx.knobs.snapshot())"), inside)
    found, usual = inside["found"], dict(mx.knobs.snapshot())
    assert found != usual, "something is turned"
    changed = {knob: value for knob, value in found.items() if value != usual[knob]}
    for knob, value in wanted.items():
        assert changed.get(knob, usual[knob]) == value, knob
        assert knob in text
    assert len(changed) <= text.count("="), "and nothing else"
