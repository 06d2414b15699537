"""Batches from files of image records, decoded in threads."""

from __future__ import annotations

import gc
import logging
import random
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx import nd
from minimx.core.errors import ArgumentError, DataError, ShapeError, Unavailable
from minimx.image import codec
from minimx.io import (
    ImageDetRecordIter,
    ImageRecordInt8Iter,
    ImageRecordIter,
    ImageRecordUInt8Iter,
    rounds,
)
from minimx.io.boxes import BoxDistortion
from minimx.io.distort import Distortion
from minimx.io.records import scan
from minimx.recordio import MAGIC, MXIndexedRecordIO, MXRecordIO, pack_img

HEIGHT, WIDTH = 12, 16


def picture(number: int, height: int = HEIGHT, width: int = WIDTH) -> Any:
    """Blue, green, red: columns, rows and a number."""
    y, x = np.mgrid[:height, :width]
    return np.stack([x, y, 0 * x + 10 * number], -1).astype(np.uint8)


def records(folder: Path, labels: Any = (0, 1, 2, 3, 4), name: str = "x") -> Path:
    path = folder / f"{name}.rec"
    writer = MXIndexedRecordIO(folder / f"{name}.idx", path, "w")
    for number, label in enumerate(labels):
        header = (0, label, number + 100, 0)
        writer.write_idx(number, pack_img(header, picture(number), 1, ".png"))
    writer.close()
    return path


def made(folder: Path, labels: Any = (0, 1, 2, 3, 4), **settings: Any) -> Any:
    words: dict[str, Any] = {"data_shape": (3, HEIGHT, WIDTH), "batch_size": 2}
    words |= {"preprocess_threads": 2} | settings
    return ImageRecordIter(str(records(folder, labels)), **words)


def numbers(it: Any) -> list[list[int]]:
    """The numbers of the images in each batch; they are those of the labels."""
    found = []
    for batch in it:
        data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
        assert (data[:, 0, 0, 0] == 10 * label).all()
        assert (batch.index == label + 100).all()
        found.append(label.astype(int).tolist())
    it.reset()
    return found


def test_batches(tmp_path: Path) -> None:
    it = made(tmp_path)
    assert it.provide_data == [("data", (2, 3, HEIGHT, WIDTH))]
    assert [numbers(it), numbers(it)] == [[[0, 1], [2, 3], [4, 0]], [[1, 2], [3, 4]]]
    assert [batch.pad for batch in it] == [0, 0, 1]
    stays = made(tmp_path, round_batch=False)
    assert numbers(stays) == numbers(stays) == [[0, 1], [2, 3], [4, 3]]
    image = next(iter(made(tmp_path))).data[0].asnumpy()[1]
    assert (image == picture(1)[..., ::-1].transpose(2, 0, 1)).all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("prefetch", [0, 1, 9])
def test_threads_change_nothing(tmp_path: Path, threads: int, prefetch: int) -> None:
    changes = {"rand_crop": True, "rand_mirror": True, "max_random_contrast": 0.5}
    settings = {"data_shape": (3, 5, 5), "shuffle": True, "seed": 3, **changes}
    wanted, found = (
        [batch.data[0].asnumpy() for batch in made(tmp_path, **settings, **more)]
        for more in ({}, {"preprocess_threads": threads, "prefetch_buffer": prefetch})
    )
    assert np.array_equal(wanted, found)
    other = [b.data[0].asnumpy() for b in made(tmp_path, **settings, seed_aug=4)]
    assert not np.array_equal(wanted, other)


def test_order_and_parts(tmp_path: Path) -> None:
    mixed = made(tmp_path, shuffle=True, batch_size=5, seed=1)
    first, second = numbers(mixed)[0], numbers(mixed)[0]
    assert sorted(first) == sorted(second) == [0, 1, 2, 3, 4]
    assert first != second
    taken = [
        row
        for part in range(2)
        for rows in numbers(made(tmp_path, batch_size=1, num_parts=2, part_index=part))
        for row in rows
    ]
    assert taken == [0, 1, 2, 3, 4]
    index = str(tmp_path / "x.idx")
    assert numbers(made(tmp_path, path_imgidx=index, batch_size=5)) == [[0, 1, 2, 3, 4]]
    (tmp_path / "x.idx").write_text("0\t40000\n")
    with pytest.raises(DataError, match="is not the index of"):
        ImageRecordIter(str(tmp_path / "x.rec"), (3, 4, 4), 1, path_imgidx=index)


