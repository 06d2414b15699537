"""Small images that are learnt in seconds."""

from __future__ import annotations

from typing import Any

import numpy as np

Arrays = tuple[Any, Any, Any, Any]


def pictures(train: int = 256, test: int = 100, side: int = 8) -> Arrays:
    """Ten patterns under noise, as uint8 images; easy to learn."""
    random = np.random.default_rng(0)
    patterns = random.random((10, side, side))

    def some(count: int) -> tuple[Any, Any]:
        labels = random.integers(0, 10, count)
        noisy = 0.5 * patterns[labels] + 0.5 * random.random((count, side, side))
        return (255 * noisy).astype(np.uint8), labels

    return (*some(train), *some(test))
