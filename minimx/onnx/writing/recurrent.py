"""Recurrent layers, and sequences of different lengths.

minimx, as MXNet, packs all weights of all layers into one vector; ONNX has a node for
each layer, with a matrix for each direction and the gates in another order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.dtypes import INT32, INT64
from minimx.onnx.gates import KINDS, unpacked
from minimx.onnx.writing.values import Call, Value, translates


@translates("RNN")
def _rnn(at: Call, x: Value, parameters: Value, *rest: Value) -> Any:
    op: Any = at.op
    _refuse_what_onnx_lacks(at)
    flat = at.array(1)
    if flat is None:
        raise at.refused(
            "has weights that are computed from data; ONNX wants constants"
        )
    states = [_split(at, 2 + k, value) for k, value in enumerate(rest[: 1 + op.lstm])]
    lengths = at.cast(rest[-1], INT32) if op.use_sequence_length else None
    lasts: list[list[Any]] = [[] for _ in states]
    layers = unpacked(op, flat, at.length(0, 2))
    for layer, (weights, hidden, biases) in enumerate(layers):
        arrays = [at.constant(array) for array in (weights, hidden, biases)]
        first = [None if state is None else state[layer] for state in states]
        made = at(
            KINDS[op.mode], x, *arrays, lengths, *first, outputs=2 + op.lstm,
            hidden_size=op.state_size, **_how(op),
        )  # fmt: skip
        # (T, directions, N, H) becomes (T, N, directions * H).
        x = at("Reshape", at.transposed(made[0], (0, 2, 1, 3)), at.whole(0, 0, -1))
        for last, value in zip(lasts, made[1:], strict=True):
            last.append(value)
    outs = [v[0] if len(v) == 1 else at("Concat", *v, axis=0) for v in lasts]
    return [x, *outs] if op.state_outputs else x


def _how(op: Any) -> dict[str, Any]:
    """The attributes of the node."""
    directions = 1 + op.bidirectional
    how: dict[str, Any] = {
        "direction": "bidirectional" if op.bidirectional else "forward"
    }
    if op.mode == "gru":
        how["linear_before_reset"] = 1
    elif op.mode != "lstm":
        how["activations"] = [op.mode.removeprefix("rnn_").capitalize()] * directions
    return how


def _refuse_what_onnx_lacks(at: Call) -> None:
    op: Any = at.op
    if op.projection_size or op.lstm_state_clip_min is not None:
        raise at.refused(
            "projects its state or bounds its cell, for which ONNX has no word. Leave "
            "projection_size and lstm_state_clip_* away"
        )


def _split(at: Call, k: int, state: Value) -> Any:
    """A first state as a value for each layer; None for zeros: ONNX begins so."""
    known = at.array(k)
    if known is not None and not known.any():
        return None
    op: Any = at.op
    if op.num_layers == 1:
        return [state]
    each = (1 + op.bidirectional,) * op.num_layers
    return at("Split", state, at.whole(*each), axis=0, outputs=op.num_layers)


# -- sequences of different lengths ----------------------------------------------------


def _beside(at: Call, lengths: Value, time: int) -> Any:
    """Lengths (batch,) so that they stretch over data; time: the axis of steps."""
    shape = [1] * at.ndim()
    shape[1 - time] = -1
    return at("Reshape", lengths, at.whole(*shape))


@translates("SequenceMask")
def _sequence_mask(at: Call, x: Value, lengths: Value | None = None) -> Any:
    if lengths is None:
        return x
    time = at.op.settings["axis"]
    return at.hidden(x, _beside(at, lengths, time), time, at.op.settings["value"])


@translates("SequenceLast")
def _sequence_last(at: Call, x: Value, lengths: Value | None = None) -> Any:
    time = at.op.settings["axis"]
    if lengths is None:
        return at("Gather", x, at.constant(np.array(-1)), axis=time)
    places = _beside(at, at.cast(lengths, INT64) - 1, time)
    # The same place for all that comes after the first two axes.
    shape = [1 if k == time else at.length(0, k) for k in range(at.ndim())]
    places = at("Expand", places, at.whole(*shape))
    return at("Squeeze", at("GatherElements", x, places, axis=time), at.whole(time))


@translates("SequenceReverse")
def _sequence_reverse(at: Call, x: Value, lengths: Value | None = None) -> Any:
    if lengths is not None:
        whole = at.cast(lengths, INT64)
        return at("ReverseSequence", x, whole, time_axis=0, batch_axis=1)
    ends = at.whole(-1), at.whole(-(1 << 31) + 1), at.whole(0), at.whole(-1)
    return at("Slice", x, *ends)