def test_pieces_of_the_file_in_another_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(**settings: Any) -> list[list[int]]:
        it = made(tmp_path, range(20), batch_size=20, **settings)
        return [numbers(it)[0] for _ in range(4)]

    kept = list(range(20))
    assert rows(shuffle_chunk_size=1) == [kept] * 4  # all of it is a piece
    size = (tmp_path / "x.rec").stat().st_size
    # Pieces are counted in MB; here a MB has a fifth of the file.
    chunked = rounds.chunked
    monkeypatch.setattr(
        "minimx.io.records.chunked",
        lambda starts, end, chunks, *seeds: chunked(starts, size, 5, *seeds),
    )
    found = rows(shuffle_chunk_size=1, shuffle_chunk_seed=2)
    assert all(sorted(one) == kept for one in found)
    assert kept not in found[1:] and found[0] != found[1]
    breaks = [sum(b != a + 1 for a, b in pairwise(one)) for one in found]
    assert max(breaks) <= 4
    mixed = rows(shuffle_chunk_size=1, shuffle_chunk_seed=2, shuffle=True)
    assert sum(b != a + 1 for a, b in pairwise(mixed[0])) > 4


@pytest.mark.parametrize(
    "settings",
    [{"aug_seq": "aug_default,mine"}, {"shuffle_chunk_size": -1}],
)
def test_orders_and_changes_that_are_not_there(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="can only be 'aug_default'"):
        made(tmp_path, **settings)
    assert len(numbers(made(tmp_path, aug_seq="aug_default"))) == 3
    path = str(tmp_path / "x.rec")
    with pytest.raises(ValueError, match="can only be 'det_aug_default'"):
        ImageDetRecordIter(path, (3, 4, 4), 1, aug_seq="aug_default")


def test_labels(tmp_path: Path) -> None:
    two = made(tmp_path, np.arange(10.0).reshape(5, 2), label_width=2)
    assert two.next().label[0].asnumpy().tolist() == [[0, 1], [2, 3]]
    with pytest.raises(DataError, match="a label of 2 numbers; label_width is 1"):
        made(tmp_path, np.arange(10.0).reshape(5, 2)).next()
    lst = tmp_path / "x.lst"
    lst.write_text("".join(f"{n + 100}\t{n * 11}\tx.png\n" for n in range(5)))
    listed = made(tmp_path, path_imglist=str(lst))
    assert listed.next().label[0].asnumpy().tolist() == [0, 11]
    lst.write_text("100\t1\tx.png\n")
    with pytest.raises(DataError, match="no label for the image 101"):
        made(tmp_path, path_imglist=str(lst)).next()


def test_normalized(tmp_path: Path) -> None:
    words = {"mean_r": 1, "mean_g": 2, "mean_b": 3, "std_r": 2, "std_b": 8, "scale": 4}
    data = made(tmp_path, **words, mirror=True).next().data[0].asnumpy()
    image = picture(1)[:, ::-1, ::-1].transpose(2, 0, 1).astype(np.float32)
    mean, std = (np.reshape(x, (3, 1, 1)) for x in ([1, 2, 3], [2, 1, 8]))
    assert np.allclose(data[1], (image - mean) * 4 / std)
    lit = made(tmp_path, max_random_illumination=5).next().data[0].asnumpy()[1]
    off = lit - picture(1)[..., ::-1].transpose(2, 0, 1)
    assert np.ptp(off) < 1e-4
    assert 0 < abs(off.mean()) <= 5


def test_bytes(tmp_path: Path) -> None:
    path = str(records(tmp_path, range(26)))
    words: Any = {"data_shape": (3, HEIGHT, WIDTH), "batch_size": 26}
    (whole,) = ImageRecordUInt8Iter(path, **words)
    (signed,) = ImageRecordInt8Iter(path, **words)
    assert whole.data is not None
    assert signed.data is not None
    data = whole.data[0].asnumpy()
    assert (data.dtype, data[25, 0, 0, 0]) == (np.uint8, 250)
    assert (signed.data[0].asnumpy() == data.clip(0, 127)).all()
    again = ImageRecordIter(path, **words, dtype="uint8")
    assert again.provide_data[0].dtype is np.uint8


def test_grey_and_transparent(tmp_path: Path) -> None:
    grey = made(tmp_path, data_shape=(1, 4, 4)).next()
    assert grey.data[0].shape == (2, 1, 4, 4)
    with pytest.raises(DataError, match="has 3 channels, and data_shape"):
        made(tmp_path, data_shape=(4, 4, 4)).next()


