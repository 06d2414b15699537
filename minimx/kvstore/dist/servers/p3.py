"""P3: sums over workers in slices by priority, and which store a name means.

Source: A. Jayarajan et al., "Priority-based Parameter Propagation for Distributed DNN
Training" (2019), as MXNet's `p3store_dist.h` has it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core import autograd, engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import cpu
from minimx.core.errors import ArgumentError
from minimx.core.events import attributed
from minimx.core.knobs import knobs
from minimx.kvstore.base import known_capability
from minimx.kvstore.dist.job import job
from minimx.kvstore.dist.servers.known import Known, memory_of
from minimx.kvstore.dist.servers.on_servers import ServerStore
from minimx.kvstore.dist.servers.post import Bytes, Header
from minimx.kvstore.dist.servers.service import Message
from minimx.kvstore.dist.store import DistStore
from minimx.kvstore.execution import gathered, overwrite
from minimx.kvstore.local import Key, by_key
from minimx.kvstore.planners.placement import Part, Slicer
from minimx.optimizer import Optimizer


class P3Store(ServerStore):
    """Sums over workers, in slices of MXNET_KVSTORE_SLICE_THRESHOLD elements.

    Each slice is a message with the key's priority, so those of urgent keys overtake.
    Values are kept and sent as they are: the optimizer runs in the workers.
    """

    def __init__(self, kind: str) -> None:
        if "_async" in kind:
            raise ArgumentError(
                f"the store {kind!r} updates with each push, P3 only adds. Set "
                "DMLC_PS_VAN_TYPE=zmq, or take 'dist_sync'."
            )
        super().__init__(kind)
        threshold = int(knobs.MXNET_KVSTORE_SLICE_THRESHOLD)
        self._slicer = Slicer(self._servers, threshold)

    def _parts(self, key: Key, stype: str, shape: tuple[int, ...]) -> tuple[Part, ...]:
        if stype != "default":
            raise self._only_adds(f"{key!r} is stored as {stype}")
        return tuple(self._slicer.slices(int(np.prod(shape))))

    def pushpull(
        self, key: Any, value: Any, out: Any = None, priority: int = 0
    ) -> None:
        """Sum values over devices and workers, into `out` or back into `value`."""
        work, outs = by_key(key, value), by_key(key, value if out is None else out)
        for one, values in work.items():
            self._check_fits(one, values)
            self._check_shapes(one, outs[one])
        with autograd.pause(), engine.urgent(priority):
            for one, values in work.items():
                with attributed(category="communication"):
                    total = gathered(self._reduced(one, values), cpu())
                    summed = self._pushed_and_pulled(one, total, priority)
                    for target in outs[one]:
                        overwrite(target, summed)

    def _pushed_and_pulled(self, key: Key, total: NDArray, priority: int) -> NDArray:
        """The sum over workers, slice by slice as they come back."""
        known: Known = self._stored[key]
        value = nd.empty(known.shape, ctx=cpu(), dtype=known.dtype)
        header = {"do": "push", "sync": True, "back": True}

        def begin() -> list[Message]:
            memory = memory_of(total.view())
            return [
                self._message(key, part, header, memory[known.bytes_of(part)])
                for part in known.parts
            ]

        def came(number: int, _: Header, payload: Bytes | None) -> None:
            if payload is not None:
                memory_of(value.view())[known.bytes_of(known.parts[number])] = payload

        self._job.exchange(
            begin,
            came,
            f"pushpull of {key!r}",
            "KVStoreDistPushPull",
            [total.chunk],
            [value.chunk, known.var],
            priority,
            str(key),
        )
        return value

    @staticmethod
    def is_capable(capability: str) -> bool:
        """It runs no optimizer."""
        return known_capability(capability) and False

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Refused, as in MXNet."""
        raise self._only_adds("an optimizer was given")

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Refused, as in MXNet."""
        raise self._only_adds("compression_params were given")

    def _only_adds(self, what: str) -> ArgumentError:
        return ArgumentError(
            f"the store {self._name!r} sends dense sums by P3: {what}. Give "
            "update_on_kvstore=False, or take 'dist_sync'."
        )


def created(name: str) -> DistStore:
    """The store of a name, by what the job has: see the top of the module."""
    van = "p3" if knobs.DMLC_PS_VAN_TYPE == "p3" else ""
    if name in ("p3", "dist_p3") or van:
        return P3Store(name)
    if "_async" in name or job().roles.dedicated:
        return ServerStore(name)
    return DistStore(name)
