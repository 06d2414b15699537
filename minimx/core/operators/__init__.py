"""The main operators, a data sheet each; importing this registers them."""

from minimx.core.operators import (
    conv,
    creation,
    elementwise,
    indexing,
    join,
    matmul,
    nn,
    norm,
    pooling,
    random,
    reduce,
    scalar,
    shape,
    softmax,
    views,
)

__all__ = [
    "conv",
    "creation",
    "elementwise",
    "indexing",
    "join",
    "matmul",
    "nn",
    "norm",
    "pooling",
    "random",
    "reduce",
    "scalar",
    "shape",
    "softmax",
    "views",
]
