"""Points in the plane: their number, their classes, their seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from minimx_datasets import toys

Maker = Callable[..., toys.Points]
TOYS: list[Maker] = [toys.spirals, toys.moons, toys.blobs]


@pytest.mark.parametrize("make", TOYS)
def test_a_toy_is_balanced_and_repeats_with_its_seed(
    make: Maker,
) -> None:
    points, labels = make(60, seed=3)
    again, _ = make(60, seed=3)
    other, _ = make(60, seed=4)
    assert points.shape == (60, 2)
    assert points.dtype == np.float32
    counts = np.bincount(labels)
    assert counts.min() == counts.max()
    assert (points == again).all()
    assert not (points == other).all()


def test_without_noise_the_classes_do_not_touch() -> None:
    for make in TOYS:
        points, labels = make(60, noise=0.0)
        gap = np.linalg.norm(points[:, None] - points[None], axis=2)
        assert gap[labels[:, None] != labels[None]].min() > 0.05
