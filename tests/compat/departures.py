"""Calls that are answered otherwise than by MXNet 1.9.1 on purpose, and why.

The key is how a call is printed, or the beginning of it.

Where a call is recorded in predict mode, both are told so again when they walk back.
Without that, MXNet's `backward()` means training: BatchNorm's gradient is then another
there. Here the mode that was recorded counts.
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

#: Calls of which MXNet writes only so many outputs, and no gradient that has a meaning.
HALF_WRITTEN: dict[str, int] = {
    "LeakyReLU(act_type=rrelu)": 1,  # the mask is written in training only
    # and so are mean and variance
    "_contrib_SyncBatchNorm(key=one, fix_gamma=False, output_mean_var=True)": 1,
    # the gradient goes to places that are read from memory that nobody wrote
    "SequenceLast() ": 1,
    "SequenceLast(axis=1) ": 1,
}

DEPARTURES: dict[str, str] = {
    "LeakyReLU(act_type=selu": (
        "MXNet's gradient of selu lacks a factor below 0: it is not the slope"
    ),
    "nd.image.flip_left_right": (
        "MXNet's gradient is not turned back; the middle of an odd width is not written"
    ),
    "npx.image.flip_left_right": "MXNet's gradient is not turned back",
    "npx.image.flip_top_bottom": "MXNet's gradient is not turned back",
    "_image_flip_left_right": (
        "MXNet's gradient is not turned back; the middle of an odd width is not written"
    ),
    "_image_flip_top_bottom": "MXNet's gradient is not turned back",
    "_np_atleast_1d": "MXNet's gradient is 0",
    "_np_atleast_2d": "MXNet's gradient is 0",
    "_np_atleast_3d": "MXNet's gradient is 0",
    "_npi_matmul() of": "MXNet's gradient is wrong where stacks of matrices stretch",
    "_contrib_quantized_conv(kernel=[3, 2], num_filter=4, pad=[1, 1]) of": (
        "MXNet takes the levels of int8 for data of uint8, and cuts sums off at 16 bits"
    ),
    "_adamw_update": "MXNet writes the rescaled gradient over the gradient",
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
