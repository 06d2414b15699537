"""`mx.npx`: what deep learning needs beyond NumPy, on arrays of `mx.np`.

    from minimx import np, npx
    npx.set_np()
    npx.relu(np.array([-1, 2]))

`operators.py` says which operators of the registry are offered under which names;
`layers.py` has functions made of several, `files.py` saves and loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import minimx.nd as _nd
from minimx.aliases import resolve
from minimx.core.arrays.creation import from_dlpack as _from_dlpack
from minimx.core.arrays.creation import from_numpy as _from_numpy
from minimx.core.device import (
    Context,
    Device,
    cpu,
    cpu_pinned,
    current_context,
    current_device,
    gpu,
)
from minimx.core.drivers import num_gpus
from minimx.core.engine import wait_all as waitall
from minimx.core.np_semantics import is_np_array, is_np_shape
from minimx.nd.functions import function_caches
from minimx.np import help as _help
from minimx.np.multiarray import as_np as _as_np
from minimx.np.multiarray import ndarray as _ndarray
from minimx.npx import image, operators, random
from minimx.npx.files import load, save, savez
from minimx.npx.layers import (
    constraint_check,
    index_add,
    index_update,
    log_softmax,
    masked_log_softmax,
    masked_softmax,
    nonzero,
    reshape,
    softmax,
)
from minimx.npx.random import seed
from minimx.npx.switches import (
    is_np_default_dtype,
    np_array,
    np_shape,
    reset_np,
    set_np,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)

__all__ = [
    "Context", "Device", "constraint_check", "cpu", "cpu_pinned", "current_context",
    "current_device", "from_dlpack", "from_numpy", "gpu", "image", "index_add",
    "index_update", "is_np_array", "is_np_default_dtype", "is_np_shape", "load",
    "log_softmax", "masked_log_softmax", "masked_softmax", "nonzero", "np_array",
    "np_shape", "num_gpus", "random", "reset_np", "reshape", "save", "savez", "seed",
    "set_np", "set_np_shape", "softmax", "to_dlpack_for_read", "to_dlpack_for_write",
    "use_np", "use_np_array", "use_np_shape", "waitall",
]  # fmt: skip

if TYPE_CHECKING:  # the operators, as `python -m minimx.np.stubs` says
    from minimx.nd.control import cond as cond
    from minimx.nd.control import foreach as foreach
    from minimx.nd.control import while_loop as while_loop
    from minimx.npx.functions import *  # noqa: F403

#: Of the operators of `nd.contrib`, those that call functions of the user.
_CONTROL = ("foreach", "while_loop", "cond")


def __getattr__(name: str) -> Any:
    found = getattr(_nd.contrib, name, None) if name in _CONTROL else None
    found = found or operators.function(name)
    if found is None:
        return resolve(__name__, name, __dir__())
    globals()[name] = found
    return found


function_caches.append(globals())


def __dir__() -> list[str]:
    return sorted({*__all__, *operators.names(), *_CONTROL})


def from_numpy(ndarray: Any, zero_copy: bool = True) -> _ndarray:
    """An array on the CPU over the memory of a C-contiguous NumPy array."""
    return _as_np(_from_numpy(ndarray, zero_copy))


def from_dlpack(dlpack: Any) -> _ndarray:
    """An array over the memory of another framework's CPU tensor."""
    return _as_np(_from_dlpack(dlpack))


def to_dlpack_for_read(data: _ndarray) -> Any:
    """A DLPack capsule of an array's memory, once pending writes are done."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: _ndarray) -> Any:
    """A DLPack capsule of an array's memory, once pending reads and writes are done."""
    return data.to_dlpack_for_write()


_help.explain({name: globals()[name] for name in __all__}, file=operators.EXAMPLES)
_help.explain(_help.public(random), "random.", operators.EXAMPLES)
# What is found when it is first asked for is public, too.
__all__ += sorted({*operators.NAMES, *_CONTROL} - set(__all__))
