"""AlexNet: five convolutions and three large Dense layers.

The network of 2012 that began it all, in the slimmer form of "One weird trick for
parallelizing convolutional neural networks" (Krizhevsky, 2014), which fits one device.
Nearly all of its 61 million parameters are in the Dense layers, and nearly all of its
work is in the convolutions.
"""

from __future__ import annotations

from typing import Any

from minimx.gluon import nn
from minimx.gluon.model_zoo.vision.network import MODELS, Network, row, with_weights


class AlexNet(Network):
    """x (N, 3, H, W), 224 × 224 as published."""

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = row(
                nn.Conv2D(64, 11, strides=4, padding=2, activation="relu"),
                nn.MaxPool2D(3, 2),
                nn.Conv2D(192, 5, padding=2, activation="relu"),
                nn.MaxPool2D(3, 2),
                nn.Conv2D(384, 3, padding=1, activation="relu"),
                nn.Conv2D(256, 3, padding=1, activation="relu"),
                nn.Conv2D(256, 3, padding=1, activation="relu"),
                nn.MaxPool2D(3, 2),
                nn.Flatten(),
                nn.Dense(4096, activation="relu"),
                nn.Dropout(0.5),
                nn.Dense(4096, activation="relu"),
                nn.Dropout(0.5),
            )
            self.output = nn.Dense(classes)


def alexnet(
    pretrained: bool = False, ctx: Any = None, root: Any = None, **kwargs: Any
) -> AlexNet:
    """An AlexNet. kwargs: classes, prefix, params."""
    return with_weights(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)


MODELS["alexnet"] = alexnet

__all__ = ["AlexNet", "alexnet"]
