"""What the documents say of fusion, threads and equal parts (notebook 10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minimx as mx
from minimx.gluon import HybridBlock
from minimx_widgets.course import fusing
from minimx_widgets.course.claims.claim import (
    GUIDE,
    V1,
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)
from minimx_widgets.course.knob_board import kernel_threads
from minimx_widgets.views.pass_diff import GraphPassDiff

N = 1 << 20
FUSED = "_FusedOp"


class Row(HybridBlock):
    """Five pointwise operators."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """|(2 x + 1)² - 3|."""
        return F.abs(F.square(2 * x + 1) - 3)


def five() -> Numbers:
    """Kernels and bytes of five operators in a row; and whether a product joins."""
    x = mx.sym.var("x")
    row = mx.sym.abs(mx.sym.square(2 * x + 1) - 3)
    apart, fused = (
        fusing.traffic(row, {"x": (N,)}, use_fusion=on) for on in (False, True)
    )
    product = mx.sym.tanh(
        mx.sym.FullyConnected(2 * x + 1, num_hidden=64, no_bias=True, name="product")
    )
    shapes = {"x": (512, 512), "product_weight": (64, 512)}
    names = [op.name for op in fusing.traffic(product, shapes).kernels]
    return {
        "apart": len(apart.kernels),
        "fused": len(fused.kernels),
        "less": apart.bytes_moved / fused.bytes_moved,
        "product_outside": "FullyConnected" in names,
    }


@claim(
    "10",
    "MXNET_USE_FUSION: “MXNet will try fusing some of the operations (pointwise "
    "operations only for now)”",
    V1,
    296,
    "modelled",
    five,
)
def pointwise_only(
    apart: int, fused: int, less: float, product_outside: bool
) -> Decision:
    """Pointwise operators should become one kernel, and a product stay outside."""
    return (
        weighed([fused == 1 < apart, product_outside], "the operators"),
        f"{apart} operators became {fused} kernel{'s' * (fused != 1)} and {less:.0f} × "
        "less is moved; a matrix product "
        f"{'stayed outside' if product_outside else 'was fused as well'}",
    )


def ran(call: Callable[[], Any]) -> str:
    """The name of the operation that a call pushed last."""
    with mx.knobs(MINIMX_CLOCK="virtual"), mx.Record() as record:
        call().wait_to_read()
    return record.texts(record.ops()["name"])[-1]


def _hybrid(**how: Any) -> Any:
    net = Row()
    net.hybridize(**how)
    return net


def on_cpu(**settings: Any) -> Numbers:
    """What ran for a hybridized block on cpu(0)."""
    x = mx.nd.ones((N,))
    with mx.knobs(**settings):
        return {"name": ran(lambda: _hybrid()(x))}


@claim(
    "10",
    "Fusion “Only applies to MXNet that has been compiled with CUDA (pip install "
    "mxnet-cuXX or built from source with USE_CUDA=1) and running on GPU”",
    V1,
    298,
    "measured",
    on_cpu,
)
def only_on_gpus(name: str) -> Decision:
    """On a CPU nothing should be fused."""
    return (
        if_true(name != FUSED, "holds", "depends on the framework"),
        f"so it is in MXNet 1.x and 2.0; in minimx the block on cpu(0) ran {name}",
    )


def ways() -> Numbers:
    """What ran last with static allocation, hybridized without, and without a graph."""
    x = mx.nd.ones((N,))
    return {
        "static": ran(lambda: _hybrid(static_alloc=True)(x)),
        "hybrid": ran(lambda: _hybrid()(x)),
        "no_graph": ran(lambda: Row()(x)),
    }


@claim(
    "10",
    "“Static allocation enables kernel fusion”",
    GUIDE,
    91,
    "measured",
    ways,
)
def static_allocation_fuses(static: str, hybrid: str, no_graph: str) -> Decision:
    """Without static allocation nothing should be fused."""
    return (
        if_true(static == FUSED != hybrid),
        f"with it {static} ran, without it {hybrid}. A graph enables fusion: without "
        f"one, the last operator to run was {no_graph}",
    )


def threads(size: int = 200_000) -> Numbers:
    """Threads of a kernel for one number less than the size, and for the size."""
    with mx.knobs(OMP_NUM_THREADS=2):
        found = kernel_threads(size - 1), kernel_threads(size)
    return {"size": size, "below": found[0], "at": found[1], "all_of_mxnet": False}


@claim(
    "10",
    "“When the array size is bigger than or equal to this threshold, the operation "
    "implemented by OpenMP is executed”",
    V2,
    412,
    "measured",
    threads,
    tolerance="none: threads are counted",
)
def from_the_threshold_on(
    size: int, below: int, at: int, all_of_mxnet: bool
) -> Decision:
    """From the threshold on an operation should have several threads, below it one."""
    return (
        weighed([below == 1 < at, all_of_mxnet], "the framework"),
        f"in minimx {size - 1:,} numbers are worked on by {below} thread and "
        f"{size:,} by {at}. MXNet 1.9.1 asks it for copies and one addition only",
    )


def equal_parts() -> Numbers:
    """What is left of two exps, and of two dropouts, of one array."""
    x = mx.sym.var("x")
    both = mx.sym.Group(
        [
            mx.sym.Dropout(x, p=0.5) - mx.sym.Dropout(x, p=0.5),
            mx.sym.exp(x) + mx.sym.exp(x),
        ]
    )
    view = GraphPassDiff(both, x=(256, 512), training=True, shown="share")
    after = view.shown.after if view.shown else ()
    names = [node.op.name for node in after if node.op is not None]
    view.close()
    return {name: names.count(name) for name in ("exp", "Dropout")}


@claim(
    "10",
    "“MXNet will simplify the computation graph, eliminating duplicated operations on "
    "the same inputs”",
    V2,
    461,
    "planned",
    equal_parts,
)
def duplicates(exp: int, Dropout: int) -> Decision:
    """Of two equal operations on one input, one should be left."""
    return (
        weighed([exp == 1, Dropout == 1], "the operation"),
        f"of two exps {exp} is left, of two dropouts {Dropout}: what draws random "
        "numbers is never a duplicate",
    )
