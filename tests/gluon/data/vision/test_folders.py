"""Datasets of images in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx.core.errors import DataError
from minimx.gluon.data import DataLoader
from minimx.gluon.data.vision import (
    ImageFolderDataset,
    ImageListDataset,
    ImageRecordDataset,
)
from minimx.image import codec
from minimx.recordio import MXIndexedRecordIO, pack, pack_img


def picture(number: int) -> Any:
    return np.full((4, 5, 3), (number, number + 1, number + 2), np.uint8)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for label, kind in enumerate(("cat", "dog")):
        (tmp_path / kind).mkdir()
        for number in range(2):
            content = codec.encode(picture(10 * label + number), ".png", 1)
            (tmp_path / kind / f"{number}.PNG").write_bytes(content)
    return tmp_path


def test_folders(root: Path) -> None:
    images = ImageFolderDataset(root)
    assert images.synsets == ["cat", "dog"]
    assert [label for _, label in images.items] == [0, 0, 1, 1]
    image, label = images[3]
    assert (image.shape, label) == ((4, 5, 3), 1)
    assert image[0, 0].asnumpy().tolist() == [13, 12, 11]
    data, labels = next(iter(DataLoader(images, 4)))
    assert data.shape == (4, 4, 5, 3)
    assert labels.asnumpy().tolist() == [0, 0, 1, 1]
    grey = ImageFolderDataset(str(root), 0, lambda image, label: (image, -label))
    assert (grey[2][0].shape, grey[2][1]) == ((4, 5, 1), -1)


def test_what_is_no_image_of_a_class(root: Path) -> None:
    (root / "notes.txt").write_text("")
    with pytest.warns(UserWarning, match=r"notes\.txt' out: it is no folder"):
        assert len(ImageFolderDataset(root)) == 4
    (root / "notes.txt").unlink()
    (root / "cat" / "notes.txt").write_text("")
    with pytest.warns(UserWarning, match=r"notes\.txt' out: images end in"):
        assert len(ImageFolderDataset(root)) == 4
    with pytest.raises(DataError, match="cannot read"):
        ImageFolderDataset(root / "none")
    (root / "dog" / "1.PNG").write_bytes(b"broken")
    (root / "cat" / "notes.txt").unlink()
    with pytest.raises(DataError, match=r"dog/1\.PNG.*cannot be decoded"):
        ImageFolderDataset(root)[3]


def test_lists(root: Path) -> None:
    entries: list[Any] = [
        [1.0, "dog/0.PNG"],
        [2, 3, "cat/1.PNG"],
        [[4, 5], "cat/0.PNG"],
    ]
    images = ImageListDataset(root, entries)
    found = [images[number] for number in range(len(images))]
    assert [label.tolist() for _, label in found] == [[1], [2, 3], [4, 5]]
    assert [image[0, 0, 2].asscalar() for image, _ in found] == [10, 1, 0]
    (root / "x.lst").write_text("7\t1\tdog/0.PNG\n8\t2\t3\tcat/1.PNG\n")
    for place in ("x.lst", root / "x.lst"):
        listed = ImageListDataset(str(root), place, flag=0)
        assert listed[0][0].shape == (4, 5, 1)
        assert listed[1][1].tolist() == [2, 3]
    with pytest.raises(DataError, match="name the images"):
        ImageListDataset(root)


def test_records(tmp_path: Path) -> None:
    writer = MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w")
    for key in range(3):
        writer.write_idx(key, pack_img((0, key, key, 0), picture(key), 1, ".png"))
    writer.write_idx(3, pack((0, [1, 2], 0, 0), b"no image"))
    writer.close()
    images = ImageRecordDataset(tmp_path / "x.rec")
    image, label = images[2]
    assert (image[0, 0].asnumpy().tolist(), label) == ([4, 3, 2], 2)
    grey = ImageRecordDataset(tmp_path / "x.rec", 0, lambda image, label: label + 1)
    assert (len(grey), grey[1]) == (4, 2)
    with pytest.raises(DataError, match=r"record 3 of .*x\.rec.*cannot be decoded"):
        images[3]
