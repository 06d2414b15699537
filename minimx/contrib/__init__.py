"""`mx.contrib`: what MXNet tried out, under the names it has there.

`mx.contrib.nd.box_nms` is `mx.nd.contrib.box_nms`, and likewise for symbols.
"""

from __future__ import annotations

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.contrib import autograd, svrg_optimization, tensorboard, text
from minimx.nd import contrib as nd
from minimx.symbol import contrib as sym

# The names of the same before they were shortened.
ndarray, symbol = nd, sym

__all__ = [
    "autograd", "nd", "ndarray", "svrg_optimization", "sym", "symbol", "tensorboard",
    "text",
]  # fmt: skip

_resolve_missing(__name__, __all__)
