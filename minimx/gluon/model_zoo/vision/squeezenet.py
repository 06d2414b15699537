"""SqueezeNet: as good as AlexNet with a fiftieth of its parameters.

"SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and <0.5MB model size"
(Iandola et al., 2016). A *fire* module squeezes the channels with 1×1 convolutions and
expands them with 1×1 and 3×3 ones side by side. Version 1.1 pools earlier, which saves
more than half of the work.
"""

from __future__ import annotations

from typing import Any

from minimx.gluon import nn
from minimx.gluon.contrib.nn import HybridConcurrent
from minimx.gluon.model_zoo.vision.network import (
    Network,
    chosen,
    row,
    variant,
    with_weights,
)

#: version: channels and kernel of the first convolution, and then the channels of each
#: fire module, or POOL
POOL = 0
SPECS: dict[str, tuple[int, int, list[int]]] = {
    "1.0": (96, 7, [POOL, 16, 16, 32, POOL, 32, 48, 48, 64, POOL, 64]),
    "1.1": (64, 3, [POOL, 16, 16, POOL, 32, 32, POOL, 48, 48, 64, 64]),
}


class SqueezeNet(Network):
    """x (N, 3, H, W), 224 × 224 as published. version: `1.0` or `1.1`."""

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        channels, kernel, modules = chosen("SqueezeNet", SPECS, version)
        with self.name_scope():
            self.features = row(
                nn.Conv2D(channels, kernel, strides=2), nn.Activation("relu")
            )
            for squeezed in modules:
                self.features.add(
                    nn.MaxPool2D(3, 2, ceil_mode=True)
                    if squeezed == POOL
                    else _fire(squeezed)
                )
            self.features.add(nn.Dropout(0.5))
            self.output = row(
                nn.Conv2D(classes, 1),
                nn.Activation("relu"),
                nn.AvgPool2D(13),
                nn.Flatten(),
            )


def _fire(squeezed: int) -> nn.HybridSequential:
    """To `squeezed` channels, and up to eight times as many."""
    first = _convolution(squeezed, 1)
    paths = HybridConcurrent(axis=1, prefix="")
    paths.add(_convolution(4 * squeezed, 1), _convolution(4 * squeezed, 3))
    return row(first, paths)


def _convolution(channels: int, kernel: int) -> nn.HybridSequential:
    return row(nn.Conv2D(channels, kernel, padding=kernel // 2), nn.Activation("relu"))


def get_squeezenet(
    version: str,
    pretrained: bool = False,
    ctx: Any = None,
    root: Any = None,
    **kwargs: Any,
) -> SqueezeNet:
    """A SqueezeNet of version `1.0` or `1.1`. kwargs: classes, prefix, params."""
    net = SqueezeNet(version, **kwargs)
    return with_weights(net, f"squeezenet{version}", pretrained, ctx, root)


squeezenet1_0 = variant(
    "squeezenet1_0", get_squeezenet, "1.0", known_as="squeezenet1.0"
)
squeezenet1_1 = variant(
    "squeezenet1_1", get_squeezenet, "1.1", known_as="squeezenet1.1"
)

__all__ = ["SqueezeNet", "get_squeezenet", "squeezenet1_0", "squeezenet1_1"]
