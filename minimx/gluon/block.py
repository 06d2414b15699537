"""The three kinds of blocks, under the name that MXNet gives their module."""

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
from minimx.gluon.hybrid import HybridBlock
from minimx.gluon.plain import Block
from minimx.gluon.symbol_block import SymbolBlock

__all__ = ["Block", "HybridBlock", "SymbolBlock"]

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
