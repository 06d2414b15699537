"""Updater: applies an optimizer, and keeps the state of every weight in between.

Given lists, it updates several weights of one dtype in one launch, as many as the
optimizer's `aggregate_num`.

States can be stored as bytes: a file of arrays (see `minimx.nd.serialize`) whose first
entry is a header in JSON. No pickle: reading a file never runs code.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core import events
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.transfer import moved
from minimx.core.device import Context
from minimx.core.errors import DataError
from minimx.nd import serialize
from minimx.optimizer.base import Index, Optimizer, State

_HEADER = "header"


class Updater:
    """`updater(index, grad, weight)` changes the weight in place; lists are welcome."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, State] = {}
        self._moved: dict[Any, bool] = {}  # states that are known to be in place

    @property
    def aggregate_updates(self) -> bool:
        """Whether several weights are updated in one launch."""
        return self.optimizer.aggregate_num > 1

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Update one weight, or each of several."""
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        for one, array in zip(index, weight, strict=True):
            if not self._moved.get(one):
                self._ensure_state(one, array)
        count = self.optimizer.aggregate_num
        if count <= 1:
            for one, g, w in zip(index, grad, weight, strict=True):
                self.optimizer.update_multi_precision(one, w, g, self.states[one])
            return
        for group in _by_dtype(weight, grad).values():
            for begin in range(0, len(group), count):
                chosen = group[begin : begin + count]
                indices = [index[i] for i in chosen]
                self.optimizer.update_multi_precision(
                    indices,
                    [weight[i] for i in chosen],
                    [grad[i] for i in chosen],
                    [self.states[one] for one in indices],
                )

    def _ensure_state(self, index: Index, weight: NDArray) -> None:
        """See that a weight has a state, on its device.

        A new state is looked at again at the next update: the device may have been full
        when the engine came to fill it.
        """
        checked = self._moved.get(index)
        known = self.optimizer.param_dict.get(index)
        names: dict[Any, str] = self.optimizer.idx2name
        layer = known.layer if known else names.get(index, "")
        with events.attributed(layer=layer, category="optimizer state"):
            if checked is None and index in self.states:  # read from a file
                self.states[index] = self.sync_state_context(
                    self.states[index], weight.context
                )
            elif checked is None or any(a.chunk.lost for a in _arrays(self, index)):
                self.states[index] = self.optimizer.create_state_multi_precision(
                    index, weight
                )
        self._moved[index] = all(a.chunk.block for a in _arrays(self, index))

    def sync_state_context(self, state: State, context: Context) -> State:
        """The state on a device."""
        if isinstance(state, NDArray):
            if context is state.context or state.stype != "default":
                return state.as_in_context(context)
            return moved(state, context, at_once=True)
        if isinstance(state, (list, tuple)):
            return tuple(self.sync_state_context(part, context) for part in state)
        return state

    # -- storing ----------------------------------------------------------------------

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """All states as bytes.

        dump_optimizer: also the optimizer's counts of updates, its learning rate and
        where its schedule stands.
        """
        arrays: dict[str, NDArray] = {}
        header: dict[str, Any] = {
            "states": [
                [index, _flatten(state, arrays)] for index, state in self.states.items()
            ]
        }
        if dump_optimizer:
            header["optimizer"] = _describe(self.optimizer)
        text = np.frombuffer(json.dumps(header).encode(), np.uint8)
        return serialize.dumps({_HEADER: nd.array(text, dtype=np.uint8), **arrays})

    def set_states(self, states: bytes) -> None:
        """Take over what `get_states` gave; DataError if it is something else."""
        arrays = serialize.loads(states, "the stored optimizer states")
        try:
            assert isinstance(arrays, dict)
            header = json.loads(arrays[_HEADER].asnumpy().tobytes())
            found = {
                index: _unflatten(tree, arrays) for index, tree in header["states"]
            }
            about = header.get("optimizer")
            if about is not None:
                _check_same(self.optimizer, about)
                _restore(self.optimizer, about)
        except (AssertionError, KeyError, TypeError, ValueError) as reason:
            if isinstance(reason, DataError):
                raise
            raise DataError(
                "the stored optimizer states are damaged, or not of this kind: "
                f"{reason!r}. Files are written by Trainer.save_states."
            ) from reason
        self.states = found
        self._moved = {}


def get_updater(optimizer: Optimizer) -> Updater:
    """An updater for an optimizer."""
    return Updater(optimizer)


def _arrays(updater: Updater, index: Index) -> list[NDArray]:
    """The dense arrays of a weight's state."""
    found: dict[str, NDArray] = {}
    _flatten(updater.states[index], found)
    return [array for array in found.values() if array.stype == "default"]


