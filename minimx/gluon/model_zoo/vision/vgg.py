"""VGG: nothing but 3×3 convolutions, in five stages, and three large Dense layers.

"Very deep convolutional networks for large-scale image recognition" (Simonyan and
Zisserman, 2014). Two 3×3 windows see as far as one of 5×5, with fewer weights. Each
stage ends with a pooling that halves the size; the next has twice the channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.gluon import nn
from minimx.gluon.model_zoo.vision.network import (
    Network,
    chosen,
    row,
    variant,
    with_weights,
)
from minimx.initializer import Xavier

FILTERS = [64, 128, 256, 512, 512]
#: layers: convolutions in each stage
SPECS = {
    11: [1, 1, 2, 2, 2],
    13: [2, 2, 2, 2, 2],
    16: [2, 2, 3, 3, 3],
    19: [2, 2, 4, 4, 4],
}


class VGG(Network):
    """x (N, 3, H, W), 224 × 224 as published.

    layers, filters: convolutions in each stage, and their channels.
    batch_norm: normalise after each convolution.
    """

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise ArgumentError(
                f"VGG: {len(layers)} stages need as many numbers of filters, not "
                f"{len(filters)}."
            )
        with self.name_scope():
            self.features = row()
            for count, channels in zip(layers, filters, strict=True):
                self.features.add(*_stage(count, channels, batch_norm))
            for _ in range(2):
                self.features.add(_dense(4096, "relu"), nn.Dropout(0.5))
            self.output = _dense(classes)


def _stage(count: int, channels: int, batch_norm: bool) -> list[Any]:
    layers: list[Any] = []
    for _ in range(count):
        start = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
        layers.append(nn.Conv2D(channels, 3, padding=1, weight_initializer=start))
        if batch_norm:
            layers.append(nn.BatchNorm())
        layers.append(nn.Activation("relu"))
    return [*layers, nn.MaxPool2D(strides=2)]


def _dense(units: int, activation: str | None = None) -> nn.Dense:
    return nn.Dense(units, activation=activation, weight_initializer="normal")


def get_vgg(
    num_layers: int,
    pretrained: bool = False,
    ctx: Any = None,
    root: Any = None,
    **kwargs: Any,
) -> VGG:
    """A VGG of 11, 13, 16 or 19 layers with weights.

    kwargs: classes, batch_norm, prefix, params.
    """
    net = VGG(chosen("VGG", SPECS, num_layers), FILTERS, **kwargs)
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    return with_weights(net, name, pretrained, ctx, root)


vgg11 = variant("vgg11", get_vgg, 11)
vgg13 = variant("vgg13", get_vgg, 13)
vgg16 = variant("vgg16", get_vgg, 16)
vgg19 = variant("vgg19", get_vgg, 19)
vgg11_bn = variant("vgg11_bn", get_vgg, 11, batch_norm=True)
vgg13_bn = variant("vgg13_bn", get_vgg, 13, batch_norm=True)
vgg16_bn = variant("vgg16_bn", get_vgg, 16, batch_norm=True)
vgg19_bn = variant("vgg19_bn", get_vgg, 19, batch_norm=True)

__all__ = [
    "VGG",
    "get_vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]
