"""Work that others wait for: it overtakes what is queued for the same device.

    with urgent(-3):
        total = a + b           # pushed as prioritized work, with priority -3

Plain operations go to the lane of urgent work of their device, copies keep the lane of
copies; both carry the priority, and the highest goes first. MXNet hands the priority
from function to function instead, down to each push.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from minimx.core.device import Device
from minimx.core.engine.kinds import CPU_PRIORITIZED, GPU_PRIORITIZED, NORMAL


class _Thread(threading.local):
    """The priority that this thread's operations have; None: they are not urgent."""

    priority: int | None = None


_here = _Thread()
_users_lock = threading.Lock()

# How many blocks are open in all threads. While there are none, pushing asks no more.
users = 0


@contextmanager
def urgent(priority: int = 0) -> Iterator[None]:
    """Let what this thread pushes inside overtake ordinary work; larger goes first."""
    global users
    before = _here.priority
    with _users_lock:
        users += 1
    _here.priority = int(priority)
    try:
        yield
    finally:
        _here.priority = before
        with _users_lock:
            users -= 1


def marked(device: Device, priority: int, prop: int) -> tuple[int, int]:
    """Priority and kind of an operation that this thread pushes now.

    Inside `urgent(n)` a normal operation becomes a prioritized one of its device, with
    priority n unless it has one of its own; outside, both stay.
    """
    mine = _here.priority
    if mine is None:
        return priority, prop
    if prop == NORMAL:
        gpu = device.device_type == "gpu"
        prop = GPU_PRIORITIZED if gpu else CPU_PRIORITIZED
    return priority or mine, prop


def forget_other_threads() -> None:
    """In a forked child: the other threads and their blocks are not here."""
    global _users_lock, users
    _users_lock = threading.Lock()
    users = int(_here.priority is not None)
