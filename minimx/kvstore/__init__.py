"""`mx.kv`: stores in which devices share their values and sum their gradients."""

from __future__ import annotations

from typing import Any

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core.errors import ArgumentError, did_you_mean
from minimx.core.extensions import provided
from minimx.kvstore.base import KVStoreBase, TestStore
from minimx.kvstore.local import KVStore
from minimx.kvstore.nccl import NCCL
from minimx.kvstore.policy import ON_DEVICES

__all__ = ["KVStore", "KVStoreBase", "TestStore", "create", "register_tree"]

#: Stores between processes; see `minimx.kvstore.dist`.
BETWEEN_PROCESSES = (
    *("dist", "dist_sync", "dist_sync_device", "dist_device_sync"),
    *("dist_async", "dist_async_device", "p3", "dist_p3"),
)


def create(name: str = "local") -> Any:
    """A store by its name.

    `local` sums on the host, `device` on the devices themselves, `nccl` on a ring of
    GPUs. `dist_sync`, `dist_sync_device` and `horovod` sum over the processes of a
    launched job as well.
    `dist_async` updates on servers without waiting; `p3` sends sums in slices, urgent
    ones first. Others are those that were registered with `KVStoreBase.register`.

    >>> from minimx import nd
    >>> kv = create("device")
    >>> kv.init(3, nd.zeros(2))
    >>> kv.push(3, [nd.ones(2), nd.ones(2)])
    >>> kv.pull(3, out=(found := nd.zeros(2)))
    >>> found.asnumpy().tolist()
    [2.0, 2.0]
    """
    if not isinstance(name, str):
        raise TypeError(
            f"a store is created by its name, such as 'device', not by {name!r}."
        )
    lower = name.lower()
    if lower in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[lower]()
    if lower in ON_DEVICES:
        return NCCL() if lower == "nccl" else KVStore(lower)
    if lower in (*BETWEEN_PROCESSES, "horovod"):
        from minimx.kvstore.dist.servers.p3 import created
        from minimx.kvstore.dist.store import Horovod

        return Horovod() if lower == "horovod" else created(lower)
    known = [*ON_DEVICES, *BETWEEN_PROCESSES, "horovod", *KVStoreBase.kv_registry]
    raise ArgumentError(
        f"there is no store called {name!r}; there are {', '.join(known)}."
        + did_you_mean(name, known)
    )


def register_tree(name: Any, policy: Any = None) -> Any:
    """Let MINIMX_KVSTORE_TREE take a class of yours, by name; a call or a decorator.

    It plans the trees of sums over devices: `mx.policies.register_tree`.
    """
    return provided("policies").register_tree(name, policy)


_resolve_missing(__name__, __all__)
