"""Knobs of the memory pools: the same five for GPU, CPU and CPU_PINNED, and a switch.

The three kinds of memory obey the same rules, so their knobs are written once and
declared three times: `MXNET_GPU_MEM_POOL_TYPE`, `MXNET_CPU_MEM_POOL_TYPE` and
`MXNET_CPU_PINNED_MEM_POOL_TYPE` come from `_pool_type`. What reads them is `from_knobs`
in `minimx.core.storage.policy`, whenever one of them is turned (`_retune` in
`minimx.core.storage`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "memory pools"

declare = partial(Knob, group=GROUP, scope="restart", status="live")

# Name part -> (what the memory is called, the device whose statistics show the effect).
KINDS: Mapping[str, tuple[str, str]] = {
    "GPU": ("GPU memory", "gpu(0)"),
    "CPU": ("host memory", "cpu(0)"),
    "CPU_PINNED": ("pinned host memory", "cpu_pinned(0)"),
}

# (kind, what) -> the places in the documents.
SOURCES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("GPU", "TYPE"): (
        "env-vars-1.x.md:58",
        "env-vars-2.0.md:85",
        "troubleshooting-guide.md:24",
    ),
    ("GPU", "PAGE"): ("env-vars-2.0.md:89",),
    ("GPU", "RESERVE"): (
        "env-vars-0.x.md:27",
        "env-vars-1.x.md:53",
        "env-vars-2.0.md:92",
    ),
    ("GPU", "LARGE"): ("env-vars-1.x.md:70", "env-vars-2.0.md:97"),
    ("GPU", "CUTOFF"): (
        "env-vars-1.x.md:66",
        "env-vars-2.0.md:101",
        "troubleshooting-guide.md:25",
    ),
    ("CPU", "TYPE"): ("env-vars-2.0.md:104",),
    ("CPU", "PAGE"): ("env-vars-2.0.md:108",),
    ("CPU", "RESERVE"): ("env-vars-2.0.md:111",),
    ("CPU", "LARGE"): ("env-vars-2.0.md:116",),
    ("CPU", "CUTOFF"): ("env-vars-2.0.md:120",),
    ("CPU_PINNED", "TYPE"): ("env-vars-2.0.md:123",),
    ("CPU_PINNED", "PAGE"): ("env-vars-2.0.md:127",),
    ("CPU_PINNED", "RESERVE"): ("env-vars-2.0.md:130",),
    ("CPU_PINNED", "LARGE"): ("env-vars-2.0.md:135",),
    ("CPU_PINNED", "CUTOFF"): ("env-vars-2.0.md:139",),
}


def _pool_type(kind: str, memory: str, device: str) -> Knob:
    only_in_2 = (
        ""
        if kind == "GPU"
        else f" MXNet 1.9.1 never pools {memory}; the knob came with 2.0."
    )
    return declare(
        name=f"MXNET_{kind}_MEM_POOL_TYPE",
        type="choice",
        default="Naive",
        choices=("Naive", "Round", "Unpooled"),
        sources=SOURCES[kind, "TYPE"],
        meaning=(
            f"How {memory} is kept for reuse. Naive rounds a request up to whole pages "
            "and keeps returned blocks by exact size: little waste, but a new size "
            "never finds an old block. Round rounds up to powers of two, so that many "
            "sizes share a block: more reuse, up to half of a block wasted. Unpooled "
            "asks the device every time and gives everything back at once. No pool "
            "splits or joins blocks. A change acts at the next request; blocks that "
            "are in use go back to the device when they are released, not to the new "
            "pool. `mx.storage.register_pool` adds a policy of your own to the choices."
            f"{only_in_2}"
        ),
        observable=(
            f"`mx.storage.stats({device})`: hits, driver calls, and rounded "
            "against requested bytes."
        ),
    )


def _page_size(kind: str, memory: str, device: str) -> Knob:
    return declare(
        name=f"MXNET_{kind}_MEM_POOL_PAGE_SIZE",
        aliases=(f"MXNET_{kind}_POOL_PAGE_SIZE",),
        type="int",
        default=4096,
        low=32,
        high=1 << 30,
        unit="bytes",
        sources=SOURCES[kind, "PAGE"],
        meaning=(
            f"The unit in which the pool of {memory} hands out bytes. The Naive pool "
            "rounds every request up to whole pages; for the Round pool a page is the "
            "smallest block and must be a power of two. The documents use this name, "
            f"MXNet 2.0 reads MXNET_{kind}_POOL_PAGE_SIZE; both work here."
        ),
        observable=f"Live rounded bytes of many small arrays in `stats({device})`.",
    )


def _reserve(kind: str, memory: str, device: str) -> Knob:
    return declare(
        name=f"MXNET_{kind}_MEM_POOL_RESERVE",
        type="int",
        default=5,
        low=0,
        high=100,
        unit="percent",
        sources=SOURCES[kind, "RESERVE"],
        meaning=(
            f"The share of {memory} that the pool tries to leave to others. When a new "
            "block would reach into it, the pool first gives every cached block back "
            "to the device. Then it allocates, even inside the reserve, if there is "
            "room: the reserve costs time, it does not refuse. Raise it when something "
            "beside the arrays runs out of memory."
        ),
        observable=f"The number of flushes in `stats({device})`.",
    )


def _large_round_size(kind: str, memory: str, device: str) -> Knob:
    return declare(
        name=f"MXNET_{kind}_MEM_LARGE_ALLOC_ROUND_SIZE",
        type="int",
        default=2097152,
        low=1,
        high=1 << 34,
        unit="bytes",
        sources=SOURCES[kind, "LARGE"],
        meaning=(
            f"Where the Naive pool of {memory} changes to a coarser unit. A request "
            "that is larger than this, after rounding to pages, is rounded up to a "
            "multiple of this. Coarse large blocks are reused more and break the "
            "device's address space up less; 1 switches the second rounding off."
        ),
        observable=f"Rounded bytes of arrays between 2 and 20 MB in `stats({device})`.",
    )


def _linear_cutoff(kind: str, memory: str, device: str) -> Knob:
    return declare(
        name=f"MXNET_{kind}_MEM_POOL_ROUND_LINEAR_CUTOFF",
        type="int",
        default=24,
        low=20,
        high=34,
        unit="powers of two",
        sources=SOURCES[kind, "CUTOFF"],
        meaning=(
            f"Where the Round pool of {memory} stops doubling. Up to 2**cutoff bytes "
            "it rounds to powers of two, beyond that to multiples of 2**cutoff (16 MiB "
            "at the default). A higher cutoff gives more reuse among large arrays of "
            "different sizes, and more waste in each. One of the documents says that "
            "the Naive rule takes over above the cutoff; MXNet's code and minimx do "
            "not do that."
        ),
        observable=(
            f"Rounded bytes of a 17 MiB array from the Round pool in `stats({device})`."
        ),
    )


def _for_every_kind() -> Iterator[Knob]:
    for kind, (memory, device) in KINDS.items():
        for make in (
            _pool_type,
            _page_size,
            _reserve,
            _large_round_size,
            _linear_cutoff,
        ):
            yield make(kind, memory, device)


KNOBS = (
    *_for_every_kind(),
    declare(
        name="MXNET_USE_NAIVE_STORAGE_MANAGERS",
        aliases=("MXNET_USE_NAIVE_STORAGE_MANAGER",),
        sources=("env-vars-2.0.md:142",),
        type="int",
        default=0,
        meaning=(
            "No memory pool at all for any of the three kinds of memory, unless 0. "
            "Every array is then a request to its device, whatever the pool types say. "
            "The documents write the plural; MXNet reads only the singular "
            "MXNET_USE_NAIVE_STORAGE_MANAGER. Both work here."
        ),
        observable="Driver calls per training step in `mx.storage.stats(device)`.",
    ),
)
