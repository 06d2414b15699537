"""Examples of the memory pools' knobs, written once for the three kinds of memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from minimx.knobs.examples import Example

policy = partial(Example, acts_in="minimx.storage.policy.from_knobs")


def _of(kind: str, device: str) -> Iterator[tuple[str, Example]]:
    yield (
        f"MXNET_{kind}_MEM_POOL_TYPE",
        policy(
            reads="_MEM_POOL_TYPE",
            code=f"""\
block = mx.storage.pool_for({device}).alloc(10_000)
print(block.size, "bytes for 10,000")
block.free()""",
            expect={
                "Naive": "12288 bytes for 10,000",
                "Round": "16384 bytes for 10,000",
                "Unpooled": "10000 bytes for 10,000",
            },
        ),
    )
    yield (
        f"MXNET_{kind}_MEM_POOL_PAGE_SIZE",
        policy(
            reads="_MEM_POOL_PAGE_SIZE",
            code=f"""\
block = mx.storage.pool_for({device}).alloc(1)
print(block.size, "bytes for 1")
block.free()""",
            expect={
                "4096": "4096 bytes for 1",
                "64": "64 bytes for 1",
            },
        ),
    )
    yield (
        f"MXNET_{kind}_MEM_POOL_RESERVE",
        policy(
            reads="_MEM_POOL_RESERVE",
            code=f"""\
pool = mx.storage.pool_for({device})
flushes = pool.stats().n_flush
pool.alloc(1 << 20).free()
pool.alloc(2 << 20).free()
print("idle blocks went back:", pool.stats().n_flush > flushes)""",
            expect={
                "5": "idle blocks went back: False",
                "100": "idle blocks went back: True",
            },
        ),
    )
    yield (
        f"MXNET_{kind}_MEM_LARGE_ALLOC_ROUND_SIZE",
        policy(
            reads="_MEM_LARGE_ALLOC_ROUND_SIZE",
            code=f"""\
block = mx.storage.pool_for({device}).alloc(3_000_000)
print(f"{{block.size:,}} bytes for 3,000,000")
block.free()""",
            expect={
                "2097152": "4,194,304 bytes for 3,000,000",
                "1": "3,002,368 bytes for 3,000,000",
            },
        ),
    )
    yield (
        f"MXNET_{kind}_MEM_POOL_ROUND_LINEAR_CUTOFF",
        policy(
            reads="_MEM_POOL_ROUND_LINEAR_CUTOFF",
            code=f"""\
with mx.knobs(MXNET_{kind}_MEM_POOL_TYPE="Round"):
    block = mx.storage.pool_for({device}).alloc(36 << 20)
    print(block.size >> 20, "MiB for 36")
    block.free()""",
            expect={
                "24": "48 MiB for 36",
                "28": "64 MiB for 36",
            },
        ),
    )


EXAMPLES = {
    **dict(_of("GPU", "mx.gpu()")),
    **dict(_of("CPU", "mx.cpu()")),
    **dict(_of("CPU_PINNED", "mx.cpu_pinned()")),
    "MXNET_USE_NAIVE_STORAGE_MANAGERS": policy(
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
    ),
}
