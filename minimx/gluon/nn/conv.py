"""Convolution and pooling layers: one base each, and short leaves.

Data is (N, C, *image): samples, channels, and one to three axes of space.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.errors import ArgumentError, ShapeError
from minimx.gluon.block import HybridBlock
from minimx.gluon.nn.activations import Activation
from minimx.shapes import Shape

Sizes = int | Sequence[int]
LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def _sizes(name: str, setting: str, value: Sizes, ndim: int) -> Shape:
    """One number per axis of space; a single number counts for all."""
    sizes = (value,) * ndim if isinstance(value, int) else tuple(value)
    if len(sizes) != ndim:
        raise ArgumentError(
            f"{name}: {setting}={value} must be one number, or {ndim} of them."
        )
    return sizes


def _check_layout(name: str, layout: str, ndim: int) -> None:
    if layout != LAYOUTS[ndim]:
        raise ArgumentError(
            f"{name}: layout={layout!r} is not available; data must come as "
            f"{LAYOUTS[ndim]}. Transpose it first."
        )


class _Conv(HybridBlock):
    """Slide windows over an image; weight (channels, in_channels / groups, *kernel)."""

    _op_name = "Convolution"

    def __init__(
        self,
        channels: int,
        kernel_size: Shape,
        strides: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
        layout: str,
        in_channels: int = 0,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        prefix: str | None = None,
        params: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name, ndim = type(self).__name__, len(kernel_size)
        _check_layout(name, layout, ndim)
        self._channels = channels
        self._in_channels = in_channels
        self._kwargs: dict[str, Any] = {
            "kernel": kernel_size,
            "stride": _sizes(name, "strides", strides, ndim),
            "dilate": _sizes(name, "dilation", dilation, ndim),
            "pad": _sizes(name, "padding", padding, ndim),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            **settings,
        }
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=self._weight_shape(in_channels),
                init=weight_initializer,
                allow_deferred_init=True,
            )
            self.bias: Any = None  # a Parameter, if there is one
            if use_bias:
                self.bias = self.params.get(
                    "bias",
                    shape=(channels,),
                    init=bias_initializer,
                    allow_deferred_init=True,
                )
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=activation + "_")

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
        return (self._channels, in_channels // groups, *self._kwargs["kernel"])

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        """(N, channels, *image)."""
        out = getattr(F, self._op_name)(x, weight, bias, **self._kwargs)
        return out if self.act is None else self.act(out)

    def _mapping(self) -> str:
        out, into = self.weight.shape[:2]
        return f"{into or None} -> {out}"

    def __repr__(self) -> str:
        kwargs = self._kwargs
        ndim = len(kwargs["kernel"])
        words = [
            self._mapping(),
            f"kernel_size={kwargs['kernel']}",
            f"stride={kwargs['stride']}",
        ]
        if kwargs["pad"] != (0,) * ndim:
            words.append(f"padding={kwargs['pad']}")
        if kwargs["dilate"] != (1,) * ndim:
            words.append(f"dilation={kwargs['dilate']}")
        if kwargs.get("adj", (0,) * ndim) != (0,) * ndim:
            words.append(f"output_padding={kwargs['adj']}")
        if kwargs["num_group"] != 1:
            words.append(f"groups={kwargs['num_group']}")
        if self.bias is None:
            words.append("bias=False")
        if self.act is not None:
            words.append(repr(self.act))
        return f"{type(self).__name__}({', '.join(words)})"


class Conv1D(_Conv):
    """Convolution along one axis, such as time.

    x (N, in_channels, W), out (N, channels, W'),
    weight (channels, in_channels / groups, k). in_channels: 0 to learn it.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            _sizes("Conv1D", "kernel_size", kernel_size, 1),
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            **kwargs,
        )


class Conv2D(_Conv):
    """Convolution over images.

    x (N, in_channels, H, W), out (N, channels, H', W'),
    weight (channels, in_channels / groups, kh, kw). in_channels: 0 to learn it.
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Sizes,
        strides: Sizes = (1, 1),
        padding: Sizes = (0, 0),
        dilation: Sizes = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            _sizes("Conv2D", "kernel_size", kernel_size, 2),
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            **kwargs,
        )


class _Pooling(HybridBlock):
    """Slide a window over each channel, and keep one number at every stop."""

    def __init__(
        self,
        ndim: int,
        pool_size: Sizes,
        strides: Sizes | None,
        padding: Sizes,
        layout: str,
        ceil_mode: bool,
        pool_type: str,
        *,
        global_pool: bool = False,
        count_include_pad: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        name = type(self).__name__
        _check_layout(name, layout, ndim)
        kernel = _sizes(name, "pool_size", pool_size, ndim)
        self._layout = layout
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": kernel
            if strides is None
            else _sizes(name, "strides", strides, ndim),
            "pad": _sizes(name, "padding", padding, ndim),
            "global_pool": global_pool,
            "pool_type": pool_type,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, C, *stops)."""
        return F.Pooling(x, **self._kwargs)

    def __repr__(self) -> str:
        kwargs = self._kwargs
        return (
            f"{type(self).__name__}(size={kwargs['kernel']}, "
            f"stride={kwargs['stride']}, padding={kwargs['pad']}, "
            f"ceil_mode={kwargs['pooling_convention'] == 'full'}, "
            f"global_pool={kwargs['global_pool']}, pool_type={kwargs['pool_type']}, "
            f"layout={self._layout})"
        )


class MaxPool1D(_Pooling):
    """The largest number in each window.

    strides: None for windows that touch. ceil_mode: a last window may stick out.
    """

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            1, pool_size, strides, padding, layout, ceil_mode, "max", **kwargs
        )


class MaxPool2D(_Pooling):
    """The largest number in each window.

    strides: None for windows that touch. ceil_mode: a last window may stick out.
    """

    def __init__(
        self,
        pool_size: Sizes = (2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            2, pool_size, strides, padding, layout, ceil_mode, "max", **kwargs
        )


class AvgPool1D(_Pooling):
    """The mean of each window.

    count_include_pad: let the zeros around the data count.
    """

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            1,
            pool_size,
            strides,
            padding,
            layout,
            ceil_mode,
            "avg",
            count_include_pad=count_include_pad,
            **kwargs,
        )


class AvgPool2D(_Pooling):
    """The mean of each window.

    count_include_pad: let the zeros around the data count.
    """

    def __init__(
        self,
        pool_size: Sizes = (2, 2),
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            2,
            pool_size,
            strides,
            padding,
            layout,
            ceil_mode,
            "avg",
            count_include_pad=count_include_pad,
            **kwargs,
        )


class _GlobalPooling(_Pooling):
    """One number for each channel."""

    def __init__(self, ndim: int, layout: str, pool_type: str, **kwargs: Any) -> None:
        super().__init__(
            ndim, 1, None, 0, layout, True, pool_type, global_pool=True, **kwargs
        )


class GlobalMaxPool1D(_GlobalPooling):
    """The largest number of each channel: (N, C, 1)."""

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(1, layout, "max", **kwargs)


class GlobalMaxPool2D(_GlobalPooling):
    """The largest number of each channel: (N, C, 1, 1)."""

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(2, layout, "max", **kwargs)


class GlobalAvgPool1D(_GlobalPooling):
    """The mean of each channel: (N, C, 1)."""

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(1, layout, "avg", **kwargs)


class GlobalAvgPool2D(_GlobalPooling):
    """The mean of each channel: (N, C, 1, 1)."""

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(2, layout, "avg", **kwargs)
