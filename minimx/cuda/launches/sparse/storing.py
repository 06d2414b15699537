"""Sparse arrays on CUDA devices: a few kernels there, all others between two copies.

Storage types are exchanged on the device, and csr is multiplied with dense. For the
rest the kernel gets copies of its inputs and memory on the host. How much it stores is
known when it is through: as much is then taken on the device, and filled.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from minimx.core.drivers import copies
from minimx.core.dtypes import FLOAT32, FLOAT64
from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.core.ops.stypes import CSR, DEFAULT, ROW_SPARSE, Entries, Rows, stypes_of
from minimx.cuda.launches import _report

#: From which storage type to which, by which kernel.
_CASTS: dict[tuple[str, ...], str] = {
    (DEFAULT, CSR): "collect_entries",
    (DEFAULT, ROW_SPARSE): "collect_rows",
    (CSR, DEFAULT): "spread_entries",
    (ROW_SPARSE, DEFAULT): "spread_rows",
}


def fetched(parts: Rows | Entries, spec: Spec) -> Any:
    """What a sparse array stores, as NumPy arrays. Only inside `working`."""
    data, *indices = parts
    return type(parts)(copies.fetch(data, spec.dtype), *map(copies.fetch, indices))


class HostBuffers:
    """Memory on the host for what a sparse array on a device is to store."""

    def __init__(self, destination: Any, parts: Rows | Entries, spec: Spec) -> None:
        self.destination, self.parts, self.spec = destination, parts, spec
        self._made: Rows | Entries | None = None

    def rows(self, count: int) -> Rows:
        """Memory for so many rows, to be filled."""
        data = np.empty((count, *self.spec.shape[1:]), self.spec.dtype)
        self._made = Rows(data, np.empty(count, np.int64))
        return self._made

    def entries(self, count: int) -> Entries:
        """Memory for so many elements, to be filled."""
        begins = np.empty(self.spec.shape[0] + 1, np.int64)
        indices = np.empty(count, np.int64)
        self._made = Entries(np.empty(count, self.spec.dtype), indices, begins)
        return self._made

    def send(self) -> None:
        """Store on the device what was filled in, or changed where it lay."""
        target, made = self.destination.parts, self._made
        if made is not None:
            to, count = self.destination, len(made.indices)
            target = to.rows(count) if isinstance(made, Rows) else to.entries(count)
        for array, part in zip(target, made or self.parts, strict=True):
            copies.copyto(array, part)


def placed(
    op: Any, kernel: Kernel, specs: Sequence[Spec], changed: Collection[int]
) -> Kernel:
    """Who computes a sparse call on a CUDA device.

    specs: of the inputs and outputs; changed: which of them are written to.
    """
    native = _native(op, specs) if all(spec.size for spec in specs) else None
    if native is None:
        return on_host(op.name, kernel, specs, changed)
    found: Kernel = getattr(import_module("minimx.cuda.kernels.sparse.sparse"), native)
    return found


def _native(op: Any, specs: Sequence[Spec]) -> str | None:
    """The kernel on the device, if there is one."""
    stypes = stypes_of(specs)
    if op.name == "cast_storage":
        return _CASTS.get(stypes)
    if op.name != "dot" or stypes != (CSR, DEFAULT, DEFAULT):
        return None
    turned, single = op.transpose_a or op.transpose_b, specs[0].dtype == FLOAT32
    plain = not turned and specs[1].ndim == 2 and specs[1].dtype == specs[0].dtype
    return "entries_dense" if plain and (single or specs[0].dtype == FLOAT64) else None


def on_host(
    name: str, kernel: Kernel, specs: Sequence[Spec], changed: Collection[int]
) -> Kernel:
    """The kernel of a sparse call for arrays, parts and destinations of a CUDA device.

    specs: of the arguments; changed: which of them, beside destinations, it writes to.
    """
    _report(name)

    def run(*args: Any) -> None:
        known: dict[int, Any] = {}  # one array that is given twice stays one

        def host(x: Any, spec: Spec) -> Any:
            if hasattr(x, "rows"):
                return HostBuffers(x, host(x.parts, spec), spec)
            if id(x) not in known:
                known[id(x)] = (
                    fetched(x, spec) if isinstance(x, Rows | Entries)
                    else copies.fetch(x, spec.dtype).reshape(spec.shape)
                )  # fmt: skip
            return known[id(x)]

        hosts = [host(x, spec) for x, spec in zip(args, specs, strict=True)]
        kernel(*hosts)
        for index, (x, found) in enumerate(zip(args, hosts, strict=True)):
            if isinstance(found, HostBuffers):
                found.send()
            elif index in changed and not isinstance(x, tuple):
                copies.copyto(x, found)

    return run
