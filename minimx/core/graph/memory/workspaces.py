"""Scratch memory that the operators of a device share.

A device has a few workspaces, `MXNET_CPU_TEMP_COPY` or `MXNET_GPU_TEMP_COPY` of them,
given out in turn, those first that the fewest graphs use. An operator that uses one
writes its `var`, so the engine lets operators that got the same one run one after the
other. A workspace grows to the largest request; its memory goes back to the pool with
the last graph that uses it (MXNet keeps it, and so would hold that of graphs which were
bound again under another knob).

Graphs use them. Operators that are called one by one ask the pool each time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

from minimx.core.device import Device
from minimx.core.engine import Var
from minimx.core.events import Owner, owner
from minimx.core.knobs import knobs
from minimx.core.storage import before_rebuild, pool_for
from minimx.core.storage.pool import Block


class Workspace:
    """One piece of scratch memory; `var` says who may use it now."""

    __slots__ = ("_block", "device", "users", "var")

    def __init__(self, device: Device) -> None:
        self.device = device
        self.var = Var()
        self.users = 0  # graphs
        self._block: Block | None = None

    def bytes(self, nbytes: int, who: Owner | None = None) -> Any:
        """The first `nbytes` bytes, as a flat uint8 array; it grows if it is smaller.

        For code that runs in the engine, in an operation that writes `var`. who: the
        owner, for the record. Raises OutOfMemory if the pool has no more.
        """
        block = self._block
        if block is None or block.size < nbytes:
            if block is not None:
                self._block = None
                block.direct_free()  # as in MXNet: nothing will want one of its size
            by = (who or owner("")).for_category("workspace")
            block = self._block = pool_for(self.device).alloc(nbytes, by)
        return block.data[:nbytes]

    @property
    def nbytes(self) -> int:
        """How large it has become."""
        return 0 if self._block is None else self._block.size

    def give_up(self) -> None:
        """One graph less uses it; with the last one its memory goes back."""
        self.users -= 1
        block = self._block
        if not self.users and block is not None:
            self._block = None
            block.free()

    def __del__(self) -> None:
        block = getattr(self, "_block", None)
        if block is not None:
            block.free()


class Lease:
    """The workspaces of one graph, in order; given up when this object is deleted.

    Operations that are queued in the engine hold it as well, so that the memory which
    they will use stays.
    """

    __slots__ = ("_each",)

    def __init__(self, each: list[Workspace]) -> None:
        self._each = each

    def __getitem__(self, place: int) -> Workspace:
        return self._each[place]

    def __iter__(self) -> Iterator[Workspace]:
        return iter(self._each)

    def __len__(self) -> int:
        return len(self._each)

    def __del__(self) -> None:
        with _lock:
            for workspace in self._each:
                workspace.give_up()


class Workspaces:
    """The workspaces of one device; copies: how many."""

    def __init__(self, device: Device, copies: int) -> None:
        self.each = [Workspace(device) for _ in range(copies)]
        self._turns = count()

    def take(self, wanted: int, shared: list[Workspace] | None = None) -> Lease:
        """Some for one graph: the next ones in turn of those with the fewest users.

        wanted: how many. shared: those that variants of the same graph have, which
        never run at the same time; they are taken once more, and new ones are added.
        """
        with _lock:
            known = [] if shared is None else shared
            if any(workspace not in self.each for workspace in known):
                known.clear()  # from before a knob changed their number
            while len(known) < wanted:
                known.append(self._next(known))
            for workspace in known[:wanted]:
                workspace.users += 1
            return Lease(known[:wanted])

    def _next(self, known: list[Workspace]) -> Workspace:
        turn, many = next(self._turns), len(self.each)
        in_turn = [self.each[(turn + i) % many] for i in range(many)]
        return min(in_turn, key=lambda each: (each in known, each.users))


_known: dict[Device, Workspaces] = {}
# Taken in destructors as well, which may run inside a block that holds it.
_lock = threading.RLock()


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
    """Make new workspaces at the next use; the old ones go with their last user."""
    with _lock:
        _known.clear()


knobs.watch(("MXNET_CPU_TEMP_COPY", "MXNET_GPU_TEMP_COPY"), forget)
before_rebuild(forget)
