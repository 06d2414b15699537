"""Convolutions whose taps are moved, and their gradients, on CUDA."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cuda.kernels.comparing import drawn, same

SETTINGS: dict[str, Any] = {
    "kernel": (2, 3), "stride": (2, 1), "dilate": (1, 2), "pad": (1, 2),
    "num_filter": 4, "num_group": 2, "num_deformable_group": 2,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["Deformable", "ModulatedDeformable"])
@pytest.mark.parametrize("biased", [True, False])
def test_moved_taps_see_what_they_see_on_the_cpu(kind: str, biased: bool) -> None:
    data, weight = drawn(2, 4, 4, 3), drawn(4, 2, 2, 3, seed=1)
    offset, mask = drawn(2, 24, 3, 3, seed=2), drawn(2, 12, 3, 3, seed=3)
    moving = [offset, mask] if kind == "ModulatedDeformable" else [offset]
    bias = [drawn(4, seed=4)] if biased else []
    found = same(
        f"_contrib_{kind}Convolution", data, *moving, weight, *bias, near=1e-4,
        no_bias=not biased, **SETTINGS,
    )  # fmt: skip
    assert all(x.any() for x in found)
