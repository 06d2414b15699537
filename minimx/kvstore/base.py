"""What every key-value store offers, and the list of those that exist.

A store of your own is a class with `broadcast`, `pushpull` and `is_capable`; Trainer
asks for no more:

    @mx.kv.KVStoreBase.register
    class Mine(mx.kv.KVStoreBase):
        ...

    trainer = gluon.Trainer(params, "sgd", kvstore=mx.kv.create("mine"))
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from minimx.core import engine
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, Unavailable
from minimx.kvstore.bucketing import Gradient

StoreT = TypeVar("StoreT", bound=type)


def as_list(values: Any) -> list[Any]:
    """A list of what may be one value."""
    return list(values) if isinstance(values, (list, tuple)) else [values]


class KVStoreBase:
    """The interface: a subclass writes `broadcast` and `pushpull`, at the least."""

    OPTIMIZER = "optimizer"
    kv_registry: ClassVar[dict[str, type[KVStoreBase]]] = {}

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Copy the value that the first worker has for a key into all of `out`."""
        raise self._lacks("broadcast")

    def pushpull(
        self, key: Any, value: Any, out: Any = None, priority: int = 0
    ) -> None:
        """Sum values over devices and workers, into `out` or back into `value`."""
        raise self._lacks("pushpull")

    def pushpull_many(self, gradients: Sequence[Gradient]) -> None:
        """`pushpull` each gradient back into itself; a store may sum several at once.

        Trainer and Module call it with all dense gradients of a step.
        """
        for one in gradients:
            self.pushpull(one.key, one.values, priority=one.priority)

    def update_many(
        self, gradients: Sequence[Gradient], weights: Sequence[list[NDArray]]
    ) -> None:
        """Push each gradient, and fill weights with what the store makes of it.

        weights: those of each gradient, one for each device. Trainer and Module call it
        with all gradients of a step where the store updates.
        """
        for one, outs in zip(gradients, weights, strict=True):
            self.pushpull(one.key, one.values, out=outs, priority=one.priority)

    def set_optimizer(self, optimizer: Any) -> None:
        """Let the store update the values it keeps from the sums that arrive."""
        raise self._lacks("set_optimizer")

    def set_gradient_compression(self, compression_params: dict[str, Any]) -> None:
        """Send gradients in few bits."""
        raise self._lacks("set_gradient_compression")

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether the store can run an `optimizer`."""
        raise Unavailable(f"this store does not say whether it can {capability!r}.")

    def save_optimizer_states(self, fname: Any, dump_optimizer: bool = False) -> None:
        """Write what the store's optimizer remembers to a file."""
        raise self._lacks("save_optimizer_states")

    def load_optimizer_states(self, fname: Any) -> None:
        """Go on where `save_optimizer_states` was called."""
        raise self._lacks("load_optimizer_states")

    @property
    def type(self) -> str:
        """The name it was created by."""
        return type(self).__name__.lower()

    @property
    def rank(self) -> int:
        """Which of the workers this process is."""
        raise self._lacks("rank")

    @property
    def num_workers(self) -> int:
        """How many processes train together."""
        raise self._lacks("num_workers")

    def _lacks(self, what: str) -> Unavailable:
        return Unavailable(
            f"the store {type(self).__name__} has no {what}. Write it in the class, or "
            "take another store, such as mx.kv.create('device')."
        )

    @staticmethod
    def register(klass: StoreT) -> StoreT:
        """Class decorator: let `create` find a store by its name, in lower case."""
        if not (isinstance(klass, type) and issubclass(klass, KVStoreBase)):
            raise ArgumentError(
                f"{klass!r} cannot be registered: it is no subclass of KVStoreBase."
            )
        known = KVStoreBase.kv_registry.get(klass.__name__.lower(), klass)
        # A notebook cell that runs twice registers the same class twice.
        if (known.__module__, known.__qualname__) != (
            klass.__module__,
            klass.__qualname__,
        ):
            warnings.warn(
                f"the store {klass.__name__} of {klass.__module__} takes the place of "
                f"that of {known.__module__}.",
                stacklevel=2,
            )
        KVStoreBase.kv_registry[klass.__name__.lower()] = klass
        return klass


class OneWorkerStore(KVStoreBase):
    """The base of stores within one process."""

    @property
    def rank(self) -> int:
        """The only worker."""
        return 0

    @property
    def num_workers(self) -> int:
        """The only worker."""
        return 1


@KVStoreBase.register
class TestStore(OneWorkerStore):
    """The smallest store: it keeps nothing, and sums where the first value is."""

    __test__ = False  # pytest, it is no test

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Copy a value into all of `out`."""
        for one in as_list(out):
            _fill(one, value)

    def pushpull(
        self, key: Any, value: Any, out: Any = None, priority: int = 0
    ) -> None:
        """Sum values, into `out` or back into `value`."""
        values: list[NDArray] = as_list(value)
        with engine.urgent(priority):
            total = values[0]
            for other in values[1:]:
                total = total + other.as_in_context(total.context)
            for one in values if out is None else as_list(out):
                _fill(one, total)

    @staticmethod
    def is_capable(capability: str) -> bool:
        """It runs no optimizer."""
        return known_capability(capability) and False


def _fill(target: NDArray, value: NDArray) -> None:
    """Copy a value into an array on whatever device."""
    everything = ... if target.stype == "default" else slice(None)
    target[everything] = value.as_in_context(target.context)


def known_capability(capability: str) -> bool:
    """True; an error for what is no capability."""
    if capability.lower() != KVStoreBase.OPTIMIZER:
        raise ArgumentError(
            f"there is no capability {capability!r} of a store; there is 'optimizer'."
        )
    return True
