"""Calls that are answered otherwise than by MXNet 1.9.1 on purpose, and why.

The key is how a call is printed, or the beginning of it.
"""

from __future__ import annotations

DEPARTURES: dict[str, str] = {
    "BatchNorm(": (
        "MXNet writes ones over gamma when fix_gamma is set; here gamma is only read. "
        "Recorded in predict mode, MXNet's gradient is that of training"
    ),
    "LeakyReLU(act_type=selu": (
        "MXNet's gradient of selu lacks a factor below 0: it is not the slope"
    ),
    "LeakyReLU(act_type=rrelu)": "MXNet shows the slopes that were drawn as well",
    "RNN(state_size=3, num_layers=2, mode=lstm": (
        "MXNet ignores use_sequence_length on a CPU"
    ),
    "RNN(state_size=3, num_layers=1, mode=lstm": (
        "MXNet ignores lstm_state_clip on a CPU"
    ),
    "RNN(state_size=3, num_layers=2, mode=rnn_tanh": (
        "MXNet ignores use_sequence_length on a CPU"
    ),
    "RNN(state_size=3, num_layers=2, mode=gru": (
        "MXNet ignores use_sequence_length on a CPU"
    ),
    "_contrib_arange_like(start=1.0, step=0.5) of float16": (
        "MXNet computes every element as the first"
    ),
    "_contrib_dequantize": (
        "on a CPU MXNet leaves it to oneDNN, which takes the range as symmetric"
    ),
    "_contrib_quantize_v2": "on a CPU MXNet leaves it to oneDNN, which rounds otherwise",
    "_image_flip_top_bottom": "MXNet's gradient is not turned back",
    "_image_resize(size=5, keep_ratio=True)": (
        "MXNet interpolates bytes by OpenCV, in integers; here the rounding is exact"
    ),
    "_npi_matmul() of": (
        "MXNet's gradient is wrong where stacks of matrices stretch"
    ),
    "_adamw_update": (
        "MXNet writes the rescaled gradient over the gradient; and where it skips a "
        "step, an output that is not the weight is left unwritten"
    ),
    "_npi_einsum(subscripts=...ij,...jk->...ik": (
        "MXNet's gradient is wrong where the dots stand for axes that stretch"
    ),
    "_npi_einsum(subscripts=ij, ij -> i": (
        "MXNet's gradient is wrong where an axis stretches"
    ),
    "_unravel_index": "MXNet's answer for places in two axes is left half unwritten",
    "mp_lamb_update_phase2": (
        "MXNet leaves weight32 as it was, so that the next step forgets this one"
    ),
}
