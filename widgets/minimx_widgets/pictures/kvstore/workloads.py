"""Networks to try a store with before anything was recorded: sizes and compute times.

Sizes are those of the published networks. Times are their multiplications and additions
at `SPEED` for a batch of `BATCH`, twice as many in the backward pass: plausible,
compared with nothing. `Workload.from_record` takes measured ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from minimx.core.errors import ArgumentError, did_you_mean
from minimx.kvstore.simulation import Layer, Workload

BATCH = 32
SPEED = 8e12  # additions and multiplications per second

# VGG-16: channels of each convolution, and the side of its images.
_VGG = (
    *((64, 224), (64, 224), (128, 112), (128, 112), (256, 56), (256, 56), (256, 56)),
    *((512, 28), (512, 28), (512, 28), (512, 14), (512, 14), (512, 14)),
)
# ResNet-50: channels inside the blocks of a stage, their side, how many there are.
_RESNET = ((64, 56, 3), (128, 28, 4), (256, 14, 6), (512, 7, 3))


def _vgg() -> Iterator[Layer]:
    before = 3
    for k, (channels, side) in enumerate(_VGG):
        yield _conv(f"conv{k}", before, channels, 3, side)
        before = channels
    for k, (into, out) in enumerate(((512 * 49, 4096), (4096, 4096), (4096, 1000))):
        yield _layer(f"dense{k}", into, out, 1)


def _resnet() -> Iterator[Layer]:
    yield _conv("stem", 3, 64, 7, 112)
    before = 64
    for stage, (inner, side, blocks) in enumerate(_RESNET, 1):
        for block in range(blocks):
            name = f"s{stage}b{block}"
            yield _conv(f"{name}_in", before, inner, 1, side)
            yield _conv(f"{name}_mid", inner, inner, 3, side)
            yield _conv(f"{name}_out", inner, 4 * inner, 1, side)
            if not block:
                yield _conv(f"{name}_skip", before, 4 * inner, 1, side)
            before = 4 * inner
    yield _layer("dense", 2048, 1000, 1)


def _perceptron() -> Iterator[Layer]:
    for k, (into, out) in enumerate(((784, 1024), (1024, 1024), (1024, 10))):
        yield _layer(f"dense{k}", into, out, 1)


def _conv(name: str, into: int, out: int, window: int, side: int) -> Layer:
    return _layer(name, into * window**2, out, side**2)


def _layer(name: str, into: int, out: int, uses: int) -> Layer:
    """A matrix that is used at so many places of an image."""
    seconds = 2 * into * out * uses * BATCH / SPEED
    return Layer(name, into * out, seconds, 2 * seconds, rows=out)


EXAMPLES = {"vgg16": _vgg, "resnet50": _resnet, "perceptron": _perceptron}


def example(name: str) -> Workload:
    """A network by its name: vgg16, resnet50 or perceptron.

    >>> example("vgg16").nbytes // 10**6
    553
    """
    if name not in EXAMPLES:
        near = did_you_mean(name, EXAMPLES)
        raise ArgumentError(
            f"KVStoreView: no workload {name!r}; there are {', '.join(EXAMPLES)}. Or "
            f"give one of your own: Workload.from_record(record, net).{near}"
        )
    return Workload(tuple(reversed([*EXAMPLES[name]()])))
