"""The library that comes with the NVIDIA driver, for what numba does not offer.

    driver().call("cuGraphLaunch", graph, stream)     # raises for what CUDA reports

What numba has around this library differs from release to release; its C interface does
not. Arguments are those of ctypes. Tests put a library of their own in its place.
"""

from __future__ import annotations

from ctypes import byref, c_char_p
from functools import cache
from typing import Any

from minimx.core.errors import DeviceError
from minimx.cuda import toolkit


class Native:
    """The library's functions, by their names in C."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def call(self, name: str, *args: Any, fine: int = 0) -> None:
        """Call the driver. Raises `DeviceError` for any code but 0 and `fine`."""
        code = getattr(self.library, name)(*args)
        if code not in (0, fine):
            words = c_char_p()
            self.library.cuGetErrorString(code, byref(words))
            text = (words.value or b"unknown").decode(errors="replace")
            raise DeviceError(f"{name}: CUDA reports error {code}, {text}.")


@cache
def driver() -> Native | None:
    """The driver; None in numba's simulator, where there is none."""
    return None if toolkit.simulated() else Native(toolkit.library())
