"""Blocks called with symbols: what they would compute is written down as a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from minimx import symbol
from minimx.gluon.parameter.deferred import shape_is_known
from minimx.name import Prefix
from minimx.symbol import Symbol
from minimx.symbol.tracing.arrays import tracing

if TYPE_CHECKING:
    from minimx.gluon.hybrid import HybridBlock


def is_symbolic(value: Any) -> bool:
    """Whether an input of a block is a symbol, or the first in it that counts is."""
    while isinstance(value, (list, tuple)):
        value = next((item for item in value if not _is_empty(item)), None)
    return isinstance(value, Symbol)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (list, tuple)) and not value)


def _named(value: Any, known: dict[str, Any], what: str = "shape") -> Any:
    """Symbols in place of the arrays in nested inputs; `known` learns of each what."""
    if isinstance(value, (list, tuple)):
        return [_named(item, known, what) for item in value]
    name = f"data{len(known)}"
    known[name] = getattr(value, what)
    return symbol.var(name)


def _each(value: Any) -> Iterator[Symbol]:
    """The symbols in nested outputs."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _each(item)
    else:
        yield value


def settle_shapes(block: HybridBlock, *args: Any) -> None:
    """Set the open shapes of a block's parameters, and of its parts', from its inputs.

    The block is written down as a graph, and the shapes follow from operator to
    operator; nothing is computed.
    """
    inputs: dict[str, Any] = {}
    outputs = block(*_named(args, inputs))
    graph = symbol.Group(list(_each(outputs)))
    shapes, _, states = graph.infer_shape_partial(**inputs)
    names = [*graph.list_arguments(), *graph.list_auxiliary_states()]
    found = dict(zip(names, [*(shapes or ()), *(states or ())], strict=True))
    for parameter in block.collect_params().values():
        if shape_is_known(found.get(parameter.name) or None):
            parameter.shape = found[parameter.name]


def settle_types(block: HybridBlock, *args: Any) -> None:
    """Set the element types of a block's parameters from those of its inputs."""
    inputs: dict[str, Any] = {}
    outputs = block(*_named(args, inputs, "dtype"))
    graph = symbol.Group(list(_each(outputs)))
    types, _, states = graph.infer_type(**inputs)
    names = [*graph.list_arguments(), *graph.list_auxiliary_states()]
    found = dict(zip(names, [*(types or ()), *(states or ())], strict=True))
    for parameter in block.collect_params().values():
        if found.get(parameter.name) is not None:
            parameter.dtype = found[parameter.name]


def write_down(block: HybridBlock, *args: Any) -> Any:
    """The symbols of a block's outputs; nodes are named after the block."""
    params = {name: p.var() for name, p in block._reg_params.items()}
    if (tracer := tracing()) is not None:
        for parameter in block._reg_params.values():
            tracer.know(parameter)
    if block._empty_prefix:
        return block.hybrid_forward(symbol, *args, **params)
    with Prefix(block.prefix):
        return block.hybrid_forward(symbol, *args, **params)
