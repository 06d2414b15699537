"""MNIST's file format: what we read, and what we refuse."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minimx_datasets import DatasetError, idx, load

CODES = {np.dtype(name): code for code, name in idx.TYPES.items()}


def encode(array: NDArray[Any]) -> bytes:
    """The idx file that holds an array."""
    big = array.dtype.newbyteorder(">")
    header = struct.pack(">HBB", 0, CODES[np.dtype(big)], array.ndim)
    return (
        header
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(big).tobytes()
    )


def write_mnist(folder: Path, zipped: bool = True) -> dict[str, NDArray[Any]]:
    """Four small files with the standard names."""
    random = np.random.RandomState(0)
    arrays: dict[str, NDArray[Any]] = {}
    for part, count in (("train", 7), ("t10k", 3)):
        arrays[f"{part}-images-idx3-ubyte"] = random.randint(
            256, size=(count, 28, 28)
        ).astype(np.uint8)
        arrays[f"{part}-labels-idx1-ubyte"] = random.randint(10, size=count).astype(
            np.uint8
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(encode(array)))
        else:
            (folder / name).write_bytes(encode(array))
    return arrays


@given(
    array=hnp.arrays(
        dtype=st.sampled_from(["u1", "i1", "i2", "i4", "f4", "f8"]),
        shape=hnp.array_shapes(max_dims=4, max_side=5),
    ),
    zipped=st.booleans(),
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, array: NDArray[Any], zipped: bool
) -> None:
    path = tmp_path_factory.mktemp("idx") / ("a.gz" if zipped else "a")
    content = encode(array)
    path.write_bytes(gzip.compress(content) if zipped else content)
    read = idx.read_idx(path)
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array)


@given(content=st.binary(max_size=64), zipped=st.booleans())
def test_any_bytes_give_an_array_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, zipped: bool
) -> None:
    path = tmp_path_factory.mktemp("idx") / ("noise.gz" if zipped else "noise")
    path.write_bytes(content)
    try:
        read = idx.read_idx(path)
    except DatasetError as error:
        assert path.name in str(error)
    else:
        assert read.nbytes <= len(content)


@pytest.mark.parametrize("zipped", [False, True])
def test_mnist_is_read_from_a_folder(tmp_path: Path, zipped: bool) -> None:
    arrays = write_mnist(tmp_path, zipped)
    split = idx.mnist(tmp_path)
    np.testing.assert_array_equal(split.train_x, arrays["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(split.test_y, arrays["t10k-labels-idx1-ubyte"])


def test_mnist_home_is_where_mxnet_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    write_mnist(tmp_path / "datasets" / "fashion-mnist")
    assert load("fashion-mnist").train_x.shape == (7, 28, 28)
    with pytest.raises(
        DatasetError, match=r"train-images-idx3-ubyte.*is not in .*mnist"
    ):
        load("mnist")


def test_a_truncated_archive_is_named(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    images = tmp_path / "train-images-idx3-ubyte.gz"
    images.write_bytes(images.read_bytes()[:-400])
    with pytest.raises(DatasetError, match=r"train-images.*damaged"):
        idx.mnist(tmp_path)


def test_a_header_that_promises_too_much_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(struct.pack(">HBB3I", 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1))
    with pytest.raises(DatasetError, match="would take"):
        idx.read_idx(path)
    path.write_bytes(struct.pack(">HBB1I", 0, 8, 1, 2**29))
    with pytest.raises(DatasetError, match="536,870,912 bytes early"):
        idx.read_idx(path)


def test_bytes_after_the_last_value_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(encode(np.arange(4, dtype=np.uint8)) + b"x")
    with pytest.raises(DatasetError, match="more bytes follow"):
        idx.read_idx(path)


def test_halves_of_different_sets_do_not_pass_for_one(tmp_path: Path) -> None:
    write_mnist(tmp_path, zipped=False)
    labels = tmp_path / "train-labels-idx1-ubyte"
    labels.write_bytes(encode(np.zeros(6, dtype=np.uint8)))
    with pytest.raises(DatasetError, match="from one set"):
        idx.mnist(tmp_path)
    labels.write_bytes(encode(np.full(7, 10, dtype=np.uint8)))
    with pytest.raises(DatasetError, match="0 to 9"):
        idx.mnist(tmp_path)
