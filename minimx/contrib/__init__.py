"""`mx.contrib`: what MXNet tried out, under the names it has there.

`mx.contrib.nd.box_nms` is `mx.nd.contrib.box_nms`, and likewise for symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
from minimx.contrib import autograd, svrg_optimization, text
from minimx.nd import contrib as nd
from minimx.symbol import contrib as sym

# The names of the same before they were shortened.
ndarray, symbol = nd, sym

__all__ = ["autograd", "nd", "ndarray", "svrg_optimization", "sym", "symbol", "text"]

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
