"""ResNets: deep networks whose blocks learn what to add to their input.

v1 ("Deep residual learning for image recognition", He et al., 2015) activates after the
addition, v2 ("Identity mappings in deep residual networks", 2016) before each
convolution. Both come with basic blocks (two 3×3 convolutions, 18 and 34 layers) and
bottlenecks (1×1, 3×3, 1×1; 50 layers and more). `thumbnail` is for small images: the
first layers keep the size instead of dividing it by four.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.gluon import nn
from minimx.gluon.block import HybridBlock
from minimx.gluon.model_zoo.vision.network import Network, variant, with_weights

#: layers: (is it made of bottlenecks, blocks in each stage, channels of each stage)
SPECS: dict[int, tuple[bool, list[int], list[int]]] = {
    18: (False, [2, 2, 2, 2], [64, 64, 128, 256, 512]),
    34: (False, [3, 4, 6, 3], [64, 64, 128, 256, 512]),
    50: (True, [3, 4, 6, 3], [64, 256, 512, 1024, 2048]),
    101: (True, [3, 4, 23, 3], [64, 256, 512, 1024, 2048]),
    152: (True, [3, 8, 36, 3], [64, 256, 512, 1024, 2048]),
}


def _conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(
        channels, 3, stride, padding=1, use_bias=False, in_channels=in_channels
    )


class _Residual(HybridBlock):
    """A block of either version: `body` beside a shortcut."""

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._build(channels, stride, downsample, in_channels)

    def _build(
        self, channels: int, stride: int, downsample: bool, in_channels: int
    ) -> None:
        raise ArgumentError(f"{type(self).__name__} does not say what it is made of")


class _ResidualV1(_Residual):
    """relu(shortcut(x) + body(x)); the shortcut fits the size where it changes."""

    def _build(
        self, channels: int, stride: int, downsample: bool, in_channels: int
    ) -> None:
        self.body = nn.HybridSequential(prefix="")
        self.body.add(*self._layers(channels, stride, in_channels))
        self.downsample: Any = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(
                nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels),
                nn.BatchNorm(),
            )

    @staticmethod
    def _layers(channels: int, stride: int, in_channels: int) -> list[HybridBlock]:
        raise ArgumentError("a residual block needs _layers()")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, channels, H / stride, W / stride)."""
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.Activation(self._sum(shortcut, self.body(x)), act_type="relu")

    @staticmethod
    def _sum(shortcut: Any, new: Any) -> Any:
        return shortcut + new


class BasicBlockV1(_ResidualV1):
    """Two 3×3 convolutions."""

    @staticmethod
    def _layers(channels: int, stride: int, in_channels: int) -> list[HybridBlock]:
        return [
            _conv3x3(channels, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels, 1, channels),
            nn.BatchNorm(),
        ]


class BottleneckV1(_ResidualV1):
    """1×1 down to a quarter of the channels, 3×3, and 1×1 up again."""

    @staticmethod
    def _layers(channels: int, stride: int, in_channels: int) -> list[HybridBlock]:
        quarter = channels // 4
        return [
            nn.Conv2D(quarter, 1, stride),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(quarter, 1, quarter),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, 1, 1),
            nn.BatchNorm(),
        ]

    @staticmethod
    def _sum(shortcut: Any, new: Any) -> Any:
        return new + shortcut  # the order of the nodes in MXNet's graph


