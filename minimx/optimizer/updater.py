"""Updater: applies an optimizer, and keeps the state of every weight in between.

Given lists, it updates several weights of one dtype in one launch, as many as the
optimizer's `aggregate_num`.

States can be stored as bytes: a file of arrays (see `minimx.nd.serialize`) whose first
entry is a header in JSON. No pickle: reading a file never runs code.
"""

from __future__ import annotations

import copy
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
#: What stored states may come to that are not of ours.
_DAMAGED = (
    *(AssertionError, AttributeError, LookupError, TypeError, ValueError),
    *(ArithmeticError, RecursionError),
)


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
                self._check_fits(index, self.states[index], weight)
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

    def set_states(self, states: bytes, weights: Any = None) -> None:
        """Take over what `get_states` gave.

        weights: by index those that may have states, or None for what has no values
        yet; without, states are compared with their weight at its first update.
        Raises DataError for states that are damaged or of another kind; then nothing
        has changed.
        """
        arrays: Any = serialize.loads(states, "the stored optimizer states")
        restored: dict[Any, Any] = {}
        try:
            header = json.loads(arrays.pop(_HEADER).asnumpy().tobytes())
            found = {_key(i): _unflatten(tree, arrays) for i, tree in header["states"]}
            if arrays or len(found) != len(header["states"]):
                raise ValueError("arrays are left over, or a weight comes twice")
            about = header.get("optimizer")
            if about is not None:
                _check_same(self.optimizer, about)
                restored = _progress(self.optimizer, about)
            for index, state in found.items() if weights is not None else ():
                if weights[index] is not None:
                    self._check_fits(index, state, weights[index])
        except _DAMAGED as reason:
            if isinstance(reason, DataError):
                raise
            raise DataError(
                "the stored optimizer states are damaged, or not of this kind: "
                f"{reason!r}. Files are written by Trainer.save_states."
            ) from reason
        for owner, facts in restored.items():
            vars(owner).update(facts)
        self.states = found
        self._moved = {}

    def _check_fits(self, index: Index, state: State, weight: Any) -> None:
        """Compare a stored state with the one that the weight would get."""
        wanted = self.optimizer.create_state_multi_precision(index, weight)
        if _form(state) != _form(wanted):
            raise DataError(
                f"the stored state of weight {index!r} is {_form(state)}, and "
                f"{type(self.optimizer).__name__} keeps {_form(wanted)} for it. Were "
                "the states stored for other parameters, in another order (by name, "
                "dense10_ is before dense9_), or with other settings?"
            )


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


def _unflatten(tree: Any, arrays: Any) -> State:
    """The state that `_flatten` wrote down; each array is in one state."""
    if tree is None:
        return None
    if isinstance(tree, str):
        return arrays.pop(tree)
    if not isinstance(tree, list):
        raise TypeError(f"a state is no {type(tree).__name__}")
    return tuple([_unflatten(part, arrays) for part in tree])


def _form(state: State) -> Any:
    """The shapes and types of a state's arrays: text, None, or a tuple of such."""
    if isinstance(state, NDArray):
        return f"{np.dtype(state.dtype).name}{list(state.shape)}"
    return state if state is None else tuple(map(_form, state))


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


def _key(value: Any) -> Any:
    """What a weight is called: a number or a name."""
    return value if isinstance(value, str) else _number(value, whole=True)


def _number(value: Any, whole: bool = False) -> Any:
    """A number that an optimizer can go on with; whole ones are counts."""
    fits = type(value) is int or (type(value) is float and not whole)
    if not fits or not abs(value) < 1 << 53 or (whole and value < 0):
        raise ValueError(f"{value!r:.60} is no {'count' if whole else 'number'}")
    return value


def _like(known: Any, value: Any) -> Any:
    """A stored setting of a schedule, if it is of the kind of the one that we have."""
    if isinstance(known, (list, tuple)):
        return type(known)([_number(one) for one in value])
    if isinstance(known, str) and value != known:
        raise ValueError(f"{value!r:.60} is not {known!r}")
    same = isinstance(known, (bool, str)) and type(value) is type(known)
    return value if same else _number(value, whole=type(known) is int and known >= 0)


def _progress(optimizer: Optimizer, about: dict[str, Any]) -> dict[Any, Any]:
    """What `_describe` wrote down, checked: {object: {attribute: value}}."""
    counts: dict[Any, Any] = {
        _number(device, whole=True): {
            _key(index): _number(count, whole=True) for index, count in pairs
        }
        for device, pairs in about["counts"]
    } or {0: {}}
    found: dict[str, Any] = {name: _number(about[name]) for name in ("lr", "wd")}
    for name in ("num_update", "begin_num_update"):
        found[name] = _number(about[name], whole=True)
    found["_all_index_update_counts"] = counts
    found["_index_update_count"] = next(iter(counts.values()))
    scheduler = optimizer.lr_scheduler
    if scheduler is None:
        return {optimizer: found}
    known, stored = _numbers_of(scheduler), about["scheduler"][1]
    if known.keys() != stored.keys():
        raise ValueError(f"a schedule consists of {', '.join(known)}")
    facts = {name: _like(known[name], value) for name, value in stored.items()}
    trial = copy.copy(scheduler)
    vars(trial).update(facts)
    _number(float(trial(found["num_update"] + 1)))
    return {optimizer: found, scheduler: facts}
