"""Blocks called with symbols: what they would compute is written down as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx import symbol
from minimx.name import Prefix
from minimx.symbol import Symbol

if TYPE_CHECKING:
    from minimx.gluon.block import HybridBlock


def is_symbolic(value: Any) -> bool:
    """Whether an input of a block is a symbol, or holds one."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, Symbol)


def write_down(block: HybridBlock, *args: Any) -> Any:
    """The symbols of a block's outputs; nodes are named after the block."""
    params = {name: p.var() for name, p in block._reg_params.items()}
    if block._empty_prefix:
        return block.hybrid_forward(symbol, *args, **params)
    with Prefix(block.prefix):
        return block.hybrid_forward(symbol, *args, **params)
