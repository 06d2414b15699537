"""What the documents say of match range and colours (notebook 07)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import minimx as mx
from minimx.core.knobs import knobs
from minimx_widgets.course import sharing
from minimx_widgets.course.claims.claim import (
    V2,
    Decision,
    Numbers,
    claim,
    if_true,
    weighed,
)

ODD = (24, 1, 6, 24, 3, 64)


def sweep(sizes: Sequence[int] = ODD, most: int = 16) -> Numbers:
    """Which ranges are tried, what each would need, and what the search finds."""
    odd = sharing.chain(sizes)
    return {
        "default": list(sharing.planned(sharing.branches()).candidates),
        "search": list(sharing.planned(odd, MXNET_MEMORY_OPT=1).candidates),
        "kib": {
            reach: sharing.kib(odd, NNVM_EXEC_MATCH_RANGE=reach)
            for reach in range(1, most + 1)
        },
        "found": sharing.kib(odd, MXNET_MEMORY_OPT=1),
    }


@claim(
    "07",
    "“MXNet sweep between [1, NNVM_EXEC_MATCH_RANGE], and selects the best value”",
    V2,
    78,
    "planned",
    sweep,
)
def best_of_all_ranges(
    default: Sequence[int],
    search: Sequence[int],
    kib: Mapping[int, float],
    found: float,
) -> Decision:
    """The plan should be the best of all ranges."""
    best = min(kib, key=kib.__getitem__)
    return (
        if_true(len(default) > 1 and found == kib[best]),
        f"by default {len(default)} range is tried. Asked to search, it tries "
        f"{', '.join(map(str, search))}. The best range of a small chain is {best}: "
        f"{kib[best]:g} KiB, and {found:g} are found. MXNet 1.9.1 prints 108 MB for "
        "six branches, and 62 with NNVM_AUTO_SEARCH_MATCH_RANGE=1",
    )


def range_0(**others: Any) -> Numbers:
    """KiB of six branches at range 0, with in-place writing and without."""
    six = sharing.branches()
    off = {"NNVM_EXEC_MATCH_RANGE": 0}
    return {
        "kib": sharing.kib(six, **off, **others),
        "apart": sharing.kib(six, **off, MXNET_EXEC_ENABLE_INPLACE=0),
    }


@claim(
    "07",
    "“Set this to 0 if you don't want to enable memory sharing between graph nodes”",
    V2,
    77,
    "planned",
    range_0,
)
def range_0_shares_nothing(kib: float, apart: float) -> Decision:
    """At 0 no two results should share memory."""
    return (
        if_true(kib == apart, "holds", "depends on another knob"),
        f"results are still written over inputs: {kib:g} KiB, and {apart:g} with "
        "MXNET_EXEC_ENABLE_INPLACE=0 as well",
    )


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
    "07",
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
    "07",
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


def optimized() -> Numbers:
    """KiB without and with the variable, of two networks."""
    nets = {
        "six branches": sharing.branches(),
        "the shrinking chain": sharing.chain(sharing.SHRINKING),
    }
    return {
        "kib": {
            name: (sharing.kib(net), sharing.kib(net, MXNET_MEMORY_OPT=1))
            for name, net in nets.items()
        }
    }


@claim(
    "07",
    "MXNET_MEMORY_OPT=1: “various optimizations on memory consumption will be enabled”",
    V2,
    256,
    "planned",
    optimized,
)
def memory_opt(kib: Mapping[str, tuple[float, float]]) -> Decision:
    """Each network should need less memory with it."""
    return (
        weighed([less < plain for plain, less in kib.values()], "the network"),
        "KiB without and with it: "
        + ", ".join(f"{name} {a:g} and {b:g}" for name, (a, b) in kib.items())
        + ". MXNet 1.9.1 does not know it",
    )
