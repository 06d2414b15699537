"""Gradients from small steps, and whether `backward` agrees with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minimx import symbol
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import array
from minimx.core.device import Device
from minimx.executor import Executor
from minimx.symbol import Symbol
from minimx.test_utils.compare import as_numpy
from minimx.test_utils.defaults import default_context, default_dtype
from minimx.test_utils.sparse import create_sparse_array
from minimx.test_utils.symbolic import Arrays, _compare, locations, states
from minimx.test_utils.tolerance import Tolerance, default_numeric_eps, get_tolerance

_PROJECTION = "__random_proj"


def numeric_grad(
    executor: Executor,
    location: dict[str, Any],
    aux_states: Mapping[str, Any] | None = None,
    eps: float = 1e-4,
    use_forward_train: bool = True,
    dtype: Any = None,
) -> dict[str, Any]:
    """The slope of the sum of the first output, along every number of every argument.

    location: NumPy arrays by name. eps: how far apart two measurements are.
    Arguments that are not of floating point have a gradient of zeros.
    """
    kind = np.dtype(dtype or default_dtype())
    arguments = executor.arg_dict
    found = {name: np.zeros(np.shape(value), kind) for name, value in location.items()}
    for name, value in location.items():
        if arguments[name].stype == "default":
            arguments[name][:] = array(value, dtype=kind)
    for name, value in location.items():
        numbers = np.array(value, order="C")
        if numbers.dtype.kind != "f":
            continue
        flat, slopes = numbers.reshape(-1), found[name].reshape(-1)
        for i in range(flat.size):
            middle = flat[i]
            sums = []
            for side in (eps / 2, -eps / 2):
                flat[i] = middle + side
                _put(arguments[name], numbers, kind)
                _reset(executor, aux_states, kind)
                out = executor.forward(is_train=use_forward_train)[0]
                sums.append(out.asnumpy())
            slopes[i] = (sums[0] - sums[1]).sum() / eps
            flat[i] = middle
        _put(arguments[name], numbers, kind)
    return found


def _put(target: NDArray, numbers: Any, dtype: Any) -> None:
    """Write NumPy numbers into an array of any storage type."""
    dense = array(numbers, dtype=dtype)
    target[:] = dense if target.stype == "default" else dense.tostype(target.stype)


def _reset(executor: Executor, aux: Mapping[str, Any] | None, dtype: Any) -> None:
    for name, value in (aux or {}).items():
        _put(executor.aux_dict[name], value, dtype)


def check_numeric_gradient(
    sym: Symbol,
    location: Arrays,
    aux_states: Arrays | None = None,
    numeric_eps: Tolerance = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    grad_nodes: Any = None,
    use_forward_train: bool = True,
    ctx: Device | None = None,
    grad_stype_dict: Mapping[str, str] | None = None,
    dtype: Any = None,
) -> None:
    """Compare the gradients of a symbol of one output with slopes from small steps.

    The output is weighed with random numbers first, so that errors cannot cancel.
    grad_nodes: names of arguments to look at, or {name: grad_req}; all by default.
    grad_stype_dict: storage types of gradients by name.
    """
    ctx, dtype = ctx or default_context(), dtype or default_dtype()
    arguments = locations(sym, location, ctx, dtype)
    numbers = {name: value.asnumpy() for name, value in arguments.items()}
    aux = states(sym, aux_states, ctx, dtype)
    aux_numbers = None if aux is None else {n: v.asnumpy() for n, v in aux.items()}
    reqs = _requested(sym, grad_nodes)
    shapes = {name: value.shape for name, value in arguments.items()}
    out_shapes = sym.infer_shape(**shapes)[1]
    assert out_shapes is not None
    out_shape = out_shapes[0]
    # Not too small, or the slopes along them would drown in rounding.
    weights = np.random.rand(*out_shape) + 0.1
    arguments[_PROJECTION] = array(weights, ctx=ctx, dtype=dtype)
    noise = {
        name: np.random.normal(0, 0.01, arguments[name].shape)
        for name in (*reqs, _PROJECTION)
    }
    grads = {n: array(value, ctx=ctx, dtype=dtype) for n, value in noise.items()}
    for name, stype in (grad_stype_dict or {}).items():
        if name in grads and stype != "default":
            grads[name] = create_sparse_array(grads[name].shape, stype, density=0.0)
    executor = _weighed(sym).bind(ctx, arguments, grads, reqs, aux)
    out = executor.forward(is_train=True)[0]
    eps = get_tolerance(out, numeric_eps, default_numeric_eps())
    executor.backward()
    slopes = numeric_grad(executor, numbers, aux_numbers, eps, use_forward_train, dtype)
    for name, req in reqs.items():
        labels = (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        found, began = executor.grad_dict[name], noise[name].astype(dtype)
        assert found is not None
        _compare(req, slopes[name], found, as_numpy(began), rtol, atol, labels, False)


def _requested(sym: Symbol, grad_nodes: Any) -> dict[str, str]:
    if grad_nodes is None:
        grad_nodes = sym.list_arguments()
    if isinstance(grad_nodes, Mapping):
        return dict(grad_nodes)
    return dict.fromkeys(grad_nodes, "write")


def _weighed(sym: Symbol) -> Symbol:
    """A loss: the output times random numbers."""
    whole: Any = symbol
    weights = whole.Variable(_PROJECTION)
    if hasattr(sym, "as_nd_ndarray"):
        sym = sym.as_nd_ndarray()
    found: Symbol = whole.make_loss(sym * weights)
    return found
