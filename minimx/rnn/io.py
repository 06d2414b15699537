"""Sentences as numbers, and batches of sentences that are about as long."""

from __future__ import annotations

import logging
import random
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from minimx.core.arrays.creation import array
from minimx.core.errors import ArgumentError
from minimx.io.batches import DataBatch, DataDesc, DataIter

__all__ = ["BucketSentenceIter", "encode_sentences"]


def encode_sentences(
    sentences: Sequence[Sequence[str]],
    vocab: dict[str, int] | None = None,
    invalid_label: int = -1,
    invalid_key: str = "\n",
    start_label: int = 0,
    unknown_token: str | None = None,
) -> tuple[list[list[int]], dict[str, int]]:
    r"""Sentences of words as sentences of numbers, and the number of each word.

    vocab: numbers that are known; without it one is made. invalid_label: the number
    that stands for no word. start_label: the first number that is given out.
    unknown_token: what stands for words that `vocab` does not have.

    >>> encode_sentences([["a", "b"], ["b"]], start_label=1)
    ([[1, 2], [2]], {'\n': -1, 'a': 1, 'b': 2})
    """
    grows = vocab is None
    words = {invalid_key: invalid_label} if vocab is None else vocab
    number = start_label
    coded = []
    for sentence in sentences:
        line = []
        for word in sentence:
            if word not in words:
                if not grows and not unknown_token:
                    raise ArgumentError(
                        f"encode_sentences: Unknown token {word!r}. Add it to vocab, "
                        "or say which word stands for others: unknown_token=."
                    )
                if number == invalid_label:
                    number += 1
                if unknown_token:
                    word = unknown_token
                words[word] = number
                number += 1
            line.append(words[word])
        coded.append(line)
    return coded, words


class BucketSentenceIter(DataIter):
    """Batches of sentences, each filled up to the length of its bucket.

    The label of a word is the next word. buckets: lengths; by default all those of
    which there are enough sentences for a batch. layout: NT, or TN. Sentences that are
    longer than the last bucket are left out. `DataBatch.bucket_key` says which it is.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        if layout not in ("NT", "TN"):
            raise ArgumentError(
                f"BucketSentenceIter: layout={layout!r}: NT (batch first) or TN (time)."
            )
        if not buckets:
            counts = np.bincount([len(sentence) for sentence in sentences])
            buckets = [k for k, count in enumerate(counts) if count >= batch_size]
        if not buckets:
            raise ArgumentError(
                "BucketSentenceIter: no length has enough sentences for a batch. Give "
                "buckets=, or a smaller batch_size."
            )
        self.buckets = sorted(buckets)
        self.data_name, self.label_name = data_name, label_name
        self.invalid_label, self.dtype, self.layout = invalid_label, dtype, layout
        self.data = self._filled(sentences)
        self.default_bucket_key = max(self.buckets)
        self.idx = [
            (k, start)
            for k, rows in enumerate(self.data)
            for start in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.curr_idx = 0
        self.reset()

    def _filled(self, sentences: Sequence[Sequence[int]]) -> list[Any]:
        """For each bucket its sentences, as rows of one length."""
        rows: list[list[Any]] = [[] for _ in self.buckets]
        left_out = 0
        for sentence in sentences:
            place = bisect_left(self.buckets, len(sentence))
            if place == len(self.buckets):
                left_out += 1
                continue
            row = np.full(self.buckets[place], self.invalid_label, self.dtype)
            row[: len(sentence)] = sentence
            rows[place].append(row)
        if left_out:
            logging.warning(
                "BucketSentenceIter: %d sentences are longer than the largest bucket "
                "and are left out.",
                left_out,
            )
        return [
            np.array(part, self.dtype).reshape(-1, length)
            for part, length in zip(rows, self.buckets, strict=True)
        ]

    def _described(self, name: str, length: int) -> list[DataDesc]:
        shape = (self.batch_size, length)
        shape = shape if self.layout == "NT" else shape[::-1]
        return [DataDesc(name, shape, layout=self.layout)]

    @property
    def provide_data(self) -> list[DataDesc]:
        """The data of a batch of the largest bucket."""
        return self._described(self.data_name, self.default_bucket_key)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Its labels."""
        return self._described(self.label_name, self.default_bucket_key)

    def reset(self) -> None:
        """Shuffle the sentences and the batches, and begin again."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        for rows in self.data:
            np.random.shuffle(rows)

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration after the last."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        rows = self.data[bucket][start : start + self.batch_size]
        labels = np.full_like(rows, self.invalid_label)
        labels[:, :-1] = rows[:, 1:]
        pair = [x if self.layout == "NT" else x.T for x in (rows, labels)]
        data, label = (array(x, dtype=self.dtype) for x in pair)
        length = self.buckets[bucket]
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=length,
            provide_data=self._described(self.data_name, length),
            provide_label=self._described(self.label_name, length),
        )
