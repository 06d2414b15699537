"""Convolution layers and transposed ones: a base, and short leaves.

Data is (N, C, *image): samples, channels, and one to three axes of space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.errors import ArgumentError, ShapeError
from minimx.core.shapes import Shape
from minimx.gluon.block import HybridBlock
from minimx.gluon.nn.weights import activation_after, weight_and_bias

__all__ = [
    "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D",
    "Conv3DTranspose",
]  # fmt: skip

Sizes = int | Sequence[int]
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
CHANNELS_LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def sizes(name: str, setting: str, value: Sizes, ndim: int) -> Shape:
    """One number per axis of space; a single number counts for all."""
    sizes = (value,) * ndim if isinstance(value, int) else tuple(value)
    if len(sizes) != ndim:
        raise ArgumentError(
            f"{name}: {setting}={value} must be one number, or {ndim} of them."
        )
    return sizes


def check_layout(name: str, layout: str | None, ndim: int) -> str:
    """The layout, channels second by default. Raises ArgumentError for another one."""
    known = (LAYOUTS[ndim], CHANNELS_LAST[ndim])
    if layout not in (None, *known):
        raise ArgumentError(f"{name}: layout={layout!r} must be {' or '.join(known)}.")
    return layout or known[0]


def represented(
    layer: Any, mapping: str, settings: dict[str, Any], bias: Any, act: Any
) -> str:
    """The repr of a convolution: its channels, its window, and what is unusual."""
    ndim = len(settings["kernel"])
    parts = [mapping, f"kernel_size={settings['kernel']}"]
    parts.append(f"stride={settings['stride']}")
    for name, setting, usual in (
        ("padding", "pad", (0,) * ndim),
        ("dilation", "dilate", (1,) * ndim),
        ("output_padding", "adj", (0,) * ndim),
        ("groups", "num_group", 1),
    ):
        if settings.get(setting, usual) != usual:
            parts.append(f"{name}={settings[setting]}")
    if bias is None:
        parts.append("bias=False")
    if act is not None:
        parts.append(repr(act))
    return f"{type(layer).__name__}({', '.join(parts)})"


class _Conv(HybridBlock):
    """Slide windows over an image; weight (channels, in_channels / groups, *kernel).

    kernel_size, strides, padding, dilation: a number, or one for each axis of space.
    in_channels: 0 to learn it from the first batch.
    layout: a layer may be made for channels that come last, as on a GPU of MXNet; the
        operator computes with channels as the second axis only, and raises for others.
    """

    _op_name = "Convolution"
    _axes = 2

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name, axes = type(self).__name__, self._axes
        self._channels = channels
        self._in_channels = in_channels
        self._kwargs: dict[str, Any] = {
            "kernel": sizes(name, "kernel_size", kernel_size, axes),
            "stride": sizes(name, "strides", strides, axes),
            "dilate": sizes(name, "dilation", dilation, axes),
            "pad": sizes(name, "padding", padding, axes),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": check_layout(name, layout, axes),
            **settings,
        }
        with self.name_scope():
            shape = self._weight_shape(in_channels)
            starts = weight_initializer, bias_initializer
            self.weight, self.bias = weight_and_bias(
                self, shape, channels, starts, use_bias
            )
            self.act = activation_after(activation)

    def _alias(self) -> str:
        return "conv"

    def _weight_shape(self, in_channels: int) -> Shape:
        groups = self._kwargs["num_group"]
        if in_channels % groups or self._channels % groups:
            raise ShapeError(
                f"{type(self).__name__}: groups={groups} does not divide both "
                f"the {in_channels} channels coming in and the {self._channels} going "
                "out. Change one of the numbers."
            )
        return self._arranged(self._channels, in_channels // groups)

    def _arranged(self, first: int, second: int) -> Shape:
        """A weight's shape: its two numbers of channels, and the kernel."""
        kernel = self._kwargs["kernel"]
        if self._kwargs["layout"] in CHANNELS_LAST.values():
            return (first, *kernel, second)
        return (first, second, *kernel)

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """(N, channels, *image)."""
        out = getattr(F, self._op_name)(x, weight, bias, **self._kwargs, name="fwd")
        return out if self.act is None else self.act(out)

    def _mapping(self) -> str:
        out, into = self.weight.shape[:2]
        return f"{into or None} -> {out}"

    def __repr__(self) -> str:
        return represented(self, self._mapping(), self._kwargs, self.bias, self.act)


class Conv1D(_Conv):
    """Convolution along one axis, such as time.

    x (N, in_channels, W), out (N, channels, W'),
    weight (channels, in_channels / groups, k). in_channels: 0 to learn it.
    """

    _axes = 1


class Conv2D(_Conv):
    """Convolution over images.

    x (N, in_channels, H, W), out (N, channels, H', W'),
    weight (channels, in_channels / groups, kh, kw). in_channels: 0 to learn it.
    """

    _axes = 2


class Conv3D(_Conv):
    """Convolution over volumes, such as films or scans.

    x (N, in_channels, D, H, W), out (N, channels, D', H', W'),
    weight (channels, in_channels / groups, kd, kh, kw). in_channels: 0 to learn it.
    """

    _axes = 3


class _ConvTranspose(_Conv):
    """Spread numbers over windows; weight (in_channels, channels / groups, *kernel).

    output_padding: added to the length of each axis, below its stride.
    """

    _op_name = "Deconvolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        name = type(self).__name__
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout,
            activation, use_bias, weight_initializer, bias_initializer, in_channels,
            adj=sizes(name, "output_padding", output_padding, self._axes), **kwargs,
        )  # fmt: skip

    def _weight_shape(self, in_channels: int) -> Shape:
        super()._weight_shape(0)  # refuses groups that do not divide
        return self._arranged(in_channels, self._channels // self._kwargs["num_group"])

    def _mapping(self) -> str:
        return f"{self.weight.shape[0] or None} -> {self._channels}"


class Conv1DTranspose(_ConvTranspose):
    """The way back through a `Conv1D`: x (N, in_channels, W), out (N, channels, W').

    W' = strides * (W - 1) + dilation * (k - 1) + 1 - 2 * padding + output_padding
    weight (in_channels, channels / groups, k). in_channels: 0 to learn it.
    """

    _axes = 1


class Conv2DTranspose(_ConvTranspose):
    """The way back through a `Conv2D`: out (N, channels, H', W'), larger than x.

    H' = strides * (H - 1) + dilation * (kh - 1) + 1 - 2 * padding + output_padding
    weight (in_channels, channels / groups, kh, kw). in_channels: 0 to learn it.
    """

    _axes = 2


class Conv3DTranspose(_ConvTranspose):
    """The way back through a `Conv3D`: out (N, channels, D', H', W'), larger than x.

    D' = strides * (D - 1) + dilation * (kd - 1) + 1 - 2 * padding + output_padding
    weight (in_channels, channels / groups, kd, kh, kw). in_channels: 0 to learn it.
    """

    _axes = 3
