"""Vectors of words: from a file of them, or joined from several."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minimx import np as mxnp
from minimx.aliases import resolve_missing as _resolve_missing
from minimx.contrib.text.vocab import UnusableWords, Vocabulary
from minimx.core import np_semantics
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, DataError
from minimx.core.files import read_whole
from minimx.nd import array, zeros
from minimx.tools.catalogue import Catalogue


class UnusableFile(DataError, AssertionError):
    """A file that holds no vectors of words; an AssertionError in MXNet."""


class _TokenEmbedding(Vocabulary):
    """Words, their numbers and their vectors; row 0 is that of unknown words.

    A subclass that is registered is made by `create`.
    """

    _vectors: Any = None

    @property
    def vec_len(self) -> int:
        """How long the vectors are."""
        return int(self.idx_to_vec.shape[1])

    @property
    def idx_to_vec(self) -> NDArray:
        """Vectors by numbers, of shape (words, vec_len)."""
        if self._vectors is None:
            raise UnusableWords("this embedding has no vectors yet.")
        return self._vectors  # type: ignore[no-any-return]

    def _load_embedding(
        self,
        pretrained_file_path: str,
        elem_delim: str,
        init_unknown_vec: Callable[..., NDArray],
        encoding: str = "utf8",
    ) -> None:
        """Read a file with a word and its vector in each line; the first one counts.

        elem_delim: what is between them. init_unknown_vec: makes the vector of unknown
        words from its shape, if the file has none.
        """
        path = Path(pretrained_file_path).expanduser()
        found: dict[str, list[float]] = {}
        try:
            text = read_whole(path, "embedding").decode(encoding)
        except UnicodeDecodeError as reason:
            raise DataError(f"{str(path)!r} is no text in {encoding}.") from reason
        for number, line in enumerate(text.splitlines(), start=1):
            where = f"{path.name}, line {number}"
            word, *numbers = line.rstrip().split(elem_delim)
            vector = _vector(numbers, where)
            if word in found:
                _warn(f"{where}: {word!r} has a vector already; this one is left out.")
            elif len(vector) == 1 and word != self._unknown_token:
                _warn(f"{where}: a vector of one number is a header; it is left out.")
            else:
                found[word] = vector
        self._keep(found, init_unknown_vec, path)

    def _keep(
        self,
        found: dict[str, list[float]],
        init_unknown_vec: Callable[..., NDArray],
        path: Path,
    ) -> None:
        lengths = {len(vector) for vector in found.values()}
        if len(lengths) != 1:
            raise UnusableFile(
                f"{path.name}: vectors of words are equally long; here are lengths "
                f"{sorted(lengths)}."
            )
        (length,) = lengths
        unknown = found.pop(self._unknown_token, None)
        words = [word for word in found if word not in self._token_to_idx]
        rows = np.zeros((len(self) + len(words), length), np.float32)
        rows[len(self) :] = [found[word] for word in words]
        first = init_unknown_vec(shape=length).asnumpy() if unknown is None else unknown
        rows[0] = first
        for word in words:
            self._token_to_idx[word] = len(self._idx_to_token)
            self._idx_to_token.append(word)
        self._vectors = _made(rows)

    def _take_words(self, vocabulary: Vocabulary) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise UnusableWords(
                f"vocabulary is a Vocabulary, not a {type(vocabulary).__name__}."
            )
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._idx_to_token = list(vocabulary.idx_to_token)
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = vocabulary.reserved_tokens

    def _take_vectors(
        self, embeddings: Sequence[_TokenEmbedding], vocabulary: Vocabulary
    ) -> None:
        """The words of a vocabulary, with what all embeddings have for each, joined."""
        parts = []
        for one in embeddings:
            table = one.idx_to_vec.asnumpy()
            rows = [one.token_to_idx.get(w, 0) for w in vocabulary.idx_to_token]
            parts.append(table[[0, *rows[1:]]])
        self._take_words(vocabulary)
        self._vectors = _made(np.concatenate(parts, axis=1))

    def get_vecs_by_tokens(
        self, tokens: str | list[str], lower_case_backup: bool = False
    ) -> NDArray:
        """The vector of a word (vec_len,), or of each in a list (words, vec_len).

        lower_case_backup: words that are not here are looked up in lower case.
        """
        words = tokens if isinstance(tokens, list) else [tokens]
        known = self._token_to_idx
        if lower_case_backup:
            words = [word if word in known else word.lower() for word in words]
        rows = np.array([known.get(word, 0) for word in words], dtype=np.int64)
        found: Any = self.idx_to_vec.take(_made(rows, np.int64))
        return found if isinstance(tokens, list) else found[0]  # type: ignore[no-any-return]

    def update_token_vectors(
        self, tokens: str | list[str], new_vectors: NDArray
    ) -> None:
        """Give words other vectors; name unknown_token for that of unknown words."""
        words = tokens if isinstance(tokens, list) else [tokens]
        values = new_vectors.reshape((1, -1)) if len(words) == 1 else new_vectors
        many = len(words) == 1 and new_vectors.ndim > 1 and new_vectors.shape[0] != 1
        if many or values.shape != (len(words), self.vec_len):
            raise UnusableWords(
                f"update_token_vectors: {len(words)} words want vectors of shape "
                f"{(len(words), self.vec_len)}, not {new_vectors.shape}."
            )
        for word in words:
            if word not in self._token_to_idx:
                raise ArgumentError(
                    f"update_token_vectors: {word!r} is not here. All such words "
                    f"have the vector of {self._unknown_token}."
                )
        for row, word in enumerate(words):
            self.idx_to_vec[self._token_to_idx[word]] = values[row]


def _vector(numbers: list[str], where: str) -> list[float]:
    try:
        vector = [float(number) for number in numbers]
    except ValueError as reason:
        raise UnusableFile(f"{where}: after the word, {reason}.") from reason
    if not vector:
        raise UnusableFile(f"{where}: here should be a word and its vector.")
    return vector


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)


def _made(values: Any, dtype: Any = np.float32) -> Any:
    make: Any = mxnp.array if np_semantics.is_np_array() else array
    return make(values, dtype=dtype)


embeddings: Catalogue[_TokenEmbedding] = Catalogue(_TokenEmbedding, "embedding")
register = embeddings.register


def create(embedding_name: str, **kwargs: Any) -> _TokenEmbedding:
    """The embedding that was registered under a name."""
    made: _TokenEmbedding = embeddings[embedding_name](**kwargs)
    return made


@register
class CustomEmbedding(_TokenEmbedding):
    """The vectors of a file, which has a word and its vector in each line.

    elem_delim: what is between them. vocabulary: keep its words only, under its
    numbers. kwargs: as for `Vocabulary`.
    """

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Callable[..., NDArray] = zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load_embedding(
            pretrained_file_path, elem_delim, init_unknown_vec, encoding
        )
        if vocabulary is not None:
            self._take_vectors([self], vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """The words of a vocabulary, with vectors joined from those of one or several."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        token_embeddings: _TokenEmbedding | list[_TokenEmbedding],
    ) -> None:
        several = (
            token_embeddings
            if isinstance(token_embeddings, list)
            else [token_embeddings]
        )
        super().__init__()
        self._take_words(vocabulary)
        self._take_vectors(several, vocabulary)


_resolve_missing(__name__, globals())
