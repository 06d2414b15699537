"""The main operators, a data sheet each; importing this registers them.

Names, settings and defaults are those of MXNet 1.9.1. Where results differ from what it
does, the sheet says so. What all sheets have in common is in `core/ops/registry.py`.
"""

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
    "conv", "creation", "elementwise", "indexing", "join", "matmul", "nn", "norm",
    "pooling", "random", "reduce", "scalar", "shape", "softmax", "views",
]  # fmt: skip
