"""A second stream inside one operator: both gradients of a convolution at once.

In MXNet the backward pass of a convolution is one operator. With
`MXNET_GPU_WORKER_NSTREAMS=2` it launches the gradient of the data on one stream of the
GPU and that of the weight on another. Here they are two nodes; neighbours in a segment
that are the two gradients of the same convolution run side by side on a GPU.

What that is worth: the two share arithmetic and memory, so that together they take as
long as one kernel with the work of both. It saves a launch, and where one of them waits
for memory the other computes. What it costs: both need their workspace at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minimx.core.device import Device
from minimx.core.drivers.base import ALIGNMENT
from minimx.core.knobs import knobs
from minimx.core.operators.conv import ConvolutionData, ConvolutionWeight
from minimx.core.ops.spec import Cost

if TYPE_CHECKING:
    from minimx.core.graph.running.segments import Step
    from minimx.core.graph.values.ir import Node


def streams(device: Device) -> int:
    """How many streams an operator on a device may use: 1, or 2 on a GPU."""
    if device.device_type != "gpu":
        return 1
    return int(knobs.get("MXNET_GPU_WORKER_NSTREAMS"))


def beside(first: Node, second: Node) -> bool:
    """Whether two nodes are the two gradients of one convolution, in either order."""
    one, other = first.op, second.op
    if isinstance(one, ConvolutionWeight):
        one, other = other, one
    return (
        isinstance(one, ConvolutionData)
        and isinstance(other, ConvolutionWeight)
        and one.conv == other.conv
        and first.inputs[0] == second.inputs[0]
    )


def grouped(steps: Sequence[Step], count: int) -> list[tuple[Step, ...]]:
    """The steps in order; pairs that run on two streams are together."""
    found: list[tuple[Step, ...]] = []
    for step in steps:
        last = found[-1] if found else ()
        if count > 1 and len(last) == 1 and beside(last[0].node, step.node):
            found[-1] = (*last, step)
        else:
            found.append((step,))
    return found


def costs(steps: Sequence[Step], count: int) -> list[Cost]:
    """What each launch costs; the two of a pair count as one."""
    return [
        sum((step.cost for step in group[1:]), group[0].cost)
        for group in grouped(steps, count)
    ]


def lay_out(steps: Sequence[Step], count: int) -> None:
    """Say where in its workspace each step has its scratch memory.

    The two of a pair lie behind one another, if they have the same workspace.
    """
    for group in grouped(steps, count):
        used: dict[int, int] = {}
        for step in group:
            start = used.get(step.workspace, 0)
            step.scratch_part = slice(start, start + step.scratch)
            used[step.workspace] = start + -(-step.scratch // ALIGNMENT) * ALIGNMENT
