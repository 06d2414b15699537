"""The tuner finds Winograd's algorithm where theory says that it wins.

In seconds of the processor and on one thread, so that others who work beside this do
not decide the race.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from minimx.kernels import tuner
from minimx.kernels.choosing import LIMITED, decided, table
from minimx.knobs import knobs
from tests.benchmarks.convolution import DIRECTIONS, square

pytestmark = pytest.mark.alone


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("channels", "edge"), [(128, 28), (512, 7)])
def test_the_tuner_finds_winograd_on_stages_of_resnet(
    channels: int, edge: int, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "perf_counter", time.process_time)
    at = square(8, channels, edge)
    with knobs(OMP_NUM_THREADS=1, MINIMX_CPU_AUTOTUNE=1, MXNET_ONEDNN_ENABLED=0):
        tuner.forget()
        rules = tuner.rules_now(
            direction, limit=1 << 30, tune=None, off=False, narrow="", gpu=False
        )
        found = tuner.choose(direction, at, np.dtype(np.float32), rules)
    tuner.forget()
    assert rules.tune == LIMITED
    assert rules.measures
    assert "w" in decided(found).algorithm.notes, table(found)
