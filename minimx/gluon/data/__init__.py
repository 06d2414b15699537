"""`gluon.data`: datasets, samplers and loaders."""

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
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

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
