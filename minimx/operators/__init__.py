"""Operators beside the main ones; importing this registers all that there are."""

from __future__ import annotations

import minimx.core.operators  # noqa: F401 (the main ones come first)
from minimx.core import kernels
from minimx.operators import columns, contrib, quantize, warm
from minimx.operators.arrays import (
    linalg,
    mixed,
    places,
    precision,
    random_more,
    random_pdf,
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
    correlation,
    ctc,
    deconv,
    deformable,
    folded,
    hawkes,
    norm_batch,
    norm_groups,
    outputs,
    rnn,
    sequence,
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
from minimx.operators.sparse import sparse_reg, storage_types
from minimx.operators.updates import adagrad, optim_adaptive, optim_many

__all__ = [
    "adagrad",
    "attention",
    "boxes",
    "columns",
    "contrib",
    "correlation",
    "ctc",
    "deconv",
    "deformable",
    "folded",
    "hawkes",
    "images",
    "linalg",
    "mixed",
    "multibox",
    "norm_batch",
    "norm_groups",
    "np_contraction",
    "np_elementwise",
    "np_join",
    "np_linalg",
    "np_matrix",
    "np_random",
    "np_reduce",
    "np_shape",
    "np_statistics",
    "optim_adaptive",
    "optim_many",
    "outputs",
    "places",
    "precision",
    "quantize",
    "random_more",
    "random_pdf",
    "regions",
    "resize",
    "rnn",
    "roi",
    "sampling",
    "sequence",
    "sorting",
    "sparse_reg",
    "statistics",
    "storage_types",
    "transformer",
    "triangles",
    "warm",
]

kernels.offer(warm.jobs)
