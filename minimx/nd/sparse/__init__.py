"""`mx.nd.sparse`: arrays that store only a part of their elements.

    x = mx.nd.sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 2, 2, 3]), shape=(4, 3))
    mx.nd.dot(x, w)                              # reads what is stored, and no more
    w.attach_grad(stype="row_sparse")            # gradients in some rows only

Reading order: `chunk.py` (the memory), `array.py`, `creation.py`, `route.py` (which
kernel a call takes); the kernels' rules are in `minimx.operators.sparse`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx.aliases import unsupported
from minimx.core.arrays.sparse import Sparse, attach
from minimx.nd.functions import FUNCTIONS
from minimx.nd.sparse import route
from minimx.nd.sparse.array import (
    BaseSparseNDArray,
    CSRNDArray,
    RowSparseNDArray,
    attach_grad,
)
from minimx.nd.sparse.creation import array, csr_matrix, empty, row_sparse_array, zeros
from minimx.nd.sparse.operators import add, divide, multiply, subtract
from minimx.nd.sparse.route import StorageFallback

attach(Sparse(array, zeros, route.copy, attach_grad))

#: Operators that know sparse arrays.
_SPARSE = """
    ElementWiseSum Embedding FullyConnected LinearRegressionOutput
    LogisticRegressionOutput MAERegressionOutput abs adam_update add_n arccos arccosh
    arcsin arcsinh arctan arctanh broadcast_add broadcast_div broadcast_minus
    broadcast_mul broadcast_plus broadcast_sub cast_storage cbrt ceil clip concat cos
    cosh degrees dot elemwise_add elemwise_div elemwise_mul elemwise_sub exp expm1 fix
    floor ftrl_update gamma gammaln log log10 log1p log2 make_loss mean negative norm
    radians relu rint round rsqrt sgd_mom_update sgd_update sigmoid sign sin sinh slice
    sqrt square stop_gradient sum tan tanh trunc where zeros_like _contrib_round_ste
    _contrib_sign_ste _square_sum
"""
_OPERATORS = {name: name for name in _SPARSE.split()}
_OPERATORS |= {"retain": "_sparse_retain", "adagrad_update": "_sparse_adagrad_update"}

__all__ = [
    "BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray", "StorageFallback", "add",
    "array", "csr_matrix", "divide", "empty", "multiply", "row_sparse_array",
    "subtract", "zeros",
]  # fmt: skip
__all__ += [name for name in _OPERATORS if not name.startswith("_")]

if TYPE_CHECKING:  # as `python -m minimx.nd.stubs` says
    from minimx.nd.sparse.operators_stub import *  # noqa: F403


def __getattr__(name: str) -> Any:
    found = FUNCTIONS.get(_OPERATORS.get(name, ""))
    if found is None:
        raise unsupported("mx.nd.sparse", name, __all__)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
