"""`mx.gluon`: networks made of blocks, losses, trainers and data."""

from typing import TYPE_CHECKING

from minimx import metric
from minimx.aliases import resolve as _resolve
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

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        return _resolve(__name__, name, __all__)
