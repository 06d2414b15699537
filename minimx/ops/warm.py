"""What `warm_up` compiles: each operator once, on arrays that reach its kernels.

Pointwise operators come from the dictionary itself. The others need a call: settings
and shapes that their shape rules accept, small, and where a kernel has an edition for
several threads, large as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from minimx.dtypes import FLOAT32
from minimx.ops.pointwise import Pointwise
from minimx.ops.registry import REGISTRY, Op, lookup
from minimx.ops.spec import Spec
from minimx.shapes import Shape

LARGE = 1 << 18  # elements: above MXNET_CPU_PARALLEL_SIZE as it is delivered
MEDIUM = 1 << 14  # elements: too many to hold the GIL, too few for threads


@dataclass(frozen=True)
class Call:
    """A call of an operator on float32 arrays of ones."""

    op: str
    shapes: tuple[Shape, ...]
    settings: dict[str, Any] = field(default_factory=dict)

    def run(self) -> None:
        """Plan, then compute on ones."""
        launch(lookup(self.op).of(**self.settings), self.shapes)


def launch(op: Op, shapes: tuple[Shape, ...]) -> None:
    """Run the kernel of an operator on float32 ones."""
    plan = op.plan(tuple(Spec.of(shape, FLOAT32) for shape in shapes))
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    arrays += [np.empty(spec.shape, spec.dtype) for spec in plan.outs]
    extras: list[Any] = []
    if plan.workspace:
        extras.append(np.empty(plan.workspace, np.uint8))
    if plan.needs_rng:
        extras.append(np.random.default_rng(0))
    plan.kernel(*arrays, *extras)


_ROW, _SQUARE, _IMAGE = (64,), (8, 8), (2, 4, 8, 8)

CALLS = (
    # the launchers that all pointwise operators share
    Call("broadcast_add", (_SQUARE, (8, 1))),
    Call("broadcast_add", ((MEDIUM,), (MEDIUM,))),
    Call("broadcast_add", ((LARGE,), (LARGE,))),
    Call("add_n", (_SQUARE, _SQUARE)),
    Call("add_n", (_SQUARE, _SQUARE, _SQUARE)),
    Call("where", (_SQUARE, _SQUARE, _SQUARE)),
    *(
        Call(name, (_IMAGE,), {"axis": 1})
        for name in ("sum", "mean", "prod", "nansum", "nanprod", "max", "min", "norm")
    ),
    Call("norm", (_ROW,), {"ord": 1}),
    Call("sum", ((MEDIUM,),)),
    Call("sum", ((LARGE,),)),
    Call("argmax", (_SQUARE,), {"axis": 1}),
    Call("argmax", ((MEDIUM // 8, 8),), {"axis": 1}),
    Call("_backward_take", (_SQUARE, (8,)), {"shape": (16, 8)}),
    Call("_backward_take", ((8, 64), (8,)), {"shape": (LARGE // 64, 64)}),
    Call("broadcast_to", ((8, 1),), {"shape": _SQUARE}),
    # products, images, losses, updates
    Call("FullyConnected", (_SQUARE, (4, 8), (4,)), {"num_hidden": 4}),
    Call("dot", (_SQUARE, _SQUARE)),
    Call("batch_dot", ((2, 4, 4), (2, 4, 4))),
    Call("softmax", (_SQUARE,)),
    Call("log_softmax", (_SQUARE,)),
    *(
        Call("Pooling", (_IMAGE,), {"kernel": (2, 2), "stride": (2, 2), "pool_type": p})
        for p in ("max", "avg")
    ),
    Call(
        "Convolution",
        (_IMAGE, (4, 4, 3, 3), (4,)),
        {"kernel": (3, 3), "num_filter": 4},
    ),
    Call("sgd_update", (_ROW, _ROW), {"lr": 0.1}),
    Call("sgd_mom_update", (_ROW, _ROW, _ROW), {"lr": 0.1}),
    Call("adam_update", (_ROW, _ROW, _ROW, _ROW), {"lr": 0.1}),
)


def jobs() -> Iterator[tuple[str, Callable[[], None]]]:
    """(name, what compiles it) for everything that a network commonly needs."""
    for name, sheet in REGISTRY.items():
        if issubclass(sheet, Pointwise):
            yield name, partial(_pointwise, sheet)
    for call in CALLS:
        yield call.op, call.run


def _pointwise(sheet: type[Pointwise]) -> None:
    """Settings of pointwise operators are numbers; 0.5 is as good as any."""
    missing = dict.fromkeys(sheet.formula.operands[len(sheet.inputs):], 0.5)
    launch(sheet.of(**missing), (_ROW,) * len(sheet.inputs))
