"""Which result may be written over which input, and why not.

Operators declare pairs: `inplace` {output: inputs} where the kernel reads an element
before it writes the one at the same place, `unchanged` {output: input} where both are
the same elements, so that nothing is computed if they lie in the same memory. Whether
a pair is granted depends on who else needs the input; the sweep of the memory planner
asks `verdict` for each, in the order in which operators declare them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from minimx.core.errors import OperatorError
from minimx.core.graph.values.ir import Node
from minimx.core.ops.registry import Op


class Pair(NamedTuple):
    """An input and an output of a node, by place, that may lie in the same memory.

    unchanged: the output is the input, element for element.
    """

    input: int
    output: int
    unchanged: bool


class Verdict(Enum):
    """What became of a pair; the value is the reason, to be filled in."""

    GRANTED = "{input} is read here for the last time, and {node} may write over it"
    SAME = "{output} is {input} in another shape or by another name: nothing to compute"
    OFF = "MXNET_EXEC_ENABLE_INPLACE is off"
    OUTPUT_TAKEN = "{output} has its place already"
    INPUT_TAKEN = "another output of {node} was written over {input}"
    OUTPUT_OUTSIDE = "{output} is handed out, so it has memory of its own"
    INPUT_OUTSIDE = "{input} belongs to the caller, who may want it unchanged"
    UNKNOWN = "the size of {input} or {output} is not known before it is computed"
    IGNORED = "{node} does not wait for {input}, which may be gone by then"
    WRITTEN = "{writer} writes into it, which only one of the two may see"
    READ = "{input} is still read by {readers}"
    UNREAD = "nobody reads {output}"
    SIZE = "{input} has {input_size} elements and {output} has {output_size}"
    ITEMS = "elements of {input} take {input_item} bytes, of {output} {output_item}"
    DEVICE = "{input} and {output} are on different devices"


def pairs(op: Op, count: int) -> tuple[Pair, ...]:
    """The pairs that an operator declares, for a call with `count` inputs.

    Raises OperatorError where the declaration names what the operator has not.
    """
    found = [
        Pair(place, _output(op, out), False)
        for out, words in op.inplace.items()
        for place in _inputs(op, words, count)
    ]
    same = [
        Pair(place, _output(op, out), True)
        for out, words in op.unchanged.items()
        for place in _inputs(op, words, count)
    ]
    known = {pair[:2] for pair in same}
    return (*same, *(pair for pair in found if pair[:2] not in known))


def ignored(op: Op, count: int) -> frozenset[int]:
    """The places of the inputs of which only the spec counts."""
    return frozenset(_inputs(op, op.ignores, count))


def _output(op: Op, word: str) -> int:
    """The place that `out`, `out1`, … names."""
    if word.startswith("out") and (word[3:] or "0").isdigit():
        return int(word[3:] or 0)
    raise OperatorError(
        f"{op.name} declares an output {word!r}; outputs are called out, out1, …"
    )


def _inputs(op: Op, words: str | Iterable[str], count: int) -> list[int]:
    """The places of inputs; of an open number of inputs, `data` is the first."""
    names = (words,) if isinstance(words, str) else tuple(words)
    offered = tuple(op.inputs)
    unknown = [name for name in names if name not in offered]
    if unknown:
        raise OperatorError(
            f"{op.name} declares an input {unknown[0]!r}; it has {', '.join(offered)}."
        )
    places = [offered.index(name) for name in names]
    return [place for place in places if place < count]


def written_by(node: Node) -> Iterable[int]:
    """The places of the inputs that a node changes."""
    states = node.states()
    return [place for place, entry in enumerate(node.inputs) if entry in states]
