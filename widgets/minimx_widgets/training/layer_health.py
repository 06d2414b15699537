"""Which numbers of a network are broken: not finite, or all of them zero.

Weights, gradients and what comes out of the layers are counted by one operation on the
device, `_exponents`, so that only a few numbers of each array are copied. Counting
changes nothing: outputs are seen while a network predicts, by hooks that are taken off
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.launch import invoke
from minimx.core.dtypes import LAYOUTS
from minimx.gluon import Block, HybridBlock
from minimx.operators.arrays.precision import Exponents

WEIGHTS, OUTPUTS, GRADIENTS = "weights", "outputs", "gradients"
KINDS = (WEIGHTS, OUTPUTS, GRADIENTS)


@dataclass(frozen=True)
class Health:
    """How many numbers of one kind a layer has, and how many of them say nothing.

    >>> Health("conv0", GRADIENTS, size=400, zeros=400).word
    'all 0'
    """

    layer: str
    kind: str
    size: int
    zeros: int = 0
    infinite: int = 0
    nan: int = 0

    @property
    def word(self) -> str:
        """What is wrong, as a sign: "NaN", "∞", "all 0", or nothing."""
        if self.nan:
            return "NaN"
        if self.infinite:
            return "∞"
        return "all 0" if self.size and self.zeros == self.size else ""

    @property
    def sentence(self) -> str:
        """The counts in words."""
        many = f"{self.layer}: {self.size:,} {self.kind}"
        if self.word == "all 0":
            return f"{many}, all of them zero."
        parts = [f"{self.zeros:,} are zero"] if self.zeros else []
        parts += [f"{self.nan:,} are NaN"] if self.nan else []
        parts += [f"{self.infinite:,} are infinite"] if self.infinite else []
        return f"{many}, {', '.join(parts) or 'all finite'}."


Found = list[tuple[str, str, NDArray]]  # layer, kind, array


def parameters(net: Block, *, gradients: bool) -> Found:
    """Weights of the layers that learn, and their gradients if wanted."""
    found: Found = []
    for parameter in net.collect_params().values():
        plain = parameter._stype == parameter._grad_stype == "default"
        if parameter.grad_req == "null" or not plain:
            continue
        layer = parameter.layer or parameter.name
        found.append((layer, WEIGHTS, parameter.list_data()[0]))
        if gradients:
            found.append((layer, GRADIENTS, parameter.list_grad()[0]))
    return found


@contextmanager
def outputs_seen(net: Block) -> Iterator[dict[str, NDArray]]:
    """Inside, the newest output of every layer with parameters, by the layer's path.

    A hybridized network goes operator by operator, so that nothing is bound for it.
    """
    found: dict[str, NDArray] = {}
    handles: list[Any] = []
    graphs: list[tuple[HybridBlock, Any]] = []
    try:
        for block in _called_parts(net):
            if isinstance(block, HybridBlock) and block._active:
                graphs.append((block, block._watch))
                block._watch = (_graph_watch(block, found), False)
            elif layer := _layer(block):
                handles.append(block.register_forward_hook(_hook(layer, found)))
        yield found
    finally:
        for handle in handles:
            handle.detach()
        for block, before in graphs:
            block._watch = before


def count(found: Found) -> tuple[Health, ...]:
    """The health of each layer and kind, in the order in which layers appear."""
    found = [one for one in found if one[2].spec.dtype.name in LAYOUTS]
    sums: dict[tuple[str, str], list[int]] = {}
    with autograd.pause():
        rows = _rows([array for _, _, array in found])
    for (layer, kind, array), row in zip(found, rows, strict=True):
        total = sums.setdefault((layer, kind), [0, 0, 0, 0])
        for place, more in enumerate((array.size, *row)):
            total[place] += more
    layers = dict.fromkeys(layer for layer, _ in sums)
    return tuple(
        Health(layer, kind, *sums[layer, kind])
        for layer in layers
        for kind in KINDS
        if (layer, kind) in sums
    )


def _rows(arrays: Sequence[NDArray]) -> list[tuple[int, int, int]]:
    """How many numbers of each array are zero, infinite and NaN."""
    if not arrays:
        return []
    counted = invoke(Exponents.of(num_arrays=len(arrays)), list(arrays)).asnumpy()
    return [(int(row[0]), int(row[1]), int(row[2])) for row in counted]


def _called_parts(block: Block) -> Iterator[Block]:
    """The blocks that Python calls: parts of a hybridized block are in its graph."""
    yield block
    if not (isinstance(block, HybridBlock) and block._active):
        for part in block._children.values():
            yield from _called_parts(part)


def _all_parts(block: Block) -> Iterator[Block]:
    yield block
    for part in block._children.values():
        yield from _all_parts(part)


def _layer(block: Block) -> str:
    """The path of a block that has parameters of its own, else nothing."""
    own = list(block._reg_params.values())
    return (own[0].layer or own[0].name) if own else ""


def _hook(layer: str, found: dict[str, NDArray]) -> Any:
    def seen(_block: Block, _inputs: Any, out: Any) -> None:
        if isinstance(out, NDArray):
            found[layer] = out

    return seen


def _graph_watch(block: Block, found: dict[str, NDArray]) -> Any:
    """Sees what operators of a graph give; the last one of a layer is its output."""
    layers = {part.prefix: path for part in _all_parts(block) if (path := _layer(part))}

    def seen(name: str, _operator: str, out: NDArray) -> None:
        fitting = [prefix for prefix in layers if name.startswith(prefix)]
        if fitting:
            found[layers[max(fitting, key=len)]] = out

    return seen
