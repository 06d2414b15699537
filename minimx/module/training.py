"""How parameters change: an optimizer, and the store where several devices meet.

With one device, or with gradients that meet in a store, every device runs the optimizer
on its own arrays; or the store runs it, and devices fetch the new values. Which of
these, `minimx.kvstore.choice` decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minimx import nd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.core.files import read_whole, write_whole
from minimx.kvstore.bucketing import Gradient
from minimx.kvstore.choice import choose
from minimx.optimizer import Optimizer, Updater, get_updater

ROWS = "row_sparse"


class Training:
    """Updates the parameters of a module; modules with the same parameters share it.

    names: of the parameters; values: theirs on the host. make: the optimizer, from the
    indices that it will know parameters by and their names.
    """

    def __init__(
        self,
        kvstore: Any,
        devices: int,
        names: Sequence[str],
        values: Mapping[str, NDArray],
        make: Callable[[dict[int, str]], Optimizer],
        compression: Mapping[str, Any] | None = None,
    ) -> None:
        largest = max((math.prod(one.shape) for one in values.values()), default=0)
        store: Any
        store, on_store = choose(kvstore, devices, largest)
        self.store = store
        self.on_store = bool(on_store)
        self.names, self.devices = list(names), devices
        every = 1 if self.on_store else devices
        owners = [name for name in names for _ in range(every)]
        self.optimizer = make(dict(enumerate(owners)))
        #: Scales the loss and skips steps that overflow; see `amp.init_trainer`.
        self.scaler: Any = None
        self.updater: Updater | None = None
        if not self.on_store:
            self.updater = get_updater(self.optimizer)
        if self.store is not None and compression:
            self.store.set_gradient_compression(dict(compression))

    def begin(
        self, weights: Sequence[list[NDArray]], values: Mapping[str, NDArray]
    ) -> None:
        """Give the store the first values, from which all devices begin."""
        if self.store is None:
            return
        if self.on_store:
            self.store.set_optimizer(self.optimizer)
        for name, parts in zip(self.names, weights, strict=True):
            self.store.broadcast(name, values[name], out=parts)

    def update(
        self, weights: Sequence[list[NDArray]], grads: Sequence[list[NDArray | None]]
    ) -> None:
        """Change every parameter that has a gradient, on all devices."""
        work: list[tuple[list[int], list[NDArray], list[NDArray]]]
        work = [([], [], []) for _ in range(self.devices)]
        sums, new = [], []
        for place, name in enumerate(self.names):
            parts = [grad for grad in grads[place] if grad is not None]
            if not parts:
                continue
            dense = {one.stype for one in [*weights[place], *parts]} == {"default"}
            if self.on_store and not dense:
                self.store.push(name, parts, -place)
                # Rows are fetched when they are needed.
                self.store.pull(name, weights[place], -place)
                continue
            sums.append(Gradient(name, parts, -place))
            new.append(weights[place])
            for k, grad in enumerate(parts):
                indices, slopes, values = work[k]
                indices.append(place * self.devices + k)
                slopes.append(grad)
                values.append(weights[place][k])
        if self.updater is None:
            self.store.update_many(sums, new)
            return
        if self.store is not None:
            self.store.pushpull_many(sums)
        if self.scaler is None:
            self._apply(work)
            return
        scaled_by = self.scaler.loss_scale
        if not self.scaler.overflows(work[0][1]):
            usual = self.optimizer.rescale_grad
            self.optimizer.rescale_grad = usual / scaled_by
            self._apply(work)
            self.optimizer.rescale_grad = usual

    def _apply(
        self, work: Sequence[tuple[list[int], list[NDArray], list[NDArray]]]
    ) -> None:
        assert self.updater is not None
        for indices, slopes, values in work:
            if indices:
                self.updater(indices, slopes, values)

    def fetch_rows(
        self, weights: Sequence[list[NDArray]], rows: Mapping[str, Any]
    ) -> None:
        """Fetch rows of parameters from the store, by name."""
        for name, numbers in rows.items():
            if name not in self.names:
                raise ArgumentError(f"this module has no parameter {name!r}.")
            parts = weights[self.names.index(name)]
            if self.on_store and parts[0].stype == ROWS:
                self.store.row_sparse_pull(name, parts, row_ids=numbers)

    def fetch_whole(self, values: dict[str, NDArray]) -> None:
        """Fetch all rows of those parameters of which devices have only some."""
        for name, value in values.items():
            if self.on_store and value.stype == ROWS:
                numbers = nd.arange(value.shape[0], dtype="int64")
                self.store.row_sparse_pull(name, value, row_ids=numbers)

    def save_states(self, fname: str) -> None:
        """Write where the optimizer is."""
        if self.updater is None:
            self.store.save_optimizer_states(fname)
        else:
            write_whole(fname, self.updater.get_states(), "save_optimizer_states")

    def load_states(self, fname: str) -> None:
        """Read what `save_states` wrote."""
        if self.updater is None:
            self.store.load_optimizer_states(fname)
            return
        self.updater.set_states(read_whole(fname, "load_optimizer_states"))