class _ResidualV2(_Residual):
    """x + convolutions, each after a normalisation and an activation."""

    def _build(
        self, channels: int, stride: int, downsample: bool, in_channels: int
    ) -> None:
        self._stages = self._convolutions(channels, stride, in_channels)
        for number, convolution in enumerate(self._stages, 1):
            setattr(self, f"bn{number}", nn.BatchNorm())
            setattr(self, f"conv{number}", convolution())
        self.downsample: Any = None
        if downsample:
            self.downsample = nn.Conv2D(
                channels, 1, stride, use_bias=False, in_channels=in_channels
            )

    @staticmethod
    def _convolutions(channels: int, stride: int, in_channels: int) -> list[Any]:
        raise ArgumentError("a residual block needs _convolutions()")

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, channels, H / stride, W / stride)."""
        shortcut = x
        for number in range(1, len(self._stages) + 1):
            x = getattr(self, f"bn{number}")(x)
            x = F.Activation(x, act_type="relu")
            if number == 1 and self.downsample is not None:
                shortcut = self.downsample(x)
            x = getattr(self, f"conv{number}")(x)
        return x + shortcut


class BasicBlockV2(_ResidualV2):
    """Two 3×3 convolutions."""

    @staticmethod
    def _convolutions(channels: int, stride: int, in_channels: int) -> list[Any]:
        return [
            lambda: _conv3x3(channels, stride, in_channels),
            lambda: _conv3x3(channels, 1, channels),
        ]


class BottleneckV2(_ResidualV2):
    """1×1 down to a quarter of the channels, 3×3, and 1×1 up again."""

    @staticmethod
    def _convolutions(channels: int, stride: int, in_channels: int) -> list[Any]:
        quarter = channels // 4
        return [
            lambda: nn.Conv2D(quarter, 1, 1, use_bias=False),
            lambda: _conv3x3(quarter, stride, quarter),
            lambda: nn.Conv2D(channels, 1, 1, use_bias=False),
        ]


class _ResNet(Network):
    """`features`, then a Dense layer that chooses among `classes`."""

    def __init__(
        self,
        block: type[_Residual],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if len(layers) != len(channels) - 1:
            raise ArgumentError(
                f"{type(self).__name__}: {len(layers)} stages need {len(layers) + 1} "
                f"numbers of channels (the first layer's first), not {len(channels)}."
            )
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self._enter(channels[0], thumbnail)
            into = channels[0]
            for stage, (count, out) in enumerate(
                zip(layers, channels[1:], strict=True), 1
            ):
                stride = 1 if stage == 1 else 2
                self.features.add(_stage(block, stage, count, out, stride, into))
                into = out
            self._leave()
            self.output = nn.Dense(classes, in_units=channels[-1])

    def _enter(self, channels: int, thumbnail: bool) -> None:
        """The layers before the first stage."""
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
        else:
            self.features.add(
                nn.Conv2D(channels, 7, 2, 3, use_bias=False),
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.MaxPool2D(3, 2, 1),
            )

    def _leave(self) -> None:
        """The layers after the last stage."""
        self.features.add(nn.GlobalAvgPool2D())


class ResNetV1(_ResNet):
    """A ResNet of version 1; x (N, channels, H, W)."""


class ResNetV2(_ResNet):
    """A ResNet of version 2; x (N, channels, H, W)."""

    def _enter(self, channels: int, thumbnail: bool) -> None:
        self.features.add(nn.BatchNorm(scale=False, center=False))
        super()._enter(channels, thumbnail)

    def _leave(self) -> None:
        self.features.add(
            nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten()
        )


def _stage(
    block: type[_Residual],
    number: int,
    count: int,
    channels: int,
    stride: int,
    into: int,
) -> nn.HybridSequential:
    """`count` blocks, the first of which may change size and channels."""
    stage = nn.HybridSequential(prefix=f"stage{number}_")
    with stage.name_scope():
        first = block(
            channels,
            stride,
            stride != 1 or into != channels,
            in_channels=into,
            prefix="",
        )
        stage.add(first)
        for _ in range(count - 1):
            stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
    return stage


#: version: the network, its basic block and its bottleneck
MAKERS: dict[int, tuple[type[_ResNet], type[_Residual], type[_Residual]]] = {
    1: (ResNetV1, BasicBlockV1, BottleneckV1),
    2: (ResNetV2, BasicBlockV2, BottleneckV2),
}


def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool = False,
    ctx: Any = None,
    root: Any = None,
    **kwargs: Any,
) -> _ResNet:
    """A ResNet by version (1 or 2) and number of layers (18, 34, 50, 101 or 152).

    kwargs: classes, thumbnail, prefix, params.
    """
    if version not in MAKERS or num_layers not in SPECS:
        raise ArgumentError(
            f"there is no ResNet v{version} of {num_layers} layers; versions are 1 and "
            f"2, layers {', '.join(map(str, SPECS))}."
        )
    bottleneck, layers, channels = SPECS[num_layers]
    network, basic, narrow = MAKERS[version]
    net = network(narrow if bottleneck else basic, layers, channels, **kwargs)
    name = f"resnet{num_layers}_v{version}"
    return with_weights(net, name, pretrained, ctx, root)


resnet18_v1 = variant("resnet18_v1", get_resnet, 1, 18)
resnet34_v1 = variant("resnet34_v1", get_resnet, 1, 34)
resnet50_v1 = variant("resnet50_v1", get_resnet, 1, 50)
resnet101_v1 = variant("resnet101_v1", get_resnet, 1, 101)
resnet152_v1 = variant("resnet152_v1", get_resnet, 1, 152)
resnet18_v2 = variant("resnet18_v2", get_resnet, 2, 18)
resnet34_v2 = variant("resnet34_v2", get_resnet, 2, 34)
resnet50_v2 = variant("resnet50_v2", get_resnet, 2, 50)
resnet101_v2 = variant("resnet101_v2", get_resnet, 2, 101)
resnet152_v2 = variant("resnet152_v2", get_resnet, 2, 152)

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
]
