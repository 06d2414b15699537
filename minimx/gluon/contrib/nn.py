"""`gluon.contrib.nn`: layers side by side, and layers that have moved to `gluon.nn`."""

from __future__ import annotations

from minimx.gluon.nn.basic import Concatenate, HybridConcatenate, Identity
from minimx.gluon.nn.norm import SyncBatchNorm
from minimx.gluon.nn.shuffle import PixelShuffle1D, PixelShuffle2D, PixelShuffle3D


class Concurrent(Concatenate):
    """Hand the input to every block, and join what comes out along an axis."""


class HybridConcurrent(HybridConcatenate):
    """`Concurrent` of hybrid blocks."""


__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SyncBatchNorm",
]
