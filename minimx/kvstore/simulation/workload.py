"""What each worker computes in a step, and what it has to share.

Times are those of one worker, in seconds, from a recorded step or from a table. A layer
is one parameter with the time that passes in the forward pass once its value is needed,
and in the backward pass until its gradient is ready.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minimx.core.errors import ArgumentError


class Layer(NamedTuple):
    """A parameter and its compute times.

    elements: of the parameter. forward, backward: seconds. itemsize: bytes of an
    element. rows: the length of axis 0, where a plan cuts; 0: as many as elements.
    """

    name: str
    elements: int
    forward: float
    backward: float
    itemsize: int = 4
    rows: int = 0

    @property
    def nbytes(self) -> int:
        """The size of the parameter, and of its gradient."""
        return self.elements * self.itemsize


@dataclass(frozen=True)
class Workload:
    """A step of training: its layers in backward order, the last of the net first.

    dispatch: processor seconds of a step outside of operations, that is of Python.
    They pass beside the operations, unless ranks have to share cores.
    """

    layers: tuple[Layer, ...]
    dispatch: float = 0.0

    def __post_init__(self) -> None:
        """Check the table."""
        if not self.layers:
            raise ArgumentError("a workload has at least one layer; here is none.")
        for layer in self.layers:
            if layer.elements < 1 or layer.forward < 0 or layer.backward < 0:
                raise ArgumentError(
                    f"the layer {layer.name!r} has {layer.elements} elements, forward "
                    f"{layer.forward:g} s and backward {layer.backward:g} s; give at "
                    "least one element, and times from 0."
                )

    @property
    def compute_seconds(self) -> float:
        """Forward and backward pass of one worker, without updates."""
        return sum(layer.forward + layer.backward for layer in self.layers)

    @property
    def nbytes(self) -> int:
        """The bytes of all gradients of one worker."""
        return sum(layer.nbytes for layer in self.layers)

    def __repr__(self) -> str:
        return (
            f"Workload({len(self.layers)} layers, {self.nbytes / 1e6:.3g} MB, "
            f"{self.compute_seconds * 1e3:.3g} ms of computing a step)"
        )

    @classmethod
    def from_record(
        cls, record: Any, net: Any, steps: int = 1, processor: float = 0.0
    ) -> Workload:
        """Layers and times from a record of training.

        record: a `Record` of `steps` whole steps on one device; of several devices the
        busiest counts. net: the block that was trained. The time of operations outside
        layers with parameters goes to the layer that waits for them; that of a fused or
        hybridized graph, which tells no layers, is shared out by elements. processor:
        processor seconds of a step (`time.process_time`); what is more than its
        operations take is `dispatch`. 0: not known. Raises `ArgumentError` where
        nothing of a backward pass was recorded.
        """
        parameters = [
            one for one in net.collect_params().values() if one.grad_req != "null"
        ]
        owners = [str(one.layer) for one in parameters]
        elements = [int(np.prod(one.shape)) for one in parameters]
        rows = _rows(record)
        seconds = {
            phase: _shared_out(
                [row for row in rows if row.phase == phase], owners, elements
            )
            for phase in ("forward", "backward")
        }
        if not rows or not any(seconds["backward"]) or steps < 1:
            raise ArgumentError(
                "the record holds no backward pass to take times from. Record whole "
                "steps, with autograd.record() and backward() in them."
            )
        layers = [
            Layer(
                name=one.name,
                elements=elements[k],
                forward=seconds["forward"][k] / steps,
                backward=seconds["backward"][k] / steps,
                itemsize=np.dtype(one.dtype).itemsize,
                rows=int(one.shape[0]) if one.shape else 1,
            )
            for k, one in enumerate(parameters)
        ]
        operations = sum(row.seconds for row in rows) / steps
        return cls(tuple(reversed(layers)), max(processor - operations, 0.0))


class _Row(NamedTuple):
    """An operation of a record."""

    start: int
    phase: str
    layer: str
    seconds: float


def _rows(record: Any) -> list[_Row]:
    """The operations of the busiest device, in the order in which they started.

    Updates do not count: a store may run them on a device that trains nothing. Joined
    operations are left out where their parts have rows.
    """
    ops = record.ops()
    ops = ops[~np.isin(ops["op"], ops["inside"])]
    ops = ops[np.argsort(ops["t_start"], kind="stable")]
    busy: Counter[int] = Counter()
    phases, took = record.texts(ops["phase"]), (ops["t_end"] - ops["t_start"]).tolist()
    for device, phase, ns in zip(ops["device"].tolist(), phases, took, strict=True):
        if phase in ("forward", "backward"):
            busy[device] += ns
    if busy:
        ops = ops[ops["device"] == busy.most_common(1)[0][0]]
    return [
        _Row(start, phase, layer, (end - start) * 1e-9)
        for start, end, phase, layer in zip(
            ops["t_start"].tolist(),
            ops["t_end"].tolist(),
            record.texts(ops["phase"]),
            record.texts(ops["layer"]),
            strict=True,
        )
    ]


def _shared_out(
    rows: Sequence[_Row], owners: Sequence[str], elements: Sequence[int]
) -> list[float]:
    """Seconds of one phase by parameter."""
    found = [0.0] * len(owners)
    waiting = 0.0  # of operations outside layers, until the next layer
    last: list[int] = []
    for row in rows:
        chosen = _chosen(row.layer, owners)
        if not chosen:
            waiting += row.seconds
            continue
        _add(found, chosen, elements, waiting + row.seconds)
        waiting, last = 0.0, chosen
    if last:
        _add(found, last, elements, waiting)
    return found


def _chosen(layer: str, owners: Sequence[str]) -> list[int]:
    """The parameters that an operation's time belongs to.

    Those of its own layer or of the nearest around it: one, the first, as they are
    ready together. For a layer that only holds others: all inside.
    """
    around = [one for one in set(owners) if one and _is_inside(layer, one)]
    if around:
        return [owners.index(max(around, key=len))]
    return [k for k, one in enumerate(owners) if layer and _is_inside(one, layer)]


def _is_inside(path: str, outer: str) -> bool:
    return path == outer or path.startswith(f"{outer}/")


def _add(
    found: list[float], chosen: Iterable[int], elements: Sequence[int], seconds: float
) -> None:
    chosen = list(chosen)
    total = sum(elements[k] for k in chosen)
    for k in chosen:
        found[k] += seconds * elements[k] / total
