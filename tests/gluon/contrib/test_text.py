"""WikiText, on a small text in its form."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minimx.core.errors import ArgumentError, DataError
from minimx.core.knobs import knobs
from minimx.gluon.contrib.data import IntervalSampler
from minimx.gluon.contrib.data.text import Vocabulary, WikiText2, _WikiText
from minimx.gluon.data import DataLoader

TEXT = " \n = Cats = \n \n the cat and the <unk> \n sat \n\n"
LINES = "= Cats =", "the cat and the <unk>", "sat"
WORDS = [word for line in LINES for word in [*line.split(), "<eos>"]]


def sha1(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def archive(name: str = "small/wiki.train.tokens", text: str = TEXT) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        packed.writestr(zipfile.ZipInfo("small/../../wiki.evil"), "nothing")
        packed.writestr(zipfile.ZipInfo(name), text)
    return content.getvalue()


class Small(_WikiText):
    namespace = "small"
    _archive = "small.zip", sha1(archive())
    _files = {"train": ("wiki.train.tokens", sha1(TEXT.encode()))}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository" / "gluon" / "dataset" / "small"
    place.mkdir(parents=True)
    (place / "small.zip").write_bytes(archive())
    return tmp_path / "repository"


def test_rows_and_the_words_after_them(tmp_path: Path, repository: Path) -> None:
    with knobs(MXNET_GLUON_REPO=repository.as_uri(), MXNET_HOME=str(tmp_path / "home")):
        text = Small(seq_len=4)
    assert len(text) == 2
    words = text.vocabulary
    rows = [
        [words.to_tokens(part.asnumpy().tolist()) for part in row]
        for row in [text[0], text[1]]
    ]
    assert rows == [[WORDS[:4], WORDS[1:5]], [WORDS[4:8], WORDS[5:9]]]
    assert words.idx_to_token == [
        "<unk>",
        "<eos>",
        "=",
        "the",
        "Cats",
        "and",
        "cat",
        "sat",
    ]
    assert (text.frequencies["the"], text.frequencies["<unk>"]) == (2, 1)
    assert not list(tmp_path.rglob("*evil*"))
    ((x, y),) = DataLoader(text, 2)
    assert x.shape == y.shape == (2, 4)
    assert x.dtype is np.int32
    again = Small(tmp_path / "home" / "datasets" / "small", vocab=words, seq_len=11)
    assert (len(again), again.vocabulary) == (1, words)


def test_a_vocabulary() -> None:
    words = Vocabulary({"b": 1, "a": 1, "c": 2})
    assert words.to_indices("a") == 2
    assert words.to_indices(["c", "?"]) == [1, 0]
    assert words.to_tokens(0) == "<unk>"
    assert len(words) == 4
    with pytest.raises(ArgumentError, match="no word 4"):
        words.to_tokens([4])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "SHA-1"),
        (archive(text="another"), "SHA-1"),
    ],
)
def test_a_changed_archive_is_refused(
    tmp_path: Path, repository: Path, content: bytes, words: str
) -> None:
    (repository / "gluon/dataset/small/small.zip").write_bytes(content)
    with (
        knobs(MXNET_GLUON_REPO=repository.as_uri()),
        pytest.raises(DataError, match=words),
    ):
        Small(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no zip at all", "cannot be unpacked"),
        (archive()[:-40], "cannot be unpacked"),
        (archive("small/other"), "does not hold wiki.train.tokens"),
        (archive(text="another"), "not the original"),
    ],
)
def test_a_damaged_archive_is_told(tmp_path: Path, content: bytes, words: str) -> None:
    class Damaged(Small):
        _archive = "small.zip", sha1(content)

    (tmp_path / "small.zip").write_bytes(content)
    with pytest.raises(DataError, match=words):
        Damaged(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"small.zip"}


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"segment": "trial"}, ArgumentError, "train, validation, test"),
        ({"seq_len": 0}, ArgumentError, "seq_len=0"),
    ],
)
def test_wrong_wishes(kwargs: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        WikiText2(**kwargs)


def test_a_text_may_be_too_short(tmp_path: Path) -> None:
    (tmp_path / "wiki.train.tokens").write_text(TEXT)
    with pytest.raises(DataError, match="12 words, too few"):
        Small(tmp_path, seq_len=12)


def test_the_sampler_is_that_of_gluon_data() -> None:
    assert list(IntervalSampler(10, 3, rollover=False)) == [0, 3, 6, 9]
