"""The three kinds of blocks, under the name that MXNet gives their module."""

from minimx.gluon.hybrid import HybridBlock
from minimx.gluon.plain import Block
from minimx.gluon.symbol_block import SymbolBlock

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
