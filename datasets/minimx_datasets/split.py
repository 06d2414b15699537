"""What loaders return: samples, or text, to learn from and to be judged by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minimx_datasets.errors import DatasetError


class Split(NamedTuple):
    """A data set in two parts; unpacks as `train_x, train_y, test_x, test_y`.

    The samples are (n, …) arrays, images being (n, height, width) or
    (n, height, width, 3); the labels are (n,) arrays of class numbers from 0.
    """

    train_x: NDArray[Any]
    train_y: NDArray[np.uint8]
    test_x: NDArray[Any]
    test_y: NDArray[np.uint8]

    def __repr__(self) -> str:
        classes = len(np.unique(np.concatenate([self.train_y, self.test_y])))
        return (
            f"<{len(self.train_x):,} + {len(self.test_x):,} samples of shape "
            f"{self.train_x.shape[1:]}, {self.train_x.dtype}, {classes} classes>"
        )


class Text(NamedTuple):
    """A text in two parts, as characters; unpacks as `train, test`.

    >>> text = Text("abba", "cab")
    >>> text.alphabet, text.numbers("cab").tolist()
    ('abc', [2, 0, 1])
    """

    train: str
    test: str

    @property
    def alphabet(self) -> str:
        """Every character that occurs, once, in the order of Unicode."""
        return "".join(sorted(set(self.train) | set(self.test)))

    def numbers(self, characters: str) -> NDArray[np.int32]:
        """Each character's place in the alphabet, (n,).

        Raises DatasetError for a character that the text does not have.
        """
        places = {character: place for place, character in enumerate(self.alphabet)}
        unknown = sorted(set(characters) - set(places))
        if unknown:
            raise DatasetError(
                f"{unknown[0]!r} does not occur in this text; its "
                f"{len(places)} characters are {self.alphabet!r}."
            )
        return np.array([places[character] for character in characters], np.int32)

    def __repr__(self) -> str:
        return (
            f"<{len(self.train):,} + {len(self.test):,} characters of "
            f"{len(self.alphabet)} kinds>"
        )
