"""`mx.contrib.text`: vocabularies, and vectors of words from files."""

from minimx.contrib.text import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]
