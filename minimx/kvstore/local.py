"""The store within one process: values by key, summed over devices.

    kv = mx.kv.create("device")
    kv.init("w", weight)
    kv.push("w", [gradient_on_gpu0, gradient_on_gpu1])     # summed, then stored
    kv.pull("w", out=[weight_on_gpu0, weight_on_gpu1])

With an updater, `push` hands it the sum and the stored value, which it changes: then
weights are stored, and gradients pushed. Keys are whole numbers or strings, not both.

Who sends what to whom is planned in `minimx.kvstore.planners`, by devices, links and
knobs; `execution` runs the plan. What is written here is what is stored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core import autograd, engine
from minimx.core.arrays.array import NDArray
from minimx.core.device import Context, cpu
from minimx.core.errors import ArgumentError, DTypeError, ShapeError
from minimx.core.events import attributed
from minimx.core.files import read_whole, write_whole
from minimx.core.knobs import knobs
from minimx.kvstore.base import OneWorkerStore, known_capability
from minimx.kvstore.bucketing import Gradient, in_buckets, pack, parts_of, unpack
from minimx.kvstore.compression import Compression
from minimx.kvstore.execution import (
    add,
    broadcast,
    device_of,
    gathered,
    overwrite,
    overwrite_all,
    part,
    reduce,
)
from minimx.kvstore.planners import flat, tree
from minimx.kvstore.planners.steps import WHOLE, Piece, Plan
from minimx.kvstore.policy import ON_DEVICES, plan_homes
from minimx.kvstore.topology import trees_for
from minimx.optimizer import Optimizer, Updater, get_updater

Key = int | str
ROWS = "row_sparse"

# A step asks for the same few plans again and again.
_plan_on_host = lru_cache(maxsize=64)(flat.on_host)
_plan_on_device = lru_cache(maxsize=256)(flat.on_device)
_plan_over_trees = lru_cache(maxsize=256)(tree.over_trees)


class KVStore(OneWorkerStore):
    """Values by key, in one process.

    kind: `local` sums on the host, `device` on the devices themselves.
    """

    def __init__(self, kind: str = "local") -> None:
        self._kind = kind
        self._stored: dict[Key, NDArray] = {}
        self._homes: dict[Key, Context] = {}
        self._updater: Any = None
        self._compression: Compression | None = None
        # Sums that are complete in pieces, each on another device, and that were not
        # yet wanted as one array: they are newer than what is stored.
        self._pieces: dict[Key, tuple[list[Context], dict[Piece, NDArray]]] = {}

    @staticmethod
    def is_capable(capability: str) -> bool:
        """It runs an optimizer."""
        return known_capability(capability)

    @property
    def type(self) -> str:
        """The name it was created by."""
        return self._kind

    # -- values -----------------------------------------------------------------------

    def init(self, key: Any, value: Any) -> None:
        """Store the first value of a key, or of several; a key is begun once."""
        fresh = by_key(key, value)
        self._check_keys(fresh)
        for one, values in fresh.items():
            if one in self._stored or len(values) > 1:
                raise ArgumentError(
                    f"the key {one!r} of the store is begun twice. Push to a key that "
                    "has a value, or make another store."
                )
        with autograd.pause(), attributed(category="communication"):
            for one, (first,) in fresh.items():
                self._stored[one] = first.copyto(cpu())

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """`init`, then `pull`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sum the values of each key; keep the sum, or let the updater have it.

        value: an array or a list of them, one for each device; for a list of keys a
            list of these. priority: what the engine does first, of all that is ready;
            ordinary work waits for it. An updater's work is ordinary.
        """
        work = by_key(key, value)
        for one, values in work.items():
            self._check_fits(one, values)
        with autograd.pause():
            for one, values in work.items():
                self._receive(one, values, priority)

    def _receive(self, key: Key, values: list[NDArray], priority: int) -> None:
        devices = [value.context for value in values]
        with engine.urgent(priority), attributed(key=str(key)):
            with attributed(category="communication"):
                pieces = self._reduced(key, values)
                if self._updater is None and len(pieces) > 1:
                    self._pieces[key] = devices, pieces
                    return
                total = gathered(pieces, self._home(key, devices))
            if self._updater is None:
                kept = any(total is value for value in values)
                self._stored[key] = total.copyto(total.context) if kept else total
                return
            stored = self._value(key).as_in_context(total.context)
        self._updater(key, total, stored)
        self._stored[key] = stored

    def _reduced(self, key: Key, values: list[NDArray]) -> dict[Piece, NDArray]:
        """The sum of the values of a key, in pieces where the plan completes them."""
        if self._compression is not None and len(values) > 1:
            home = self._home(key, [value.context for value in values])
            return {Piece(): self._sum_of_packed(key, values, home)}
        return reduce(self._plan(key, values), values)

    def _sum_of_packed(self, key: Key, values: list[NDArray], home: Context) -> NDArray:
        """Each device packs and sends; the home unpacks and adds."""
        assert self._compression is not None
        parts = []
        for sender, value in enumerate(values):
            packed = self._compression.pack(key, sender, value)
            out = nd.empty(value.shape, ctx=home, dtype=value.dtype)
            self._compression.unpack(packed.as_in_context(home), out)
            parts.append(out)
        return add(parts, on_host=not ON_DEVICES[self._kind])

    def _plan(self, key: Key, arrays: list[NDArray]) -> Plan:
        """Who sends what to whom, for arrays of a key on their devices."""
        if not ON_DEVICES[self._kind]:
            return _plan_on_host(len(arrays))
        devices = [array.context for array in arrays]
        if self._takes_trees(arrays):
            bound = int(knobs.MXNET_KVSTORE_TREE_ARRAY_BOUND)
            rows, elements = arrays[0].shape[0], arrays[0].size
            return _plan_over_trees(trees_for(devices), rows, elements, bound)
        return _plan_on_device(len(arrays), devices.index(self._home(key, devices)))

    def _takes_trees(self, arrays: list[NDArray]) -> bool:
        """Whether arrays go over trees: dense, of one dtype, on different GPUs."""
        devices = {array.context for array in arrays}
        return (
            bool(knobs.MXNET_KVSTORE_USETREE)
            and 1 < len(devices) == len(arrays)
            and all(device.device_type == "gpu" for device in devices)
            and {(x.stype, x.dtype) for x in arrays} == {("default", arrays[0].dtype)}
            and self._compression is None
        )

    def _value(self, key: Key) -> NDArray:
        """What is stored for a key, as one array."""
        if key in self._pieces:
            devices, pieces = self._pieces.pop(key)
            with attributed(category="communication"):
                self._stored[key] = gathered(pieces, self._home(key, devices))
        return self._stored[key]

    def _home(self, key: Key, devices: list[Context]) -> Context:
        if not ON_DEVICES[self._kind]:
            return cpu()
        if self._homes.get(key) not in devices:
            sizes = {one: int(np.prod(x.shape)) for one, x in self._stored.items()}
            plan = plan_homes(sizes, list(dict.fromkeys(devices)), self._homes)
            self._homes = {**plan, **self._homes, key: plan[key]}
        return self._homes[key]

    def pull(
        self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copy the value of each key into all of its `out`, in their dtypes.

        ignore_sparse: leave sparse arrays among them as they are; they want
            `row_sparse_pull`.
        """
        work = by_key(key, out)
        for one, outs in work.items():
            self._check_shapes(one, outs)
        with autograd.pause(), engine.urgent(priority):
            for one, outs in work.items():
                wanted = [
                    target
                    for target in outs
                    if target.stype == "default" or not ignore_sparse
                ]
                with attributed(key=str(one)):
                    self._send(one, wanted)

    def _send(self, key: Key, outs: list[NDArray]) -> None:
        """Copy the value of a key into arrays, over trees where sums came over them."""
        if not (outs and ON_DEVICES[self._kind] and self._takes_trees(outs)):
            if outs:
                overwrite_all(outs, self._value(key))
            return
        plan = self._plan(key, outs)
        devices, pieces = self._pieces.get(key, ([], {}))
        if (
            devices != [out.context for out in outs]
            or pieces.keys() != plan.roots.keys()
        ):
            value = self._value(key)
            pieces = {
                piece: part(value, piece).as_in_context(device_of(root, outs))
                for piece, root in plan.roots.items()
            }
        broadcast(plan, pieces, outs)

    def pushpull(
        self, key: Any, value: Any, out: Any = None, priority: int = 0
    ) -> None:
        """`push`, then `pull` into `out`, or back into `value`."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority, ignore_sparse=False)

    def pushpull_many(self, gradients: Sequence[Gradient]) -> None:
        """`pushpull` each back into itself; small ones travel in buckets.

        MXNET_KVSTORE_REDUCE_BUCKET_SIZE says how large a bucket is. Keys go one by one
        while an updater takes each sum, gradients are compressed, or there are other
        workers. Sums are the same to the bit.
        """
        limit = 1024 * int(knobs.MXNET_KVSTORE_REDUCE_BUCKET_SIZE)
        alone = self._updater is not None or self._compression is not None
        if not limit or alone or self.num_workers > 1:
            super().pushpull_many(gradients)
            return
        for one in gradients:
            self._check_fits(one.key, one.values)
        whole: list[Gradient] = []
        cut: list[Gradient] = []
        for one in gradients:
            # Slices are added in other orders, so a key that is sliced stays alone.
            sliced = len(self._plan(one.key, one.values).roots) > 1
            (cut if sliced else whole).append(one)
        super().pushpull_many(cut)
        for bucket in in_buckets(whole, limit):
            if len(bucket) == 1:
                super().pushpull_many(bucket)
            else:
                self._pushpull_bucket(bucket)

    def _pushpull_bucket(self, bucket: list[Gradient]) -> None:
        """Sum gradients as one flat array; the first key decides where."""
        first = bucket[0]
        plan = self._plan(first.key, first.values)
        on_devices = list(zip(*(one.values for one in bucket), strict=True))
        urgency = max(one.priority for one in bucket)
        with (
            autograd.pause(),
            engine.urgent(urgency),
            attributed(category="communication", key=_span(bucket)),
        ):
            flats = [pack(values) for values in on_devices]
            pieces = reduce(plan, flats)
            broadcast(plan, pieces, flats)
            for flat, values in zip(flats, on_devices, strict=True):
                unpack(flat, values)
            parts = parts_of(pieces[WHOLE], on_devices[0])
            for one, total in zip(bucket, parts, strict=True):
                self._pieces.pop(one.key, None)
                self._stored[one.key] = total

    def row_sparse_pull(
        self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None
    ) -> None:
        """Copy the rows named by `row_ids` into row_sparse arrays.

        row_ids: one array of row numbers, in any order and repeated or not, for all of
            `out`, or a list with one for each.
        """
        outs = by_key(key, out)
        wanted = by_key(key, row_ids)
        for one, targets in outs.items():
            self._check_shapes(one, targets)
            kinds = {self._stored[one].stype, *(t.stype for t in targets)}
            if kinds != {ROWS}:
                raise ArgumentError(
                    f"row_sparse_pull of {one!r}: the stored array and `out` must be "
                    f"stored as row_sparse; here are {sorted(kinds)}. Use pull."
                )
        with autograd.pause(), engine.urgent(priority):
            for one, targets in outs.items():
                named = wanted[one] * (len(targets) if len(wanted[one]) == 1 else 1)
                for target, rows in zip(targets, named, strict=True):
                    overwrite(target, picked(self._value(one), rows))

    # -- optimizer --------------------------------------------------------------------

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Update stored weights by an optimizer with each sum of gradients."""
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(
                "set_optimizer takes an Optimizer, such as "
                f"mx.optimizer.create('sgd'), not a {type(optimizer).__name__}."
            )
        self._set_updater(get_updater(optimizer))

    def _set_updater(
        self, updater: Callable[[Any, NDArray, NDArray], None] | None
    ) -> None:
        """Call `updater(key, sum, stored)` with each push; None: store the sums."""
        self._updater = updater

    set_updater = _set_updater

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Send gradients between devices in one or two bits.

        compression_params: `type`, 2bit or 1bit, and `threshold`, by default 0.5. What
        packing loses is added to the next gradient of the same device. Raises
        `ArgumentError` for a store that adds on the host, as MXNet's does.
        """
        if not ON_DEVICES[self._kind]:
            raise ArgumentError(
                f"the store {self._kind!r} adds on the host, where gradients are not "
                "compressed; take 'device', or leave compression_params away."
            )
        self._compression = Compression(compression_params)

    def _remembering(self) -> Updater:
        if not isinstance(self._updater, Updater):
            raise ArgumentError(
                "the store runs no optimizer, so there are no states. Call "
                "set_optimizer first."
            )
        return self._updater

    def save_optimizer_states(
        self, fname: str | os.PathLike[str], dump_optimizer: bool = False
    ) -> None:
        """Write what the optimizer remembers; `dump_optimizer`: its counts as well."""
        content = self._remembering().get_states(dump_optimizer)
        write_whole(fname, content, "save_optimizer_states")

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Go on where `save_optimizer_states` was called."""
        content = read_whole(fname, "load_optimizer_states")
        self._remembering().set_states(content, self._stored)

    # -- checks -----------------------------------------------------------------------

    def _check_keys(self, keys: Any) -> None:
        kinds = {type(one).__name__ for one in [*self._stored, *keys]}
        if len(kinds) > 1:
            raise ArgumentError(
                f"keys of a store are all int or all str; here are {sorted(kinds)}."
            )

    def _check_fits(self, key: Key, arrays: list[NDArray]) -> None:
        """Refuse what cannot be added to the value of a key."""
        self._check_shapes(key, arrays)
        have = self._stored[key]
        for one in arrays:
            if one.dtype != have.dtype:
                raise DTypeError(
                    f"the store keeps {key!r} as {np.dtype(have.dtype)}; an array of "
                    f"{np.dtype(one.dtype)} was given."
                )

    def _check_shapes(self, key: Key, arrays: list[NDArray]) -> None:
        """Refuse what the value of a key cannot be copied to."""
        self._check_keys([key])
        if key not in self._stored:
            raise ArgumentError(
                f"the store has no value for {key!r}. Begin with init({key!r}, value)."
            )
        have = self._stored[key]
        for one in arrays:
            if one.shape != have.shape:
                raise ShapeError(
                    f"the store keeps {key!r} as {have.shape}; {one.shape} was given."
                )


