"""The sets that come in the box, and the names under which they are found."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minimx_datasets
from minimx_datasets import DatasetError, Text, catalogue, digits, glyphs, make_glyphs

BOXED = [name for name, entry in catalogue.CATALOGUE.items() if entry.kilobytes]
SAMPLES = [name for name in BOXED if name != "genesis"]
STORED = {
    "digits": "adbedc90ca53bba7",
    "glyphs": "fd5004467bcd8fc8",
    "genesis": "e7b72bfd25d395f5",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_boxed_set_is_what_its_catalogue_line_says(name: str) -> None:
    entry = catalogue.CATALOGUE[name]
    train_x, train_y, test_x, test_y = minimx_datasets.load(name)
    assert train_x.shape == (entry.train, *entry.shape)
    assert test_x.shape == (entry.test, *entry.shape)
    assert train_x.dtype == test_x.dtype == train_y.dtype == test_y.dtype == np.uint8
    for labels in (train_y, test_y):
        assert np.unique(labels).tolist() == list(range(entry.classes))


def test_the_boxed_text_is_what_its_catalogue_line_says() -> None:
    entry = catalogue.CATALOGUE["genesis"]
    train, test = text = minimx_datasets.load("genesis")
    assert (len(train), len(test)) == (entry.train, entry.test)
    assert len(text.alphabet) == entry.classes
    assert set(test) <= set(train)
    assert train.endswith("before I die.\n") and test.startswith("And Israel took")
    assert len((train + test).splitlines()) == 1_533
    assert repr(text) == "<176,771 + 20,047 characters of 60 kinds>"


@pytest.mark.parametrize("name", BOXED)
def test_a_boxed_file_is_as_large_as_its_catalogue_line_says(name: str) -> None:
    file = Path(minimx_datasets.__file__).parent / "data" / f"{name}.npz"
    assert round(file.stat().st_size / 1024) == catalogue.CATALOGUE[name].kilobytes


@given(st.text("abc \n", min_size=1), st.text("xyz", min_size=1))
def test_a_text_is_numbers_of_its_alphabet(train: str, test: str) -> None:
    text = Text(train, test)
    numbers = text.numbers(train + test)
    assert "".join(text.alphabet[number] for number in numbers) == train + test


def test_a_character_that_a_text_lacks_has_no_number() -> None:
    with pytest.raises(DatasetError, match=r"'q' does not occur.*are 'ab'"):
        Text("ab", "a").numbers("baq")


@pytest.mark.parametrize("name", BOXED)
def test_everybody_trains_on_the_same_numbers(name: str) -> None:
    digest = hashlib.sha256()
    for part in minimx_datasets.load(name):
        digest.update(part.encode() if isinstance(part, str) else part.tobytes())
    assert digest.hexdigest()[:16] == STORED[name]


def test_digits_count_ink_dots_from_0_to_16() -> None:
    train_x, _, test_x, _ = digits.load()
    assert train_x.min() == test_x.min() == 0
    assert train_x.max() == test_x.max() == 16


def test_every_glyph_is_equally_frequent() -> None:
    _, train_y, _, test_y = glyphs.load()
    assert np.bincount(train_y).tolist() == [1_000] * 10
    assert np.bincount(test_y).tolist() == [200] * 10


def test_the_script_draws_the_stored_glyphs_again() -> None:
    """Another matplotlib may move an outline by a hair, a pixel by one grey level."""
    train_x, train_y, test_x, _ = glyphs.load()
    stored = np.concatenate([train_x, test_x])
    labels = make_glyphs.labels()
    assert (labels[: len(train_y)] == train_y).all()
    for index in (0, 1, 2, 5_000, make_glyphs.TRAIN, make_glyphs.TRAIN + 1):
        drawn = make_glyphs.make(index, int(labels[index])).astype(int)
        assert np.abs(drawn - stored[index]).max() <= 255 // make_glyphs.LEVELS
        assert (drawn == stored[index]).mean() > 0.98


def test_a_distance_field_is_negative_inside() -> None:
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]], dtype=float) / 2
    points = np.array([[0.0, 0.0], [0.0, 0.4], [1.5, 0.0], [0.8, 0.9]])
    expected = [-0.5, -0.1, 1.0, 0.5]
    np.testing.assert_allclose(make_glyphs.distance([square], points), expected)


def test_arrays_belong_to_the_caller() -> None:
    digits.load().train_x[:] = 0
    assert digits.load().train_x.max() == 16


def test_a_split_unpacks_and_says_its_key_numbers() -> None:
    split = digits.load()
    assert len(split) == 4
    assert repr(split) == "<1,437 + 360 samples of shape (8, 8), uint8, 10 classes>"


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        DatasetError, match=r"no data set 'Gliphs'.*Did you mean glyphs"
    ):
        minimx_datasets.load("Gliphs")


def test_the_table_has_a_line_for_every_set() -> None:
    lines = catalogue.table().splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(catalogue.CATALOGUE)
