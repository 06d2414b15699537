"""Loops and branches over arrays that are written down: nodes with graphs inside.

The functions of the user get traced arrays and return some; `symbol/control.py`, which
makes the nodes, wants functions of symbols. Here the ones are wrapped as the others.
Arrays with numbers, such as a state that begins with zeros, become variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from minimx.core import np_semantics
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.nested import flatten
from minimx.core.ops.spec import Spec
from minimx.np.multiarray import ndarray
from minimx.symbol import control
from minimx.symbol.symbol import Symbol

if TYPE_CHECKING:
    from minimx.symbol.tracing.arrays import Tracer


class _World:
    """The way from arrays to symbols and back, of one kind."""

    def __init__(self, tracer: Tracer, values: Any) -> None:
        self.tracer = tracer
        every = flatten(values, NDArray, "a loop or branch")[0]
        self.numpy = any(isinstance(x, ndarray) for x in every)

    def lowered(self, values: Any) -> Any:
        """Symbols in the place of arrays in nested lists."""
        if isinstance(values, (list, tuple)):
            return [self.lowered(value) for value in values]
        if isinstance(values, NDArray):
            return Symbol([self.tracer.entry_of(values)])
        return values

    def lifted(self, values: Any, specs: Iterator[Spec] | None = None) -> Any:
        """Arrays in the place of symbols; specs: those of new variables, in order."""
        if isinstance(values, (list, tuple)):
            return [self.lifted(value, specs) for value in values]
        entry = values.outputs[0]
        if specs is not None:
            self.tracer.specs[entry] = next(specs)
        return self.tracer.array(entry, self.numpy)

    def function(
        self, function: Callable[..., Any], specs: list[Spec]
    ) -> Callable[..., Any]:
        """A function of arrays as one of symbols; specs: of its arrays, in order."""

        def of_symbols(*args: Any) -> Any:
            known = iter(specs)
            return self.lowered(function(*[self.lifted(arg, known) for arg in args]))

        return of_symbols


def _specs(values: Any) -> list[Spec]:
    """The specs of arrays in nested lists, as of arrays with numbers."""
    every = flatten(values, NDArray, "a loop")[0]
    return [Spec.of(x.shape, x.spec.dtype) for x in every]


def foreach(tracer: Tracer, body: Any, data: Any, states: Any) -> Any:
    """See `mx.nd.contrib.foreach`."""
    world = _World(tracer, [data, states])
    np_shape = world.numpy or np_semantics.is_np_shape()
    least = () if np_shape else (1,)
    slices = [spec.with_shape(spec.shape[1:] or least) for spec in _specs(data)]
    inner = world.function(body, slices + _specs(states))
    rows, first = world.lowered(data), world.lowered(states)
    found = control.looped(inner, rows, first, "foreach", np_shape)
    return tuple(world.lifted(found))


def while_loop(tracer: Tracer, cond: Any, func: Any, loop_vars: Any, most: Any) -> Any:
    """See `mx.nd.contrib.while_loop`."""
    world, specs = _World(tracer, loop_vars), _specs(loop_vars)
    test, step = world.function(cond, specs), world.function(func, specs)
    found = control.while_loop(test, step, world.lowered(loop_vars), most)
    return tuple(world.lifted(found))


def cond(tracer: Tracer, pred: Any, then_func: Any, else_func: Any) -> Any:
    """See `mx.nd.contrib.cond`."""
    world = _World(tracer, pred)
    first, second = world.function(then_func, []), world.function(else_func, [])
    return world.lifted(control.cond(world.lowered(pred), first, second))
