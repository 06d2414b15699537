"""Pooling layers: a base, and short leaves; and padding by reflection.

Data is (N, C, *image): samples, channels, and one to three axes of space. Along each of
them (L + 2 * padding - pool_size) / strides + 1 numbers come out of L, rounded down, or
up with ceil_mode. Settings are a number, or one for each axis; ArgumentError otherwise.
"""

from __future__ import annotations

from typing import Any

from minimx.gluon.block import HybridBlock
from minimx.gluon.nn.conv import Sizes, check_layout, sizes

__all__ = [
    "AvgPool1D", "AvgPool2D", "AvgPool3D", "GlobalAvgPool1D", "GlobalAvgPool2D",
    "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D",
    "MaxPool1D", "MaxPool2D", "MaxPool3D", "ReflectionPad2D",
]  # fmt: skip


class _Pooling(HybridBlock):
    """Slide a window over each channel, and keep one number at every stop."""

    _axes = 2
    _type = "max"

    def __init__(
        self,
        pool_size: Sizes,
        strides: Sizes | None,
        padding: Sizes,
        layout: str | None,
        ceil_mode: bool,
        *,
        global_pool: bool = False,
        count_include_pad: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        name, axes = type(self).__name__, self._axes
        kernel = sizes(name, "pool_size", pool_size, axes)
        steps = kernel if strides is None else sizes(name, "strides", strides, axes)
        self._layout = check_layout(name, layout, axes)
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": steps,
            "pad": sizes(name, "padding", padding, axes),
            "global_pool": global_pool,
            "pool_type": self._type,
            "layout": self._layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, C, *stops)."""
        return F.Pooling(x, **self._kwargs, name="fwd")

    def __repr__(self) -> str:
        kwargs = self._kwargs
        return (
            f"{type(self).__name__}(size={kwargs['kernel']}, "
            f"stride={kwargs['stride']}, padding={kwargs['pad']}, "
            f"ceil_mode={kwargs['pooling_convention'] == 'full'}, "
            f"global_pool={kwargs['global_pool']}, pool_type={kwargs['pool_type']}, "
            f"layout={self._layout})"
        )


class _MaxPool(_Pooling):
    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str | None = None,
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class MaxPool1D(_MaxPool):
    """The largest number in each window of a line.

    strides: None for windows that touch. ceil_mode: a last window may stick out.
    layout: NCW, or NWC with channels last.
    """

    _axes = 1


class MaxPool2D(_MaxPool):
    """The largest number in each window of an image.

    strides: None for windows that touch. ceil_mode: a last window may stick out.
    layout: NCHW, or NHWC with channels last.
    """

    _axes = 2


class MaxPool3D(_Pooling):
    """The largest number in each window of a volume.

    strides: None for windows that touch. ceil_mode: a last window may stick out.
    layout: NCDHW, or NDHWC with channels last.
    """

    _axes = 3

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class AvgPool1D(_Pooling):
    """The mean of each window of a line.

    strides, ceil_mode, layout: as in `MaxPool1D`. count_include_pad: divide by the size
    of the window, with the zeros of the padding, rather than by what lies in the data.
    """

    _axes = 1
    _type = "avg"

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        layout: str | None = None,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs["count_include_pad"] = count_include_pad
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class _AvgPool(_Pooling):
    _type = "avg"

    def __init__(
        self,
        pool_size: Sizes = 2,
        strides: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        layout: str | None = None,
        count_include_pad: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs["count_include_pad"] = count_include_pad
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class AvgPool2D(_AvgPool):
    """The mean of each window of an image.

    strides, ceil_mode, layout: as in `MaxPool2D`; count_include_pad: as in `AvgPool1D`.
    """

    _axes = 2


class AvgPool3D(_AvgPool):
    """The mean of each window of a volume.

    strides, ceil_mode, layout: as in `MaxPool3D`; count_include_pad: as in `AvgPool1D`.
    """

    _axes = 3


class _GlobalPooling(_Pooling):
    """One number for each channel."""

    def __init__(self, layout: str | None = None, **kwargs: Any) -> None:
        super().__init__(1, None, 0, layout, True, global_pool=True, **kwargs)


class GlobalMaxPool1D(_GlobalPooling):
    """The largest number of each channel: (N, C, 1)."""

    _axes = 1


class GlobalMaxPool2D(_GlobalPooling):
    """The largest number of each channel: (N, C, 1, 1)."""

    _axes = 2


class GlobalMaxPool3D(_GlobalPooling):
    """The largest number of each channel: (N, C, 1, 1, 1)."""

    _axes = 3


class GlobalAvgPool1D(_GlobalPooling):
    """The mean of each channel: (N, C, 1)."""

    _axes, _type = 1, "avg"


class GlobalAvgPool2D(_GlobalPooling):
    """The mean of each channel: (N, C, 1, 1)."""

    _axes, _type = 2, "avg"


class GlobalAvgPool3D(_GlobalPooling):
    """The mean of each channel: (N, C, 1, 1, 1)."""

    _axes, _type = 3, "avg"


class ReflectionPad2D(HybridBlock):
    """Frame an image with what it shows in a mirror at its edge.

    x (N, C, H, W), out (N, C, H + 2 * padding, W + 2 * padding)
    padding: a number, or eight: before and after each of the four axes.
    """

    def __init__(self, padding: Sizes = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(padding, int):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        self._padding = sizes("ReflectionPad2D", "padding", padding, 8)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, C, H', W')."""
        return F.pad(x, mode="reflect", pad_width=self._padding)
