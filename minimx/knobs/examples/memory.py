"""Examples of the memory pools' knobs, written once for the three kinds of memory."""

from __future__ import annotations

from collections.abc import Iterator

from minimx.knobs.examples import Example

# Name part -> the device whose pool it rules.
DEVICES = {"GPU": "mx.gpu()", "CPU": "mx.cpu()", "CPU_PINNED": "mx.cpu_pinned()"}


def _for_every_kind() -> Iterator[tuple[str, Example]]:
    for kind, device in DEVICES.items():
        yield (
            f"MXNET_{kind}_MEM_POOL_TYPE",
            Example(
                acts_in="minimx.storage.policy.from_knobs",
                reads="_MEM_POOL_TYPE",
                code=f"""\
block = mx.storage.pool_for({device}).alloc(10_000)
print(block.size, "bytes")
block.free()""",
                expect={
                    "Naive": "12288 bytes",
                    "Round": "16384 bytes",
                    "Unpooled": "10000 bytes",
                },
            ),
        )


EXAMPLES = dict(_for_every_kind())
