"""What the documents say of the match range (notebook 07)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
