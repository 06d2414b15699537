"""What the documents say of colours and of workspaces (the case of colours)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import minimx as mx
from minimx.core.knobs import knobs
from minimx_widgets.course import sharing
from minimx_widgets.course.claims.claim import V2, Decision, Numbers, claim, weighed


def _convolutions() -> Any:
    image = mx.sym.reshape(mx.sym.var("data"), shape=(16, 1, 16, 16))
    ends = []
    for filters in (4, 8):
        y = image
        for _ in range(2):
            y = mx.sym.Convolution(y, num_filter=filters, kernel=(3, 3), pad=(1, 1))
        ends.append(mx.sym.sum(y))
    return mx.sym.add_n(*ends)


def workspaces() -> Numbers:
    """By NUM_TEMP, how many workspaces two branches get, and their KiB; MXNet's plan.

    MXNet 1.9.1 was run with 1 and with 4, and printed the same megabytes.
    """
    found = {}
    for count in (1, 2):
        scratch = sharing.planned(_convolutions(), MXNET_EXEC_NUM_TEMP=count).scratch
        kib = sum(block.nbytes for block in scratch) // 1024
        found[count] = (len(scratch), kib)
    return {"spaces": found, "megabytes_of_mxnet": (108, 108)}


@claim(
    "colours",
    "MXNET_EXEC_NUM_TEMP is “The maximum number of temporary workspaces to allocate to "
    "each device”",
    V2,
    81,
    "planned",
    workspaces,
)
def workspaces_of_a_device(
    spaces: Mapping[int, tuple[int, int]], megabytes_of_mxnet: Sequence[int]
) -> Decision:
    """Twice the number should give twice as many workspaces."""
    here = [spaces[count][0] for count in spaces] == list(spaces)
    in_mxnet = len(set(megabytes_of_mxnet)) > 1
    counts, kib = zip(*spaces.values(), strict=True)
    return (
        weighed([here, in_mxnet], "the framework"),
        f"in minimx 1 gives {counts[0]} and 2 give {counts[1]}, with {kib[0]} and "
        f"{kib[1]} KiB. MXNet 1.9.1 plans {megabytes_of_mxnet[0]} MB with 1 and "
        f"{megabytes_of_mxnet[1]} with 4: it has not been read since 0.9",
    )


def colours(workers: int = 4) -> Numbers:
    """KiB and virtual µs of four equal branches with one colour and with four."""
    equal = sharing.fork([256] * 4)
    found = []
    for count in (1, 4):
        with knobs(NNVM_EXEC_NUM_TEMP=count):
            found.append(sharing.ran(equal, workers))
    return {
        "kib": [one.kib for one in found],
        "took": [one.microseconds for one in found],
    }


@claim(
    "colours",
    "“Color based match usually costs more memory but also enables more parallelism”",
    V2,
    84,
    "virtual",
    colours,
    tolerance="5 % of the time",
)
def memory_for_parallelism(kib: Sequence[float], took: Sequence[float]) -> Decision:
    """Four colours should need more memory and less time than one."""
    return (
        weighed([kib[1] > kib[0], took[1] < 0.95 * took[0]], "the workers"),
        f"four equal branches: {kib[0]:g} → {kib[1]:g} KiB, {took[0]:.0f} → "
        f"{took[1]:.0f} µs. Without workers only the first half is true",
    )
