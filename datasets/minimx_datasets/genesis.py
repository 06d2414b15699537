"""The Book of Genesis in the King James Version: a text to learn English from.

Its 1,533 verses, a verse a line, 196,818 characters of 60 kinds. Chapters 1 to 45 are
for learning, 46 to 50 for the test. The translation is of 1611, in its usual spelling
of 1769, and in the public domain. `SOURCES.md` says how the file was made.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from minimx_datasets.split import Text

#: Characters of chapters 1 to 45.
TRAIN = 176_771


def load() -> Text:
    """The text in two parts, (176771 + 20047) characters; every line ends in a newline.

    >>> load().train.splitlines()[2]
    'And God said, Let there be light: and there was light.'
    """
    stored = files("minimx_datasets") / "data" / "genesis.npz"
    with stored.open("rb") as file, np.load(file, allow_pickle=False) as data:
        text = data["text"].tobytes().decode("ascii")
    return Text(text[:TRAIN], text[TRAIN:])
