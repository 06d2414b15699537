"""Launches whose arguments are packed by us, once it is known how.

    launch(kernel, blocks, threads, *args)

numba looks at the type of every argument, and of every number in a tuple, each time;
that takes many times what CUDA needs for a launch. The first launch of a kernel with
arguments of some types is numba's, which compiles it. From then on the arguments are
written one after another into a block of memory, as numba's kernels expect them, and
given to the driver:

    an array    0, 0, its size, bytes of an element, its address, its length, its step
    a number    itself
    a tuple     its numbers

All arrays count as flat. In the simulator every launch is numba's.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterable, Sequence
from ctypes import addressof, c_uint, c_void_p, create_string_buffer
from typing import Any

from numba import types

from minimx.cuda import toolkit
from minimx.cuda.driver import current_device, current_stream
from minimx.cuda.kernels import native

#: How `struct` writes a number, by the name of numba's type. Each takes eight bytes.
FORMATS = {
    "boolean": "?7x", "bool": "?7x", "float32": "f4x", "float64": "d",
    "int8": "b7x", "int16": "h6x", "int32": "i4x", "int64": "q",
    "uint8": "B7x", "uint16": "H6x", "uint32": "I4x", "uint64": "Q",
    "float16": "e6x",
}  # fmt: skip
ARRAY = "QQqqQqq"
SLOT = 8

_known: dict[Any, Packed | None] = {}
_mine = threading.local()


class Packed:
    """A kernel for arguments of some types, on one device.

    text: what `struct` writes. handle: of CUDA's function.
    """

    def __init__(self, handle: int, text: str) -> None:
        self.handle = c_void_p(handle)
        self._write = struct.Struct(f"={text}").pack_into
        self._nbytes = struct.calcsize(f"={text}")

    def memory(self) -> tuple[Any, Any]:
        """The calling thread's memory for arguments, and the address of each."""
        blocks = _mine.__dict__.setdefault("blocks", {})
        if self not in blocks:
            block = create_string_buffer(self._nbytes)
            starts = range(addressof(block), addressof(block) + self._nbytes, SLOT)
            blocks[self] = block, (c_void_p * len(starts))(*starts)
        found: tuple[Any, Any] = blocks[self]
        return found

    def launch(self, grid: Sequence[int], block: Sequence[int], values: Any) -> None:
        """Launch it in this thread's stream; `DeviceError` for what CUDA reports."""
        memory, places = self.memory()
        self._write(memory, 0, *values)
        driver: Any = native.driver()
        driver.call(
            "cuLaunchKernel", self.handle, *map(c_uint, (*grid, *block, 0)),
            c_void_p(int(current_stream())), places, None,
        )  # fmt: skip


def launch(kernel: Any, blocks: int, threads: Any, *args: Any) -> None:
    """Launch a kernel of numba's: so many blocks of `threads`, a number or (x, y).

    args: device arrays, which count as flat; numbers; and tuples of numbers. Does not
    wait. Only inside `working` of a device.
    """
    if toolkit.simulated():
        kernel[blocks, threads, current_stream()](*flat(args))
        return
    key = kernel, current_device(), tuple(map(_kind, args))
    found = _known.get(key)
    if found is None:
        flattened = flat(args)
        kernel[blocks, threads, current_stream()](*flattened)
        if key not in _known:
            _known[key] = _packed(kernel, flattened)
        return
    block = (threads, 1, 1) if isinstance(threads, int) else (*threads, 1)
    found.launch((blocks, 1, 1), block, _values(args))


def flat(args: Iterable[Any]) -> list[Any]:
    """The same arguments, arrays with one axis."""
    return [a.reshape(-1) if hasattr(a, "reshape") and a.ndim else a for a in args]


def _kind(arg: Any) -> Any:
    """What decides, for one argument, which kernel is compiled."""
    if isinstance(arg, tuple):
        return (type(arg), *map(type, arg))
    return arg.dtype if hasattr(arg, "copy_to_host") else type(arg)


def _values(args: Sequence[Any]) -> list[Any]:
    """The numbers that a kernel gets."""
    found: list[Any] = []
    for arg in args:
        if hasattr(arg, "copy_to_host"):
            size, width = arg.size, arg.dtype.itemsize
            address = arg.device_ctypes_pointer.value or 0
            found += (0, 0, size, width, address, size, width)
        elif isinstance(arg, tuple):
            found += arg
        else:
            found.append(arg)
    return found


def _packed(kernel: Any, args: Sequence[Any]) -> Packed | None:
    """How a kernel that was just launched is launched again; None if only numba can."""
    signature = tuple(map(kernel.typeof_pyval, args))
    nested = any(isinstance(n, tuple) for a in args if isinstance(a, tuple) for n in a)
    # Inside numba names differ from release to release.
    library = getattr(kernel.overloads.get(signature), "_codelibrary", None)
    if nested or library is None:
        return None
    text = "".join(map(_format, signature))
    return Packed(int(library.get_cufunc().handle), text)


def _format(kind: Any) -> str:
    """How arguments of one of numba's types are written."""
    if isinstance(kind, types.Array):
        return ARRAY
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        return "".join(map(_format, parts))
    if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral):
        kind = kind.literal_type
    return FORMATS[str(kind)]
