"""`mx.optimizer`: how gradients change weights."""

from minimx.optimizer.adaptive import (
    AdaDelta,
    AdaGrad,
    Adam,
    Adamax,
    AdamW,
    Ftrl,
    Nadam,
    RMSProp,
)
from minimx.optimizer.base import Optimizer, create, register
from minimx.optimizer.sgd import NAG, SGD, SGLD, Signum
from minimx.optimizer.updater import Updater, get_updater

__all__ = [
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Updater",
    "create",
    "get_updater",
    "register",
]
