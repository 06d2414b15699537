"""Counting the words of a text."""

from __future__ import annotations

import re
from collections import Counter


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    r"""How often each word is in a text.

    token_delim, seq_delim: regular expressions for what is between words and between
    sentences. counter_to_update: counts to be added to, which is returned then.

    >>> count_tokens_from_str("Life is great !\nlife is good .", to_lower=True)["life"]
    2
    """
    words = [
        word for word in re.split(f"{token_delim}|{seq_delim}", source_str) if word
    ]
    counter = Counter() if counter_to_update is None else counter_to_update
    counter.update(word.lower() for word in words) if to_lower else counter.update(
        words
    )
    return counter
