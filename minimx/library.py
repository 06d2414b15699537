"""`mx.library`: libraries of operators that were compiled for MXNet."""

from __future__ import annotations

import os

from minimx.core.errors import DataError, Unavailable

__all__ = ["load"]


def load(path: str | os.PathLike[str], verbose: bool = True) -> None:
    """Raise an error that says what to do instead: such a library calls MXNet's C code.

    path: an absolute path to a file `.so` or `.dll`. Raises DataError if there is none,
    Unavailable otherwise.
    """
    name = os.fspath(path)
    if not (os.path.isabs(name) and os.path.exists(name)):
        raise DataError(f"library.load: {name!r} is no absolute path of a file.")
    raise Unavailable(
        f"library.load: {name!r} was compiled against MXNet's C++, which is not here. "
        "Write the operators with mx.ops.register (a kernel in Python), or with "
        "mx.operator.CustomOp."
    )