def test_a_mean_image(tmp_path: Path) -> None:
    path = tmp_path / "mean.params"
    data = made(tmp_path, mean_img=str(path)).next().data[0].asnumpy()
    stored = nd.load(str(path))
    assert isinstance(stored, dict)
    assert stored["mean_img"].shape == (3, HEIGHT, WIDTH)
    assert data[0, 0, 0, 0] == -20
    again = made(tmp_path, mean_img=str(path)).next().data[0].asnumpy()
    assert (again == data).all()
    nd.save(str(path), {"mean_img": nd.zeros((3, 2, 2))})
    with pytest.raises(DataError, match="holds no mean image"):
        made(tmp_path, mean_img=str(path))


def test_what_cannot_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ShapeError, match=r"data_shape=\(5, 12, 16\)"):
        made(tmp_path, data_shape=(5, HEIGHT, WIDTH))
    with pytest.raises(ArgumentError, match="preprocess_threads=0"):
        made(tmp_path, preprocess_threads=0)
    with pytest.raises(ArgumentError, match="inter_method=7"):
        made(tmp_path, inter_method=7)
    with pytest.raises(ArgumentError, match="random_resized_crop cuts already"):
        made(tmp_path, random_resized_crop=True, rand_crop=True)
    with pytest.raises(DataError, match="No such file"):
        ImageRecordIter(str(tmp_path / "none"), (3, 4, 4), 1)
    with caplog.at_level(logging.WARNING):
        made(tmp_path, verbose=True, rand_mirrow=True)
    assert "no rand_mirrow; it is left alone. Did you mean rand_mirror?" in caplog.text


def test_an_image_that_does_not_decode(tmp_path: Path) -> None:
    path = records(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\x89PNG", b"\x89PIG"))
    it = ImageRecordIter(str(path), (3, 4, 4), 2, preprocess_threads=2)
    with pytest.raises(DataError, match="the record at byte .* cannot be decoded"):
        it.next()
    path.write_bytes(content[:-40])
    with pytest.raises(DataError, match="is cut off or damaged"):
        ImageRecordIter(str(path), (3, 4, 4), 2)


def test_looking_through_a_file(tmp_path: Path) -> None:
    writer = MXRecordIO(tmp_path / "x", "w")
    for record in (b"abc", MAGIC + b"xy" + MAGIC, MAGIC * 3, b""):
        writer.write(record)
    places = scan(tmp_path / "x")
    writer.close()
    reader = MXRecordIO(tmp_path / "x", "r")
    found = [reader.read_at(place) for place in places]
    reader.close()
    assert found == [b"abc", MAGIC + b"xy" + MAGIC, MAGIC * 3, b""]


def test_leaving_early_leaves_no_thread(tmp_path: Path) -> None:
    it = made(tmp_path)
    it.next()
    threads = set(it._workers._threads)
    assert threads
    del it
    for _ in range(200):  # what is being decoded is finished first
        gc.collect()
        if not any(thread.is_alive() for thread in threads):
            return
        time.sleep(0.05)
    raise AssertionError("threads are left behind")


SMOOTH = np.stack(np.meshgrid(np.arange(60), np.arange(40), [90]), -1)[:, :, 0] * 2
CASES: list[dict[str, Any]] = [
    {"resize": 30},
    {"pad": 5},
    {"rotate": 30},
    {"max_rotate_angle": 20, "max_shear_ratio": 0.2, "max_aspect_ratio": 0.2},
    {"max_random_scale": 1.5, "min_random_scale": 1.2, "inter_method": 10},
    {"max_img_size": 50.0, "inter_method": 9},
    {"min_crop_size": 10, "max_crop_size": 20, "rand_crop": True},
    {"random_resized_crop": True, "min_random_area": 0.2, "max_aspect_ratio": 0.3},
    {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3},
    {"random_h": 20, "random_s": 20, "random_l": 20},
    {"pca_noise": 0.1},
]


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_changes_of_images(settings: dict[str, Any]) -> None:
    image = SMOOTH.astype(np.uint8)
    change = Distortion(**settings)
    found = change(image, 24, 20, random.Random(1))
    assert (found.shape, found.dtype) == ((24, 20, 3), np.uint8)
    assert (change(image, 24, 20, random.Random(1)) == found).all()
    plain = Distortion()(image, 24, 20, random.Random(1))
    assert (plain == image[8:32, 20:40]).all()
    only_outside = "pad" in settings or "max_img_size" in settings
    assert only_outside or (found != plain).any()


def test_a_small_image_grows() -> None:
    image = SMOOTH.astype(np.uint8)
    assert Distortion()(image, 80, 70, random.Random(0)).shape == (80, 70, 3)
    assert Distortion()(image, 20, 170, random.Random(0)).shape == (20, 170, 3)
    with pytest.raises(ArgumentError, match="larger than an image"):
        Distortion(max_crop_size=90, min_crop_size=90)(image, 9, 9, random.Random(0))


def test_turning_needs_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "opencv", lambda: None)
    for change in (Distortion(rotate=5), Distortion(random_h=3)):
        with pytest.raises(Unavailable, match="OpenCV; install it"):
            change(SMOOTH.astype(np.uint8), 9, 9, random.Random(0))


