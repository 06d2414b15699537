"""The weights of recurrent layers: MXNet's one vector, and ONNX's matrices.

    vector      for every layer and direction Wx (G·H, inputs), Wh (G·H, H); then, in
                the same order, bx and bh (G·H,)
    ONNX        for every layer W (D, G·H, inputs), R (D, G·H, H), B (D, 2·G·H)

G gates of H numbers each; their order differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

#: ONNX's name of the node by mode.
KINDS = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
#: Which of MXNet's gates comes at each place in ONNX: input, output, forget, candidate
#: for input, forget, candidate, output; update, reset, candidate for reset, update, …
ORDERS = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}

Layer = tuple[Any, Any, Any]


def _sorted(matrix: Any, order: Sequence[int]) -> Any:
    """The rows of a matrix, or the elements of a vector, with the gates in an order."""
    gates = matrix.reshape(len(order), -1, *matrix.shape[1:])
    return gates[list(order)].reshape(matrix.shape)


def unpacked(op: Any, flat: Any, features: int) -> list[Layer]:
    """W, R and B of each layer. op: the operator RNN; features: of its data."""
    order, directions = ORDERS[op.mode], 1 + op.bidirectional
    rows, place = len(order) * op.state_size, 0

    def take(*shape: int) -> Any:
        nonlocal place
        size = int(np.prod(shape))
        place += size
        return _sorted(flat[place - size : place].reshape(shape), order)

    matrices = []
    for layer in range(op.num_layers):
        inputs = op.state_size * directions if layer else features
        pairs = [
            (take(rows, inputs), take(rows, op.state_size)) for _ in range(directions)
        ]
        matrices.append([np.stack(part) for part in zip(*pairs, strict=True)])
    found: list[Layer] = []
    for weights, hidden in matrices:
        biases = [np.concatenate([take(rows), take(rows)]) for _ in range(directions)]
        found.append((weights, hidden, np.stack(biases)))
    return found


def packed(mode: str, weights: Any, hidden: Any, biases: Any) -> Any:
    """The vector of one layer. biases: None for zeros."""
    order = np.argsort(ORDERS[mode]).tolist()
    directions, rows, _ = weights.shape
    if biases is None:
        biases = np.zeros((directions, 2 * rows), weights.dtype)
    parts = []
    for each in range(directions):
        parts += [_sorted(weights[each], order), _sorted(hidden[each], order)]
    for pair in biases.reshape(directions, 2, rows):
        parts += [_sorted(bias, order) for bias in pair]
    return np.concatenate([part.reshape(-1) for part in parts])
