"""Calls that are answered otherwise than by MXNet 1.9.1 on purpose, and why.

The key is how a call is printed, or the beginning of it.
"""

from __future__ import annotations

#: Calls that MXNet takes on a CPU and does not carry out: what comes back is memory
#: that nobody wrote, or the answer to a simpler question. They are not compared.
NO_ANSWER: dict[str, str] = {
    "RNN(state_size=3, num_layers=1, mode=lstm": "lstm_state_clip is ignored",
    "RNN(state_size=3, num_layers=2, mode=": "use_sequence_length is ignored",
    "_contrib_arange_like(start=1.0, step=0.5) of float16": "only the first is written",
    "_unravel_index": "places in two axes are left half unwritten",
}

DEPARTURES: dict[str, str] = {
    "BatchNorm(": (
        "MXNet writes ones over gamma when fix_gamma is set; here gamma is only read. "
        "Recorded in predict mode, MXNet's gradient is that of training"
    ),
    "LeakyReLU(act_type=selu": (
        "MXNet's gradient of selu lacks a factor below 0: it is not the slope"
    ),
    "LeakyReLU(act_type=rrelu)": "MXNet shows the slopes that were drawn as well",
    "SequenceLast(axis=1)": "MXNet's gradient goes to the first elements of axis 0",
    "npx.image.flip_left_right": "MXNet's gradient is not turned back",
    "_contrib_dequantize": (
        "on a CPU MXNet leaves it to oneDNN, which takes the range as symmetric"
    ),
    "_contrib_quantize_v2": "on a CPU MXNet leaves it to oneDNN, which rounds its way",
    "_image_flip_top_bottom": "MXNet's gradient is not turned back",
    "_image_resize(size=5, keep_ratio=True)": (
        "MXNet interpolates bytes by OpenCV, in integers; here the rounding is exact"
    ),
    "_npi_matmul() of": ("MXNet's gradient is wrong where stacks of matrices stretch"),
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
    "mp_lamb_update_phase2": (
        "MXNet leaves weight32 as it was, so that the next step forgets this one"
    ),
    "np.rot90": "MXNet turns the gradient the wrong way",
}
