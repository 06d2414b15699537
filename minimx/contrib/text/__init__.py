"""`mx.contrib.text`: vocabularies, and vectors of words from files."""

from minimx.contrib.text import embedding, pretrained, utils, vocab

__all__ = ["embedding", "pretrained", "utils", "vocab"]
