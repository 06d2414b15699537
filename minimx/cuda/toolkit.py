"""Which CUDA is there: none, numba's simulator, or a real one with its devices.

    stack()      what was found, looked up once
    cuda()       numba's module of that name; imports numba

Looking must cost nothing where there is no CUDA: numba is imported only after the
driver's library was found, or where `NUMBA_ENABLE_CUDASIM=1` asks for the simulator, in
which kernels run as plain Python, thread by thread: slow, and the same on every
machine.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from minimx.core.errors import DeviceError
from minimx.core.knobs import knobs
from minimx.core.knobs.notices import warn

#: The oldest CUDA that numba-cuda's releases of today work with.
OLDEST_CUDA = (12, 0)
#: The oldest cuDNN whose algorithms have the numbers that the documents name.
OLDEST_CUDNN = (8, 0)

Version = tuple[int, ...]


@dataclass(frozen=True)
class Stack:
    """What was found.

    kind: `none`, `simulator` or `cuda`. count: how many devices it has. trouble: why
    there is none although parts of it are there, in words; empty where all is well.
    """

    kind: str
    count: int = 0
    trouble: str = ""

    def __str__(self) -> str:
        if self.kind == "none":
            return self.trouble or "no CUDA driver on this machine"
        if self.kind == "simulator":
            return "numba's CUDA simulator (NUMBA_ENABLE_CUDASIM)"
        return f"{self.count} CUDA device{'s' * (self.count != 1)}"


NOTHING = Stack("none")


def stack() -> Stack:
    """The CUDA that may be used: what was found, or nothing with MINIMX_CUDA=off.

    Raises `DeviceError` where MINIMX_CUDA=required and there is none.
    """
    wish = knobs.get("MINIMX_CUDA")
    if wish == "off":
        return NOTHING
    found = look()
    if wish == "required" and not found.count:
        raise DeviceError(
            f"MINIMX_CUDA=required asks for a CUDA device, and there is none: {found}. "
            "Set MINIMX_CUDA=auto to work with simulated GPUs."
        )
    return found


@cache
def look() -> Stack:
    """What this process can find; the answer stays the same."""
    if not simulated() and not _has_driver():
        return NOTHING
    try:
        found = cuda()
    except ImportError as missing:
        return _useless(
            f"the NVIDIA driver is there, numba's CUDA part is not: {missing}"
        )
    if simulated():
        return Stack("simulator", len(found.gpus))
    try:
        if found.is_available():
            return Stack("cuda", len(found.gpus))
        reason = found.cuda_error() or "it offers no device"
    except Exception as failure:  # a broken driver can raise anything
        reason = failure
    return _useless(f"the NVIDIA driver is there, but does not work: {reason}")


def _useless(trouble: str) -> Stack:
    """A CUDA that cannot be used; problems once, as the program goes on without it."""
    warn(
        f"CUDA: {trouble}. GPUs are simulated on the CPU. Install minimx[cuda] and a "
        "recent driver, or set MINIMX_CUDA=off to silence this warning."
    )
    return Stack("none", 0, trouble)


def simulated() -> bool:
    """Whether numba's CUDA is the simulator; decided when numba is imported."""
    # Another thread may be in the middle of importing it.
    config = getattr(sys.modules.get("numba"), "config", None)
    if config is not None:
        return bool(config.ENABLE_CUDASIM)
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def cuda() -> Any:
    """The module `numba.cuda`, of numba itself or of numba-cuda in its place."""
    from numba import cuda as module

    return module


