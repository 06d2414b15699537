"""The convolutions of one direction by an algorithm that is not the core's.

    forward(algorithm, at, plain)      `kernel(data, weight, bias or None, out[, work])`

plain: the core's own function of that direction, which computes slices and stacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.core.kernels.convolution import Algorithm, Geometry
from minimx.fast.cpu import conv_sliced, conv_stacked, conv_transforms
from minimx.fast.onednn import convolution as onednn

Run = Callable[..., None]


def forward(algorithm: Algorithm, at: Geometry, plain: Any) -> Run:
    """`kernel(data, weight, bias or None, out[, workspace])`."""
    return _of("forward", algorithm, at, plain)


def data_gradient(algorithm: Algorithm, at: Geometry, plain: Any) -> Run:
    """`kernel(dout, weight, ddata[, workspace])`."""
    return _of("data_gradient", algorithm, at, plain)


def weight_gradient(algorithm: Algorithm, at: Geometry, plain: Any) -> Run:
    """`kernel(dout, data, dweight, dbias or None[, workspace])`."""
    return _of("weight_gradient", algorithm, at, plain)


def _of(direction: str, algorithm: Algorithm, at: Geometry, plain: Any) -> Run:
    made: Run
    if algorithm.name == "onednn":
        made = onednn.kernel(algorithm.way)
    elif algorithm.name == "sliced":
        made = getattr(conv_sliced, direction)(algorithm, plain)
    elif algorithm.name == "im2col":
        made = getattr(conv_stacked, direction)(algorithm, at, plain)
    else:
        made = getattr(conv_transforms, direction)(algorithm, at)
    return made
