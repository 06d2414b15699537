"""`gluon.nn`: the layers."""

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
from minimx.gluon.block import Block, HybridBlock, SymbolBlock
from minimx.gluon.nn import activations, basic, conv, norm, pool
from minimx.gluon.nn.activations import *  # noqa: F403
from minimx.gluon.nn.basic import *  # noqa: F403
from minimx.gluon.nn.conv import *  # noqa: F403
from minimx.gluon.nn.norm import *  # noqa: F403
from minimx.gluon.nn.pool import *  # noqa: F403
from minimx.gluon.nn.shuffle import PixelShuffle1D, PixelShuffle2D, PixelShuffle3D

__all__ = [
    "Block", "HybridBlock", "PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D",
    "SymbolBlock",
]  # fmt: skip
__all__ += activations.__all__
__all__ += basic.__all__
__all__ += conv.__all__
__all__ += norm.__all__
__all__ += pool.__all__

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
