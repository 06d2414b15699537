"""Convolutions of integers of eight bits by oneDNN, with exact sums of 32 bits.

    run, nbytes = convolution(op, data) or …      None where it does not compute them
    run(data, weight, out, workspace)

AVX-512 VNNI's `vpdpbusd` multiplies four pairs of eight bits and adds all four products
to a sum of 32. Processors without it add two products in 16 bits first, where large
ones are cut off, so there oneDNN is not asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minimx.core.knobs import knobs
from minimx.core.operators.conv import Convolution
from minimx.core.ops.spec import Spec
from minimx.fast.onednn.convolution import kernel, offered
from minimx.fast.onednn.library import loaded


def convolution(op: Convolution, data: Spec) -> tuple[Callable[..., None], int] | None:
    """The sums of an image's convolution, and the bytes of workspace that they take.

    op: the convolution of real numbers; data: the spec of int8 or uint8. The weight is
    int8, the output int32.
    """
    dnnl = loaded() if knobs.get("MXNET_ONEDNN_ENABLED") else None
    if dnnl is None or not dnnl.integers or data.ndim != 4 or not data.size:
        return None
    offer = offered("forward", op.geometry(data), data.dtype.name)
    if offer is None:
        return None
    run, none = kernel(offer), np.zeros(op.num_filter, np.int32)

    def sums(x: Any, weight: Any, out: Any, workspace: Any) -> None:
        run(x, weight, none, out, *[workspace] * (offer.nbytes > 0))

    return sums, offer.nbytes
