"""Inception-BN: GoogLeNet's modules with BatchNorm after every convolution.

"Batch normalization: accelerating deep network training by reducing internal covariate
shift" (Ioffe and Szegedy, 2015). MXNet has this network among its examples, as a
symbol; its performance tables name it. One table serves both forms here: the block
`InceptionBN`, and `inception_bn_symbol`, whose nodes and parameters are named as in
MXNet's example, so that checkpoints of it can be loaded.
"""

from __future__ import annotations

from typing import Any

from minimx import symbol
from minimx.gluon import nn
from minimx.gluon.contrib.nn import HybridConcurrent
from minimx.gluon.model_zoo.vision.network import MODELS, Network, row
from minimx.symbol import Symbol

EPSILON = 1e-10 + 1e-5
#: A convolution: name, channels, kernel, stride, padding.
Convolution = tuple[str, int, int, int, int]
#: A pooling: name, kind, kernel, stride, padding.
Pooling = tuple[str, str, int, int, int]
Step = Convolution | Pooling

#: modules that keep the size: channels of the 1×1 branch, of the 3×3 one (reduced,
#: full), of the double 3×3 one (reduced, full), kind of pooling, channels after it
KEEPING: dict[str, tuple[int, int, int, int, int, str, int]] = {
    "3a": (64, 64, 64, 64, 96, "avg", 32),
    "3b": (64, 64, 96, 64, 96, "avg", 64),
    "4a": (224, 64, 96, 96, 128, "avg", 128),
    "4b": (192, 96, 128, 96, 128, "avg", 128),
    "4c": (160, 128, 160, 128, 160, "avg", 128),
    "4d": (96, 128, 192, 160, 192, "avg", 128),
    "5a": (352, 192, 320, 160, 224, "avg", 128),
    "5b": (352, 192, 320, 192, 224, "max", 128),
}
#: modules that halve it: 3×3 branch (reduced, full), double 3×3 (reduced, full)
HALVING: dict[str, tuple[int, int, int, int]] = {
    "3c": (128, 160, 64, 96),
    "4e": (128, 192, 192, 256),
}
MODULES = sorted([*KEEPING, *HALVING])
STEM: list[Step] = [
    ("1", 64, 7, 2, 3),
    ("pool_1", "max", 3, 2, 0),
    ("2_red", 64, 1, 1, 0),
    ("2", 192, 3, 1, 1),
    ("pool_2", "max", 3, 2, 0),
]


def branches(name: str) -> list[list[Step]]:
    """The branches of a module.

    >>> branches("3c")[0]
    [('3c_3x3_reduce', 128, 1, 1, 0), ('3c_3x3', 160, 3, 2, 1)]
    """
    if name in HALVING:
        red, full, twice_red, twice = HALVING[name]
        return [
            *_windows(name, red, full, twice_red, twice, stride=2),
            [(f"max_pool_{name}_pool", "max", 3, 2, 1)],
        ]
    one, red, full, twice_red, twice, kind, pooled = KEEPING[name]
    return [
        [(f"{name}_1x1", one, 1, 1, 0)],
        *_windows(name, red, full, twice_red, twice, stride=1),
        [
            (f"{kind}_pool_{name}_pool", kind, 3, 1, 1),
            (f"{name}_proj", pooled, 1, 1, 0),
        ],
    ]


def _windows(
    name: str, red: int, full: int, twice_red: int, twice: int, stride: int
) -> list[list[Step]]:
    """The branch of one 3×3 convolution, and that of two."""
    double = f"{name}_double_3x3"
    return [
        [(f"{name}_3x3_reduce", red, 1, 1, 0), (f"{name}_3x3", full, 3, stride, 1)],
        [
            (f"{double}_reduce", twice_red, 1, 1, 0),
            (f"{double}_0", twice, 3, 1, 1),
            (f"{double}_1", twice, 3, stride, 1),
        ],
    ]


class InceptionBN(Network):
    """x (N, 3, 224, 224)."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = row(*map(_layer, STEM))
            for name in MODULES:
                module = HybridConcurrent(axis=1, prefix="")
                module.add(*(row(*map(_layer, steps)) for steps in branches(name)))
                self.features.add(module)
            self.features.add(nn.AvgPool2D(7, 1), nn.Flatten())
            self.output = nn.Dense(classes, prefix="fc1_")


def _layer(step: Step) -> Any:
    name, what, kernel, stride, padding = step
    if isinstance(what, str):
        pool = nn.MaxPool2D if what == "max" else nn.AvgPool2D
        return pool(kernel, stride, padding)
    return row(
        nn.Conv2D(what, kernel, stride, padding, prefix=f"conv_{name}_"),
        nn.BatchNorm(epsilon=EPSILON, prefix=f"bn_{name}_"),
        nn.Activation("relu"),
    )


def inception_bn(**kwargs: Any) -> InceptionBN:
    """An Inception-BN. kwargs: classes, prefix, params."""
    return InceptionBN(**kwargs)


def inception_bn_symbol(num_classes: int = 1000) -> Symbol:
    """The network as a symbol of `data` (N, 3, 224, 224) and `softmax_label` (N,)."""
    out: Any = symbol.var("data")
    for step in STEM:
        out = _node(out, step)
    for name in MODULES:
        ends = []
        for steps in branches(name):
            end = out
            for step in steps:
                end = _node(end, step)
            ends.append(end)
        out = symbol.Concat(*ends, name=f"ch_concat_{name}_chconcat")
    out = symbol.Pooling(
        out, kernel=(7, 7), stride=(1, 1), pool_type="avg", name="global_pool"
    )
    out = symbol.FullyConnected(symbol.Flatten(out), num_hidden=num_classes, name="fc1")
    return symbol.SoftmaxOutput(out, name="softmax")


def _node(data: Any, step: Step) -> Any:
    name, what, kernel, stride, padding = step
    window: dict[str, Any] = {
        "kernel": (kernel,) * 2,
        "stride": (stride,) * 2,
        "pad": (padding,) * 2,
    }
    if isinstance(what, str):
        return symbol.Pooling(data, pool_type=what, name=name, **window)
    out = symbol.Convolution(data, num_filter=what, name=f"conv_{name}", **window)
    out = symbol.BatchNorm(out, fix_gamma=False, eps=EPSILON, name=f"bn_{name}")
    return symbol.Activation(out, act_type="relu", name=f"relu_{name}")


MODELS["inceptionbn"] = inception_bn

__all__ = ["InceptionBN", "inception_bn", "inception_bn_symbol"]
