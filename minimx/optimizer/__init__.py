"""`mx.optimizer`: how gradients change weights."""

from minimx.aliases import resolve_missing as _resolve_missing
from minimx.optimizer import adaptive, contrib
from minimx.optimizer.adaptive import *  # noqa: F403
from minimx.optimizer.base import Optimizer, create, register
from minimx.optimizer.contrib import GroupAdaGrad
from minimx.optimizer.layerwise import LAMB, LARS, LBSGD
from minimx.optimizer.sgd import DCASGD, NAG, SGD, SGLD, Signum, Test, ccSGD
from minimx.optimizer.updater import Updater, get_updater

__all__ = [
    "DCASGD", "GroupAdaGrad", "LAMB", "LARS", "LBSGD", "NAG", "Optimizer", "SGD",
    "SGLD", "Signum", "Test", "Updater", "ccSGD", "contrib", "create", "get_updater",
    "register",
]  # fmt: skip
__all__ += adaptive.__all__

_resolve_missing(__name__, __all__)
