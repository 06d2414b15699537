"""The iterator over the files of MNIST."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx.core.errors import DataError
from minimx.io import MNISTIter


def files(folder: Path, count: int = 5, labels: int = 5) -> dict[str, Any]:
    images = np.arange(count * 6, dtype=np.uint8).tobytes()
    image, label = folder / "images", folder / "labels.gz"
    image.write_bytes(struct.pack(">4i", 2051, count, 2, 3) + images)
    content = struct.pack(">2i", 2049, labels) + bytes(range(labels))
    label.write_bytes(gzip.compress(content))
    return {"image": str(image), "label": str(label)}


def labels_of(it: Any) -> list[Any]:
    found = [batch.label[0].asnumpy().tolist() for batch in it]
    it.reset()
    return found


def test_images(tmp_path: Path) -> None:
    it = MNISTIter(**files(tmp_path), batch_size=2, shuffle=False)
    assert it.provide_data == [("data", (2, 1, 2, 3))]
    assert labels_of(it) == labels_of(it) == [[0, 1], [2, 3]]
    data = it.next().data
    assert data is not None
    assert data[0][1].asnumpy().ravel().tolist() == [n / 256 for n in range(6, 12)]
    flat = MNISTIter(**files(tmp_path), batch_size=2, shuffle=False, flat=True)
    assert flat.provide_data == [("data", (2, 6))]
    part = MNISTIter(**files(tmp_path), batch_size=1, shuffle=False, num_parts=2)
    assert labels_of(part) == [[0], [1]]


def test_the_order_is_drawn_once(tmp_path: Path) -> None:
    it = MNISTIter(**files(tmp_path), batch_size=5, seed=1)
    other = MNISTIter(**files(tmp_path), batch_size=5, seed=2)
    assert labels_of(it) == labels_of(it)
    assert sorted(labels_of(it)[0]) == [0, 1, 2, 3, 4]
    assert labels_of(it) != labels_of(other)


def test_what_does_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\(5, 2, 3\) and .* \(4,\)"):
        MNISTIter(**files(tmp_path, labels=4))
    with pytest.raises(DataError, match="5 images do not fill a batch of 6"):
        MNISTIter(**files(tmp_path), batch_size=6)
    with pytest.raises(DataError, match="none"):
        MNISTIter(image=str(tmp_path / "none"))
