"""Numbers from one memory to another, wherever the two are.

Arrays are NumPy's on the host and numba's on a CUDA device; the caller is inside
`working` of each CUDA device that takes part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.device import Device
from minimx.core.drivers import working
from minimx.core.drivers.cuda import cuda


def on_host(array: Any) -> bool:
    """Whether an array's numbers can be read by this process directly."""
    return isinstance(array, np.ndarray)


def copyto(target: Any, source: Any) -> None:
    """Copy all numbers, converting them where the element types differ.

    target, source: arrays of one shape, on the host or on a CUDA device. Types are
    converted on the host.
    """
    if on_host(target) and on_host(source):
        np.copyto(target, source, casting="unsafe")
    elif on_host(source):
        send(source, target)
    elif on_host(target) or target.dtype != source.dtype:
        found = fetch(source)
        copyto(target, found)
    elif target.size:
        target.copy_to_device(source, stream=_stream())


def between(target: Any, at: Device, source: Any, home: Device) -> None:
    """Copy from one device to another.

    The caller has checked that the two may reach each other (`links.hops`).
    """
    with working(home), working(at):
        copyto(target, source)


def fetch(array: Any, dtype: Any = None) -> Any:
    """A NumPy array with the numbers; a host array as it is.

    dtype: the element type they are meant in, where CUDA sees words of its size.
    """
    if not on_host(array):
        stream = _stream()
        array = array.copy_to_host(stream=stream)
        if stream:
            stream.synchronize()
    return array if dtype is None or array.dtype == dtype else array.view(dtype)


def send(numbers: Any, target: Any) -> None:
    """Copy NumPy's numbers into a device array of as many elements.

    They are converted to its element type, and stretched if there are fewer. Returns
    when `numbers` may be dropped.
    """
    if not target.size:
        return
    numbers = np.asarray(numbers)
    if numbers.dtype.isbuiltin != 1 and numbers.dtype != target.dtype:
        numbers = numbers.view(target.dtype)
    numbers = np.ascontiguousarray(
        np.broadcast_to(numbers.astype(target.dtype, copy=False), target.shape)
        if numbers.size != target.size
        else numbers.astype(target.dtype, copy=False).reshape(target.shape)
    )
    stream = _stream()
    target.copy_to_device(numbers, stream=stream)
    if stream:
        stream.synchronize()  # the caller may drop `numbers` now


def _stream() -> Any:
    return cuda().stream()