def library() -> Any:
    """The library that comes with the NVIDIA driver. Raises `OSError` without it."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    return ctypes.CDLL(os.environ.get("NUMBA_CUDA_DRIVER") or name)


def _has_driver() -> bool:
    try:
        library()
    except OSError:
        return False
    return True


# -- versions --------------------------------------------------------------------------

_CHECKS = ("MXNET_CUDA_LIB_CHECKING", "MXNET_CUDNN_LIB_CHECKING")
#: Checks that were to be made of a library that is not there: why, and what would help.
_unmade: dict[str, str] = {}


def why_unmade(name: str, value: Any) -> str:
    """Why a check of a library's version cannot be made here, or "".

    Without a driver that is so at once; else it is known when a device was opened.
    """
    if not simulated() and not _has_driver():
        return (
            "there is no CUDA driver on this machine, and so no library to check. GPUs "
            "are simulated on the CPU. It acts where NVIDIA's driver and minimx[cuda] "
            "are installed: pip install 'minimx[cuda]'"
        )
    return _unmade.get(name, "")


def check_libraries() -> list[str]:
    """Warn of libraries that are too old; the warnings' texts.

    MXNET_CUDA_LIB_CHECKING and MXNET_CUDNN_LIB_CHECKING say which are looked at. A knob
    that was set for a library that is not there gets a notice of its own.
    """
    problems = []
    if knobs.get("MXNET_CUDA_LIB_CHECKING"):
        runtime = cuda_version()
        _note("MXNET_CUDA_LIB_CHECKING", runtime, _NO_RUNTIME)
        problems.append(version_notice("CUDA", runtime, OLDEST_CUDA, _driver_version()))
    if knobs.get("MXNET_CUDNN_LIB_CHECKING"):
        dnn = cudnn_version()
        _note("MXNET_CUDNN_LIB_CHECKING", dnn, _NO_CUDNN)
        problems.append(version_notice("CUDNN", dnn, OLDEST_CUDNN))
    _look_again()
    texts = [text for text in problems if text]
    for text in texts:
        warn(text)
    return texts


_NO_RUNTIME = (
    "numba's simulator stands for CUDA, and it has no library to check. Leave "
    "NUMBA_ENABLE_CUDASIM out of the environment to use the device."
)
_NO_CUDNN = (
    "cuDNN is not installed, and so has no version to check. minimx computes without "
    "it. Where other programs need it, install it so that the loader finds it "
    "(LD_LIBRARY_PATH)."
)


def _note(name: str, found: Version, why_not: str) -> None:
    """Remember whether the library of a check was there."""
    _unmade.pop(name, None)
    if not found:
        _unmade[name] = why_not


def version_notice(
    library: str, found: Version, oldest: Version, newest: Version = ()
) -> str:
    """What is wrong with a version: too old, or newer than the driver knows; or "".

    An empty version is one that is not there.

    >>> version_notice("CUDA", (12, 4), oldest=(12, 0))
    ''
    >>> version_notice("CUDNN", (7, 6), oldest=(8, 0))[:48]
    'the CUDNN library is 7.6, and minimx needs 8.0. '
    """
    if not found:
        return ""
    knob = f"MXNET_{library}_LIB_CHECKING"
    if found < oldest:
        return (
            f"the {library} library is {text(found)}, and minimx needs {text(oldest)}. "
            f"Install a newer one, or silence this with {knob}=0."
        )
    if newest and found[:1] > newest[:1]:
        return (
            f"the {library} library is {text(found)}, and the driver knows "
            f"{text(newest)} at most. Update the driver, take an older library, or "
            f"silence this with {knob}=0."
        )
    return ""


def text(version: Sequence[int]) -> str:
    """A version as it is written."""
    return ".".join(map(str, version))


def cuda_version() -> Version:
    """The version of the CUDA runtime; () in the simulator and where there is none."""
    if look().kind != "cuda":
        return ()
    return tuple(map(int, cuda().runtime.get_version()))


def _driver_version() -> Version:
    """The newest CUDA that the driver knows."""
    if look().kind != "cuda":
        return ()
    from numba.cuda.cudadrv import driver

    found: Any = driver.driver
    return tuple(map(int, found.get_version()))


def cudnn_version() -> Version:
    """The version of cuDNN where it is installed; minimx does not call it."""
    name = "cudnn64_9.dll" if sys.platform == "win32" else "libcudnn.so"
    for library in (name, f"{name}.9", f"{name}.8"):
        try:
            number = int(ctypes.CDLL(library).cudnnGetVersion())
        except (OSError, AttributeError):
            continue
        major = number // 10000 if number >= 90000 else number // 1000
        rest = number % 10000 if number >= 90000 else number % 1000
        return major, rest // 100
    return ()


_look_again = knobs.needs(_CHECKS, why_unmade)
