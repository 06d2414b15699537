"""Comparing two images at several displacements, and its gradients, on CUDA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.kernels.comparing import drawn, same


@pytest.mark.parametrize("multiply", [True, False])
@pytest.mark.parametrize(
    "settings",
    [
        {"pad_size": 1},
        {"kernel_size": 3, "max_displacement": 2, "stride2": 2, "pad_size": 3},
        {"max_displacement": 2, "stride1": 2, "pad_size": 2},
    ],
)
def test_windows_are_compared_as_on_the_cpu(settings: Any, multiply: bool) -> None:
    images = np.round(drawn(2, 1, 2, 5, 4), 1)
    images[1, ..., 0] = images[0, ..., 0]
    found, one, two = same("Correlation", *images, is_multiply=multiply, **settings)
    assert found.any()
    assert one.any()
    assert two.any()
