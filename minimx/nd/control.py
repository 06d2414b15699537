"""Loops and branches on arrays: `foreach`, `while_loop`, `cond`.

On arrays they are what Python's own `for`, `while` and `if` would be, so that a layer
written with them also runs as a graph, where `mx.sym.contrib` has the same three.
Gradients flow through everything that was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke, tracers
from minimx.core.arrays.nested import Form, flatten, regroup
from minimx.core.errors import ArgumentError, ShapeError
from minimx.core.ops.registry import lookup


def foreach(
    body: Callable[[Any, Any], Any], data: Any, init_states: Any, name: str = ""
) -> tuple[Any, Any]:
    """Call `out, states = body(slice, states)` for each slice along the first axis.

    data: an array, or a nested list of arrays with equally long first axes.
    init_states: an array or a nested list of them, given to the first call.
    Returns the outs of all calls, stacked along a new first axis, and the last states.

    >>> import minimx as mx
    >>> step = lambda row, total: (row * 2, total + row)
    >>> outs, total = mx.nd.contrib.foreach(step, mx.nd.ones((3, 2)), mx.nd.zeros(2))
    >>> outs.shape, total.asnumpy().tolist()
    ((3, 2), [3.0, 3.0])
    """
    arrays, form = flatten(data, NDArray, "foreach: data")
    flatten(init_states, NDArray, "foreach: init_states")
    if (tracer := _tracer([data, init_states])) is not None:
        return tracer.control("foreach", body, data, init_states)  # type: ignore[no-any-return]
    lengths = {x.shape[0] if x.ndim else 0 for x in arrays}
    if len(lengths) != 1 or lengths == {0}:
        raise ShapeError(
            f"foreach: data has the shapes {[x.shape for x in arrays]}; their first "
            "axes must be equally long, and have one slice at least."
        )
    states = init_states
    rows: list[list[Any]] = []
    made: Form = None
    for i in range(lengths.pop()):
        out, states = _pair(
            "foreach", body(regroup([x[i] for x in arrays], form), states)
        )
        flat, made = flatten(out, NDArray, "foreach: the output of body")
        flatten(states, NDArray, "foreach: the states from body")
        _same_number("foreach", rows, flat)
        rows.append(flat)
    stacked = [_stack("foreach", column) for column in zip(*rows, strict=True)]
    return regroup(stacked, made), states


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "",
) -> tuple[Any, Any]:
    """Call `out, loop_vars = func(*loop_vars)` while `cond(*loop_vars)` is true.

    loop_vars: an array or a (nested) list of them. max_iterations: it ends then anyway.
    Returns the outs of all calls, stacked along a new first axis that is
    `max_iterations` long (zeros follow the last call), and the last loop_vars. If func
    was never called, the outs are an empty list.

    >>> import minimx as mx
    >>> less = lambda i: i < 3
    >>> step = lambda i: (i * i, i + 1)
    >>> outs, last = mx.nd.contrib.while_loop(less, step, mx.nd.zeros(1), 4)
    >>> outs.asnumpy().ravel().tolist(), last.asscalar().item()
    ([0.0, 1.0, 4.0, 0.0], 3.0)
    """
    most = _most(max_iterations)
    single = isinstance(loop_vars, NDArray)
    current = [loop_vars] if single else list(loop_vars)
    if not current:
        raise ArgumentError("while_loop: loop_vars is empty; give one array at least.")
    flatten(current, NDArray, "while_loop: loop_vars")
    if (tracer := _tracer(current)) is not None:
        return tracer.control("while_loop", cond, func, loop_vars, most)  # type: ignore[no-any-return]
    rows: list[list[Any]] = []
    made: Form = []
    while len(rows) < most and truth("while_loop: what cond returned", cond(*current)):
        out, after = _pair("while_loop", func(*current))
        flat, made = flatten([] if out is None else out, NDArray, "while_loop: output")
        after = [after] if isinstance(after, NDArray) else list(after or ())
        if len(after) != len(current):
            raise ArgumentError(
                f"while_loop: func was given {len(current)} loop_vars and returned "
                f"{len(after)}; their number must stay."
            )
        _same_number("while_loop", rows, flat)
        rows.append(flat)
        current = after
    columns = zip(*rows, strict=True)
    stacked = [padded(_stack("while_loop", column), most) for column in columns]
    return regroup(stacked, made), current[0] if single else current


def cond(
    pred: Any,
    then_func: Callable[[], Any],
    else_func: Callable[[], Any],
    name: str = "",
) -> Any:
    """What `then_func()` returns if `pred` is true, else what `else_func()` returns.

    pred: an array of one element, or a number. Waits for it.

    >>> import minimx as mx
    >>> x = mx.nd.array([3.0])
    >>> mx.nd.contrib.cond(x > 2, lambda: x * 2, lambda: x).asscalar().item()
    6.0
    """
    if (tracer := _tracer(pred)) is not None:
        return tracer.control("cond", pred, then_func, else_func)
    return then_func() if truth("cond: pred", pred) else else_func()


def _tracer(values: Any) -> Any:
    """The tracer that records these arrays instead of computing; None without one."""
    tracer = tracers.get(get_ident()) if tracers else None
    return tracer if tracer is not None and tracer.writes(values) else None


def _pair(who: str, returned: Any) -> tuple[Any, Any]:
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        raise ArgumentError(
            f"{who}: the function returned a {type(returned).__name__}; it must return "
            "two things: (output, states). Write [] for an output that is not needed."
        )
    return returned[0], returned[1]


def _same_number(who: str, rows: list[list[Any]], flat: Sequence[Any]) -> None:
    if rows and len(flat) != len(rows[0]):
        raise ArgumentError(
            f"{who}: step {len(rows)} gave {len(flat)} outputs, the first gave "
            f"{len(rows[0])}; their number must stay."
        )


def _stack(who: str, steps: Sequence[NDArray]) -> NDArray:
    if len({(x.shape, x.dtype) for x in steps}) != 1:
        specs = ", ".join(f"{i}: {x.spec}" for i, x in enumerate(steps[:5]))
        raise ShapeError(
            f"{who}: an output must have one shape and type in all steps, to be "
            f"stacked. It has, by step, {specs}."
        )
    found: NDArray = invoke(lookup("stack").of(axis=0), list(steps))
    return found


def padded(stacked: NDArray, most: int) -> NDArray:
    """An array with zeros below, so that its first axis is `most` long."""
    missing = most - stacked.shape[0]
    if not missing:
        return stacked
    spec = stacked.spec.with_shape((missing, *stacked.shape[1:]))
    zeros = stacked._zeros_like_spec(spec)
    found: NDArray = invoke(lookup("Concat").of(dim=0), [stacked, zeros])
    return found


def _most(max_iterations: Any) -> int:
    if max_iterations is None:
        raise ArgumentError(
            "while_loop: give max_iterations; the first axis of the outputs is so long."
        )
    try:
        return int(max_iterations)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"while_loop: max_iterations={max_iterations!r} is not a whole number."
        ) from None


def truth(what: str, value: Any) -> bool:
    """Whether an array of one element, or a number, is true; waits for it."""
    if isinstance(value, NDArray):
        if value.size != 1:
            raise ArgumentError(
                f"{what} has the shape {value.shape}; it must be one number, true or "
                "false. Reduce it first, for example with .prod()."
            )
        return bool(value.asscalar())
    return bool(value)
