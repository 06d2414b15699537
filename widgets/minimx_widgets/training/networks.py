"""The networks that a lab offers by name, from the plainest to the deepest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.gluon import nn

# A network's maker gets the image's side in pixels and the number of classes.
Maker = Callable[[int, int], Any]


def mlp(side: int, classes: int) -> nn.HybridSequential:
    """Two fully connected layers: what came before convolution."""
    net = nn.HybridSequential(prefix="mlp_")
    with net.name_scope():
        net.add(nn.Flatten())
        net.add(nn.Dense(256, activation="relu"))
        net.add(nn.Dense(classes))
    return net


def lenet(side: int, classes: int) -> nn.HybridSequential:
    """Two rounds of convolution and pooling, then two fully connected layers.

    LeCun and others, "Gradient-based learning applied to document recognition" (1998),
    with today's activation. Small images (8×8) get 3×3 windows with a border.
    """
    kernel, pad = (5, 0) if side >= 20 else (3, 1)
    net = nn.HybridSequential(prefix="lenet_")
    with net.name_scope():
        net.add(nn.Conv2D(16, kernel, padding=pad, activation="relu"))
        net.add(nn.MaxPool2D(2, 2))
        net.add(nn.Conv2D(32, kernel, padding=pad, activation="relu"))
        net.add(nn.MaxPool2D(2, 2))
        net.add(nn.Flatten())
        net.add(nn.Dense(128, activation="relu"))
        net.add(nn.Dense(classes))
    return net


class Residual(nn.HybridBlock):
    """Two convolutions whose result is added to what came in.

    He and others, "Deep residual learning for image recognition" (2015). Where the
    number of channels or the size changes, a 1×1 convolution brings the input along.
    """

    def __init__(self, channels: int, stride: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.conv1 = _conv3(channels, stride)
            self.norm1 = nn.BatchNorm()
            self.conv2 = _conv3(channels, 1)
            self.norm2 = nn.BatchNorm()
            self.short = (
                nn.Conv2D(channels, 1, strides=stride, use_bias=False)
                if stride > 1
                else None
            )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """The sum of the two ways."""
        y = F.Activation(self.norm1(self.conv1(x)), act_type="relu")
        y = self.norm2(self.conv2(y))
        if self.short is not None:
            x = self.short(x)
        return F.Activation(x + y, act_type="relu")


def resnet(side: int, classes: int) -> nn.HybridSequential:
    """A stem and three residual blocks of 8, 16 and 32 channels."""
    net = nn.HybridSequential(prefix="resnet_")
    with net.name_scope():
        net.add(_conv3(8, 1), nn.BatchNorm(), nn.Activation("relu"))
        net.add(Residual(8), Residual(16, 2), Residual(32, 2))
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(classes))
    return net


def _conv3(channels: int, stride: int) -> nn.Conv2D:
    return nn.Conv2D(channels, 3, strides=stride, padding=1, use_bias=False)


NETWORKS: dict[str, Maker] = {"mlp": mlp, "lenet": lenet, "resnet": resnet}
