"""MobileNets: convolutions taken apart, for small devices.

Version 1 ("MobileNets: efficient convolutional neural networks for mobile vision
applications", Howard et al., 2017) replaces a convolution by a *depthwise* one, which
looks at each channel alone, and a 1×1 one, which mixes channels. Version 2
("MobileNetV2: inverted residuals and linear bottlenecks", Sandler et al., 2018)
widens the channels between the two, and adds a shortcut. A multiplier scales all
numbers of channels.
"""

from __future__ import annotations

from typing import Any

from minimx.gluon import nn
from minimx.gluon.block import HybridBlock
from minimx.gluon.model_zoo.vision.network import Network, row, variant, with_weights

#: version 1: (channels, stride) of each pair of a depthwise and a 1×1 convolution
PAIRS = [
    *[(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)],
    *[(512, 1)] * 5,
    *[(1024, 2), (1024, 1)],
]
#: version 2: (expansion, channels, how many, stride of the first) of each group
GROUPS = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


class RELU6(HybridBlock):
    """min(max(x, 0), 6), which eight bits can represent well."""

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Same shape as x."""
        return F.clip(x, 0, 6, name="relu6")


def _convolution(
    channels: int, kernel: int = 1, stride: int = 1, groups: int = 1, act: Any = None
) -> list[HybridBlock]:
    """A convolution, BatchNorm, and an activation (or none)."""
    layers: list[HybridBlock] = [
        nn.Conv2D(channels, kernel, stride, kernel // 2, groups=groups, use_bias=False),
        nn.BatchNorm(),
    ]
    return layers if act is None else [*layers, act]


class LinearBottleneck(HybridBlock):
    """To t times the channels, depthwise 3×3, and down again without an activation.

    The input is added if it has the shape of the output.
    """

    def __init__(
        self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        wide = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            self.out.add(
                *_convolution(wide, act=RELU6()),
                *_convolution(wide, 3, stride, groups=wide, act=RELU6()),
                *_convolution(channels),
            )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, channels, H / stride, W / stride)."""
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(Network):
    """Version 1; x (N, 3, H, W), 224 × 224 as published."""

    def __init__(
        self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        relu = "relu"
        into = int(32 * multiplier)
        with self.name_scope():
            self.features = row(*_convolution(into, 3, 2, act=nn.Activation(relu)))
            for full, stride in PAIRS:
                out = int(full * multiplier)
                self.features.add(
                    *_convolution(into, 3, stride, into, act=nn.Activation(relu)),
                    *_convolution(out, act=nn.Activation(relu)),
                )
                into = out
            self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


class MobileNetV2(Network):
    """Version 2; x (N, 3, H, W), 224 × 224 as published."""

    def __init__(
        self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        into = int(32 * multiplier)
        with self.name_scope():
            self.features = row(prefix="features_")
            with self.features.name_scope():
                self.features.add(*_convolution(into, 3, 2, act=RELU6()))
                for t, full, count, first in GROUPS:
                    out = int(full * multiplier)
                    for stride in [first] + [1] * (count - 1):
                        self.features.add(LinearBottleneck(into, out, t, stride))
                        into = out
                last = int(1280 * max(multiplier, 1.0))
                self.features.add(
                    *_convolution(last, act=RELU6()), nn.GlobalAvgPool2D()
                )
            self.output = row(prefix="output_")
            with self.output.name_scope():
                self.output.add(
                    nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"),
                    nn.Flatten(),
                )


def _stored(family: str, multiplier: float) -> str:
    """The name of stored weights: two digits, of which a last 0 is left away.

    >>> _stored("mobilenet", 1), _stored("mobilenetv2_", 0.75)
    ('mobilenet1.0', 'mobilenetv2_0.75')
    """
    digits = f"{multiplier:.2f}"
    return family + (digits[:-1] if digits.endswith("0") else digits)


def get_mobilenet(
    multiplier: float,
    pretrained: bool = False,
    ctx: Any = None,
    root: Any = None,
    **kwargs: Any,
) -> MobileNet:
    """A MobileNet of version 1. kwargs: classes, prefix, params."""
    net = MobileNet(multiplier, **kwargs)
    name = _stored("mobilenet", multiplier)
    return with_weights(net, name, pretrained, ctx, root)


def get_mobilenet_v2(
    multiplier: float,
    pretrained: bool = False,
    ctx: Any = None,
    root: Any = None,
    **kwargs: Any,
) -> MobileNetV2:
    """A MobileNet of version 2. kwargs: classes, prefix, params."""
    net = MobileNetV2(multiplier, **kwargs)
    name = _stored("mobilenetv2_", multiplier)
    return with_weights(net, name, pretrained, ctx, root)


mobilenet1_0 = variant("mobilenet1_0", get_mobilenet, 1.0, known_as="mobilenet1.0")
mobilenet0_75 = variant("mobilenet0_75", get_mobilenet, 0.75, known_as="mobilenet0.75")
mobilenet0_5 = variant("mobilenet0_5", get_mobilenet, 0.5, known_as="mobilenet0.5")
mobilenet0_25 = variant("mobilenet0_25", get_mobilenet, 0.25, known_as="mobilenet0.25")
mobilenet_v2_1_0 = variant(
    "mobilenet_v2_1_0", get_mobilenet_v2, 1.0, known_as="mobilenetv2_1.0"
)
mobilenet_v2_0_75 = variant(
    "mobilenet_v2_0_75", get_mobilenet_v2, 0.75, known_as="mobilenetv2_0.75"
)
mobilenet_v2_0_5 = variant(
    "mobilenet_v2_0_5", get_mobilenet_v2, 0.5, known_as="mobilenetv2_0.5"
)
mobilenet_v2_0_25 = variant(
    "mobilenet_v2_0_25", get_mobilenet_v2, 0.25, known_as="mobilenetv2_0.25"
)

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_25",
    "mobilenet0_5",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]
