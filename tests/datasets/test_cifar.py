"""CIFAR's binary files: what we read, and what we refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from minimx_datasets import DatasetError, cifar

TEN = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]


def write(path: Path, labels: list[list[int]], seed: int = 0) -> NDArray[np.uint8]:
    """A file of records with these label bytes; returns its pixels (n, 3, 32, 32)."""
    random = np.random.RandomState(seed)
    pixels = random.randint(256, size=(len(labels), cifar.PIXELS)).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(np.hstack([np.array(labels, dtype=np.uint8), pixels]).tobytes())
    return pixels.reshape(-1, 3, 32, 32)


@pytest.mark.parametrize("inside", [".", "cifar-10-batches-bin"])
def test_cifar10_joins_its_batches(tmp_path: Path, inside: str) -> None:
    pixels = [
        write(tmp_path / inside / name, [[seed], [9 - seed]], seed)
        for seed, name in enumerate(TEN)
    ]
    train_x, train_y, test_x, test_y = cifar.cifar10(tmp_path)
    assert train_x.shape == (10, 32, 32, 3)
    assert train_y.tolist() == [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    assert test_y.tolist() == [5, 4]
    np.testing.assert_array_equal(test_x.transpose(0, 3, 1, 2), pixels[-1])


def test_cifar100_has_coarse_and_fine_labels(tmp_path: Path) -> None:
    for name in ("train.bin", "test.bin"):
        write(tmp_path / name, [[19, 99], [3, 42]])
    assert cifar.cifar100(tmp_path).train_y.tolist() == [19, 3]
    assert cifar.cifar100(tmp_path, fine_label=True).train_y.tolist() == [99, 42]


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    for name in TEN[1:]:
        write(tmp_path / name, [[1]])
    with pytest.raises(DatasetError, match="data_batch_1.bin"):
        cifar.cifar10(tmp_path)


@pytest.mark.parametrize("content", [b"", b"x", bytes(cifar.PIXELS + 2)])
def test_a_file_that_is_no_row_of_records_is_refused(
    tmp_path: Path, content: bytes
) -> None:
    for name in TEN:
        write(tmp_path / name, [[1]])
    (tmp_path / "test_batch.bin").write_bytes(content)
    with pytest.raises(DatasetError, match="are not 1 to 50,000 records"):
        cifar.cifar10(tmp_path)


def test_a_label_out_of_range_is_refused(tmp_path: Path) -> None:
    for name in TEN:
        write(tmp_path / name, [[10]])
    with pytest.raises(DatasetError, match="only 10 classes"):
        cifar.cifar10(tmp_path)
