"""The synchronous stores between processes: what a user calls.

    dist_sync, dist      as `local` within each process, then a sum of all ranks
    dist_sync_device,
    dist_device_sync     as `device` within each process, then a sum of all ranks
    horovod              the sum alone: it keeps no values, has no optimizer

In MXNet a server keeps the values and runs the optimizer, once for each sum. Here every
rank keeps them and runs it: as the sums are the same to the bit, so are the values.
Outside a launched job there is one worker.
"""

from __future__ import annotations

from typing import Any

import minimx.nd as nd
from minimx.core import autograd, engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context, cpu
from minimx.core.events import attributed
from minimx.core.knobs import knobs
from minimx.kvstore.base import KVStoreBase, as_list, known_capability
from minimx.kvstore.compression import Compression
from minimx.kvstore.dist.job import Job, job
from minimx.kvstore.dist.sums import (
    described,
    gather,
    print_rows,
    spread,
    sum_over_ranks,
    sum_rows,
)
from minimx.kvstore.execution import add, gathered, overwrite
from minimx.kvstore.local import ROWS, Key, KVStore
from minimx.optimizer import Optimizer


class DistStore(KVStore):
    """Values by key, the same on all ranks.

    kind: the name it is created by, such as `dist_sync`.
    """

    def __init__(self, kind: str = "dist_sync") -> None:
        super().__init__("device" if "device" in kind else "local")
        self._name = kind
        self._job = job()
        self._packing: Compression | None = None  # of what ranks send to each other

    @property
    def type(self) -> str:
        """The name it was created by."""
        return self._name

    @property
    def rank(self) -> int:
        """Which of the workers this process is, from 0."""
        return self._job.rank

    @property
    def num_workers(self) -> int:
        """How many processes train together."""
        return self._job.size

    def barrier(self) -> None:
        """Wait until all ranks have come here."""
        self._job.agree("barrier")

    _barrier = barrier

    def init(self, key: Any, value: Any) -> None:
        """Store rank 0's first value of a key on all ranks; returns when all have it.

        Raises `JobError` if keys, shapes or dtypes differ between ranks.
        """
        before = set(self._stored)
        super().init(key, value)
        fresh = [one for one in self._stored if one not in before]
        if self._job.size == 1:
            return
        for one in fresh:
            spread(self._job, one, self._stored[one], "init")
        for one in fresh:
            self._stored[one].wait_to_read()

    def _receive(self, key: Key, values: list[NDArray], priority: int) -> None:
        if knobs.MXNET_KVSTORE_DIST_ROW_SPARSE_VERBOSE and values[0].stype == ROWS:
            print_rows(self.rank, key, gathered(self._reduced(key, values), cpu()))
        if self._job.size == 1 and self._packing is None:
            super()._receive(key, values, priority)
            return
        with engine.urgent(priority), attributed(category="communication"):
            mine = gathered(self._reduced(key, values), cpu())
            if self._packing is not None:
                total = self._sum_of_packed_ranks(key, mine, priority)
            elif mine.stype == ROWS:
                total = sum_rows(self._job, key, mine, priority)
            else:
                kept = any(mine is value for value in values)
                total = mine.copyto(cpu()) if kept else mine
                sum_over_ranks(self._job, key, total, priority)
        if self._updater is None:
            self._stored[key] = total
        else:
            self._updater(key, total, self._stored[key])

    def _sum_of_packed_ranks(self, key: Key, mine: NDArray, priority: int) -> NDArray:
        """Each rank packs; all unpack what all have packed, and add in their order."""
        assert self._packing is not None
        packed = self._packing.pack(key, self.rank, mine)
        parts = [packed]
        if self._job.size > 1:
            what = f"{described(mine)} in {self._packing}"
            came = gather(self._job, key, packed, what, priority)
            parts = [came[rank] for rank in range(self._job.size)]
        outs = [nd.empty(mine.shape) for _ in parts]
        for part, out in zip(parts, outs, strict=True):
            self._packing.unpack(part, out)
        return add(outs, on_host=True)

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update stored weights by an optimizer, the same on all ranks.

        Raises `JobError` if the ranks give different optimizers or settings.
        """
        super().set_optimizer(optimizer)
        settings = {
            name: value
            for name, value in sorted(vars(optimizer).items())
            if isinstance(value, (int, float, str, bool)) and not name.startswith("_")
        }
        self._job.agree(f"set_optimizer {type(optimizer).__name__} {settings}")

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Send gradients from rank to rank in one or two bits.

        compression_params: see `Compression`. Within a process, from device to device,
        and where first values are set, numbers travel whole, as in MXNet.
        """
        self._packing = Compression(compression_params)
        self._job.agree(f"set_gradient_compression {self._packing}")


class Horovod(KVStoreBase):
    """Sums over devices and ranks, and nothing kept: as MXNet's store over Horovod."""

    def __init__(self) -> None:
        self._job: Job = job()

    @property
    def local_rank(self) -> int:
        """Which of the workers on this machine this process is, from 0."""
        return self._job.local_rank

    @property
    def rank(self) -> int:
        """Which of the workers this process is, from 0."""
        return self._job.rank

    @property
    def num_workers(self) -> int:
        """How many processes train together."""
        return self._job.size

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Copy the value that rank 0 has for a key into all of `out`."""
        with autograd.pause():
            first = as_list(value)[0].copyto(cpu())
            if self._job.size > 1:
                spread(self._job, key, first, "broadcast", priority)
            for one in as_list(out):
                overwrite(one, first)

    def pushpull(
        self, key: Any, value: Any, out: Any = None, priority: int = 0
    ) -> None:
        """Sum values over devices and ranks, into `out` or back into `value`."""
        values: list[NDArray] = as_list(value)
        home: Context = cpu()
        with (
            autograd.pause(),
            engine.urgent(priority),
            attributed(category="communication"),
        ):
            total = add([one.as_in_context(home) for one in values], on_host=True)
            if any(total is one for one in values):
                total = total.copyto(home)
            if self._job.size > 1:
                sum_over_ranks(self._job, key, total, priority)
            for one in values if out is None else as_list(out):
                overwrite(one, total)

    @staticmethod
    def is_capable(capability: str) -> bool:
        """It runs no optimizer."""
        return known_capability(capability) and False
