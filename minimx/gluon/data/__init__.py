"""`gluon.data`: datasets, samplers and loaders."""

from minimx.gluon.data import batchify, vision
from minimx.gluon.data.dataset import ArrayDataset, Dataset, SimpleDataset
from minimx.gluon.data.loader import DataLoader
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
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
    "batchify",
    "vision",
]
