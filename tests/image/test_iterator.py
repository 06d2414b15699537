"""Batches of images, from lists and from files of records."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx import image
from minimx.core.errors import ArgumentError, DataError
from minimx.recordio import MXIndexedRecordIO, pack

SHAPE = (3, 20, 20)


def listed(count: int = 7) -> list[Any]:
    return [[float(number), f"{number}.png"] for number in range(count)]


def made(folder: Path, batch_size: int = 3, **settings: Any) -> Any:
    settings.setdefault("imglist", listed())
    return image.ImageIter(batch_size, SHAPE, path_root=str(folder), **settings)


def epoch(batches: Any) -> list[list[int]]:
    """The labels of each batch, and that the images are those of the labels."""
    found = []
    for batch in batches:
        data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
        assert data.shape == (len(label), *SHAPE)
        numbers = np.rint((data.mean((1, 2, 3)) - 25) / 10)
        assert np.abs(numbers - label).max() <= 1
        found.append(label.astype(int).tolist())
    batches.reset()
    return found


def test_the_last_batch(folder: Path) -> None:
    filled = made(folder)
    assert [epoch(filled) for _ in range(2)] == [[[0, 1, 2], [3, 4, 5], [6, 0, 1]]] * 2
    assert [batch.pad for batch in filled] == [0, 0, 2]
    dropped = made(folder, last_batch_handle="discard")
    assert [epoch(dropped) for _ in range(2)] == [[[0, 1, 2], [3, 4, 5]]] * 2
    rolled = made(folder, last_batch_handle="roll_over")
    assert epoch(rolled) == [[0, 1, 2], [3, 4, 5]]
    assert epoch(rolled) == [[6, 0, 1], [2, 3, 4]]
    assert epoch(rolled) == [[5, 6, 0], [1, 2, 3], [4, 5, 6]]
    rolled.next()
    rolled.hard_reset()
    assert epoch(rolled) == [[0, 1, 2], [3, 4, 5]]


def test_more_in_a_batch_than_there_is(folder: Path) -> None:
    assert epoch(made(folder, 10, imglist=listed(3))) == [[0, 1, 2] * 3 + [0]]


def test_parts_and_order(folder: Path) -> None:
    assert epoch(made(folder, 3, num_parts=2, part_index=1)) == [[3, 4, 5]]
    random.seed(1)
    mixed = made(folder, 7, shuffle=True)
    first, second = epoch(mixed)[0], epoch(mixed)[0]
    assert sorted(first) == sorted(second) == list(range(7))
    assert first != second


def test_descriptions(folder: Path) -> None:
    one = made(folder)
    assert one.provide_data == [("data", (3, *SHAPE))]
    assert one.provide_label == [("softmax_label", (3,))]
    wide = [[1.0, 2.0, "0.png"], [3.0, 4.0, "1.png"]]
    two = made(folder, 2, imglist=wide, label_width=2, label_name="y")
    assert two.provide_label == [("y", (2, 2))]
    assert two.next().label[0].asnumpy().tolist() == [[1, 2], [3, 4]]


@pytest.fixture
def records(folder: Path, tmp_path: Path) -> dict[str, Any]:
    paths: dict[str, Any] = {
        "path_imgidx": str(tmp_path / "x.idx"),
        "path_imgrec": str(tmp_path / "x"),
    }
    writer = MXIndexedRecordIO(paths["path_imgidx"], paths["path_imgrec"], "w")
    for number in range(7):
        content = (folder / f"{number}.png").read_bytes()
        writer.write_idx(number, pack((0, float(number), number, 0), content))
    writer.close()
    return paths


def test_records(records: dict[str, Any], tmp_path: Path) -> None:
    plain = image.ImageIter(3, SHAPE, path_imgrec=records["path_imgrec"])
    assert [epoch(plain) for _ in range(2)] == [[[0, 1, 2], [3, 4, 5], [6, 0, 1]]] * 2
    part = image.ImageIter(3, SHAPE, **records, num_parts=2)
    assert epoch(part) == [[0, 1, 2]]
    with pytest.raises(ArgumentError, match="Give path_imgidx"):
        image.ImageIter(3, SHAPE, path_imgrec=records["path_imgrec"], shuffle=True)
    lst = tmp_path / "x.lst"
    lst.write_text("".join(f"{number}\t{number}\t-\n" for number in range(7)))
    both = image.ImageIter(7, SHAPE, **records, path_imglist=str(lst))
    assert epoch(both) == [list(range(7))]
    lst.write_text("0\t0\t-\n")
    with pytest.raises(DataError, match="no label for the record 1"):
        image.ImageIter(7, SHAPE, **records, path_imglist=str(lst)).next()


def test_a_list_in_a_file(folder: Path, tmp_path: Path) -> None:
    lst = tmp_path / "x.lst"
    lst.write_text("3\t1\t0\t1.png\n5\t0\t1\t0.png\n\n")
    it = made(folder, 2, imglist=None, path_imglist=str(lst), label_width=2)
    assert it.next().label[0].asnumpy().tolist() == [[1, 0], [0, 1]]
    lst.write_text("3\tone\t1.png\n")
    with pytest.raises(DataError, match="is no list of images: line 1"):
        made(folder, imglist=None, path_imglist=str(lst))
    with pytest.raises(DataError, match="cannot read the list"):
        made(folder, imglist=None, path_imglist=str(tmp_path / "none"))


def test_what_cannot_be(folder: Path) -> None:
    for settings, what in [
        ({"imglist": None}, "where are the images"),
        ({"dtype": "uint8"}, "dtype='uint8'"),
        ({"last_batch_handle": "keep"}, "'keep'"),
        ({"num_parts": 2, "part_index": 2}, "no part 2 among 2"),
    ]:
        with pytest.raises(ArgumentError, match=what):
            made(folder, **settings)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"\(1, 2, 3\) must be"):
        image.ImageIter(1, (1, 2, 3), imglist=listed())
    with pytest.raises(DataError, match=r"\(3, 46, 44\) does not fit into batches"):
        made(folder, aug_list=[], imglist=[[0, "6.png"]]).next()


def test_a_broken_image_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"\x89PNG nothing")
    it = image.ImageIter(1, SHAPE, imglist=[[0, "broken.png"]], path_root=str(tmp_path))
    with pytest.raises(DataError, match=r"Broken image filename: broken\.png"):
        it.next()
    assert it.read_image("broken.png") == b"\x89PNG nothing"
    with pytest.raises(DataError, match="cannot read .*gone.png"):
        made(folder, imglist=[[0, "gone.png"]]).next()
