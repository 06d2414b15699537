"""`net.summary(x)`: a table of what comes out of every block."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError

if TYPE_CHECKING:
    from minimx.gluon.block import Block
    from minimx.gluon.parameter import Parameter

WIDTH = 80
_ROW = "{:>20}  {:>42} {:>15}"


class Hybridized(ArgumentError, AssertionError):
    """A block that runs as a graph was asked what its layers do, one by one."""


class _Counts:
    """Parameters met on the way: all of them, and each once."""

    def __init__(self) -> None:
        self.total = self.trainable = self.shared = 0
        self.seen: set[int] = set()

    def add(self, parameter: Parameter) -> int:
        """Count a parameter; returns its number of elements."""
        size: int = prod(parameter.shape)
        self.total += size
        if parameter.grad_req != "null":
            self.trainable += size
        if id(parameter) in self.seen:
            self.shared += size
        self.seen.add(id(parameter))
        return size


def summarize(block: Block, *inputs: Any) -> str:
    """The table for one forward of `inputs` in prediction mode, as MXNet words it."""
    from minimx.gluon.nn import HybridSequential, Sequential

    counts = _Counts()
    rows = [("Input", shapes_of(inputs[0] if len(inputs) == 1 else inputs), 0)]
    handles: list[Any] = []

    def note(layer: Block, _: Any, outputs: Any) -> None:
        size = sum(counts.add(p) for p in layer._reg_params.values())
        rows.append((f"{type(layer).__name__}-{len(rows)}", shapes_of(outputs), size))

    def attach(layer: Block) -> None:
        if layer._active:
            raise Hybridized(
                f"summary: {layer.name} is hybridized, so that the layers inside do "
                "not run by themselves. Call hybridize(False) first."
            )
        # A sequence only repeats what its last part gave.
        if not isinstance(layer, (Sequential, HybridSequential)):
            handles.append(layer.register_forward_hook(note))

    block.apply(attach)
    try:
        with autograd.pause():
            block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    return _table(rows, counts)


def _table(rows: list[tuple[str, str, int]], counts: _Counts) -> str:
    lines = [
        "-" * WIDTH,
        _ROW.format("Layer (type)", "Output Shape", "Param #"),
        "=" * WIDTH,
        *(_ROW.format(*row) for row in rows),
        "=" * WIDTH,
        "Parameters in forward computation graph, duplicate included",
        f"   Total params: {counts.total}",
        f"   Trainable params: {counts.trainable}",
        f"   Non-trainable params: {counts.total - counts.trainable}",
        f"Shared params in forward computation graph: {counts.shared}",
        f"Unique parameters in model: {counts.total - counts.shared}",
        "-" * WIDTH,
    ]
    return "\n".join(lines)


def shapes_of(value: Any) -> str:
    """The shapes in nested arrays, as text."""
    if isinstance(value, NDArray):
        return str(value.shape)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shapes_of(item) for item in value) + "]"
    return type(value).__name__