BOX = [2, 5, 1, 0.25, 0.25, 0.75, 0.75]


def boxed(folder: Path, **settings: Any) -> Any:
    labels = [np.array(BOX), np.array([*BOX, 2, 0.1, 0.2, 0.3, 0.4])]
    path = str(records(folder, labels))
    return ImageDetRecordIter(path, (3, HEIGHT, WIDTH), 2, **settings)


def test_boxes(tmp_path: Path) -> None:
    it = boxed(tmp_path)
    assert it.provide_label == [("softmax_label", (2, 4 + 12))]
    label = it.next().label[0].asnumpy()
    assert label[0].tolist() == [3, HEIGHT, WIDTH, 7, *BOX, *[-1] * 5]
    assert label[1, :4].tolist() == [3, HEIGHT, WIDTH, 12]
    wide = boxed(tmp_path, label_pad_width=20, label_pad_value=-2, std_r=2)
    batch = wide.next()
    assert batch.label[0].asnumpy()[0, 11:].tolist() == [-2] * 13
    assert batch.data[0].asnumpy()[1, 0, 0, 0] == 5
    with pytest.raises(DataError, match="cannot be a header of 1 and boxes of 5"):
        path = str(records(tmp_path, [np.array([1.0, 5.0, 1, 0, 0, 1, 1])]))
        ImageDetRecordIter(path, (3, 4, 4), 1).next()
    with pytest.raises(ArgumentError, match="rand_mirror_prob"):
        boxed(tmp_path, rand_mirror=True)
    with pytest.raises(ArgumentError, match="resize_mode='crop'"):
        boxed(tmp_path, resize_mode="crop")


BOXED_CASES: list[dict[str, Any]] = [
    {"rand_mirror_prob": 1.0},
    {"rand_pad_prob": 1.0, "max_pad_scale": 2.0},
    {"rand_crop_prob": 1.0, "min_crop_scales": (0.6,), "num_crop_sampler": 1},
    {
        "rand_crop_prob": 1.0,
        "num_crop_sampler": 2,
        "min_crop_scales": (0.5, 0.8),
        "min_crop_object_coverages": (0.5, 0.9),
        "crop_emit_mode": "overlap",
    },
    {"resize_mode": "fit"},
    {"resize_mode": "shrink", "resize": 20},
]


@pytest.mark.parametrize("settings", BOXED_CASES, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_boxes_move_with_their_images(settings: dict[str, Any], seed: int) -> None:
    image = np.zeros((80, 120, 3), np.uint8)
    image[20:60, 30:90] = 255
    boxes = np.array([[1, 0.25, 0.25, 0.75, 0.75]])
    change = BoxDistortion(**settings, fill_value=0)
    found, left = change(image, boxes, 100, 90, random.Random(seed))
    assert found.shape == (100, 90, 3)
    y, x = np.nonzero(found[..., 0] > 127)
    seen = [x.min() / 90, y.min() / 100, (x.max() + 1) / 90, (y.max() + 1) / 100]
    assert np.abs(left[0, 1:] - seen).max() < 0.04


def test_colours_of_boxed_images() -> None:
    image = np.full((20, 20, 3), (200, 100, 50), np.uint8)
    boxes = np.array([[1, 0.25, 0.25, 0.75, 0.75]])
    for name, most in (("hue", 40), ("contrast", 0.5), ("illumination", 40)):
        words: Any = {f"max_random_{name}": most, f"random_{name}_prob": 1.0}
        found, left = BoxDistortion(**words)(image, boxes, 20, 20, random.Random(3))
        assert (left == boxes).all()
        assert name == "contrast" or (found != image).any()
