"""`gluon.data.vision`: standard image sets and transforms of images."""

from minimx.aliases import resolve_missing as _resolve_missing
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

_resolve_missing(__name__, __all__)
