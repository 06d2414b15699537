"""`gluon.contrib.cnn`: convolutions whose windows bend.

A layer of its own tells, from the data, where each tap of each window looks.
"""

from __future__ import annotations

from typing import Any

from minimx.gluon.block import HybridBlock
from minimx.gluon.nn.conv import Sizes, check_layout, represented, sizes
from minimx.gluon.nn.weights import activation_after, weight_and_bias


class DeformableConvolution(HybridBlock):
    """A convolution that learns how far each tap is moved (Dai and others, 2017).

    x (N, in_channels, H, W), out (N, channels, H', W')
    offset_weight, offset_bias: of the convolution that gives the offsets;
    deformable_conv_weight, deformable_conv_bias: of the one that is bent by them.
    num_deformable_group: groups of channels with offsets of their own.
    """

    _op_name = "DeformableConvolution"
    #: Numbers for each tap: how far down, how far right.
    _each = 2

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes = (1, 1),
        strides: Sizes = (1, 1),
        padding: Sizes = (0, 0),
        dilation: Sizes = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        offset_weight_initializer: Any = "zeros",
        offset_bias_initializer: Any = "zeros",
        offset_use_bias: bool = True,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name = type(self).__name__
        check_layout(name, layout, 2)
        kernel = sizes(name, "kernel_size", kernel_size, 2)
        window: dict[str, Any] = {
            "kernel": kernel,
            "stride": sizes(name, "strides", strides, 2),
            "dilate": sizes(name, "dilation", dilation, 2),
            "pad": sizes(name, "padding", padding, 2),
            "num_group": groups,
        }
        taps = num_deformable_group * kernel[0] * kernel[1]
        self._split = 2 * taps
        filters = self._each * taps
        self._offset = {**window, "num_filter": filters, "no_bias": not offset_use_bias}
        self._bent = {**window, "num_filter": channels, "no_bias": not use_bias}
        self._bent["num_deformable_group"] = num_deformable_group
        inner = in_channels // groups
        with self.name_scope():
            self.offset_weight, self.offset_bias = weight_and_bias(
                self, (filters, inner, *kernel), filters,
                (offset_weight_initializer, offset_bias_initializer), offset_use_bias,
                "offset_",
            )  # fmt: skip
            self.deformable_conv_weight, self.deformable_conv_bias = weight_and_bias(
                self, (channels, inner, *kernel), channels,
                (weight_initializer, bias_initializer), use_bias, "deformable_conv_",
            )  # fmt: skip
            self.act = activation_after(activation)

    def _alias(self) -> str:
        return "deformable_conv"

    def hybrid_forward(
        self,
        F: Any,
        x: Any,
        offset_weight: Any,
        deformable_conv_weight: Any,
        offset_bias: Any = None,
        deformable_conv_bias: Any = None,
    ) -> Any:
        """(N, channels, H', W')."""
        offset = F.Convolution(x, offset_weight, offset_bias, **self._offset)
        bent = getattr(F.contrib, self._op_name)
        parameters = deformable_conv_weight, deformable_conv_bias
        out = bent(x, *self._places(F, offset), *parameters, **self._bent)
        return out if self.act is None else self.act(out)

    def _places(self, F: Any, offset: Any) -> tuple[Any, ...]:
        """What the operator takes between the data and the weight."""
        return (offset,)

    def __repr__(self) -> str:
        out, into = self.deformable_conv_weight.shape[:2]
        mapping, bias = f"{into or None} -> {out}", self.deformable_conv_bias
        return represented(self, mapping, self._bent, bias, self.act)


class ModulatedDeformableConvolution(DeformableConvolution):
    """A `DeformableConvolution` that also learns how much each tap counts (2018)."""

    _op_name = "ModulatedDeformableConvolution"
    _each = 3

    def _alias(self) -> str:
        return "modulated_deformable_conv"

    def _places(self, F: Any, offset: Any) -> tuple[Any, ...]:
        where = F.slice_axis(offset, axis=1, begin=0, end=self._split)
        mask = F.slice_axis(offset, axis=1, begin=self._split, end=None)
        return where, F.sigmoid(mask) * 2


__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]
