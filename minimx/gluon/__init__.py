"""`mx.gluon`: networks made of blocks, losses, trainers and data."""

from minimx import metric
from minimx.aliases import resolve_missing as _resolve_missing
from minimx.gluon import (
    block,
    contrib,
    data,
    loss,
    model_zoo,
    nn,
    parameter,
    rnn,
    utils,
)
from minimx.gluon.block import Block, HybridBlock, SymbolBlock
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
    "SymbolBlock",
    "Trainer",
    "block",
    "contrib",
    "data",
    "loss",
    "metric",
    "model_zoo",
    "nn",
    "parameter",
    "rnn",
    "utils",
]

_resolve_missing(__name__, __all__)
