"""What `warm_up` compiles: each operator once, on arrays that reach its kernels.

Pointwise operators come from the dictionary itself. The others need a call: settings
and shapes that their shape rules accept, small, and where a kernel has an edition for
several threads, large as well.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from minimx.core.dtypes import FLOAT32
from minimx.core.operators.pointwise import Pointwise
from minimx.core.ops import GradContext, Op, lookup
from minimx.core.ops.registry import REGISTRY
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape

EVERY = range(99)  # inputs of an operator
LARGE = 1 << 18  # elements: above MXNET_CPU_PARALLEL_SIZE as it is delivered
MEDIUM = 1 << 14  # elements: too many to hold the GIL, too few for threads
AT_ONCE = "(at once)"


@dataclass(frozen=True)
class Call:
    """A call of an operator on float32 arrays of ones."""

    op: str
    shapes: tuple[Shape, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    #: Which inputs' gradients to compute, by position; none is the operator itself.
    gradient: Container[int] = ()
    #: The file of kernels that a program which needs this has compiled from before,
    #: or `AT_ONCE` for what most programs need.
    after: str = ""

    def run(self) -> None:
        """Plan, then compute on ones: the operator, or those of its gradient."""
        op = lookup(self.op).of(**self.settings)
        specs = tuple(Spec.of(shape, FLOAT32) for shape in self.shapes)
        if self.gradient:
            launch_gradient(op, specs, self.gradient)
        else:
            launch(op, specs)


def launch(op: Op, specs: tuple[Spec, ...]) -> tuple[Spec, ...]:
    """Run the kernel of an operator on ones; the specs of its outputs."""
    plan = op.plan(specs)
    arrays = [np.ones(spec.shape, spec.dtype) for spec in specs]
    arrays += [np.empty(spec.shape, spec.dtype) for spec in plan.outs]
    extras: list[Any] = []
    if plan.workspace:
        extras.append(np.empty(plan.workspace, np.uint8))
    if plan.needs_rng:
        extras.append(np.random.default_rng(0))
    plan.kernel(*arrays, *extras)
    return plan.outs


class _Ones:
    """A value that answers to `bind` by launching the operator on ones."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def _bind(self, op: Op, values: Sequence[_Ones]) -> Any:
        outs = launch(op, tuple(value.spec for value in values))
        found = tuple(_Ones(spec) for spec in outs[: op.visible])
        return found if op.visible > 1 else found[0]


def launch_gradient(op: Op, ins: tuple[Spec, ...], by: Container[int] = EVERY) -> None:
    """Run the kernels of the gradients of an operator by these inputs."""
    outs = op.plan(ins).outs
    known = dict(zip(op.inputs, ins, strict=True))
    known |= {f"out{k}" if k else "out": spec for k, spec in enumerate(outs)}
    saved = [_Ones(known[name]) for name in op.saves]
    wanted = tuple(k in by for k in range(len(ins)))
    op.grad(GradContext(ins, outs, wanted), _Ones(outs[0]), *saved)


def _recurrent(mode: str, gates: int) -> Iterator[Call]:
    """A layer of 8 units on 8 inputs, 2 steps of 4 sequences."""
    states = ((1, 4, 8),) * (2 if mode == "lstm" else 1)
    shapes = ((2, 4, 8), (gates * 8 * (8 + 8 + 2),), *states)
    settings = {"mode": mode, "state_size": 8, "num_layers": 1, "training": True}
    yield Call("RNN", shapes, settings)
    yield Call("RNN", shapes, settings, EVERY, "recurrent")


