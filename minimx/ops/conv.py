"""Data sheets of convolution: the operator and its two gradients.

A convolution is linear in the data and in the weight. So are its gradients, and the
gradients of those are convolutions and gradients of convolutions again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.errors import OperatorError, ShapeError
from minimx.kernels import find
from minimx.kernels.convolution import (
    DATA,
    FORWARD,
    WEIGHT,
    Algorithm,
    Geometry,
    choose,
)
from minimx.kernels.half import computing, in_single
from minimx.ops.checks import same_reals
from minimx.ops.registry import Kernel, Op, Site, Value, bind, register
from minimx.ops.spec import Cost, Spec
from minimx.shapes import Shape, window


@register("Convolution")
class Convolution(Op):
    """Slide `num_filter` windows over an image; take a dot product at every stop.

    data (N, C, H, W), weight (num_filter, C / num_group, *kernel), bias (num_filter,)
    out (N, num_filter, H', W'), with H' = window(H, kernel, stride, pad, dilate)
    In one dimension data is (N, C, W) and `kernel` has one number.

    workspace: the scratch memory it may use, in MiB. cudnn_tune and cudnn_off choose
    among NVIDIA's algorithms; here `minimx.kernels.convolution.choose` does.
    """

    kernel_: None = None
