"""NumPy's files: what is read, and what is refused before memory is asked for."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx.core.errors import DataError
from minimx.tools import numpy_files


@pytest.mark.parametrize(
    "numbers",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(3, ">f4"),
        np.zeros((0, 3)),
        np.array([True, False]),
    ],
)
def test_arrays_of_numbers(tmp_path: Path, numbers: Any) -> None:
    np.save(tmp_path / "x.npy", numbers)
    found = numpy_files.load(tmp_path / "x.npy")
    assert found.dtype.isnative
    assert np.array_equal(found, numbers)


def test_a_small_file_that_would_become_a_large_array_is_refused(
    tmp_path: Path,
) -> None:
    with (
        zipfile.ZipFile(
            tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1
        ) as archive,
        archive.open("x.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(300):
            member.write(bytes(4 << 20))
    with pytest.raises(DataError, match=r"x.npz.*at most 100 times the size"):
        numpy_files.load(tmp_path / "x.npz")


def test_objects_and_texts_are_refused(tmp_path: Path) -> None:
    for numbers in (np.array([{}], object), np.array(["x"])):
        np.save(tmp_path / "x.npy", numbers)
        with pytest.raises(DataError, match="not numbers"):
            numpy_files.load(tmp_path / "x.npy")
