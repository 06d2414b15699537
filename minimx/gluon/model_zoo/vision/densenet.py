"""DenseNet: every layer sees the outputs of all layers before it in its stage.

"Densely connected convolutional networks" (Huang et al., 2016). A layer adds
`growth_rate` channels to those that it was given; a *transition* between two stages
halves channels and size.
"""

from __future__ import annotations

from collections.abc import Sequence
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

#: layers: (channels at first, growth rate, layers in each stage)
SPECS: dict[int, tuple[int, int, list[int]]] = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


class DenseNet(Network):
    """x (N, 3, H, W), 224 × 224 as published.

    num_init_features: channels of the first convolution.
    growth_rate: channels that each layer adds.
    block_config: layers in each stage.
    bn_size: a layer's 1×1 convolution has bn_size · growth_rate channels.
    dropout: share that is dropped after each layer.
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        channels = num_init_features
        with self.name_scope():
            self.features = row(
                nn.Conv2D(channels, 7, strides=2, padding=3, use_bias=False),
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.MaxPool2D(3, 2, 1),
            )
            for number, count in enumerate(block_config, 1):
                if number > 1:
                    channels //= 2
                    self.features.add(_transition(channels))
                self.features.add(_stage(number, count, growth_rate, bn_size, dropout))
                channels += count * growth_rate
            self.features.add(
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.AvgPool2D(7),
                nn.Flatten(),
            )
            self.output = nn.Dense(classes)


def _stage(
    number: int, count: int, growth: int, bn_size: int, dropout: float
) -> nn.HybridSequential:
    stage = row(prefix=f"stage{number}_")
    with stage.name_scope():
        for _ in range(count):
            stage.add(_layer(growth, bn_size, dropout))
    return stage


def _layer(growth: int, bn_size: int, dropout: float) -> HybridConcurrent:
    """The input, and `growth` new channels beside it."""
    new = row(
        *_after_norm(bn_size * growth, 1),
        *_after_norm(growth, 3, padding=1),
    )
    if dropout:
        new.add(nn.Dropout(dropout))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(nn.Identity(), new)
    return both


def _transition(channels: int) -> nn.HybridSequential:
    return row(*_after_norm(channels, 1), nn.AvgPool2D(2, 2))


def _after_norm(channels: int, kernel: int, padding: int = 0) -> list[Any]:
    """A convolution that comes after BatchNorm and ReLU."""
    return [
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(channels, kernel, padding=padding, use_bias=False),
    ]


def get_densenet(
    num_layers: int,
    pretrained: bool = False,
    ctx: Any = None,
    root: Any = None,
    **kwargs: Any,
) -> DenseNet:
    """A DenseNet of 121, 161, 169 or 201 layers.

    kwargs: bn_size, dropout, classes, prefix, params.
    """
    net = DenseNet(*chosen("DenseNet", SPECS, num_layers), **kwargs)
    return with_weights(net, f"densenet{num_layers}", pretrained, ctx, root)


densenet121 = variant("densenet121", get_densenet, 121)
densenet161 = variant("densenet161", get_densenet, 161)
densenet169 = variant("densenet169", get_densenet, 169)
densenet201 = variant("densenet201", get_densenet, 201)

__all__ = [
    "DenseNet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "get_densenet",
]
