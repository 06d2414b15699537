"""Arguments of kernels as the driver gets them."""

from __future__ import annotations

import struct
from ctypes import string_at
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import types

from minimx.core.errors import DeviceError
from minimx.cuda import toolkit
from minimx.cuda.kernels import native, packed

# numba does not say what this module has.
types_: Any = types


class Library:
    """In the place of the driver's: remembers the arguments of the launch."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.slots: list[bytes] = []
        self.sizes: list[int] = []

    def cuLaunchKernel(self, handle: Any, *rest: Any) -> int:  # noqa: N802
        *sizes, _, places, _ = rest
        self.sizes = [size.value for size in sizes]
        self.slots = [string_at(place, packed.SLOT) for place in places]
        return self.code

    def cuGetErrorString(self, code: int, words: Any) -> int:  # noqa: N802
        return 0


class Array:
    """As much of a device array as a launch looks at."""

    def __init__(self, size: int, dtype: str, address: int) -> None:
        self.size, self.dtype, self.ndim = size, np.dtype(dtype), 1
        self.device_ctypes_pointer = type("pointer", (), {"value": address})
        self.copy_to_host = None

    def reshape(self, *shape: int) -> Array:
        return self


class Place(NamedTuple):
    """Numbers that belong together."""

    row: int
    column: int


class Kernel:
    """A kernel of numba's that counts how often numba launches it."""

    def __init__(self) -> None:
        self.by_numba = 0
        handle = type("function", (), {"handle": 7})
        code = type("code", (), {"get_cufunc": lambda self: handle})()
        overload = type("overload", (), {"_codelibrary": code})()
        self.overloads: Any = type("all", (), {"get": lambda *_: overload})()

    def __getitem__(self, config: Any) -> Any:
        def launch(*args: Any) -> None:
            self.by_numba += 1

        return launch

    def typeof_pyval(self, arg: Any) -> Any:
        if isinstance(arg, Array):
            return types.Array(types.float32, 1, "C")
        if isinstance(arg, Place):
            return types_.NamedUniTuple(types.int64, 2, Place)
        if isinstance(arg, tuple):
            return types_.UniTuple(types.int64, len(arg))
        return {bool: types.boolean, int: types.int64, np.float32: types.float32}[
            type(arg)
        ]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    """A device that remembers."""
    found = Library()
    monkeypatch.setattr(native, "driver", lambda: native.Native(found))
    monkeypatch.setattr(toolkit, "simulated", lambda: False)
    monkeypatch.setattr(packed, "current_device", lambda: "gpu(0)")
    monkeypatch.setattr(packed, "_known", {})
    return found


def test_the_second_launch_packs_what_numba_would(library: Library) -> None:
    kernel, x = Kernel(), Array(5, "float32", 4096)
    args = (x, -3, True, np.float32(0.5), Place(1, 2))
    packed.launch(kernel, 4, 256, *args)
    assert (kernel.by_numba, library.slots) == (1, [])
    packed.launch(kernel, 4, 256, *args)
    assert kernel.by_numba == 1
    assert library.sizes == [4, 1, 1, 256, 1, 1, 0]
    array, number, flag, half, row, column = (
        library.slots[:7],
        *library.slots[7:],
    )
    assert [struct.unpack("q", slot)[0] for slot in array] == [0, 0, 5, 4, 4096, 5, 4]
    assert struct.unpack("q", number) == (-3,)
    assert flag[0] == 1
    assert struct.unpack("f", half[:4]) == (0.5,)
    assert [struct.unpack("q", slot)[0] for slot in (row, column)] == [1, 2]


def test_other_types_are_numbas_affair_again(library: Library) -> None:
    kernel = Kernel()
    for args in ((1,), (True,), ((1, 2),), ((1, 2, 3),), (1,), (True,)):
        packed.launch(kernel, 1, (16, 16), *args)
    assert kernel.by_numba == 4
    assert library.sizes[3:6] == [16, 16, 1]


def test_tuples_within_tuples_stay_with_numba(library: Library) -> None:
    kernel = Kernel()
    for _ in range(2):
        packed.launch(kernel, 1, 1, ((1, 2), (3, 4)))
    assert (kernel.by_numba, library.slots) == (2, [])


def test_what_cuda_reports_is_an_error(library: Library) -> None:
    kernel = Kernel()
    packed.launch(kernel, 1, 1, 1)
    library.code = 700
    with pytest.raises(DeviceError, match="cuLaunchKernel: CUDA reports error 700"):
        packed.launch(kernel, 1, 1, 1)
