"""What an operator's rules and kernels raise, as errors that name the operator.

A data sheet checks what people get wrong. What it leaves to NumPy or to the kernel,
such as a range that ends before it begins, raises an error of NumPy's, of Python's or
of numba's, which does not know for whom it computed.
"""

from __future__ import annotations

from typing import Any

from minimx.core.errors import (
    ElementError,
    MXNetError,
    OperandError,
    OperatorError,
    OutOfMemory,
)
from minimx.core.ops.settings import shown

_KINDS: dict[type[Exception], type[MXNetError]] = {
    MemoryError: OutOfMemory,
    IndexError: ElementError,
    TypeError: OperandError,
}


def explained(op: Any, reason: Exception) -> Exception:
    """The error to raise for one that `op` raised, which stays its cause.

    Ours stay as they are, as do warnings that are errors here, and whatever comes from
    an operator that users wrote.
    """
    ours = isinstance(reason, (MXNetError, Warning))
    if ours or not type(op).__module__.startswith("minimx."):
        return reason
    kind = next((k for raw, k in _KINDS.items() if isinstance(reason, raw)), None)
    settings = ", ".join(f"{name}={shown(x)}" for name, x in op.settings.items())
    error = (kind or OperatorError)(
        f"{op.name}({settings}) cannot be computed for these inputs: "
        f"{str(reason) or type(reason).__name__}. Check the settings, and the shapes "
        "and numbers of the inputs."
    )
    error.__cause__ = reason
    return error
