"""Images on CUDA: other sizes and colours in other element types, and random changes.

Random changes are drawn from one state of a generator, here and on the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Spec
from tests.core.ops import interpreter
from tests.cuda.kernels.test_every_op import on_device

BYTES = np.random.default_rng(3).integers(0, 256, (6, 5, 3)).astype(np.uint8)
ONE = {"min_factor": 0.3, "max_factor": 0.3}
JITTER = {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.3}
COLOURS: list[tuple[str, dict[str, Any]]] = [
    ("_image_random_brightness", {"min_factor": 1.7, "max_factor": 1.8}),
    ("_image_random_contrast", ONE),
    ("_image_random_saturation", ONE),
    ("_image_random_hue", {"min_factor": -0.3, "max_factor": 0.4}),
    ("_image_random_color_jitter", JITTER),
    ("_image_random_color_jitter", dict.fromkeys(JITTER, 0.0)),
    ("_image_random_lighting", {"alpha_std": 0.5}),
    ("_image_adjust_lighting", {"alpha": (0.1, -0.2, 0.3)}),
    ("_image_random_flip_left_right", {}),
    ("_image_random_flip_top_bottom", {}),
]


def both(op: Op, image: Any) -> tuple[Any, Any]:
    """The first output on the device, and on the CPU."""
    plan = op.plan((Spec.of(image.shape, image.dtype),)).on_cuda
    assert plan.native
    return on_device(op, plan, [image])[0][0], interpreter.run(op, image.copy())[0]


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("name", "settings"), COLOURS)
def test_a_change_of_colours_is_that_of_the_cpu(
    name: str, settings: dict[str, Any], channels: int, dtype: str
) -> None:
    image = BYTES[..., :channels].astype(dtype)
    mine, its = both(lookup(name).of(**settings), image)
    assert mine.dtype == its.dtype == image.dtype
    # A rounding more or less may be what cuts a whole number off.
    whole = image.dtype.kind in "iu"
    np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1 if whole else 1e-3)
    assert np.count_nonzero(mine != its) <= image.size // 20 or not whole


def test_colours_that_are_not_numbers_stay_so() -> None:
    image = np.full((2, 2, 3), np.nan, np.float32)
    for name, settings in COLOURS[:1]:
        assert np.isnan(both(lookup(name).of(**settings), image)[0]).all()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float64"])
@pytest.mark.parametrize("interp", range(5))
@pytest.mark.parametrize("size", [(7, 4), (2, 9)])
def test_another_size_is_that_of_the_cpu(
    size: tuple[int, int], interp: int, dtype: str
) -> None:
    op = lookup("_image_resize").of(size=size, interp=interp)
    mine, its = both(op, BYTES.astype(dtype))
    np.testing.assert_array_equal(mine, its)


def test_halves_are_rounded_up_where_every_pixel_is_the_mean_of_four() -> None:
    image = np.array([[0, 1], [1, 0]], np.uint8)[..., None]
    for interp in (3, 1):
        op = lookup("_image_resize").of(size=(1, 1), interp=interp)
        mine, its = both(op, image)
        assert mine == its == 1


def test_a_batch_is_resized_image_by_image() -> None:
    op = lookup("_image_resize").of(size=(3, 8), interp=2)
    batch = np.stack([BYTES, BYTES[::-1]])
    mine, its = both(op, batch)
    np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64"])
def test_a_batch_of_tensors(dtype: str) -> None:
    batch = np.stack([BYTES, BYTES[::-1]]).astype(dtype)
    mine, its = both(lookup("_image_to_tensor").of(), batch)
    np.testing.assert_allclose(mine, its, rtol=2e-7)
