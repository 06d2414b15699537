"""ResNet-50's convolutions by oneDNN alone; run by `make onednn`."""

from __future__ import annotations

from pathlib import Path

import pytest

from minimx.fast.onednn.library import listed
from tests.benchmarks import worker

PROGRAM = Path(worker.__file__).parent / "programs" / "onednn_api.py"

pytestmark = pytest.mark.skipif(not listed(), reason="oneDNN is not installed")


def test_all_convolutions_are_computed() -> None:
    program = worker.load(str(PROGRAM), "minimx")
    run = program.resnet_score_1()
    run(1)
    assert worker.measure(run, 0.01) > 1e-3  # eight billion operations
