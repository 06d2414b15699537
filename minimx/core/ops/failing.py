"""What an operator's rules and kernels raise, as errors that name the operator.

A data sheet checks what people get wrong. What it leaves to NumPy or to the kernel,
such as a range that ends before it begins, raises an error of NumPy's, of Python's or
of numba's, which does not know for whom it computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.core import errors
from minimx.core.device import cpu
from minimx.core.events import owner
from minimx.core.ops.settings import shown
from minimx.core.ops.spec import Spec
from minimx.core.storage import pool_for

Kernel = Callable[..., None]

_KINDS: dict[type[Exception], type[errors.MXNetError]] = {
    MemoryError: errors.OutOfMemory,
    IndexError: errors.ElementError,
    TypeError: errors.OperandError,
}


def explained(op: Any, reason: Exception) -> Exception:
    """The error to raise for one that `op` raised, which stays its cause.

    Ours stay as they are, as do warnings that are errors here, and whatever comes from
    an operator that users wrote.
    """
    users = not type(op).__module__.startswith("minimx.")
    if users or isinstance(reason, (errors.MXNetError, Warning)):
        return reason
    kind = next((k for raw, k in _KINDS.items() if isinstance(reason, raw)), None)
    settings = ", ".join(f"{name}={shown(x)}" for name, x in op.settings.items())
    error = (kind or errors.OperatorError)(
        f"{op.name}({settings}) cannot be computed for these inputs: "
        f"{str(reason) or type(reason).__name__}. Check the settings, and the shapes "
        "and numbers of the inputs."
    )
    error.__cause__ = reason
    return error


def kernel_of(op: Any, make: Callable[[], Kernel], outs: tuple[Spec, ...]) -> Kernel:
    """What an operator's method gives: a kernel. An error of it names the operator.

    make: the method with its arguments. Tables that some kernels hold grow with their
    outputs, so the host's pool has to have room for those first.
    """
    try:
        pool_for(cpu()).expect(sum([spec.nbytes for spec in outs]), owner(op.name))
        return make()
    except Exception as reason:
        raise explained(op, reason)  # noqa: B904 (it has its cause)