def _by_dtype(weights: list[NDArray], grads: list[NDArray]) -> dict[Any, list[int]]:
    """Places of weights that may share a launch; a sparse one goes alone."""
    groups: dict[Any, list[int]] = {}
    for place, (weight, grad) in enumerate(zip(weights, grads, strict=True)):
        sparse = weight.stype != "default" or grad.stype != "default"
        key = (weight.spec.dtype, place if sparse else -1)
        groups.setdefault(key, []).append(place)
    return groups


def _flatten(state: State, arrays: dict[str, NDArray]) -> Any:
    """Move the arrays of a state to `arrays`; what is left is its shape as JSON."""
    if state is None:
        return None
    if isinstance(state, NDArray):
        name = str(len(arrays))
        arrays[name] = state
        return name
    return [_flatten(part, arrays) for part in state]


def _unflatten(tree: Any, arrays: dict[str, NDArray]) -> State:
    if tree is None:
        return None
    if isinstance(tree, str):
        return arrays[tree]
    return tuple(_unflatten(part, arrays) for part in tree)


def _describe(optimizer: Optimizer) -> dict[str, Any]:
    """The progress of an optimizer as JSON: counts, rates, schedule."""
    scheduler = optimizer.lr_scheduler
    return {
        "name": type(optimizer).__name__,
        "lr": optimizer.lr,
        "wd": optimizer.wd,
        "num_update": optimizer.num_update,
        "begin_num_update": optimizer.begin_num_update,
        "counts": [
            [device, list(counts.items())]
            for device, counts in optimizer._all_index_update_counts.items()
        ],
        "scheduler": None
        if scheduler is None
        else [type(scheduler).__name__, _numbers_of(scheduler)],
    }


def _numbers_of(scheduler: Any) -> dict[str, Any]:
    kept = (int, float, str, list, tuple)
    return {k: v for k, v in vars(scheduler).items() if isinstance(v, kept)}


def _check_same(optimizer: Optimizer, about: dict[str, Any]) -> None:
    have, stored = type(optimizer).__name__, about["name"]
    if have != stored:
        raise DataError(
            f"the stored states belong to the optimizer {stored}, this one is {have}. "
            f"Make a Trainer with {stored}."
        )
    scheduler = about["scheduler"]
    mine = optimizer.lr_scheduler
    name = None if mine is None else type(mine).__name__
    if (scheduler[0] if scheduler else None) != name:
        raise DataError(
            f"the stored states follow the schedule {scheduler and scheduler[0]}, this "
            f"optimizer {name}. Make it with the same schedule."
        )


def _restore(optimizer: Optimizer, about: dict[str, Any]) -> None:
    counts = {
        int(device): {index: int(count) for index, count in pairs}
        for device, pairs in about["counts"]
    }
    lr, wd = float(about["lr"]), float(about["wd"])
    num_update, begin = int(about["num_update"]), int(about["begin_num_update"])
    optimizer.lr, optimizer.wd = lr, wd
    optimizer.num_update, optimizer.begin_num_update = num_update, begin
    optimizer._all_index_update_counts = counts or {0: {}}
    optimizer._set_current_context(next(iter(optimizer._all_index_update_counts)))
    if optimizer.lr_scheduler is not None:
        known = _numbers_of(optimizer.lr_scheduler)
        for name, value in about["scheduler"][1].items():
            if name in known:
                setattr(optimizer.lr_scheduler, name, value)
