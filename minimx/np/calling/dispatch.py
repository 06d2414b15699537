"""NumPy's own functions on our arrays: `numpy.sum(x)` is `mx.np.sum(x)`.

NumPy asks an array that is handed to one of its functions whether it knows better
(`__array_function__`, `__array_ufunc__`). What `mx.np` has under the same name is
called; the rest is computed by NumPy on copies, and comes back as our arrays, without
gradients. A single number stays NumPy's.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as onp

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.dtypes import SUPPORTED
from minimx.core.errors import GradientError
from minimx.np.creation import array

_LINALG = "numpy.linalg"


def _ours(name: str, module: str) -> Any:
    namespace: Any = sys.modules["minimx.np"]
    if module.startswith(_LINALG):
        namespace = getattr(namespace, "linalg", None)
    return getattr(namespace, name, None)


def function(func: Any, args: Any, kwargs: Any) -> Any:
    """A function of NumPy, called with our arrays among its arguments."""
    found = _ours(func.__name__, func.__module__ or "")
    if found is not None:
        return found(*args, **kwargs)
    return by_numpy(func, args, kwargs)


def ufunc(func: Any, method: str, inputs: Any, kwargs: Any) -> Any:
    """An elementwise function of NumPy, called with our arrays among its arguments."""
    found = _ours(func.__name__, "")
    if method != "__call__" or found is None:
        return by_numpy(getattr(func, method), inputs, kwargs)
    out = kwargs.pop("out", None)
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if isinstance(out, onp.ndarray):
        out[...] = found(*inputs, **kwargs).asnumpy()
        return out
    if out is not None:
        kwargs["out"] = out
    return found(*inputs, **kwargs)


def by_numpy(func: Any, args: Any, kwargs: Any) -> Any:
    """Let NumPy compute on copies; arrays come back as ours, on the same device."""
    device = None

    def there(value: Any) -> Any:
        nonlocal device
        if isinstance(value, NDArray):
            if autograd.state.recording and value._entry is not None:
                name = getattr(func, "__name__", "the function")
                raise GradientError(
                    f"{name} is computed by NumPy here, and has no gradient. Call it "
                    "outside record(), or on x.detach()."
                )
            device = value.context
            return value.asnumpy()
        if isinstance(value, (list, tuple)):
            return type(value)(there(item) for item in value)
        return value

    def back(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(back(item) for item in value)
        if isinstance(value, onp.ndarray) and value.dtype in SUPPORTED:
            return array(value, dtype=value.dtype, ctx=device)
        return value

    found = func(*there(args), **{key: there(value) for key, value in kwargs.items()})
    return back(found)
