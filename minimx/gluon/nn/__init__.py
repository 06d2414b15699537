"""`gluon.nn`: the layers."""

from typing import TYPE_CHECKING

from minimx.absent import missing as _missing
from minimx.gluon.block import Block, HybridBlock
from minimx.gluon.nn.activations import (
    ELU,
    GELU,
    SELU,
    Activation,
    LeakyReLU,
    PReLU,
    SiLU,
    Swish,
)
from minimx.gluon.nn.basic import (
    Concatenate,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    HybridConcatenate,
    HybridLambda,
    HybridSequential,
    Identity,
    Lambda,
    Sequential,
)
from minimx.gluon.nn.conv import (
    AvgPool1D,
    AvgPool2D,
    Conv1D,
    Conv2D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    MaxPool1D,
    MaxPool2D,
)
from minimx.gluon.nn.norm import BatchNorm, LayerNorm

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "AvgPool1D",
    "AvgPool2D",
    "BatchNorm",
    "Block",
    "Concatenate",
    "Conv1D",
    "Conv2D",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "HybridBlock",
    "HybridConcatenate",
    "HybridLambda",
    "HybridSequential",
    "Identity",
    "Lambda",
    "LayerNorm",
    "LeakyReLU",
    "MaxPool1D",
    "MaxPool2D",
    "PReLU",
    "Sequential",
    "SiLU",
    "Swish",
]

if not TYPE_CHECKING:  # a checker should still miss what is not there

    def __getattr__(name: str) -> object:
        raise _missing("mx.gluon.nn", name, __all__)
