"""bfloat16 by the processor's own instruction takes well under the time of float32.

In seconds of the processor and on one thread, as a ratio within one run, so that others
who work beside this do not decide the race. `python -m tests.benchmarks.test_bfloat16`
prints the table: milliseconds in float32, in bfloat16 through float32, and by oneDNN.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from minimx import nd
from minimx.core import autograd
from minimx.core.knobs import knobs
from minimx.fast.onednn import library as dnnl

pytestmark = pytest.mark.alone

#: Instructions on bfloat16 do twice as much; copies and the rest do not.
RATIO = 0.75
RUNS = 5


def dense(dtype: str) -> Callable[[], Any]:
    """A FullyConnected, 1024 features to 1024 outputs, 128 rows."""
    x, w, b = (
        nd.random.normal(shape=shape).astype(dtype)
        for shape in ((128, 1024), (1024, 1024), (1024,))
    )
    return lambda: nd.FullyConnected(x, w, b, num_hidden=1024).wait_to_read()


def stage(dtype: str) -> Callable[[], Any]:
    """A 3×3 layer of ResNet-50's second stage: 128 channels of 28×28, 4 images."""
    x, w = (
        nd.random.normal(shape=shape).astype(dtype)
        for shape in ((4, 128, 28, 28), (128, 128, 3, 3))
    )
    settings: Any = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 128}
    return lambda: nd.Convolution(x, w, no_bias=True, **settings).wait_to_read()


def trained(dtype: str) -> Callable[[], Any]:
    """The dense layer forward and backward."""
    x, w = (
        nd.random.normal(shape=shape).astype(dtype)
        for shape in ((128, 1024), (1024, 1024))
    )
    for array in (x, w):
        array.attach_grad()

    def step() -> None:
        with autograd.record():
            out = nd.FullyConnected(x, w, no_bias=True, num_hidden=1024)
        out.backward()
        nd.waitall()

    return step


LAYERS = (dense, stage, trained)


def seconds(made: Callable[[str], Callable[[], Any]]) -> tuple[float, float, float]:
    """Of the processor: float32, bfloat16 widened, bfloat16 as it is."""
    wide, narrow = made("float32"), made("bfloat16")
    races = [(wide, 1), (narrow, 0), (narrow, 1)]
    best = [float("inf")] * len(races)
    with knobs(OMP_NUM_THREADS=1, MXNET_ENGINE_TYPE="NaiveEngine"):
        for turn in range(RUNS + 1):  # the first round prepares
            for k, (run, enabled) in enumerate(races):
                with knobs(MXNET_ONEDNN_ENABLED=enabled):
                    run()
                    begin = time.process_time()
                    run()
                    took = time.process_time() - begin
                best[k] = min(best[k], took) if turn else best[k]
    return best[0], best[1], best[2]


@pytest.mark.parametrize("made", LAYERS[:2], ids=lambda made: made.__name__)
def test_bfloat16_is_faster_than_float32(
    made: Callable[[str], Callable[[], Any]],
) -> None:
    pytest.importorskip("ml_dtypes")
    if (found := dnnl.loaded()) is None or not found.bfloat16:
        pytest.skip("no oneDNN, or no instruction for bfloat16")
    wide, widened, narrow = seconds(made)
    assert narrow < RATIO * wide
    assert narrow < RATIO * widened


if __name__ == "__main__":
    for made in LAYERS:
        times = seconds(made)
        words = "  ".join(f"{1e3 * one:8.3f}" for one in times)
        ratios = "  ".join(f"{one / times[2]:.2f}" for one in times[:2])
        print(f"{made.__name__:8} {words}   {ratios}")
