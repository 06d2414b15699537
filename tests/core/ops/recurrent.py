"""A slow and obvious recurrent network: one sample, one step, one gate at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lengths_of(
    mode: str, layers: int, both: int, inputs: int, size: int, p: int
) -> Any:
    """(name, layer, direction, shape) of every weight, in the order of packing."""
    wide, state = GATES[mode] * size, p or size
    for layer in range(layers):
        for d in range(both):
            yield "wx", layer, d, (wide, both * state if layer else inputs)
            yield "wh", layer, d, (wide, state)
            if p:
                yield "whr", layer, d, (p, size)
    for layer in range(layers):
        for d in range(both):
            yield "bx", layer, d, (wide,)
            yield "bh", layer, d, (wide,)


def unpack(flat: Any, *sizes: Any) -> dict[Any, Any]:
    found, at = {}, 0
    for name, layer, d, shape in lengths_of(*sizes):
        count = int(np.prod(shape))
        found[name, layer, d] = flat[at : at + count].reshape(shape)
        at += count
    assert at == flat.size
    return found


def count(*sizes: Any) -> int:
    return sum(int(np.prod(shape)) for *_, shape in lengths_of(*sizes))


def step(mode: str, x: Any, h: Any, c: Any, weights: Any, clip: Any) -> tuple[Any, Any]:
    """The next state and cell of one sample."""
    wx, wh, bx, bh, whr = weights
    left, right = wx @ x + bx, wh @ h + bh
    if mode == "rnn_relu":
        return np.maximum(left + right, 0), c
    if mode == "rnn_tanh":
        return np.tanh(left + right), c
    if mode == "gru":
        (lr, lz, ln), (rr, rz, rn) = np.split(left, 3), np.split(right, 3)
        z = sigmoid(lz + rz)
        return (1 - z) * np.tanh(ln + sigmoid(lr + rr) * rn) + z * h, c
    i, f, g, o = np.split(left + right, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    if clip:
        c = np.clip(c, *clip)
    h = sigmoid(o) * np.tanh(c)
    return (h if whr is None else whr @ h), c


def network(
    data: Any, flat: Any, state: Any, cell: Any = None, lengths: Any = None, *,
    mode: str, layers: int, both: int = 1, size: int, p: int = 0, clip: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Outputs, last states and (lstm) last cells."""
    steps, batch, inputs = data.shape
    found = unpack(flat, mode, layers, both, inputs, size, p)
    cell = np.zeros((layers * both, batch, size)) if cell is None else cell
    last, last_cell = state.copy(), cell.copy()
    x = data
    for layer in range(layers):
        y = np.zeros((steps, batch, both * (p or size)))
        for d in range(both):
            k = layer * both + d
            names = ("wx", "wh", "bx", "bh", "whr")
            weights = [found.get((name, layer, d)) for name in names]
            for n in range(batch):
                h, c = state[k, n], cell[k, n]
                times = list(range(steps if lengths is None else int(lengths[n])))
                for t in reversed(times) if d else times:
                    h, c = step(mode, x[t, n], h, c, weights, clip)
                    y[t, n, d * h.size : (d + 1) * h.size] = h
                last[k, n], last_cell[k, n] = h, c
        x = y
    return (x, last, last_cell) if mode == "lstm" else (x, last)
