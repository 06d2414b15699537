"""The knobs of a simulated store, and the stores that can be simulated."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.kvstore.compression import NUMBERS_IN_A_WORD, packed_bytes

#: Stores by their names, and those that are simulated alike.
STORES = {
    "local": "local",
    "device": "device",
    "tree": "tree",
    "ring": "ring",
    "horovod": "ring",
    "nccl": "ring",
    "dist_sync": "dist_sync",
    "dist_async": "dist_async",
    "p3": "p3",
    "dist_p3": "p3",
}
#: Stores to whose home or servers gradients may go in few bits.
COMPRESSED = ("device", "dist_sync", "dist_async")


@dataclass(frozen=True)
class Settings:
    """Values of `MXNET_KVSTORE_…`, with MXNet's defaults.

    bigarray_bound, tree_array_bound, slice_threshold: elements. reduce_bucket_size:
    KiB; 0: each key travels alone. reduction_nthreads: threads of a sum on the host or
    on a server. update_on_kvstore: whether the optimizer runs where gradients meet;
    `ring` and `p3` run it on the workers, `dist_async` on the servers in any case.
    compression: 1bit or 2bit; what is pushed has so many bits for each number.
    """

    bigarray_bound: int = 1_000_000
    tree_array_bound: int = 10_000_000
    slice_threshold: int = 40_000
    reduce_bucket_size: int = 0
    reduction_nthreads: int = 4
    update_on_kvstore: bool = True
    compression: str = ""

    def pushed(self, nbytes: int, itemsize: int) -> int:
        """The bytes that travel for a gradient of `nbytes`, or a part of one."""
        if not self.compression:
            return nbytes
        return packed_bytes(self.compression, nbytes // itemsize)

    def updates_on_store(self, store: str) -> bool:
        """Whether the optimizer runs in the store."""
        if store in ("ring", "p3"):
            return False
        return store == "dist_async" or self.update_on_kvstore


def settings_of(knobs: dict[str, Any], store: str) -> Settings:
    """The settings from keyword arguments; `ArgumentError` for names or values."""
    known = [one.name for one in fields(Settings)]
    for name, value in knobs.items():
        if name not in known:
            raise ArgumentError(
                f"the simulation has no knob {name!r}; it has {', '.join(known)}."
                + did_you_mean(name, known)
            )
        if name == "compression":
            if value not in ("", *NUMBERS_IN_A_WORD):
                raise ArgumentError(f"compression is '1bit' or '2bit', not {value!r}.")
        elif int(value) < (1 if name not in _MAY_BE_ZERO else 0):
            raise ArgumentError(f"{name}={value}: give a whole number from 1 on.")
    if knobs.get("compression") and store not in COMPRESSED:
        raise ArgumentError(
            f"the store {store!r} is not simulated with compression; {COMPRESSED} are."
        )
    return Settings(**knobs)


_MAY_BE_ZERO = ("reduce_bucket_size", "update_on_kvstore")


def store_of(name: str) -> str:
    """The store that a name is simulated as."""
    if name not in STORES:
        raise ArgumentError(
            f"no store {name!r} is simulated; there are {', '.join(STORES)}."
            + did_you_mean(name, STORES)
        )
    return STORES[name]
