"""Small real and generated data that come in the box; no network.

>>> import minimx_datasets
>>> minimx_datasets.load("digits")
<1,437 + 360 samples of shape (8, 8), uint8, 10 classes>

`catalogue.table()` lists every set with its licence and its source. This package never
imports minimx, so that it may be used, and doubted, on its own.
"""

from __future__ import annotations

from minimx_datasets.catalogue import CATALOGUE, load
from minimx_datasets.errors import DatasetError
from minimx_datasets.split import Split, Text

__all__ = ["CATALOGUE", "DatasetError", "Split", "Text", "load"]
