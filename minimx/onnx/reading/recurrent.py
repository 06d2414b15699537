"""Recurrent nodes: one layer each, with its weights packed as MXNet packs them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx import symbol
from minimx.onnx.gates import packed
from minimx.onnx.reading.values import Known, Read, as_array, reads

_ACTIVATIONS = {
    "LSTM": ["Sigmoid", "Tanh", "Tanh"],
    "GRU": ["Sigmoid", "Tanh"],
    "RNN": ["Tanh"],
}


@reads("LSTM", "GRU", "RNN")
def _recurrent(at: Read, x: Any, *rest: Any) -> list[Any]:
    rest = (*rest, *[None] * (7 - len(rest)))
    weights, hidden, biases, lengths, *states = rest
    directions = 2 if at.get("direction", "forward") == "bidirectional" else 1
    mode = _mode(at, directions)
    arrays = [_array(at, k, v) for k, v in ((1, weights), (2, hidden), (3, biases))]
    width, shape = arrays[0].shape[-1], at.shape(0)
    if shape is not None and shape[-1] not in (None, width):
        raise at.refused(f"has weights for {width} features; data have {shape[-1]}")
    flat = packed(mode, *arrays)
    size = arrays[1].shape[-1]
    parameters = at.known(as_array(at.name, flat), "parameters")
    first = []
    for word, state in zip(
        ("state", "cell")[: 1 + (mode == "lstm")], states, strict=False
    ):
        zeros = symbol.zeros(
            (directions, 0, size),
            dtype=flat.dtype,
            name=at.reader.unique(f"{at.name}_{word}"),
        )
        first.append(zeros if state is None else state)
    out, *lasts = at.use(
        "RNN", x, parameters, *first, *([] if lengths is None else [lengths]),
        state_size=size, num_layers=1, mode=mode, state_outputs=True,
        bidirectional=directions == 2, use_sequence_length=lengths is not None,
    )  # fmt: skip
    # (T, N, directions * H) becomes (T, directions, N, H).
    rows = at.use("Reshape", out, shape=(0, 0, directions, -1))
    return [at.use("transpose", rows, axes=(0, 2, 1, 3)), *lasts]


def _mode(at: Read, directions: int) -> str:
    """MXNet's name of the network; refuses what only ONNX has."""
    at.only(layout=0, input_forget=0)
    if at.get("direction", "forward") == "reverse":
        raise at.refused(
            "runs from the end only. Reverse the sequence before and after it"
        )
    if at.kind == "GRU":
        at.only(linear_before_reset=1)
        if "linear_before_reset" not in at.attributes:
            raise at.refused("resets before the product (linear_before_reset=0)")
    if at.get("clip") is not None or at.given(7):
        raise at.refused("has clip or peepholes, which minimx does not have")
    usual = _ACTIVATIONS[at.kind] * directions
    found = at.get("activations", usual)
    if at.kind == "RNN" and set(found) in ({"Relu"}, {"Tanh"}):
        return f"rnn_{found[0].lower()}"
    if list(found) != usual:
        raise at.refused(f"has activations={found}; only {usual} can be read")
    return str(at.kind).lower()


def _array(at: Read, k: int, value: Any) -> Any:
    if value is not None and not isinstance(value, Known):
        raise at.refused(f"has weights {at.names[k]!r} that are computed from data")
    return None if value is None else np.asarray(value.array.asnumpy())


@reads("ReverseSequence")
def _reversed(at: Read, x: Any, lengths: Any) -> Any:
    time, batch = at.get("time_axis", 0), at.get("batch_axis", 1)
    if (time, batch) == (0, 1):
        return at.use("SequenceReverse", x, lengths, use_sequence_length=True)
    swapped = at.use("SwapAxis", x, dim1=0, dim2=1)
    found = at.use("SequenceReverse", swapped, lengths, use_sequence_length=True)
    return at.use("SwapAxis", found, dim1=0, dim2=1)
