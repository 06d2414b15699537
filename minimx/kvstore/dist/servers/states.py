"""The optimizer that servers run, as a worker sees it: its settings and its states."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import minimx.nd as nd
from minimx.core.arrays.array import NDArray
from minimx.optimizer import Optimizer, get_updater


@dataclass
class Tuning:
    """What an optimizer asks a parameter for, without its arrays."""

    name: str
    layer: str
    lr_mult: float
    wd_mult: float


def without_parameters(optimizer: Optimizer) -> Optimizer:
    """A copy of an optimizer that can be sent: it has no arrays of parameters."""
    sent = copy.copy(optimizer)
    sent.param_dict = {
        index: Tuning(p.name, p.layer, float(p.lr_mult), float(p.wd_mult))
        for index, p in optimizer.param_dict.items()
    }
    return sent


def settings_of(optimizer: Optimizer) -> dict[str, Any]:
    """The numbers and texts that an optimizer was made with, or given since."""
    return {
        name: value
        for name, value in sorted(vars(optimizer).items())
        if isinstance(value, (int, float, str, bool))
        and not name.startswith("_")
        and name != "num_update"
    }


class RemoteUpdater:
    """What the optimizer remembers on the servers, read and set as if it were here.

    store: asks the servers; it has this updater, and is not kept by it, since the
    optimizer knows parameters, whose memory should go with the program's last
    reference and not with Python's next search for cycles. A file of states does not
    say how many servers there were.
    """

    def __init__(self, store: Any, optimizer: Optimizer) -> None:
        self._store, self.optimizer = weakref.proxy(store), optimizer

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """All states as bytes, each in one piece; see `Updater.get_states`."""
        answers = self._store.ask_all(
            {"do": "states", "dump_optimizer": dump_optimizer}
        )
        parts = [self._read(payload.tobytes()) for _, payload in answers]
        whole = parts[0]
        for index in list(dict.fromkeys(k for part in parts for k in part.states)):
            known = self._store._stored[index]
            states = [
                parts[part.server].states[index]
                for part in known.parts
                if index in parts[part.server].states
            ]
            whole.states[index] = _joined(states, known.shape)
        content: bytes = whole.get_states(dump_optimizer)
        return content

    def set_states(self, states: bytes, weights: Any = None) -> None:
        """Take over what `get_states` gave; DataError if it is something else.

        weights: not looked at, as servers hold them: states are compared with them at
        their first update.
        """
        payloads = []
        with_counts = b'"optimizer": {' in states  # in the header, which is JSON
        for server in range(self._store._servers):
            mine = self._read(states)
            for index, state in list(mine.states.items()):
                known = self._store._stored.get(index)
                parts = [p for p in known.parts if p.server == server] if known else []
                if not parts:
                    del mine.states[index]
                    continue
                mine.states[index] = _cut(state, known.shape, known.shape_of, parts[0])
            content = mine.get_states(dump_optimizer=with_counts)
            payloads.append(np.frombuffer(content, np.uint8))
        self._store.ask_all({"do": "set_states"}, payloads)

    def _read(self, content: bytes) -> Any:
        """An updater with these states; the optimizer's own counts stay as they are."""
        found = get_updater(copy.deepcopy(without_parameters(self.optimizer)))
        found.set_states(content)
        return found


def _joined(states: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """One state from those of the parts of a key."""
    first = states[0]
    if isinstance(first, NDArray):
        flat = np.concatenate([one.asnumpy().reshape(-1) for one in states])
        if flat.size != int(np.prod(shape)):
            return first  # such as a count, which all parts have
        return nd.array(flat.reshape(shape), dtype=first.dtype)
    if isinstance(first, (list, tuple)):
        return tuple(_joined(one, shape) for one in zip(*states, strict=True))
    return first


def _cut(
    state: Any,
    shape: tuple[int, ...],
    shape_of: Callable[[Any], tuple[int, ...]],
    part: Any,
) -> Any:
    """What belongs to a part of a key."""
    if isinstance(state, NDArray):
        if state.shape != shape:
            return state
        mine = shape_of(part)
        host = state.asnumpy()
        rows = host if len(mine) > 1 else host.reshape(-1)
        return nd.array(rows[part.start : part.stop].reshape(mine), dtype=state.dtype)
    if isinstance(state, (list, tuple)):
        return tuple(_cut(one, shape, shape_of, part) for one in state)
    return state
