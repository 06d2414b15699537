"""Knobs of the simulated machine: how many GPUs, of what kind, and how they are joined.

What they say is declared, shown by the `repr` of a device's driver, and used by the
virtual clock and by explicit delays alone.
"""

from __future__ import annotations

import os
from functools import partial

from minimx.core.knobs.knob import Knob

GROUP = "simulated GPUs"

declare = partial(Knob, group=GROUP, status="live")
GIB = 1 << 30


def host_memory() -> int:
    """The bytes of memory that this process may have, by machine and container."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            text = limit.read().strip()
    except OSError:
        return found  # no Linux, or no container
    return min(found, int(text)) if text.isdigit() else found


def host_share() -> int:
    """What a simulated GPU has where nothing else is said: 3/4 of the host's memory.

    In whole GiB, so that it reads well; at least one, since an arena takes memory of
    the host only where it is written to.
    """
    return max(host_memory() * 3 // 4 // GIB, 1) * GIB


cost = partial(declare, type="float", low=0.0, default_words="as the preset says")

KNOBS = (
    declare(
        name="MINIMX_SIM_GPUS",
        type="int",
        default=1,
        low=0,
        high=16,
        unit="GPUs",
        scope="restart",
        meaning=(
            "How many simulated GPUs there are where no real one is found. Each has an "
            "arena of memory, workers and copy lanes of its own; its kernels are those "
            "of the CPU."
        ),
        observable="`mx.context.num_gpus()`.",
    ),
    declare(
        name="MINIMX_SIM_GPU_MEMORY",
        type="size",
        default=host_share(),
        default_words="3/4 of the host's memory",
        low=1 << 20,
        scope="restart",
        meaning=(
            "How much memory each simulated GPU has, such as 256MiB or 1GiB. The arena "
            "is one piece in which first-fit allocation leaves real gaps, so that "
            "fragmentation and running out of memory can be studied: choose a small "
            "one for that. Memory of the host is taken only as it is touched. Unset, "
            "it is what `MINIMX_SIM_GPU_PRESET` says: the memory of that card, and for "
            "generic 3/4 of the host's, so that a program that prefers a GPU has room."
        ),
        observable="`mx.context.gpu_memory_info(0)`.",
    ),
    declare(
        name="MINIMX_SIM_GPU_PRESET",
        type="choice",
        default="generic",
        choices=("generic", "K80", "M60", "V100", "K80/16", "M60/16", "V100/16"),
        scope="restart",
        meaning=(
            "The kind of card that simulated GPUs are: memory, arithmetic, bandwidths, "
            "and the time of a driver call. K80 (12 GiB), M60 (8 GiB) and V100 (16 "
            "GiB) are those of MXNet's performance page, with the numbers of their "
            "data sheets. With /16 all but the launches and the driver calls is a "
            "sixteenth: with images of 56 by 56 pixels a network meets on a laptop "
            "what it meets with 224 by 224 on the card."
        ),
        observable="The `repr` of the device's driver; makespans on the virtual clock.",
    ),
    declare(
        name="MINIMX_SIM_LINKS",
        type="choice",
        default="pcie",
        choices=("pcie", "sockets", "mesh", "nvswitch"),
        meaning=(
            "What joins simulated GPUs. pcie: one switch of PCI Express. sockets: two "
            "processors with four GPUs each, and no direct way from one half to the "
            "other. mesh: one or two NVLinks between some pairs, as in a DGX-1 with "
            "eight V100. nvswitch: six NVLinks between all."
        ),
        observable="How long a copy between two GPUs takes on the virtual clock.",
    ),
    cost(
        name="MINIMX_SIM_LAUNCH",
        default=5.0,
        unit="µs",
        meaning=(
            "How long starting an operation on a simulated GPU takes, before anything "
            "is computed or copied. Many small operations are all launches; joining "
            "and recording them helps."
        ),
        observable="The time of an empty operation on the virtual clock.",
    ),
    cost(
        name="MINIMX_SIM_DRIVER_CALL",
        default=0.0,
        unit="µs",
        meaning=(
            "How long a simulated GPU's driver takes to allocate a block of memory or "
            "to take it back. A pool saves these calls. On a real GPU they take 10 to "
            "1000 µs, and the presets named after cards say 100; the generic card says "
            "0, so that a makespan does not depend on what the pool holds already."
        ),
        observable="The time of an operation that the pool cannot serve.",
    ),
    cost(
        name="MINIMX_SIM_HOST_BANDWIDTH",
        default=12.0,
        unit="GB/s",
        low=0.001,
        meaning=(
            "How fast numbers travel between the host and a simulated GPU, in each "
            "direction. Without NVLink it is also the speed between two GPUs. 12 GB/s "
            "is what 16 lanes of PCI Express 3 achieve."
        ),
        observable="The time of a copy on the virtual clock.",
    ),
    declare(
        name="MINIMX_SIM_DELAY",
        type="float",
        default=0.0,
        low=0.0,
        high=1e6,
        scope="restart",
        meaning=(
            "Let simulated GPUs take their time on the wall clock as well: after each "
            "operation the worker sleeps this many times what the operation declares. "
            "0 never sleeps. With 1 launches and copies cost about what they would on "
            "the card, on top of what the CPU needs to play it; with 1000 a human can "
            "watch. The virtual clock does not look at it."
        ),
        observable="How long a copy takes on the wall clock.",
    ),
)
