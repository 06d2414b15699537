"""WikiText: articles of Wikipedia as rows of word numbers, each with the next words.

S. Merity, C. Xiong, J. Bradbury, R. Socher: Pointer Sentinel Mixture Models,
arXiv:1609.07843, 2016.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import minimx.nd as nd
from minimx.core.errors import ArgumentError, DataError
from minimx.gluon.data.dataset import Dataset, gather
from minimx.gluon.data.files import Known, fetched, folder
from minimx.gluon.np_arrays import as_np_if_set
from minimx.gluon.utils import check_sha1

END_OF_SENTENCE = "<eos>"
UNKNOWN = "<unk>"
#: No text of these sets is longer; a larger claim is a mistake or a trap.
MAX_BYTES = 1 << 30


class Vocabulary:
    """Words and their numbers: the unknown word, reserved ones, then the commonest.

    frequencies: how often each word occurs; equally frequent ones are in order of the
    alphabet.

    >>> words = Vocabulary({"a": 1, "b": 2}, reserved=["<eos>"])
    >>> words.idx_to_token, words.to_indices(["b", "what"])
    (['<unk>', '<eos>', 'b', 'a'], [2, 0])
    """

    def __init__(self, frequencies: Mapping[str, int], reserved: Sequence[str] = ()):
        self.unknown_token = UNKNOWN
        self.reserved_tokens = list(reserved)
        first = [UNKNOWN, *reserved]
        common = sorted(frequencies.items(), key=lambda item: (-item[1], item[0]))
        self.idx_to_token = first + [word for word, _ in common if word not in first]
        self.token_to_idx = {word: i for i, word in enumerate(self.idx_to_token)}

    def __len__(self) -> int:
        return len(self.idx_to_token)

    def to_indices(self, tokens: str | Iterable[str]) -> Any:
        """The number of a word, or a list of those of several; 0 for unknown ones."""
        known = self.token_to_idx
        if isinstance(tokens, str):
            return known.get(tokens, 0)
        return [known.get(token, 0) for token in tokens]

    def to_tokens(self, indices: int | Iterable[int]) -> Any:
        """The word of a number, or a list of those of several."""
        several = not isinstance(indices, int)
        wanted = list(indices) if not isinstance(indices, int) else [indices]
        for index in wanted:
            if not 0 <= index < len(self):
                raise ArgumentError(
                    f"to_tokens: there is no word {index}; the vocabulary has "
                    f"{len(self)}, counted from 0."
                )
        words = [self.idx_to_token[index] for index in wanted]
        return words if several else words[0]


class _WikiText(Dataset):
    """Rows of `seq_len` word numbers, each with the same row one word further on.

    root: where the files are; MXNET_HOME/datasets/<name> by default. segment: `train`,
    `validation` or `test`. vocab: the words and their numbers; those of this segment
    by default. Each line ends with the word `<eos>`.
    """

    namespace: ClassVar[str]
    _archive: ClassVar[Known]
    _files: ClassVar[dict[str, Known]]

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        segment: str = "train",
        vocab: Any = None,
        seq_len: int = 35,
    ) -> None:
        if segment not in self._files:
            raise ArgumentError(
                f"{type(self).__name__}: segment={segment!r}: choose one of "
                f"{', '.join(self._files)}."
            )
        if seq_len < 1:
            raise ArgumentError(f"{type(self).__name__}: seq_len={seq_len} is below 1.")
        self._root = folder(root, self.namespace)
        text = self._find(self._files[segment]).read_text(encoding="utf-8")
        lines = [words for line in text.split("\n") if (words := line.split())]
        self._frequencies = Counter(word for words in lines for word in words)
        if vocab is None:
            vocab = Vocabulary(self._frequencies, [END_OF_SENTENCE])
        self._vocabulary = vocab
        all_words = [word for line in lines for word in (*line, END_OF_SENTENCE)]
        self._set_rows(np.array(vocab.to_indices(all_words), np.int32), seq_len)

    def _set_rows(self, numbers: Any, seq_len: int) -> None:
        rows = (len(numbers) - 1) // seq_len
        if rows < 1:
            raise DataError(
                f"{type(self).__name__}: the text has {len(numbers)} words, too few "
                f"for one row of seq_len={seq_len} and the word after it."
            )
        self._data, self._label = (
            as_np_if_set(
                nd.array(
                    numbers[start : start + rows * seq_len].reshape(rows, seq_len),
                    dtype=np.int32,
                )
            )
            for start in (0, 1)
        )

    def _find(self, file: Known) -> Path:
        name, sha1 = file
        path = self._root / name
        if path.exists() and (sha1 is None or check_sha1(path, sha1)):
            return path
        who = type(self).__name__
        archive = fetched(who, self.namespace, self._root, self._archive)
        _unzip(archive, name, path)
        if sha1 is not None and not check_sha1(path, sha1):
            path.unlink()
            raise DataError(f"{who}: {name} in {archive} is not the original file.")
        return path

    @property
    def vocabulary(self) -> Any:
        """The words and their numbers."""
        return self._vocabulary

    @property
    def frequencies(self) -> Counter[str]:
        """How often each word of this segment occurs."""
        return self._frequencies

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._data)

    def batch(self, indices: Sequence[int]) -> Any:
        """Several rows, stacked."""
        return gather([self._data, self._label], indices)


class WikiText2(_WikiText):
    """WikiText-2: 2,088,628 words for training, of 33,278 kinds."""

    namespace = "wikitext-2"
    _archive = ("wikitext-2-v1.zip", "3c914d17d80b1459be871a5039ac23e752a53cbe")
    _files: ClassVar[dict[str, Known]] = {
        "train": ("wiki.train.tokens", "863f29c46ef9d167fff4940ec821195882fe29d1"),
        "validation": ("wiki.valid.tokens", "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422"),
        "test": ("wiki.test.tokens", "c7b8ce0aa086fb34dab808c5c49224211eb2b172"),
    }


class WikiText103(_WikiText):
    """WikiText-103: 103,227,021 words for training, of 267,735 kinds."""

    namespace = "wikitext-103"
    _archive = ("wikitext-103-v1.zip", "0aec09a7537b58d4bb65362fee27650eeaba625a")
    _files: ClassVar[dict[str, Known]] = {
        "train": ("wiki.train.tokens", "b7497e2dfe77e72cfef5e3dbc61b7b53712ac211"),
        "validation": ("wiki.valid.tokens", "c326ac59dc587676d58c422eb8a03e119582f92b"),
        "test": ("wiki.test.tokens", "8a5befc548865cec54ed4273cf87dbbad60d1e47"),
    }


def _unzip(archive: Path, name: str, target: Path) -> None:
    """Take one file out of a zip archive, by the last part of its name."""
    import zipfile  # needed by few programs: not paid for at import
    import zlib

    partial = target.with_name(f"{name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                last = member.filename.rsplit("/", 1)[-1]
                if last == name and member.file_size <= MAX_BYTES:
                    with packed.open(member) as source:
                        partial.write_bytes(source.read(member.file_size))
                    partial.replace(target)
                    return
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as reason:
        raise DataError(
            f"{archive} cannot be unpacked: {reason}. Delete it to fetch it again."
        ) from reason
    finally:
        partial.unlink(missing_ok=True)
    raise DataError(
        f"{archive} does not hold {name}. Is it the archive that its name says?"
    )
