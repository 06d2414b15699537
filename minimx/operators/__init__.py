"""Operators beside the main ones; importing this registers all that there are."""

from __future__ import annotations

from importlib import import_module

import minimx.core.operators  # noqa: F401 (the main ones come first)
from minimx.core import kernels
from minimx.operators import warm

#: By folder, the modules with data sheets.
MODULES = {
    "": "contrib",
    "arrays": (
        "creation indexing join linalg mixed places precision random "
        "random_more random_pdf reduce shape sorting statistics triangles"
    ),
    "images": "boxes images multibox regions resize roi sampling transformer",
    "layers": (
        "attention columns correlation ctc deconv deformable folded hawkes nn norm "
        "norm_batch norm_groups outputs quantize rnn sequence softmax"
    ),
    "numpy": (
        "np_contraction np_elementwise np_join np_linalg np_matrix np_random "
        "np_reduce np_shape np_statistics"
    ),
    "quantized": "entropy fused moves pointwise products",
    "sparse": "graphs neighbours sparse_reg storage_types",
    "updates": "adagrad optim optim_adaptive optim_many",
}

for _folder, _names in MODULES.items():
    for _name in _names.split():
        import_module(".".join(filter(None, ("minimx.operators", _folder, _name))))

kernels.offer(warm.jobs)
