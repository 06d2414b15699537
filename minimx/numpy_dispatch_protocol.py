"""Which of NumPy's functions answer for our arrays with `mx.np`, under MXNet's names.

The dispatch itself is in `minimx.np.calling.dispatch`, and needs no list: it takes
whatever `mx.np` has under the same name. MXNet has the lists, and its tests walk
through them. NumPy has dropped names since (`sometrue`, `product`); those are left out
here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp

_FUNCTIONS = """
    all any sometrue argmin argmax around round round_ argsort sort append
    broadcast_arrays broadcast_to clip concatenate copy cumsum diag diagonal diagflat
    dot expand_dims fix flip flipud fliplr inner insert max amax mean min amin nonzero
    ones_like atleast_1d atleast_2d atleast_3d prod product ravel repeat reshape roll
    split array_split hsplit vsplit dsplit squeeze stack std sum swapaxes take tensordot
    tile transpose unique unravel_index diag_indices_from delete var vdot vstack
    column_stack hstack dstack zeros_like linalg.norm linalg.cholesky linalg.inv
    linalg.solve linalg.tensorinv linalg.tensorsolve linalg.pinv linalg.eigvals
    linalg.eig linalg.eigvalsh linalg.eigh shape trace tril meshgrid outer einsum
    polyval shares_memory may_share_memory quantile percentile diff ediff1d resize where
    full_like bincount empty_like nan_to_num isnan isfinite isposinf isneginf isinf pad
"""
_UFUNCS = """
    abs fabs add arctan2 copysign degrees hypot lcm subtract multiply true_divide
    negative power mod matmul absolute rint sign exp log log2 log10 expm1 sqrt square
    cbrt reciprocal invert bitwise_not remainder sin cos tan sinh cosh tanh arcsin
    arccos arctan arcsinh arccosh arctanh maximum minimum ceil trunc floor bitwise_and
    bitwise_xor bitwise_or logical_not equal not_equal less less_equal greater
    greater_equal
"""


def _still_there(names: str) -> list[str]:
    def found(name: str) -> bool:
        module: Any = onp
        *modules, last = name.split(".")
        for part in modules:
            module = getattr(module, part)
        return last in dir(module)

    return [name for name in names.split() if found(name)]


_NUMPY_ARRAY_FUNCTION_LIST = _still_there(_FUNCTIONS)
_NUMPY_ARRAY_UFUNC_LIST = _still_there(_UFUNCS)


def with_array_function_protocol(func: Callable[..., Any]) -> Callable[..., Any]:
    """MXNet's guard for an old NumPy without `__array_function__`; ours always has it.

    Examples
    --------
    >>> from minimx.numpy_dispatch_protocol import with_array_function_protocol
    >>> with_array_function_protocol(len)([1, 2])
    2
    """
    return func


def with_array_ufunc_protocol(func: Callable[..., Any]) -> Callable[..., Any]:
    """MXNet's guard for an old NumPy without `__array_ufunc__`; ours always has it."""
    return func