_ROW, _SQUARE, _IMAGE = (64,), (8, 8), (2, 4, 8, 8)
_CONV = {"kernel": (3, 3), "num_filter": 4}
#: As many channels as Winograd's algorithm wants.
_DEEP = ((2, 64, 16, 16), (64, 64, 3, 3))
_PADDED = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 64, "no_bias": True}
#: Images so small that pieces take filters of them.
_NARROW = ((1, 512, 14, 14), (512, 512, 1, 1))
_STRIDED = {"kernel": (1, 1), "stride": (2, 2), "num_filter": 512, "no_bias": True}
_POOL = {"kernel": (2, 2), "stride": (2, 2)}
_AVERAGE = {**_POOL, "pool_type": "avg"}
_WHOLE = {"global_pool": True, "pool_type": "avg"}
_UPDATES = (("sgd_update", 2), ("sgd_mom_update", 3), ("adam_update", 4))
_WIDE = ((128, 256), (64, 256), (64,))
_LOG = {"axis": 1, "scale": 1, "log": True}

CALLS = (
    # the launchers that all pointwise operators share
    Call("broadcast_add", (_SQUARE, (8, 1))),
    *(Call("broadcast_add", ((size,), (size,))) for size in (MEDIUM, LARGE)),
    Call("add_n", (_SQUARE, _SQUARE)),
    Call("add_n", (_SQUARE, _SQUARE, _SQUARE)),
    Call("where", (_SQUARE, _SQUARE, _SQUARE)),
    *(
        Call(name, (_IMAGE,), {"axis": 1})
        for name in ("sum", "mean", "prod", "nansum", "nanprod", "max", "min", "norm")
    ),
    Call("norm", (_ROW,), {"ord": 1}),
    *(Call("sum", ((size,),)) for size in (MEDIUM, LARGE)),
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
    Call("Pooling", (_IMAGE,), _POOL),
    Call("Pooling", (_IMAGE,), {**_POOL, "kernel": (3, 3)}),
    Call("Pooling", (_IMAGE,), _WHOLE),
    *(Call("Pooling", (_IMAGE,), _AVERAGE, by) for by in ((), EVERY)),
    Call("BatchNorm", (_IMAGE, *((4,),) * 4), {"training": True}),
    *_recurrent("gru", 3),
    *_recurrent("lstm", 4),
    Call("Convolution", (_IMAGE, (4, 4, 3, 3), (4,)), _CONV),
    # what the second process compiles meanwhile, the most urgent at the end
    Call("Dropout", (_SQUARE,), {"training": True}, after="pooling"),
    Call("FullyConnected", _WIDE, {"num_hidden": 64}, after="pooling"),
    Call("Pooling", (_IMAGE,), _POOL, EVERY, "pooling"),
    Call("Convolution", _NARROW, _STRIDED, (1,), "conv_cut"),
    Call("Convolution", _DEEP, _PADDED, (0,), "winograd"),
    Call("Convolution", _DEEP, _PADDED, (1,), "winograd"),
    Call("Convolution", (_IMAGE, (4, 4, 3, 3), (4,)), _CONV, (1, 2), "conv"),
    Call("Convolution", (_IMAGE, (4, 4, 3, 3), (4,)), _CONV, (0,), "conv"),
    Call("BatchNorm", (_IMAGE, *((4,),) * 4), {"training": True}, EVERY, "norm"),
    Call("sgd_mom_update", (_ROW, _ROW, _ROW), {"lr": 0.1}, after=AT_ONCE),
    *(Call("pick", (_SQUARE, (8,)), {}, by, AT_ONCE) for by in ((), (0,))),
    Call("mean", (_SQUARE,), {"axis": 1}, after=AT_ONCE),
    Call("log_softmax", (_SQUARE,), after=AT_ONCE),
    Call("_backward_softmax", (_SQUARE, _SQUARE), _LOG, after=AT_ONCE),
    # the rest
    *(Call(name, (_ROW,) * arrays, {"lr": 0.1}) for name, arrays in _UPDATES),
    *(Call(name, ((LARGE,),) * arrays, {"lr": 0.1}) for name, arrays in _UPDATES),
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
    missing = dict.fromkeys(sheet.formula.operands[len(sheet.inputs) :], 0.5)
    specs = (Spec.of(_ROW, FLOAT32),) * len(sheet.inputs)
    launch(sheet.of(**missing), specs)
