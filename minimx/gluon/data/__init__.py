"""`gluon.data`: datasets, samplers and loaders."""

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.gluon.data import batchify, sampler, vision
from minimx.gluon.data.dataloader import DataLoader
from minimx.gluon.data.dataset import ArrayDataset, Dataset, SimpleDataset
from minimx.gluon.data.records import RecordFileDataset
from minimx.gluon.data.sampler import *  # noqa: F403

__all__ = [
    "ArrayDataset", "DataLoader", "Dataset", "RecordFileDataset", "SimpleDataset",
    "batchify", "vision",
]  # fmt: skip
__all__ += sampler.__all__

_resolve_missing(__name__, __all__)
