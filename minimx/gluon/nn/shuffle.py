"""Layers that make images larger by laying out channels as pixels."""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.gluon.block import HybridBlock
from minimx.gluon.nn.conv import Sizes, sizes


class _PixelShuffle(HybridBlock):
    """Lay out groups of channels as blocks of pixels.

    factor: how many pixels a block has along each axis, a number or one for each.
    """

    _axes = 2

    def __init__(self, factor: Sizes, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._factors = sizes(type(self).__name__, "factor", factor, self._axes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(N, C, f1 * d1, f2 * d2, …) of x (N, C * f1 * f2 * …, d1, d2, …)."""
        # One axis at a time: its factor is the first of those left in the channels.
        for place, factor in enumerate(self._factors):
            last = self._axes - 1 - place
            kept = (0,) * self._axes
            rest = prod(self._factors[place + 1 :])
            x = F.reshape(x, (0, -4, -1, factor * rest, *kept))
            x = F.reshape(x, (0, 0, -4, factor, rest, *kept))
            # (N, C, f, rest, d1 … dn): f moves behind its axis, rest joins C again
            axes = list(range(4 + self._axes))
            axes.insert(4 + place, axes.pop(2))
            x = F.transpose(x, axes=tuple(axes))
            x = F.reshape(x, (0, -3, *(0,) * place, -3, *(0,) * last))
        return x

    def __repr__(self) -> str:
        one = self._axes == 1
        return f"{type(self).__name__}({self._factors[0] if one else self._factors})"


class PixelShuffle1D(_PixelShuffle):
    """Lay out channels along a line: x (N, C * f, W), out (N, C, W * f)."""

    _axes = 1


class PixelShuffle2D(_PixelShuffle):
    """Lay out channels as pixels: x (N, C * f1 * f2, H, W), out (N, C, H * f1, W * f2).

    factor: f1 and f2, or one number for both.
    """

    _axes = 2


class PixelShuffle3D(_PixelShuffle):
    """Lay out channels as voxels of a volume.

    x (N, C * f1 * f2 * f3, D, H, W), out (N, C, D * f1, H * f2, W * f3)
    factor: f1, f2 and f3, or one number for all.
    """

    _axes = 3
