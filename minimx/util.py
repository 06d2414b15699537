"""`mx.util`: the switches of `npx`, and what MXNet keeps beside them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

from minimx.core.device import gpu
from minimx.core.drivers import num_gpus
from minimx.core.errors import ArgumentError
from minimx.core.knobs import knobs
from minimx.core.storage import device_memory_info
from minimx.npx.switches import (
    is_np_array,
    is_np_default_dtype,
    is_np_shape,
    np_array,
    np_shape,
    reset_np,
    set_np,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "np_array",
    "np_shape",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "wrap_np_binary_func",
    "wrap_np_unary_func",
]


class _NumpyArrayScope:
    """MXNet's own scope behind `np_array`, which programs import now and then."""

    _current: _NumpyArrayScope | None = None

    def __init__(self, is_np_array: bool) -> None:
        self._is_np_array = is_np_array
        self._scope = np_array(is_np_array)

    def __enter__(self) -> _NumpyArrayScope:
        self._scope.__enter__()
        return self

    def __exit__(self, *reason: object) -> None:
        self._scope.__exit__(*reason)


_LEGAL: dict[str, tuple[Any, ...]] = {
    "where": (True,),
    "casting": ("same_kind",),
    "order": ("K", "C"),
    "subok": (True,),
}


def _refuse(name: str, kwargs: dict[str, Any]) -> None:
    for key, value in kwargs.items():
        if key == "dtype" and value is None:
            continue
        if value not in _LEGAL.get(key, ()):
            raise TypeError(f"{name}: {key}={value!r} is not available.")


def wrap_np_unary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one array that refuses NumPy's options it does not have."""

    @functools.wraps(func)
    def wrapped(x: Any, out: Any = None, **kwargs: Any) -> Any:
        _refuse(func.__name__, kwargs)
        return func(x, out=out)

    return wrapped


def wrap_np_binary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two arrays that refuses NumPy's options it does not have."""

    @functools.wraps(func)
    def wrapped(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        _refuse(func.__name__, kwargs)
        return func(x1, x2, out=out)

    return wrapped


def set_module(module: str) -> Callable[[_Decorated], _Decorated]:
    """Decorate a function: say that it belongs to another module."""

    def decorate(function: _Decorated) -> _Decorated:
        function.__module__ = module
        return function

    return decorate


# -- the surroundings ------------------------------------------------------------------


def getenv(name: str) -> str | None:
    """The value of an environment variable, None without one."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; None removes it. Knobs are turned as well."""
    if name in knobs and value is None:
        knobs.reset(name)
    elif name in knobs:
        knobs.set(**{name: value})
    elif value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def get_gpu_count() -> int:
    """How many GPUs there are, simulated ones included."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int = 0) -> tuple[int, int]:
    """The (free, total) bytes of a GPU."""
    return device_memory_info(gpu(gpu_dev_id))


def get_cuda_compute_capability(ctx: Any) -> int:
    """The compute capability of a CUDA device; simulated GPUs have none."""
    raise ArgumentError(
        f"{ctx} is not a CUDA device: simulated GPUs run the CPU's kernels and have no "
        "compute capability."
    )
