"""Scratch memory that the operators of a device share.

A device has a few workspaces, `MXNET_CPU_TEMP_COPY` or `MXNET_GPU_TEMP_COPY` of them,
given out in turn. Whoever uses one writes its `var`, so the engine lets operators that
got the same one run one after the other. A workspace grows to the largest request and
never shrinks.

Graphs use them. Operators that are called one by one ask the pool each time.
"""

from __future__ import annotations

import threading
from itertools import count
from typing import Any

from minimx.device import Device
from minimx.engine import Var
from minimx.events import Owner, owner
from minimx.knobs import knobs
from minimx.storage import before_rebuild, pool_for
from minimx.storage.pool import Block


class Workspace:
    """One piece of scratch memory; `var` says who may use it now."""

    __slots__ = ("_block", "device", "var")

    def __init__(self, device: Device) -> None:
        self.device = device
        self.var = Var()
        self._block: Block | None = None

    def bytes(self, nbytes: int, who: Owner | None = None) -> Any:
        """The first `nbytes`, a flat uint8 array; only for whom the var was granted."""
        block = self._block
        if block is None or block.size < nbytes:
            if block is not None:
                self._block = None
                block.direct_free()  # as in MXNet: it would only lie about in the pool
            asker = (who or owner("")).for_category("workspace")
            block = self._block = pool_for(self.device).alloc(nbytes, asker)
        return block.data[:nbytes]

    @property
    def nbytes(self) -> int:
        """How large it has become."""
        return 0 if self._block is None else self._block.size

    def __del__(self) -> None:
        block = getattr(self, "_block", None)
        if block is not None:
            block.free()


class Workspaces:
    """Those of one device."""

    def __init__(self, device: Device, copies: int) -> None:
        self.each = [Workspace(device) for _ in range(copies)]
        self._turns = count()

    def take(self) -> Workspace:
        """The next one in turn."""
        return self.each[next(self._turns) % len(self.each)]


_known: dict[Device, Workspaces] = {}
_lock = threading.Lock()


def workspaces(device: Device) -> Workspaces:
    """The workspaces of a device, made at first use."""
    found = _known.get(device)
    if found is None:
        with _lock:
            found = _known.get(device)
            if found is None:
                kind = "GPU" if device.device_type == "gpu" else "CPU"
                copies = knobs.get(f"MXNET_{kind}_TEMP_COPY")
                found = _known[device] = Workspaces(device, copies)
    return found


def forget(*_: object) -> None:
    """Start anew; workspaces that are in use go when they are done with."""
    with _lock:
        _known.clear()


knobs.watch(("MXNET_CPU_TEMP_COPY", "MXNET_GPU_TEMP_COPY"), forget)
before_rebuild(forget)
