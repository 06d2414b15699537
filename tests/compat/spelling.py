"""How a row of tests/core/ops/samples is put so that MXNet takes it, as in programs.

Both are asked in this form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Inputs, by number, that programs give in the element type of the data.
_AS_DATA = {
    "SoftmaxOutput": (1,),
    "SVMOutput": (1,),
    "softmax_cross_entropy": (1,),
    "_contrib_hawkesll": (6,),
}
# Settings that MXNet insists on.
_REQUIRED = {
    "_contrib_SyncBatchNorm": {"key": "one"},
    "UpSampling": {"sample_type": "nearest"},
    "SpatialTransformer": {"transform_type": "affine", "sampler_type": "bilinear"},
}
# Inputs that belong to one weight, in the operators that update many.
_WIDTHS = {
    "multi_sgd_update": 2,
    "multi_sgd_mom_update": 3,
    "multi_mp_sgd_update": 3,
    "multi_mp_sgd_mom_update": 4,
    "_multi_adamw_update": 4,
    "_multi_mp_adamw_update": 5,
    "_multi_lamb_update": 4,
    "_multi_mp_lamb_update": 5,
}


def spelled(
    op: str, settings: dict[str, Any], inputs: list[Any], dtype: str
) -> tuple[dict[str, Any], list[Any]]:
    """The settings and inputs of a call, in MXNet's manner."""
    settings = _REQUIRED.get(op, {}) | settings
    for k in _AS_DATA.get(op, ()):
        if k < len(inputs):
            inputs[k] = inputs[k].astype(dtype)
    if op.startswith("preloaded_"):  # rates and decays
        inputs[-2:] = [array.astype(np.float32) for array in inputs[-2:]]
    written = _written(op, settings)
    if "adamw" in op:  # the scale of the gradient
        inputs[-1] = inputs[-1].astype(np.float32)
    return settings | ({"*out": written} if written else {}), inputs


def _written(op: str, settings: dict[str, Any]) -> list[int]:
    """The inputs that are outputs as well: an update writes over its weights."""
    if op == "_scatter_set_nd":
        return [0]
    if not op.endswith(("_update", "_phase2")):
        return []
    width = _WIDTHS.get(op.removeprefix("preloaded_"), 0)
    if not width:
        return [0]
    many = settings.get("num_weights", settings.get("num_tensors", 1))
    return list(range(0, many * width, width))
