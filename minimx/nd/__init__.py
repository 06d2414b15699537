"""`mx.nd`: asynchronous arrays and the operators on them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from minimx.aliases import resolve
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import (
    arange,
    array,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    full,
    linspace,
    moveaxis,
    ones,
    zeros,
)
from minimx.core.engine import wait_all as waitall
from minimx.core.ops.stypes import STYPES
from minimx.nd import _internal, contrib, functions, image, linalg, random, sparse
from minimx.nd.binary import PAIRS, split_v2
from minimx.nd.custom import custom as Custom  # noqa: N812 (MXNet's name)
from minimx.nd.serialize import load, load_frombuffer, save
from minimx.nd.tables import histogram, onehot_encode

__all__ = [
    "Custom", "NDArray", "_internal", "arange", "array", "concatenate", "contrib",
    "empty", "eye", "from_dlpack", "from_numpy", "full", "histogram", "image", "linalg",
    "linspace", "load", "load_frombuffer", "moveaxis", "ones", "onehot_encode",
    "random", "save", "sparse", "split_v2", "to_dlpack_for_read", "to_dlpack_for_write",
    "waitall", "zeros",
]  # fmt: skip
BY_HAND = frozenset(__all__)  # the others are written from the registry
__all__ += [name for name in functions.FUNCTIONS if not name.startswith("_")]
__all__ += PAIRS

if TYPE_CHECKING:  # the functions of the registry, as `python -m minimx.nd.stubs` says
    from minimx.nd.operators import *  # noqa: F403

#: The numbers of storage types in files and graphs, under MXNet's name.
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1} | {
    stype: code for code, stype in enumerate(STYPES)
}

# MXNet keeps the class and the functions in modules of their own: `mx.nd.ndarray`.
ndarray = op = sys.modules[__name__]
# What MXNet calls Python's own `slice`, since its operator has taken the name.
py_slice = slice


def __getattr__(name: str) -> Any:
    found = PAIRS.get(name) or functions.FUNCTIONS.get(name)
    if found is None:
        return resolve(__name__, name, __dir__())
    globals()[name] = found
    return found


functions.function_caches.append(globals())


def __dir__() -> list[str]:
    public = (name for name in functions.FUNCTIONS if not name.startswith("_"))
    return sorted({*__all__, *public})


def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule of an array's memory, once pending writes are done."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> Any:
    """A DLPack capsule of an array's memory, once pending reads and writes are done."""
    return data.to_dlpack_for_write()
