"""`gluon.data.vision`: standard image sets and transforms of images."""

from typing import TYPE_CHECKING

from minimx.aliases import resolve as _resolve
from minimx.gluon.data.vision import transforms
from minimx.gluon.data.vision.datasets import CIFAR10, CIFAR100, MNIST, FashionMNIST
from minimx.gluon.data.vision.folders import (
    ImageFolderDataset,
    ImageListDataset,
    ImageRecordDataset,
)

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageListDataset",
    "ImageRecordDataset",
    "transforms",
]

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
