"""Which result may be written over which input, and why not.

    pairs(lookup("exp").of(), 1)        # (Pair(input=0, output=0, unchanged=False),)

Operators declare pairs: `inplace` {output: inputs} where the kernel reads an element
before it writes the one at the same position (MXNet's `FInplaceOption`), `unchanged`
{output: input} where both are the same elements, so that nothing is computed if they
lie in the same memory (`FInplaceIdentity`). Whether a pair is granted depends on what
else reads the input: the memory planner decides (`StorageSharing._verdict`), and notes
one `Verdict` for each pair, in the order in which operators declare them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from minimx.core.errors import OperatorError
from minimx.core.graph.values.ir import Node
from minimx.core.ops.registry import Op


class Pair(NamedTuple):
    """An input and an output of a node, by position, that may lie in the same memory.

    unchanged: the output is the input, element for element.
    """

    input: int
    output: int
    unchanged: bool


class Verdict(Enum):
    """What was decided on a pair. The value is the reason, with names to fill in.

    The first two let both lie in one block, all others do not.
    """

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
    UNREAD = "no node reads {output}"
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
    """The positions of the inputs of which an operator needs only shape and type.

    count: how many inputs the call has. Such an input may be overwritten before the
    operator runs; `reshape_like` has one (MXNet's `FIgnoreInputs`).
    """
    return frozenset(_inputs(op, op.ignores, count))


def _output(op: Op, word: str) -> int:
    """The position that `out`, `out1`, … names."""
    if word.startswith("out") and (word[3:] or "0").isdigit():
        return int(word[3:] or 0)
    raise OperatorError(
        f"{op.name} declares an output {word!r}; outputs are called out, out1, …"
    )


def _inputs(op: Op, words: str | Iterable[str], count: int) -> list[int]:
    """The positions of inputs; of an open number of inputs, `data` is the first."""
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
    """The positions of the inputs that a node changes."""
    states = node.states()
    return [place for place, entry in enumerate(node.inputs) if entry in states]
