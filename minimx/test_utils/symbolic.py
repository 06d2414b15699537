"""Checking symbols against expected numbers, forward and backward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import array
from minimx.core.device import Device
from minimx.core.errors import ArgumentError
from minimx.symbol import Symbol
from minimx.test_utils.compare import as_numpy, assert_almost_equal
from minimx.test_utils.defaults import default_context, default_dtype
from minimx.test_utils.sparse import create_sparse_array
from minimx.test_utils.tolerance import Tolerance

#: Arrays by name, or in the order of the symbol's arguments.
Arrays = Sequence[Any] | Mapping[str, Any]
#: A NumPy type; or "asnumpy", for that of each array.
DType = Any


def simple_forward(
    sym: Symbol, ctx: Device | None = None, is_train: bool = False, **inputs: Any
) -> Any:
    """Run a symbol on arrays, given by name as NumPy arrays or lists.

    ctx: the device; `default_context()` if not given. Returns a NumPy array, or a list
    of them where the symbol has several outputs.
    """
    arrays = {name: array(value) for name, value in inputs.items()}
    executor = sym.bind(ctx or default_context(), args=arrays)
    outs = [out.asnumpy() for out in executor.forward(is_train)]
    return outs[0] if len(outs) == 1 else outs


def by_name(what: str, names: Sequence[str], given: Arrays) -> dict[str, Any]:
    """Arrays by name; those given in order get the names in order.

    what: what they are, for the error. Raises ValueError for names that do not fit.
    """
    if not isinstance(given, Mapping):
        return dict(zip(names, given, strict=False))
    if set(given) != set(names):
        raise ValueError(
            f"the symbol has the {what} {', '.join(names)}; {', '.join(given)} "
            "were given."
        )
    return dict(given)


def on_device(value: Any, ctx: Device, dtype: DType) -> NDArray:
    """A NumPy array as one of ours; what is one of ours already stays as it is."""
    if isinstance(value, NDArray):
        return value
    numbers = np.asarray(value)
    kind = numbers.dtype if isinstance(dtype, str) else dtype
    found: NDArray = array(numbers, ctx=ctx, dtype=kind)
    return found


def locations(sym: Symbol, given: Arrays, ctx: Device, dtype: DType) -> dict[str, Any]:
    """The symbol's arguments, sorted by name."""
    named = by_name("arguments", sym.list_arguments(), given)
    return {name: on_device(named[name], ctx, dtype) for name in sorted(named)}


def states(
    sym: Symbol, given: Arrays | None, ctx: Device, dtype: DType
) -> dict[str, Any] | None:
    """The symbol's auxiliary states."""
    if given is None:
        return None
    named = by_name("auxiliary states", sym.list_auxiliary_states(), given)
    return {name: on_device(value, ctx, dtype) for name, value in named.items()}


def check_symbolic_forward(
    sym: Symbol,
    location: Arrays,
    expected: Arrays,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Arrays | None = None,
    ctx: Device | None = None,
    equal_nan: bool = False,
    dtype: DType = None,
) -> list[NDArray]:
    """Run a symbol and compare its outputs; returns them.

    location: the arguments, by name or in order. expected: the outputs, likewise.
    dtype: what NumPy arrays are converted to, float32; "asnumpy" leaves them alone.
    """
    ctx, dtype = ctx or default_context(), dtype or default_dtype()
    arguments = locations(sym, location, ctx, dtype)
    names = sym.list_outputs()
    wanted = by_name("outputs", names, expected)
    grads = {name: _zeros_like(value) for name, value in arguments.items()}
    executor = sym.bind(
        ctx, arguments, grads, aux_states=states(sym, aux_states, ctx, dtype)
    )
    outs = executor.forward(is_train=False)
    for name, out in zip(names, outs, strict=True):
        if name in wanted:
            labels = (f"EXPECTED_{name}", f"FORWARD_{name}")
            assert_almost_equal(wanted[name], out, rtol, atol, labels, equal_nan)
    return outs


def _zeros_like(value: NDArray) -> NDArray:
    found: NDArray = array(np.zeros(value.shape), ctx=value.context, dtype=value.dtype)
    return found


def check_symbolic_backward(
    sym: Symbol,
    location: Arrays,
    out_grads: Arrays | None,
    expected: Arrays,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    aux_states: Arrays | None = None,
    grad_req: Any = "write",
    ctx: Device | None = None,
    grad_stypes: Mapping[str, str] | None = None,
    equal_nan: bool = False,
    dtype: DType = None,
) -> dict[str, NDArray]:
    """Run a symbol forward and backward and compare its gradients; returns them.

    out_grads: the gradients of the outputs, by name or in order; None for ones.
    expected: the gradients of the arguments, likewise; those not named are not looked
    at. grad_stypes: storage types of gradients by name.
    """
    ctx, dtype = ctx or default_context(), dtype or default_dtype()
    arguments = locations(sym, location, ctx, dtype)
    names = sym.list_arguments()
    if isinstance(expected, Mapping):
        wanted = dict(expected)
    else:
        wanted = dict(zip(names, expected, strict=False))
    # Gradients begin as noise, so that one that is not written is seen.
    noise = {n: np.random.normal(size=np.shape(wanted[n])) for n in sorted(wanted)}
    grads = {}
    for name, numbers in noise.items():
        kind = as_numpy(wanted[name]).dtype if isinstance(dtype, str) else dtype
        grads[name] = array(numbers, ctx=ctx, dtype=kind)
        stype = (grad_stypes or {}).get(name) or "default"
        if stype != "default":
            grads[name] = create_sparse_array(numbers.shape, stype, density=0.0)
    reqs = _requests(grad_req, names)
    executor = sym.bind(
        ctx, arguments, grads, reqs, states(sym, aux_states, ctx, dtype)
    )
    executor.forward(is_train=True)
    executor.backward(_heads(out_grads, ctx, dtype))
    for name, value in wanted.items():
        labels = (f"EXPECTED_{name}", f"BACKWARD_{name}")
        began, req = noise[name], reqs[name]
        _compare(req, value, grads[name], began, rtol, atol, labels, equal_nan)
    return grads


def _heads(given: Arrays | None, ctx: Device, dtype: DType) -> Any:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {name: on_device(g, ctx, dtype) for name, g in given.items()}
    return [on_device(g, ctx, dtype) for g in given]


def _requests(grad_req: Any, names: Sequence[str]) -> dict[str, str]:
    if isinstance(grad_req, str):
        return dict.fromkeys(names, grad_req)
    if isinstance(grad_req, Mapping):
        return dict(grad_req)
    return dict(zip(names, grad_req, strict=True))


def _compare(
    req: str,
    wanted: Any,
    found: NDArray,
    began: Any,
    rtol: Tolerance,
    atol: Tolerance,
    labels: tuple[str, str],
    equal_nan: bool,
) -> None:
    """Compare a gradient as its request says; `began` is what stood there before."""
    if req == "write":
        assert_almost_equal(wanted, found, rtol, atol, labels, equal_nan)
    elif req == "add":
        added = (found.asnumpy() - began).astype(found.dtype)
        assert_almost_equal(wanted, added, rtol, atol, labels, equal_nan)
    elif req == "null":
        untouched = began.astype(found.dtype)
        assert_almost_equal(untouched, found, rtol, atol, labels, equal_nan)
    else:
        raise ArgumentError(f"grad_req={req!r}: choose write, add or null.")
