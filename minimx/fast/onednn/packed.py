"""Copies of weights in a layout of oneDNN's, kept while the weights stay as they are.

    buffer = packed.take(var, address, layout, holder, make)

A weight is an engine variable, which counts the writes to it (`Var.version`). What was
packed is good for one version. A version that is met for the first time is not kept,
as in training it would never be met again: the caller packs into its workspace. From
the second time on there is a copy, until the weight is written or goes. Where memory is
shared with another library (NumPy, DLPack) writes are not counted, so nothing is kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from minimx.core.knobs import knobs


class Copy(NamedTuple):
    """A packed weight: where it was, how it lies now, and the bytes.

    holder: what the layout belongs to; it lives as long as the copy.
    """

    address: int
    layout: Any
    holder: Any
    buffer: Any


class _Known(NamedTuple):
    version: int
    copies: list[Copy]


class PackedWeights:
    """The copies of all weights. Threads may share it."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Any, _Known] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def take(
        self, var: Any, address: int, layout: Any, holder: Any, make: Callable[[], Any]
    ) -> Any:
        """The bytes of a weight in a layout, or None.

        None if this version was not met before, or if versions are not counted.

        var: the variable, granted for reading. address: where the weight begins.
        holder: an `Owner`, to which the layout belongs. make: packs it.
        """
        with self._lock:
            known = self._known.get(var)
            if var.version < 0:
                self._known.pop(var, None)
                return None
            if known is None or known.version != var.version:
                self._known[var] = _Known(var.version, [])
                return None
            for copy in known.copies:
                if copy.address == address and holder.same(copy.layout, layout):
                    return copy.buffer
        buffer = make()
        with self._lock:
            known.copies.append(Copy(address, layout, holder, buffer))
        return buffer

    def nbytes(self) -> int:
        """How many bytes all copies take."""
        with self._lock:
            every = [copy for known in self._known.values() for copy in known.copies]
        return sum(copy.buffer.nbytes for copy in every)

    def forget(self) -> None:
        """Drop all copies."""
        with self._lock:
            self._known.clear()


packed: Final = PackedWeights()
# Whether dense weights are packed; those of convolutions come back at the next run.
knobs.watch("MXNET_ONEDNN_FORCE_FC_AB_FORMAT", lambda name, new, old: packed.forget())
