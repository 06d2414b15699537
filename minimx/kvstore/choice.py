"""Which store a training loop gets, and whether the optimizer runs there."""

from __future__ import annotations

from typing import Any

from minimx.core.errors import ArgumentError, MissingArgument
from minimx.core.knobs import knobs
from minimx.kvstore import create
from minimx.kvstore.base import KVStoreBase
from minimx.kvstore.local import KVStore
from minimx.kvstore.policy import needs_store, updates_on_store


def choose(
    given: Any,
    devices: int,
    largest: int,
    wanted: bool | None = None,
    sparse_weights: bool = False,
    sparse_gradients: bool = False,
) -> tuple[KVStoreBase | None, bool | None]:
    """The store, None if there is nothing to share, and whether it runs the optimizer.

    given: a name, a store, or None. devices: how many hold the parameters. largest:
        elements of the largest parameter. wanted: what the user says about where the
        optimizer runs; None leaves it to MXNET_UPDATE_ON_KVSTORE.
    """
    if sparse_weights:
        return _for_sparse_weights(given, wanted), True
    store = _made(given, devices)
    if store is None:
        return None, None
    if "_async" in store.type:
        if wanted is False:
            raise ArgumentError(
                f"the store {store.type!r} updates weights on servers with each push; "
                "leave update_on_kvstore away, or give True."
            )
        return store, True
    if sparse_gradients:
        if not isinstance(store, KVStore):
            raise ArgumentError(
                f"the store {type(store).__name__} cannot sum sparse gradients; take "
                "'device' or 'local'."
            )
        distributed = "dist" in store.type
        if distributed and wanted is False:
            raise ArgumentError(
                f"the store {store.type!r} adds sparse gradients where it updates the "
                "weights; leave update_on_kvstore away, or give True."
            )
        return store, distributed if wanted is None else wanted
    able = store.is_capable(KVStoreBase.OPTIMIZER)
    if wanted is None:
        knob = bool(knobs.MXNET_UPDATE_ON_KVSTORE)
        return store, able and updates_on_store(store.type, largest, knob)
    if wanted and not able:
        raise ArgumentError(
            f"the store {type(store).__name__} runs no optimizer; give "
            "update_on_kvstore=False."
        )
    return store, wanted


def _made(given: Any, devices: int) -> KVStoreBase | None:
    if given is None or isinstance(given, KVStoreBase):
        return given
    if isinstance(given, str):
        store: KVStoreBase = create(given)  # whose name must exist in any case
        return store if needs_store(given, devices) else None
    raise MissingArgument(
        "kvstore is None, the name of a store such as 'device', or a store, not a "
        f"{type(given).__name__}."
    )


def _for_sparse_weights(given: Any, wanted: bool | None) -> KVStoreBase:
    """Weights of which a network reads a few rows live in the store as a whole."""
    store: Any = create(given) if isinstance(given, str) else given
    if not isinstance(store, KVStoreBase):
        raise MissingArgument(
            "row_sparse parameters live in a store; give kvstore='device' or 'local', "
            f"not {given!r}."
        )
    if wanted is False:
        raise ArgumentError(
            "row_sparse parameters are updated in the store that they live in; leave "
            "update_on_kvstore away, or give True."
        )
    if not store.is_capable(KVStoreBase.OPTIMIZER):
        raise ArgumentError(
            f"the store {type(store).__name__} runs no optimizer, which row_sparse "
            "parameters need; take 'device' or 'local'."
        )
    return store
