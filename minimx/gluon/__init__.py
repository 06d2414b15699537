"""`mx.gluon`: networks made of blocks, losses, trainers and data."""

from minimx import metric
from minimx.gluon import block, data, loss, model_zoo, nn, parameter, utils
from minimx.gluon.block import Block, HybridBlock
from minimx.gluon.parameter import (
    Constant,
    DeferredInitializationError,
    Parameter,
    ParameterDict,
)
from minimx.gluon.trainer import Trainer

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "Trainer",
    "block",
    "data",
    "loss",
    "metric",
    "model_zoo",
    "nn",
    "parameter",
    "utils",
]
