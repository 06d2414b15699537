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
    "_adamw_update": (
        "MXNet writes the rescaled gradient over the gradient; and where it skips a "
        "step, an output that is not the weight is left unwritten"
    ),
    "_npi_eig": "eigenvectors have no sign of their own",
    "_npi_einsum(subscripts=...ij,...jk->...ik": (
        "MXNet's gradient is wrong where the dots stand for axes that stretch"
    ),
    "_npi_einsum(subscripts=ij, ij -> i": (
        "MXNet's gradient is wrong where an axis stretches"
    ),
    "_npi_svd": "singular vectors have no sign of their own",
    "_unravel_index": "MXNet's answer for places in two axes is left half unwritten",
    "mp_lamb_update_phase2": (
        "MXNet leaves weight32 as it was, so that the next step forgets this one"
    ),
}
