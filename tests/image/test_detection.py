"""Images with boxes: cuts, frames, and batches."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minimx import image, nd
from minimx.core.errors import ArgumentError, DataError, ShapeError
from minimx.image import boxes

BOXES = [[1, 0.1, 0.2, 0.5, 0.6], [2, 0.3, 0.3, 0.9, 0.95]]


def marked(label: Any, height: int = 60, width: int = 80) -> Any:
    """An image on which each box is filled with its class."""
    picture = np.zeros((height, width, 3), np.float32)
    for number, left, top, right, bottom in label:
        rows = slice(round(top * height), round(bottom * height))
        picture[rows, round(left * width) : round(right * width)] = number
    return nd.array(picture)


def where(picture: Any, number: int) -> list[float]:
    """The box in which a class is seen, as shares."""
    y, x = np.nonzero(picture.asnumpy()[..., 0] == number)
    height, width = picture.shape[:2]
    return [
        x.min() / width,
        y.min() / height,
        (x.max() + 1) / width,
        (y.max() + 1) / height,
    ]


@given(st.integers(0, 10_000))
def test_boxes_move_with_the_image(seed: int) -> None:
    random.seed(seed)
    label = np.array(BOXES[:1])
    picture = marked(label)
    for augmenter in (
        image.DetRandomCropAug(0.1, (0.5, 2), (0.2, 1.0), 0.1, 50),
        image.DetRandomPadAug((0.5, 2), (1.0, 3.0), 50, (0, 0, 0)),
        image.DetHorizontalFlipAug(0.5),
    ):
        picture, label = augmenter(picture, label.copy())
        height, width = picture.shape[:2]
        off = np.abs(label[0, 1:] - where(picture, 1))
        off *= [width, height] * 2
        assert off.max() <= 1.01  # pixels


def test_what_a_cut_leaves() -> None:
    label = np.array(BOXES)
    assert boxes.areas(label[:, 1:]) == pytest.approx([0.16, 0.39])
    assert boxes.coverages(label, np.array([0, 0, 0.3, 1])) == pytest.approx([0.5, 0])
    whole = boxes.within(label, (0, 0, 80, 60), (60, 80))
    assert np.allclose(whole, label)
    nothing = np.array([[0, 0.5, 0.5, 0.5, 0.5]])
    assert boxes.coverages(nothing, np.array([0, 0, 1, 1])).tolist() == [0]


def test_a_cut_that_shows_nothing_is_not_made() -> None:
    random.seed(0)
    label = np.array([[1, 0.4, 0.4, 0.6, 0.6]])
    picture = marked(label)
    never = image.DetRandomCropAug(0.99, (1, 1), (0.01, 0.02), 0.9, 20)
    assert never(picture, label) == (picture, label)


def test_what_allows_nothing_says_so(caplog: pytest.LogCaptureFixture) -> None:
    for make in (
        lambda: image.DetRandomCropAug(area_range=(0.5, 0.1)),
        lambda: image.DetRandomPadAug(area_range=(0.5, 0.9)),
        lambda: image.DetRandomPadAug(aspect_ratio_range=(2, 1)),
    ):
        augmenter = make()
        assert "never acts" in caplog.text
        caplog.clear()
        label = np.array(BOXES)
        picture = marked(label)
        assert augmenter(picture, label)[0] is picture


def test_choices() -> None:
    random.seed(0)
    flip = image.DetHorizontalFlipAug(1)
    never = image.DetRandomSelectAug([flip], skip_prob=1)
    picture = marked(BOXES)
    assert never(picture, np.array(BOXES))[0] is picture
    assert image.DetRandomSelectAug([])(picture, BOXES) == (picture, BOXES)
    always = image.DetRandomSelectAug([flip])
    assert always(picture, np.array(BOXES))[1][0, 1:].tolist() == [0.5, 0.2, 0.9, 0.6]
    assert always.dumps() == [
        "detrandomselectaug",
        ['["dethorizontalflipaug", {"p": 1}]'],
    ]
    many: Any = image.CreateMultiRandCropAugmenter([0.1, 0.5], max_attempts=[5])
    assert [cut.min_object_covered for cut in many.aug_list] == [0.1, 0.5]
    assert [cut.max_attempts for cut in many.aug_list] == [5, 5]
    with pytest.raises(ArgumentError, match=r"not \[2, 1, 1, 1, 3\]"):
        image.CreateMultiRandCropAugmenter([0.1, 0.5], max_attempts=[5, 6, 7])
    with pytest.raises(ArgumentError, match="takes DetAugmenters"):
        image.DetRandomSelectAug([image.CastAug()])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="takes an Augmenter"):
        image.DetBorrowAug(flip)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="write __call__"):
        image.DetAugmenter()(picture, BOXES)


def test_the_usual_ones() -> None:
    found = image.CreateDetAugmenter(
        (3, 30, 40),
        resize=50,
        rand_crop=0.5,
        rand_pad=0.5,
        rand_gray=0.1,
        rand_mirror=True,
        mean=True,
        std=True,
        brightness=0.1,
        min_object_covered=[0.1, 0.5],
    )
    kinds = [type(one).__name__ for one in found]
    assert kinds == [
        "DetBorrowAug",
        "DetRandomSelectAug",
        "DetHorizontalFlipAug",
        "DetRandomSelectAug",
        *["DetBorrowAug"] * 5,
    ]
    assert json.loads(found[0].dumps()[1]) == ["resizeaug", {"size": 50, "interp": 2}]
    random.seed(0)
    for _ in range(5):
        picture, label = marked(BOXES), np.array(BOXES)
        for augmenter in found:
            picture, label = augmenter(picture, label)
        assert picture.shape == (30, 40, 3)
        assert label[:, 1:].min() >= 0
        assert label[:, 1:].max() <= 1


def entry(count: int, path: str) -> list[Any]:
    numbers = [box for _ in range(count) for box in BOXES[0]]
    return [2, 5, *numbers, path]


def made(folder: Path, counts: tuple[int, ...] = (1, 3, 2), **settings: Any) -> Any:
    entries = [entry(count, f"{place}.png") for place, count in enumerate(counts)]
    return image.ImageDetIter(
        2, (3, 16, 16), imglist=entries, path_root=str(folder), **settings
    )


def test_batches_are_filled_up(folder: Path) -> None:
    it = made(folder)
    assert it.provide_label == [("label", (2, 3, 5))]
    batches = list(it)
    assert [batch.pad for batch in batches] == [0, 1]
    label = batches[0].label[0].asnumpy()
    assert label.shape == (2, 3, 5)
    assert label[0, 0].tolist() == pytest.approx(BOXES[0])
    assert (label[0, 1:] == -1).all()
    assert (label[1] >= 0).all()
    assert batches[0].data[0].shape == (2, 3, 16, 16)


def test_two_iterators_agree_on_their_labels(folder: Path) -> None:
    one, two = made(folder, (1, 2)), made(folder, (3, 1))
    assert one.sync_label_shape(two, verbose=True) is two
    assert one.label_shape == two.label_shape == (3, 5)
    assert one.next().label[0].shape == (2, 3, 5)
    two.reshape(data_shape=(3, 20, 24))
    assert two.provide_data == [("data", (2, 3, 20, 24))]
    with pytest.raises(ShapeError, match=r"no room for ours, \(3, 5\)"):
        one.reshape(label_shape=(1, 5))
    with pytest.raises(ShapeError, match="must be"):
        one.reshape(label_shape=(1,))
    with pytest.raises(ArgumentError, match="takes an ImageDetIter"):
        one.sync_label_shape(3)


@pytest.mark.parametrize(
    "label", [[1, 2], [2, 5, 1, 0, 0, 1, 1, 9], [2, 4, 1, 0, 0, 1, 1], [0, 5] * 5]
)
def test_labels_that_cannot_be(folder: Path, label: list[float]) -> None:
    with pytest.raises(DataError, match="a label of"):
        image.ImageDetIter(
            1, (3, 9, 9), imglist=[[*label, "0.png"]], path_root=str(folder)
        )


def test_a_sample_without_a_box_is_left_out(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flat = [2, 5, 1, 0.5, 0.5, 0.5, 0.5, "0.png"]
    it = image.ImageDetIter(
        2, (3, 9, 9), imglist=[flat, entry(1, "1.png")], path_root=str(folder)
    )
    batch: Any
    (batch,) = it
    assert batch.label[0].asnumpy()[0, 0].tolist() == pytest.approx(BOXES[0])
    assert "no box with an area" in caplog.text


def test_boxes_are_drawn(folder: Path) -> None:
    it = made(folder, mean=True, std=True)
    pictures = list(it.draw_next((255, 0, 0), mean=True, std=True, id2labels="abc"))
    assert [picture.shape for picture in pictures] == [(16, 16, 3)] * 3
    red = (pictures[0] == [0, 0, 255]).all(-1)
    assert red[3, 2:8].all()
    assert not red[0].any()
    it.reset()
    assert len(list(it.draw_next(clip=False))) == 3
