"""The vocabulary: one data sheet per operator; importing this registers them all."""

from __future__ import annotations

from minimx import kernels
from minimx.knobs import knobs
from minimx.ops import (
    conv,
    creation,
    deconv,
    elementwise,
    indexing,
    join,
    linalg,
    matmul,
    mixed,
    nn,
    norm,
    np_contraction,
    np_join,
    np_linalg,
    np_matrix,
    np_random,
    np_shape,
    np_statistics,
    optim,
    places,
    pooling,
    precision,
    random,
    reduce,
    registry,
    rnn,
    scalar,
    sequence,
    shape,
    softmax,
    sorting,
    statistics,
    triangles,
    views,
    warm,
)

__all__ = [
    "conv",
    "creation",
    "deconv",
    "elementwise",
    "indexing",
    "join",
    "linalg",
    "matmul",
    "mixed",
    "nn",
    "norm",
    "np_contraction",
    "np_join",
    "np_linalg",
    "np_matrix",
    "np_random",
    "np_shape",
    "np_statistics",
    "optim",
    "places",
    "pooling",
    "precision",
    "random",
    "reduce",
    "registry",
    "rnn",
    "scalar",
    "sequence",
    "shape",
    "softmax",
    "sorting",
    "statistics",
    "triangles",
    "views",
    "warm",
]

# A plan settles on how many threads its kernel runs, and in which type it adds.
knobs.watch(
    (
        "MXNET_CPU_PARALLEL_SIZE",
        "MXNET_ENFORCE_DETERMINISM",
        "MXNET_SAFE_ACCUMULATION",
        "OMP_NUM_THREADS",
    ),
    lambda name, new, old: registry.forget_plans(),
)

kernels.offer(warm.jobs)
