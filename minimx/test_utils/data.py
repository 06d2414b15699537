"""Files from the network, and MNIST as NumPy arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from minimx.gluon import utils
from minimx.gluon.data.vision import MNIST


def download(
    url: str,
    fname: str | None = None,
    dirname: str | None = None,
    overwrite: bool = False,
    retries: int = 5,
) -> str:
    """Fetch a file unless it is there, and return where it lies.

    fname: its name, the last part of the address by default. dirname: its folder.
    Raises DataError if it cannot be fetched.
    """
    path = fname or url.split("/")[-1]
    if dirname is not None:
        path = os.path.join(dirname, path)
    return utils.download(url, path, overwrite, retries=max(retries - 1, 0))


def get_mnist() -> dict[str, Any]:
    """MNIST: train_data (60000, 1, 28, 28) and test_data in [0, 1], and labels.

    Raises DataError, which says where to put the files, if they cannot be had.
    """
    found = {}
    for part, train in (("train", True), ("test", False)):
        images, labels = MNIST(train=train)[:]
        pixels = np.moveaxis(np.asarray(images), -1, 1).astype(np.float32)
        found[f"{part}_data"] = pixels / 255
        found[f"{part}_label"] = np.asarray(labels, np.int32)
    return found
