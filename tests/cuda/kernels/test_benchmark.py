"""The benchmark for real GPUs runs: in the simulator on tiny sizes."""

from __future__ import annotations

import pytest

from minimx.cuda import toolkit
from tests.benchmarks import cuda


@pytest.mark.skipif("not toolkit.simulated()", reason="it would measure for minutes")
def test_every_row_is_there_and_losses_agree(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert toolkit.simulated()
    assert cuda.main([]) == 1
    assert "No GPU to measure: numba's CUDA simulator" in capsys.readouterr().out
    assert cuda.main(["--play"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split("  ")[0]: line for line in lines[1:]}
    assert {"copy on the device", "a + b", "sum"} <= set(rows)
    assert sum(line.startswith("conv ") for line in lines) == 18
    far = float(rows["a small net, a training step"].rsplit(" ", 1)[1])
    assert far < 1e-5
