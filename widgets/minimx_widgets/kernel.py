"""Whether this kernel is one in which controls answer while a cell is busy.

ipykernel 7.0 loses what a thread sends to a widget; 7.4 hands a browser's messages to
the thread that the kernel last answered from, so that they wait until a busy cell ends.
`pyproject.toml` asks for a version between the two. Whoever installed another one is
told, because the symptom (a dead Pause button) does not say where it comes from.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

GOOD = ((7, 1), (7, 4))  # from, and below


def complaint(installed: str) -> str:
    """What is wrong with a version of ipykernel; empty if nothing is.

    >>> complaint("7.3.0")
    ''
    >>> complaint("7.4.0").split(":")[0]
    'ipykernel 7.4.0'
    """
    numbers = tuple(int(part) for part in installed.split(".")[:2] if part.isdigit())
    low, high = GOOD
    if low <= numbers < high:
        return ""
    return (
        f"ipykernel {installed}: controls may not answer while a cell is busy. Install "
        f"one from {_dotted(low)} to below {_dotted(high)}, as `make lab` does: "
        f'pip install "ipykernel>={_dotted(low)},<{_dotted(high)}"'
    )


def complaint_here() -> str:
    """The complaint about the kernel that runs this; empty outside of one."""
    if "ipykernel.kernelapp" not in sys.modules:
        return ""
    try:
        return complaint(version("ipykernel"))
    except PackageNotFoundError:
        return ""


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
