"""`mx.io`: iterators that hand out batches, for loops written before Gluon's loaders.

`batches.py` says what an iterator promises: batches, and a description of them before
the first one comes. `arrays.py` iterates over what is in memory already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minimx.absent import missing
from minimx.io.arrays import NDArrayIter
from minimx.io.batches import DataBatch, DataDesc, DataIter

__all__ = ["DataBatch", "DataDesc", "DataIter", "NDArrayIter"]

if not TYPE_CHECKING:  # what is absent is an error for type checkers, too

    def __getattr__(name: str) -> object:
        raise missing("mx.io", name, __all__)
