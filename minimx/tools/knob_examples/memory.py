"""Examples of the memory pools' knobs, written once for the three kinds of memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from minimx.tools.knob_examples import Example

# Name part -> the device whose pool it rules.
DEVICES = {"GPU": "mx.gpu()", "CPU": "mx.cpu()", "CPU_PINNED": "mx.cpu_pinned()"}

policy = partial(Example, acts_in="minimx.core.storage.policy.from_knobs")


def _block(nbytes: str) -> str:
    """How large a block is given for so many bytes."""
    return f"""\
block = mx.storage.pool_for(DEVICE).alloc({nbytes})
print(f"{{block.size:,}} bytes for {nbytes.replace("_", ",")}")
block.free()"""


FLUSHES = """\
pool = mx.storage.pool_for(DEVICE)
flushes = pool.stats().n_flush
pool.alloc(1 << 20).free()
pool.alloc(2 << 20).free()
print("idle blocks went back:", pool.stats().n_flush > flushes)"""

ROUNDED = """\
with mx.knobs(MXNET_KIND_MEM_POOL_TYPE="Round"):
    block = mx.storage.pool_for(DEVICE).alloc(36 << 20)
    print(block.size >> 20, "MiB for 36")
    block.free()"""

# End of the name -> the lines, and what they print.
FOR_EVERY_KIND: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "_MEM_POOL_TYPE": (
        _block("10_000"),
        {
            "Naive": "12,288 bytes for 10,000",
            "Round": "16,384 bytes for 10,000",
            "Unpooled": "10,000 bytes for 10,000",
        },
    ),
    "_MEM_POOL_PAGE_SIZE": (
        _block("1"),
        {
            "4096": "4,096 bytes for 1",
            "64": "64 bytes for 1",
        },
    ),
    "_MEM_POOL_RESERVE": (
        FLUSHES,
        {
            "5": "idle blocks went back: False",
            "100": "idle blocks went back: True",
        },
    ),
    "_MEM_LARGE_ALLOC_ROUND_SIZE": (
        _block("3_000_000"),
        {
            "2097152": "4,194,304 bytes for 3,000,000",
            "1": "3,002,368 bytes for 3,000,000",
        },
    ),
    "_MEM_POOL_ROUND_LINEAR_CUTOFF": (
        ROUNDED,
        {
            "24": "48 MiB for 36",
            "28": "64 MiB for 36",
        },
    ),
}

EXAMPLES = {
    f"MXNET_{kind}{ending}": policy(
        reads=ending,
        code=lines.replace("DEVICE", device).replace("_KIND_", f"_{kind}_"),
        expect=expect,
    )
    for kind, device in DEVICES.items()
    for ending, (lines, expect) in FOR_EVERY_KIND.items()
}

EXAMPLES["MXNET_USE_NAIVE_STORAGE_MANAGERS"] = policy(
    reads="BYPASS",
    code="""\
pool = mx.storage.pool_for(mx.cpu())
pool.alloc(50_000).free()
hits = pool.stats().n_hit
pool.alloc(50_000).free()
print(pool.stats().n_hit - hits, "of 1 found again")""",
    expect={
        "0": "1 of 1 found again",
        "1": "0 of 1 found again",
    },
)
