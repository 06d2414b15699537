"""Inception v3: several small networks side by side, again and again.

"Rethinking the Inception architecture for computer vision" (Szegedy et al., 2015).
A module hands its input to a few *branches* and joins what comes out along the
channels. Large windows are taken apart: 7×7 becomes 1×7 and 7×1. Modules A, C and E
keep the size, B and D halve it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.gluon import nn
from minimx.gluon.contrib.nn import HybridConcurrent
from minimx.gluon.model_zoo.vision.network import MODELS, Network, row, with_weights

#: A convolution: channels, kernel, and stride (1); or the name of a pooling.
Step = Sequence[Any] | str
#: Steps in a row; a list among them is a fork into further branches.
Branch = list[Any]


def module_a(pooled: int) -> list[Branch]:
    """35 × 35. pooled: channels of the branch that pools."""
    return [
        [(64, 1)],
        [(48, 1), (64, 5)],
        [(64, 1), (96, 3), (96, 3)],
        ["avg", (pooled, 1)],
    ]


def module_b() -> list[Branch]:
    """From 35 × 35 to 17 × 17."""
    return [[(384, 3, 2)], [(64, 1), (96, 3), (96, 3, 2)], ["max"]]


def module_c(inner: int) -> list[Branch]:
    """17 × 17. inner: channels inside the branches with 7 × 7 windows."""
    flat, tall = (1, 7), (7, 1)
    return [
        [(192, 1)],
        [(inner, 1), (inner, flat), (192, tall)],
        [(inner, 1), (inner, tall), (inner, flat), (inner, tall), (192, flat)],
        ["avg", (192, 1)],
    ]


def module_d() -> list[Branch]:
    """From 17 × 17 to 8 × 8."""
    return [
        [(192, 1), (320, 3, 2)],
        [(192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2)],
        ["max"],
    ]


def module_e() -> list[Branch]:
    """8 × 8, with branches that fork."""
    fork = [[(384, (1, 3))], [(384, (3, 1))]]
    return [
        [(320, 1)],
        [(384, 1), fork],
        [(448, 1), (384, 3), fork],
        ["avg", (192, 1)],
    ]


MODULES: dict[str, list[Branch]] = {
    "A1_": module_a(32),
    "A2_": module_a(64),
    "A3_": module_a(64),
    "B_": module_b(),
    "C1_": module_c(128),
    "C2_": module_c(160),
    "C3_": module_c(160),
    "C4_": module_c(192),
    "D_": module_d(),
    "E1_": module_e(),
    "E2_": module_e(),
}


class Inception3(Network):
    """x (N, 3, H, W), 299 × 299 as published."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = row(
                _convolution(32, 3, 2),
                _convolution(32, 3, padding=0),
                _convolution(64, 3),
                nn.MaxPool2D(3, 2),
                _convolution(80, 1),
                _convolution(192, 3, padding=0),
                nn.MaxPool2D(3, 2),
            )
            for prefix, branches in MODULES.items():
                module = HybridConcurrent(axis=1, prefix=prefix)
                with module.name_scope():
                    module.add(*map(_branch, branches))
                self.features.add(module)
            self.features.add(nn.AvgPool2D(8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


def _branch(steps: Branch) -> nn.HybridSequential:
    """The layers of a branch; before a fork they are a row of their own."""
    if not isinstance(steps[-1], list):
        return row(*map(_step, steps))
    trunk = row(*map(_step, steps[:-1]))
    fork = HybridConcurrent(axis=1, prefix="")
    fork.add(*map(_branch, steps[-1]))
    return row(trunk, fork)


def _step(step: Step) -> Any:
    if step == "avg":
        return nn.AvgPool2D(3, 1, 1)
    return nn.MaxPool2D(3, 2) if step == "max" else _convolution(*step)


def _convolution(
    channels: int, kernel: Any, stride: int = 1, padding: int | None = None
) -> nn.HybridSequential:
    """A convolution, BatchNorm and ReLU; of stride 1, it keeps the size."""
    sides = (kernel, kernel) if isinstance(kernel, int) else kernel
    around: Any = padding
    if padding is None:
        around = tuple(side // 2 if stride == 1 else 0 for side in sides)
    return row(
        nn.Conv2D(channels, kernel, stride, around, use_bias=False),
        nn.BatchNorm(epsilon=0.001),
        nn.Activation("relu"),
    )


def inception_v3(
    pretrained: bool = False, ctx: Any = None, root: Any = None, **kwargs: Any
) -> Inception3:
    """An Inception v3. kwargs: classes, prefix, params."""
    return with_weights(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)


MODELS["inceptionv3"] = inception_v3

__all__ = ["Inception3", "inception_v3"]
