"""The one error of this package."""

from __future__ import annotations


class DatasetError(ValueError):
    """A data set is unknown, or its files are missing, damaged or something else.

    The message says which file was read, what stands in it and what should.
    """
