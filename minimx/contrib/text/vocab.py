"""Vocabulary: words and their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minimx.core.errors import ArgumentError


class UnusableWords(ArgumentError, AssertionError):
    """Words or vectors that do not fit; an AssertionError in MXNet."""


class Vocabulary:
    """Numbers for words, from how often they occur.

    0 is unknown_token, which stands for all that are not here; then come
    reserved_tokens, then the words of counter, the most frequent ones first and equally
    frequent ones in order. most_freq_count: at most so many of them. min_freq: only
    those that occur so often.

    >>> words = Vocabulary({"a": 1, "b": 3}, reserved_tokens=["<pad>"])
    >>> words.idx_to_token
    ['<unk>', '<pad>', 'b', 'a']
    >>> words.to_indices(["b", "zebra"])
    [2, 0]
    """

    def __init__(
        self,
        counter: Mapping[str, int] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: str = "<unk>",
        reserved_tokens: list[str] | None = None,
    ) -> None:
        if min_freq < 1:
            raise UnusableWords(f"Vocabulary: min_freq={min_freq}; give 1 or more.")
        first = [unknown_token, *(reserved_tokens or ())]
        if len({*first}) < len(first):
            raise UnusableWords(
                f"Vocabulary: unknown_token and reserved_tokens are all different, "
                f"not {first}."
            )
        self._unknown_token = unknown_token
        self._reserved_tokens = list(reserved_tokens) if reserved_tokens else None
        ranked = sorted((counter or {}).items(), key=lambda item: (-item[1], item[0]))
        often = [word for word, count in ranked if count >= min_freq]
        words = [word for word in often if word not in {*first}]
        self._idx_to_token = first + words[:most_freq_count]
        self._token_to_idx = {word: k for k, word in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[str, int]:
        """Numbers by words."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[str]:
        """Words by numbers."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> str:
        """What stands for words that are not here."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[str] | None:
        """Words that are here in any case; None if there are none."""
        return self._reserved_tokens

    def to_indices(self, tokens: str | list[str]) -> Any:
        """The number of a word, or of each in a list; 0 for those that are not here."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(word, 0) for word in tokens]
        return self._token_to_idx.get(tokens, 0)

    def to_tokens(self, indices: int | list[int]) -> Any:
        """The word of a number, or of each in a list."""
        several = indices if isinstance(indices, list) else [indices]
        for index in several:
            if not 0 <= index < len(self):
                raise ArgumentError(
                    f"to_tokens: {index} is no number of a word: there are {len(self)}."
                )
        found = [self._idx_to_token[index] for index in several]
        return found if isinstance(indices, list) else found[0]
