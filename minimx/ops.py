"""`mx.ops`: operators, the main ones and all others, and how to add one's own."""

from __future__ import annotations

from minimx.core.operators import conv, elementwise, matmul, pooling, scalar, views
from minimx.core.ops import devices, registry
from minimx.core.ops.registry import GradContext, Op, Site, bind, lookup
from minimx.core.ops.spec import Cost, Spec
from minimx.operators import contrib, users, warm
from minimx.operators.arrays import (
    creation,
    indexing,
    join,
    linalg,
    mixed,
    places,
    precision,
    random,
    random_more,
    random_pdf,
    reduce,
    shape,
    sorting,
    statistics,
    triangles,
)
from minimx.operators.images import (
    boxes,
    images,
    multibox,
    regions,
    resize,
    roi,
    sampling,
    transformer,
)
from minimx.operators.layers import (
    attention,
    columns,
    correlation,
    ctc,
    deconv,
    deformable,
    folded,
    hawkes,
    nn,
    norm,
    norm_batch,
    norm_groups,
    outputs,
    quantize,
    rnn,
    sequence,
    softmax,
)
from minimx.operators.numpy import (
    np_contraction,
    np_elementwise,
    np_join,
    np_linalg,
    np_matrix,
    np_random,
    np_reduce,
    np_shape,
    np_statistics,
)
from minimx.operators.quantized import entropy, fused, moves, pointwise, products
from minimx.operators.sparse import sparse_reg
from minimx.operators.sparse import storage_types as storage
from minimx.operators.updates import adagrad, optim, optim_adaptive, optim_many
from minimx.operators.users import register, unregister

__all__ = [
    "sparse_reg", "Cost", "GradContext", "Op", "Site", "Spec", "adagrad", "attention",
    "bind", "boxes", "columns", "contrib", "conv", "correlation", "creation", "ctc",
    "deconv", "deformable", "devices", "elementwise", "entropy", "folded", "fused",
    "hawkes", "images", "indexing", "join", "linalg", "lookup", "matmul", "mixed",
    "moves", "multibox", "nn", "norm", "norm_batch", "norm_groups", "np_contraction",
    "np_elementwise", "np_join", "np_linalg", "np_matrix", "np_random", "np_reduce",
    "np_shape", "np_statistics", "optim", "optim_adaptive", "optim_many", "outputs",
    "places", "pointwise", "pooling", "precision", "products", "quantize", "random",
    "random_more", "random_pdf", "reduce", "regions", "register", "registry", "resize",
    "rnn", "roi", "sampling", "scalar", "sequence", "shape", "softmax", "sorting",
    "statistics", "storage", "transformer", "triangles", "unregister", "users", "views",
    "warm",
]  # fmt: skip
