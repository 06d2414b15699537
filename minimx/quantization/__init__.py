"""`mx.contrib.quantization`: networks that compute on integers of eight bits.

    made = quantize_net(net, calib_data=loader, calib_mode="naive")
    sym, args, auxs = quantize_model(sym, args, auxs, calib_data=batches)

Reading order: `rules.py` (which operators, and when), `graph.py` (where types meet),
`collectors.py` (what calibration measures), `models.py` and `networks.py` (all of it).
The operators are in `operators/quantized`, the choice of a threshold is in
`operators/quantized/entropy.py`.
"""

from __future__ import annotations

from minimx.quantization.collectors import (
    LayerHistogramCollector as _LayerHistogramCollector,
)
from minimx.quantization.collectors import (
    LayerOutputMinMaxCollector as _LayerOutputMinMaxCollector,
)
from minimx.quantization.collectors import combine_histogram
from minimx.quantization.models import (
    calib_graph,
    quantize_graph,
    quantize_model,
    quantize_model_mkldnn,
)
from minimx.quantization.networks import quantize_net, quantize_net_v2

__all__ = [
    "_LayerHistogramCollector",
    "_LayerOutputMinMaxCollector",
    "calib_graph",
    "combine_histogram",
    "quantize_graph",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_net",
    "quantize_net_v2",
]
