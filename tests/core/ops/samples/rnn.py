"""Rows for recurrent networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.operators.layers.rnn import RNN
from tests.core.ops.recurrent import count, network
from tests.core.ops.sample import Sample, numbers

STEPS, BATCH, INPUTS = 4, 2, 3
LENGTHS = np.array([2, 4], np.int32)


def arrays(mode: str, layers: int, both: int, size: int, p: int = 0) -> Any:
    """data, parameters, state and for lstm the cell."""
    many = count(mode, layers, both, INPUTS, size, p)
    found = [
        numbers(STEPS, BATCH, INPUTS),
        numbers(many, low=-0.7, high=0.7),
        numbers(layers * both, BATCH, p or size, low=-1, high=1),
    ]
    if mode == "lstm":
        found.append(numbers(layers * both, BATCH, size, low=-1, high=1, seed=1))
    return tuple(found)


def _row(mode: str, layers: int, both: int, note: str = "", **more: Any) -> Sample:
    size, p = 3, more.get("projection_size", 0)
    inputs = arrays(mode, layers, both, size, p)
    clip = (more["lstm_state_clip_min"], more["lstm_state_clip_max"]) if (
        "lstm_state_clip_min" in more
    ) else None  # fmt: skip
    sizes = {"mode": mode, "layers": layers, "both": both, "size": size, "p": p}
    lengthy = "use_sequence_length" in more

    def oracle(x: Any, flat: Any, state: Any, *rest: Any) -> Any:
        cell = rest[0] if mode == "lstm" else None
        lengths = rest[-1] if lengthy else None
        found = network(x, flat, state, cell, lengths, **sizes, clip=clip)
        return found if more.get("state_outputs", True) else found[0]

    settings = {
        "state_size": size, "num_layers": layers, "mode": mode,
        "bidirectional": both == 2, "state_outputs": True, **more,
    }  # fmt: skip
    given = (*inputs, LENGTHS) if lengthy else inputs
    return Sample("RNN", given, settings, oracle, tolerance=64, note=note)


def _gradients() -> Sample:
    op = RNN.of(state_size=3, num_layers=1, mode="gru")
    x, flat, state = arrays("gru", 1, 1, 3)
    dout = np.zeros((STEPS, BATCH, 3))
    nothing = lambda x, w, h, d: (0 * x, 0 * w, 0 * h)  # noqa: E731
    return Sample("_backward_RNN", (x, flat, state, dout), {"forward": op}, nothing)


CLIP: Any = {"lstm_state_clip_min": -0.4, "lstm_state_clip_max": 0.3}
ROWS = [
    *(_row(mode, 1, 1) for mode in ("rnn_relu", "rnn_tanh", "gru", "lstm")),
    *(_row(mode, 2, 2) for mode in ("rnn_tanh", "gru", "lstm")),
    *(_row(mode, 2, 1, training=True) for mode in ("rnn_relu", "gru", "lstm")),
    *(_row(m, 2, 2, use_sequence_length=True) for m in ("rnn_tanh", "gru", "lstm")),
    _row("lstm", 2, 2, projection_size=2, training=True),
    _row("lstm", 1, 2, projection_size=2, use_sequence_length=True),
    _row("lstm", 1, 1, state_outputs=False, **CLIP),
    _gradients(),
    Sample(
        "_rnn_param_concat",
        (numbers(3), numbers(2), numbers(4)),
        {"dim": 0},
        lambda *parts: np.concatenate(parts),
    ),
]
