"""`gluon.nn`: the layers."""

from minimx.aliases import resolve_missing as _resolve_missing
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

_resolve_missing(__name__, __all__)
