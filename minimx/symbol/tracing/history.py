"""What was recorded for gradients, as a symbol: `mx.autograd.get_symbol(y)`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from minimx.core.autograd import Leaf
from minimx.core.errors import GradientError
from minimx.core.graph.values.ir import Entry, Node
from minimx.symbol.symbol import Symbol


def get_symbol(x: Any) -> Symbol:
    """The recorded computation of an array, with variables for what went into it.

    Arrays without a gradient of their own (`attach_grad`) become variables as well, a
    new one for each use. Raises GradientError if nothing was recorded, or the tape was
    walked already.
    """
    if x._entry is None:
        raise GradientError(
            "get_symbol: the array was not computed inside `with autograd.record():` "
            "from an array with attach_grad()."
        )
    count, places = itertools.count(), itertools.count()
    made: dict[Any, Node] = {}
    waiting: list[Any] = [x._entry[0]]
    while waiting:
        source = waiting[-1]
        if source in made:
            waiting.pop()
        elif isinstance(source, Leaf):
            made[source] = Node(None, (), f"var{next(count)}")
        elif open_ones := _inputs_to_make(source, made):
            waiting += open_ones
        else:
            made[source] = _written(source, made, count, next(places))
    node, slot = x._entry
    return Symbol([Entry(made[node], slot)])


def _inputs_to_make(source: Any, made: dict[Any, Node]) -> list[Any]:
    if source.inputs is None:
        raise GradientError(
            f"get_symbol: backward() already walked the tape past {source.op.name}. "
            "Call get_symbol first, or give retain_graph=True to backward()."
        )
    found = [entry[0] for entry in source.inputs if entry is not None]
    return [node for node in reversed(found) if node not in made]


def _written(
    source: Any, made: dict[Any, Node], count: Iterator[int], place: int
) -> Node:
    inputs = [
        Entry(Node(None, (), f"null{next(count)}"))
        if entry is None
        else Entry(made[entry[0]], entry[1])
        for entry in source.inputs
    ]
    return Node(source.op, inputs, f"node_{place}")
