"""Whether this kernel is one in which controls answer while a cell is busy.

Up to 7.3, ipykernel now and then does not notice a request until the next one comes: a
cell stays at `[*]` for ever. From 7.4 on it hands what a browser sends to a widget to
the thread that the kernel last answered from, whatever thread it was addressed to; sent
to the main thread, it waits until a busy cell ends, and so would a Pause button.
`pyproject.toml` asks for 7.4, and `keep_addresses` lets messages go where they are
addressed to. An older one gives a warning, because the symptom does not say
where it comes from.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

OLDEST = (7, 4)


def complaint(installed: str) -> str:
    """What is wrong with a version of ipykernel; empty if nothing is.

    >>> complaint("7.4.0")
    ''
    >>> complaint("7.3.0").split(":")[0]
    'ipykernel 7.3.0'
    """
    numbers = tuple(int(part) for part in installed.split(".")[:2] if part.isdigit())
    if numbers >= OLDEST:
        return ""
    oldest = ".".join(map(str, OLDEST))
    return (
        f"ipykernel {installed}: cells may hang, and controls not answer while a cell "
        f"is busy. Install {oldest} or newer, as `make lab` does: "
        f'pip install "ipykernel>={oldest}"'
    )


def complaint_here() -> str:
    """The complaint about the kernel that runs this; empty outside of one."""
    if not in_kernel():
        return ""
    try:
        return complaint(version("ipykernel"))
    except PackageNotFoundError:
        return ""


def in_kernel() -> bool:
    """Whether this process is a notebook's kernel."""
    return "ipykernel.kernelapp" in sys.modules


def keep_addresses() -> None:
    """Let the kernel hand messages to the thread that the browser addressed them to.

    Nothing happens outside of a kernel, or in one that does so by itself.
    """
    if in_kernel():
        from ipykernel.comm.comm import BaseComm

        if hasattr(BaseComm, "_reply_subshell_for"):
            BaseComm._reply_subshell_for = _as_addressed  # type: ignore[method-assign]


def _as_addressed(comm: Any, data: Any, addressed: str | None) -> str | None:
    """The thread for a message to a widget: the one that it names."""
    return addressed
