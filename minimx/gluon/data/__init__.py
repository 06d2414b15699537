"""`gluon.data`: datasets, samplers and loaders."""

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
from minimx.gluon.data import batchify, vision
from minimx.gluon.data.dataloader import DataLoader
from minimx.gluon.data.dataset import ArrayDataset, Dataset, SimpleDataset
from minimx.gluon.data.records import RecordFileDataset
from minimx.gluon.data.sampler import (
    BatchSampler,
    FilterSampler,
    IntervalSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "FilterSampler",
    "IntervalSampler",
    "RandomSampler",
    "RecordFileDataset",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "batchify",
    "vision",
]

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
