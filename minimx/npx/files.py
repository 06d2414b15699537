"""Files of `mx.np` arrays: MXNet's `.params` format, and NumPy's `.npy` and `.npz`."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as onp

from minimx.core import np_semantics
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.core.files import read_whole, write_whole
from minimx.nd import serialize
from minimx.np.creation import array
from minimx.np.multiarray import as_np
from minimx.tools import numpy_files

__all__ = ["load", "save", "savez"]

Path = str | os.PathLike[str]


def save(file: Path, arr: Any) -> None:
    """Write an array, a list of arrays, or a dict of arrays by name."""
    with np_semantics.Scope(np_shape=True):
        serialize.save(file, arr)


def savez(file: Path, *args: Any, **kwargs: Any) -> None:
    """Write arrays to a `.npz` file; those without a name are called arr_0, arr_1."""
    named = {f"arr_{k}": value for k, value in enumerate(args)}
    twice = named.keys() & kwargs.keys()
    if twice:
        raise ArgumentError(f"npx.savez: {sorted(twice)} would be written twice.")
    named |= kwargs
    for name, value in named.items():
        if not isinstance(value, NDArray):
            raise ArgumentError(
                f"npx.savez writes arrays; {name} is a {type(value).__name__}."
            )
    content = io.BytesIO()
    onp.savez(content, **{name: value.asnumpy() for name, value in named.items()})
    path = os.fspath(file)
    write_whole(
        path if path.endswith(".npz") else f"{path}.npz",  # as NumPy names it
        content.getbuffer(),
        "npx.savez",
    )


def load(file: Path) -> Any:
    """The arrays of a file: a dict if it stores names, else a list or one array.

    Raises DataError for a file that cannot be read or is damaged; of a `.npz` file that
    is packed, also where its arrays would not fit in memory, or where more than 1 GiB
    of them are over a hundred times as long as the file.
    """
    if read_whole(file, "npx.load", 6).startswith((b"PK", b"\x93NUMPY")):
        found = numpy_files.load(file)
        if isinstance(found, onp.ndarray):
            return array(found, dtype=found.dtype)
        return {name: array(value, dtype=value.dtype) for name, value in found.items()}
    with np_semantics.Scope(np_shape=True):
        arrays = serialize.load(file)
    if isinstance(arrays, dict):
        return {name: as_np(value) for name, value in arrays.items()}
    return [as_np(value) for value in arrays]
