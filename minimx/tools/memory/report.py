"""What to say when a device is full: who holds the memory, and what would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from minimx.core.drivers.host import available_memory
from minimx.core.errors import OutOfMemory
from minimx.core.storage.policy import PREFIXES
from minimx.core.storage.stats import human

if TYPE_CHECKING:
    from minimx.core.drivers.base import Driver
    from minimx.core.events import Owner
    from minimx.core.storage.policy import Policy
    from minimx.core.storage.pool import Block

OWNERS_SHOWN = 3
ARENA = "arena"  # who asks for the inner memory of a graph
MANY_ARENAS = 4

# What helps where one category has more than half of the memory.
REMEDIES = {
    "parameter": "a smaller network, or one in float16, needs less.",
    "gradient": "grad_req='null' saves those that nobody needs.",
    "optimizer state": (
        "Adam keeps two numbers for every weight, SGD with momentum one, SGD none."
    ),
    "activation": (
        "it grows with the batch. MXNET_BACKWARD_DO_MIRROR=1 lets a hybridized network "
        "or a symbol compute some of it again instead of keeping it, and outside "
        "autograd.record() nothing is kept."
    ),
    "workspace": "a smaller workspace= of the convolutions needs less.",
    "data": "fetching fewer batches ahead (prefetch=) needs less.",
}


def largest_owners(
    blocks: Iterable[Block], most: int = OWNERS_SHOWN
) -> list[tuple[Owner, int, int]]:
    """Who holds most: (owner, requested bytes, blocks), the largest first."""
    nbytes: Counter[Owner] = Counter()
    number: Counter[Owner] = Counter()
    for block in blocks:
        nbytes[block.owner] += block.requested
        number[block.owner] += 1
    return [(owner, total, number[owner]) for owner, total in nbytes.most_common(most)]


def out_of_memory(
    driver: Driver,
    policy: Policy,
    nbytes: int,
    size: int,
    owner: Owner,
    in_use: Iterable[Block],
) -> OutOfMemory:
    """The error for a request that failed even after the cache was given back."""
    blocks = list(in_use)
    wish = f"{_named(owner)} asked" if owner.op else "somebody asked"
    block = f" (a block of {human(size)})" if size > nbytes else ""
    lines = [
        f"{driver.device}: {wish} for {human(nbytes)}{block}; "
        f"{human(driver.free_bytes)} of {human(driver.total_bytes)} is free, and live "
        f"arrays hold {human(sum(b.size for b in blocks))}. "
        "Delete some arrays, or shrink the batch."
    ]
    if driver.largest_free < size <= driver.free_bytes:
        piece = human(driver.largest_free)
        if piece == human(size):
            piece += f" less {human(size - driver.largest_free)}"
        lines.append(f"The free memory lies in pieces; the largest has {piece}.")
    held = by_category(blocks)
    if held:
        parts = [f"{category} {human(n)}" for category, n in held]
        lines.append(f"It holds: {', '.join(parts)}. The largest owners:")
        owners = largest_owners(blocks)
        lines += [f"  {human(n):>9} {who(owner, k)}" for owner, n, k in owners]
    lines.append(_advice(driver, policy, nbytes, size, blocks))
    if driver.simulated and available_memory(0) > size:
        lines.append(
            "Only the simulation refuses this; the host has room for it. "
            "MINIMX_SIM_GPU_MEMORY makes a larger simulated GPU, while no array lives "
            "on this one; unset, it takes what the host can give."
        )
    return OutOfMemory("\n".join(lines))


def by_category(blocks: Iterable[Block]) -> list[tuple[str, int]]:
    """Requested bytes by category, the largest first."""
    nbytes: Counter[str] = Counter()
    for block in blocks:
        nbytes[block.owner.category] += block.requested
    return nbytes.most_common()


def who(owner: Owner, blocks: int) -> str:
    """An owner and how many blocks it has, in words."""
    many = f"{blocks} blocks" if blocks > 1 else "1 block"
    return f"{_named(owner)}, {many}"


def _named(owner: Owner) -> str:
    where = f" in {owner.layer}" if owner.layer else ""
    return f"{owner.op or 'unknown'}{where} ({owner.category}, {owner.phase})"


def _advice(
    driver: Driver, policy: Policy, nbytes: int, size: int, blocks: list[Block]
) -> str:
    """The knob that would help most, in a sentence."""
    prefix = PREFIXES.get(driver.device.device_type, "MXNET_CPU")
    held = by_category(blocks)
    total = sum(n for _, n in held)
    arenas = [b.requested for b in blocks if b.owner.op == ARENA]
    if len(arenas) >= MANY_ARENAS and sum(arenas) > total // 2:
        return (
            "static_alloc keeps memory for every shape of input, "
            f"{len(arenas)} by now: pad the inputs to a few shapes, or hybridize "
            "without static_alloc."
        )
    waste = sum(b.size - b.requested for b in blocks) + size - nbytes
    missing = size - driver.free_bytes
    if 0 < missing <= waste:
        if policy.name == "Round":
            knob = f"{prefix}_MEM_POOL_TYPE=Naive"
        else:
            knob = f"{prefix}_MEM_LARGE_ALLOC_ROUND_SIZE=1"
        return f"Rounding alone takes {human(waste)}: {knob} would waste less."
    if missing <= 0 and policy.name != "Round":
        return (
            f"{prefix}_MEM_POOL_TYPE=Round would cut the memory into fewer different "
            "sizes, which fit into one another's place more often."
        )
    if held and held[0][1] > total // 2 and held[0][0] in REMEDIES:
        category, most = held[0]
        return f"{most / total:.0%} is for {category}: {REMEDIES[category]}"
    return "gpu_memory_info() and mx.storage.summary() show where the memory is."