def _span(bucket: Sequence[Gradient]) -> str:
    """What records call keys that travel together."""
    names = [str(one.key) for one in bucket]
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def by_key(keys: Any, values: Any) -> dict[Key, list[NDArray]]:
    """The arrays of each key, from one key or several, and one array or several."""
    if isinstance(keys, (list, tuple)):
        given = values if isinstance(values, (list, tuple)) else [values]
        if len(given) != len(keys):
            raise ArgumentError(
                f"{len(keys)} keys were given with {len(given)} values; give one for "
                "each, or a list."
            )
        found: dict[Key, list[NDArray]] = {}
        for key, value in zip(keys, given, strict=True):
            for name, of_one in by_key(key, value).items():
                found.setdefault(name, []).extend(of_one)
        return found
    if isinstance(keys, bool) or not isinstance(keys, (int, str, np.integer)):
        raise ArgumentError(f"a key of a store is an int or a str, not {keys!r}.")
    arrays = list(values) if isinstance(values, (list, tuple)) else [values]
    for one in arrays:
        if not isinstance(one, NDArray):
            raise ArgumentError(
                f"the value of {keys!r} must be an NDArray or a list of them, not a "
                f"{type(one).__name__}."
            )
    return {keys if isinstance(keys, str) else int(keys): arrays}


def picked(array: NDArray, row_ids: NDArray) -> NDArray:
    """The named rows of a row_sparse array, each once and in order; recorded."""
    numbers = np.unique(row_ids.asnumpy().astype(np.int64))
    wanted = nd.array(numbers, ctx=array.context, dtype=np.int64)
    return nd.sparse.retain(array, wanted)
