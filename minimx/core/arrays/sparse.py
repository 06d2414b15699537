"""What arrays with another storage type do where the core has only dense ones.

The core knows the storage types (`ops/stypes.py`), but no arrays of them. The wing that
has them, `minimx.nd.sparse`, registers here how they are made, copied and marked:

    attach(Sparse(array, zeros, copy, attach_grad))

and the functions of dense arrays call `attached()` where a caller wants another type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from minimx.core.errors import OperatorError


class Sparse(NamedTuple):
    """What is done with sparse arrays.

    array: array(matrix, device, dtype), from a sparse matrix of SciPy's.
    zeros: zeros(stype, shape, ctx, dtype), an array that stores nothing.
    copy: copy(source, target), of which one at least is sparse.
    attach_grad: attach_grad(array, grad_req, stype), marks a variable whose gradient is
        stored as `stype`.
    """

    array: Callable[[Any, Any, Any], Any]
    zeros: Callable[[Any, Any, Any, Any], Any]
    copy: Callable[[Any, Any], None]
    attach_grad: Callable[[Any, str, str], None]


_attached: list[Sparse] = []


def attach(sparse: Sparse) -> None:
    """Register what is done with sparse arrays, from now on."""
    _attached[:] = [sparse]


def attached() -> Sparse:
    """What is done with sparse arrays. Raises OperatorError if there are none."""
    if not _attached:
        raise OperatorError(
            "there are no sparse arrays here: they come with `import minimx.nd.sparse`."
        )
    return _attached[0]
