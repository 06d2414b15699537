"""`mx.io`: iterators that hand out batches, for loops written before Gluon's loaders.

`batches.py` says what an iterator promises: batches, and a description of them before
the first one comes. `arrays.py` iterates over what is in memory already, `wrappers.py`
over other iterators. Those over files stand on `files.py` and on `rounds.py`, which
says which sample is in which batch: `text.py`, `idx.py`, and `images.py`, which decodes
`records.py` in threads and changes the images at random (`distort.py`, and `boxes.py`
where there are boxes on them).
"""

from __future__ import annotations

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.io import images
from minimx.io.arrays import NDArrayIter
from minimx.io.batches import DataBatch, DataDesc, DataIter
from minimx.io.boxes import ImageDetRecordIter
from minimx.io.files import MXDataIter
from minimx.io.idx import MNISTIter
from minimx.io.images import *  # noqa: F403
from minimx.io.text import CSVIter, LibSVMIter
from minimx.io.wrappers import PrefetchingIter, ResizeIter

__all__ = [
    "CSVIter", "DataBatch", "DataDesc", "DataIter", "ImageDetRecordIter", "LibSVMIter",
    "MNISTIter", "MXDataIter", "NDArrayIter", "PrefetchingIter", "ResizeIter",
]  # fmt: skip
__all__ += images.__all__

_resolve_missing(__name__, __all__)
