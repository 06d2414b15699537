"""The store `nccl`: sums and broadcasts on a ring of GPUs, several keys at once.

On CUDA devices NCCL moves the numbers (`minimx.cuda.nccl`). On simulated GPUs a plan
does (`planners.ring`), copy by copy, so that links and their load can be seen: NCCL's
algorithm for large arrays, not its speed. Keys of one dtype and the same devices travel
in one call, as many as MXNET_UPDATE_AGGREGATION_SIZE says, or as fit into a bucket of
MXNET_KVSTORE_REDUCE_BUCKET_SIZE.

As in MXNet gradients are on GPUs, dense and not compressed. A sum depends on where the
ring cuts the keys of a call, so its last bits differ from those of `device`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import minimx.nd as nd
from minimx.core import autograd, engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context, gpu
from minimx.core.drivers import backend_of, num_gpus
from minimx.core.errors import ArgumentError, DeviceError
from minimx.core.events import attributed
from minimx.core.knobs import knobs
from minimx.cuda import nccl
from minimx.kvstore.bucketing import Gradient, in_buckets, pack, parts_of, unpack
from minimx.kvstore.execution import broadcast, device_of, gathered, part, reduce
from minimx.kvstore.local import Key, KVStore, by_key
from minimx.kvstore.planners.ring import on_ring
from minimx.kvstore.planners.steps import Plan

_plan_on_ring = lru_cache(maxsize=256)(on_ring)


class NCCL(KVStore):
    """Values by key, on the GPUs of one process."""

    def __init__(self) -> None:
        super().__init__("nccl")
        self._updated_on: dict[Key, Context] = {}
        self._real = num_gpus() > 0 and backend_of(gpu(0)) == "cuda"
        if self._real:
            nccl.library()  # raises where it is missing

    def __repr__(self) -> str:
        return f"<KVStore nccl {'on CUDA devices' if self._real else 'simulated'}>"

    def init(self, key: Any, value: Any) -> None:
        """Store the first value of a key, or of several; a key is begun once."""
        for one, values in by_key(key, value).items():
            _check_dense(one, values)
        super().init(key, value)

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sum the values of each key; keep the sum, or let the updater have it.

        value: an array or a list of them, each on a GPU of its own; for a list of keys
            a list of these, which travel together. Raises `DeviceError` for arrays that
            are not on different GPUs.
        """
        work = by_key(key, value)
        for one, values in work.items():
            self._check_fits(one, values)
            _check_dense(one, values)
            _check_gpus(one, values)
        with autograd.pause():
            for call in _calls([Gradient(*one, priority) for one in work.items()]):
                self._add_up(call)

    def _add_up(self, call: list[Gradient]) -> NDArray:
        """Sum the gradients of a call where its first key lives: one flat array."""
        devices = [value.context for value in call[0].values]
        home = self._home(call[0].key, devices)
        with _moving(call):
            total = _reduced([one.values for one in call], home)
            parts = list(parts_of(total, [one.values[0] for one in call]))
        for one, summed in zip(call, parts, strict=True):
            if self._updater is None:
                self._stored[one.key] = summed
                continue
            # The optimizer's states are where the key was updated first; calls, and
            # with them their homes, change with the knobs.
            place = self._updated_on.setdefault(one.key, home)
            stored = self._value(one.key).as_in_context(place)
            self._updater(one.key, summed.as_in_context(place), stored)
            self._stored[one.key] = stored
        return total

    def pull(
        self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copy the value of each key into all of its `out`, in their dtypes.

        Over the ring where a value and all of its `out` are on different GPUs, several
        keys together; else by copies.
        """
        work = by_key(key, out)
        ring = []
        for one, outs in work.items():
            self._check_shapes(one, outs)
            if self._in_ring(self._stored[one], outs):
                ring.append(Gradient(one, outs, priority))
            else:
                super().pull(one, outs, priority, ignore_sparse)
        with autograd.pause():
            for call in _calls(ring):
                home = self._stored[call[0].key].context
                values = [self._value(each.key) for each in call]
                with _moving(call):
                    total = pack([value.as_in_context(home) for value in values])
                    _spread(total, [each.values for each in call])

    @staticmethod
    def _in_ring(value: NDArray, outs: Sequence[NDArray]) -> bool:
        devices = {out.context for out in outs}
        return (
            1 < len(devices) == len(outs)
            and value.context in devices
            and value.size > 0
            and all(out.stype == "default" for out in outs)
            and all(out.dtype == value.dtype for out in outs)
        )

    def pushpull_many(self, gradients: Sequence[Gradient]) -> None:
        """Sum each gradient over the GPUs, back into itself; several in a call."""
        if self._updater is not None:
            super().pushpull_many(gradients)
            return
        for one in gradients:
            self._check_fits(one.key, one.values)
            _check_dense(one.key, one.values)
            _check_gpus(one.key, one.values)
        with autograd.pause():
            for call in _calls(gradients):
                total = self._add_up(call)
                if len(call[0].values) > 1 and total.size:
                    with _moving(call):
                        _spread(total, [one.values for one in call])

    def update_many(
        self, gradients: Sequence[Gradient], weights: Sequence[list[NDArray]]
    ) -> None:
        """Push gradients and pull weights, several keys in a call."""
        outs = {one.key: values for one, values in zip(gradients, weights, strict=True)}
        for call in _calls(gradients):
            keys = [one.key for one in call]
            urgency = max(one.priority for one in call)
            self.push(keys, [one.values for one in call], urgency)
            self.pull(keys, [outs[key] for key in keys], urgency)

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Raise `ArgumentError`: NCCL adds whole numbers, in MXNet as well."""
        raise ArgumentError(
            "the store 'nccl' adds whole numbers and compresses nothing; take "
            "'device', or leave compression_params away."
        )


def _calls(gradients: Sequence[Gradient]) -> list[list[Gradient]]:
    """Which keys share a call, by the knobs as they are now."""
    if limit := 1024 * int(knobs.MXNET_KVSTORE_REDUCE_BUCKET_SIZE):
        return in_buckets(gradients, limit)
    return in_buckets(gradients, int(knobs.MXNET_UPDATE_AGGREGATION_SIZE), lambda _: 1)


@contextmanager
def _moving(call: Sequence[Gradient]) -> Iterator[None]:
    """What is pushed inside is communication, as urgent as a call's most urgent key."""
    with (
        engine.urgent(max(one.priority for one in call)),
        attributed(category="communication"),
    ):
        yield


def _reduced(by_key: Sequence[Sequence[NDArray]], home: Context) -> NDArray:
    """The sum over GPUs of what each has of all keys: a flat array on one of them."""
    flats = [pack(arrays) for arrays in zip(*by_key, strict=True)]
    if len(flats) == 1 or not flats[0].size:
        return flats[0].as_in_context(home)
    if backend_of(home) != "cuda":
        return gathered(reduce(_ring(flats), flats), home)
    total = nd.empty(flats[0].shape, ctx=home, dtype=flats[0].dtype)
    nccl.push_reduce(flats, total)
    return total


def _spread(total: NDArray, by_key: Sequence[Sequence[NDArray]]) -> None:
    """Fill the arrays of all keys from the flat one that holds them, one after another.

    Those of a key are on different GPUs, one of them that of `total`.
    """
    by_device = list(zip(*by_key, strict=True))
    flats = [
        nd.empty(total.shape, ctx=arrays[0].context, dtype=total.dtype)
        for arrays in by_device
    ]
    if backend_of(total.context) == "cuda":
        nccl.push_broadcast(total, flats)
    else:
        plan = _ring(flats)
        pieces = {
            piece: part(total, piece).as_in_context(device_of(root, flats))
            for piece, root in plan.roots.items()
        }
        broadcast(plan, pieces, flats)
    for flat, arrays in zip(flats, by_device, strict=True):
        unpack(flat, arrays)


def _ring(flats: Sequence[NDArray]) -> Plan:
    return _plan_on_ring(range(len(flats)), flats[0].size)


def _check_dense(key: Key, arrays: Sequence[NDArray]) -> None:
    for one in arrays:
        if one.stype != "default":
            raise ArgumentError(
                f"{key!r} is stored as {one.stype}; the store 'nccl' adds dense arrays "
                "only. Take 'device' or 'local'."
            )


def _check_gpus(key: Key, arrays: Sequence[NDArray]) -> None:
    devices = [one.context for one in arrays]
    for at in devices:
        if at.device_type != "gpu":
            raise DeviceError(
                f"{key!r} is on {at}; the store 'nccl' adds what is on GPUs. Move it "
                "there, or take 'local' or 'device'."
            )
    if len(set(devices)) < len(devices):
        raise DeviceError(
            f"{key!r} has two values on one GPU: {', '.join(map(str, devices))}; the "
            "store 'nccl' takes one from each. Add them up before, or take 'device'."
        )
