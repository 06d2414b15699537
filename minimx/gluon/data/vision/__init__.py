"""`gluon.data.vision`: standard image sets and transforms of images."""

from minimx.gluon.data.vision import transforms
from minimx.gluon.data.vision.datasets import CIFAR10, CIFAR100, MNIST, FashionMNIST

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "transforms"]
