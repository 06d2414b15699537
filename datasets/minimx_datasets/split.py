"""What every loader returns: samples to learn from, and samples to be judged by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Split(NamedTuple):
    """A data set in two parts; unpacks as `train_x, train_y, test_x, test_y`.

    The samples are (n, …) arrays, images being (n, height, width) or
    (n, height, width, 3); the labels are (n,) arrays of class numbers from 0.
    """

    train_x: NDArray[Any]
    train_y: NDArray[np.uint8]
    test_x: NDArray[Any]
    test_y: NDArray[np.uint8]

    def __repr__(self) -> str:
        classes = len(np.unique(np.concatenate([self.train_y, self.test_y])))
        return (
            f"<{len(self.train_x):,} + {len(self.test_x):,} samples of shape "
            f"{self.train_x.shape[1:]}, {self.train_x.dtype}, {classes} classes>"
        )
