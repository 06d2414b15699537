"""Launches of recurrent networks, and of what reads sequences of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.core.shapes import split_at
from minimx.cuda.kernels import scratch
from minimx.cuda.kernels.default_launch import numeric, real_first
from minimx.cuda.kernels.layers import ctc, rnn, sequence
from minimx.cuda.launches import implements
from minimx.cuda.launches.core.shape import moved


@implements("RNN", types=numeric)
def network(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """Products and a kernel for every step; without training, notes are scratch."""
    net = op.net(data.shape, keep=op.training)
    count, visible, limited = 1 + op.lstm, op.visible, op.use_sequence_length

    def run(x: Any, flat: Any, *rest: Any) -> None:
        states, left = rest[:count], rest[count:]
        lengths = left[0] if limited else None
        out, *lasts = left[limited : limited + visible]
        given = net, x, flat, states, lengths, out, tuple(lasts)
        if op.training:
            rnn.forward(*given, *left[limited + visible :])
            return
        with scratch.allocated((net.noted(), data.dtype)) as (notes,):
            rnn.forward(*given, notes)

    return run


@implements("_backward_RNN", types=numeric)
def network_gradient(op: Any, data: Spec, *others: Spec) -> Kernel | None:
    """From the notes, which are made again where none were kept."""
    forward, names, dtype = op.forward, op.inputs, data.dtype
    net = forward.net(data.shape, keep=True)
    steps, batch, _ = data.shape
    width, states = net.directions * net.state, ("state", "state_cell")

    def run(*arrays: Any) -> None:
        given, outs = dict(zip(names, arrays, strict=False)), arrays[len(names) :]
        x, flat = given["data"], given["parameters"]
        lengths = given.get("sequence_length")
        lasts = tuple(given[n] for n in ("dstate", "dstate_cell") if n in given)
        dx, dflat, *dstates = outs

        def back(notes: Any) -> None:
            arguments = net, x, flat, lengths, notes, given["dout"], lasts
            rnn.backward(*arguments, dx, dflat, tuple(dstates))

        if "notes" in given:
            back(given["notes"])
            return
        first = tuple(given[name] for name in states if name in given)
        buffer = (net.noted(), dtype), ((steps, batch, width), dtype)
        with scratch.allocated(*buffer) as (notes, out):
            rnn.forward(net, x, flat, first, lengths, out, (), notes)
            back(notes)

    return run


# -- sequences of different lengths ----------------------------------------------------


@implements("SequenceMask", "SequenceLast", "SequenceReverse", "_backward_SequenceLast")
def of_sequences(op: Any, data: Spec, *lengths: Spec) -> Kernel | None:
    """By the lengths; without them elements only move."""
    if not lengths:
        return moved(op, data)
    if not numeric(data, *lengths):
        return None
    if op.name == "SequenceMask":
        share = prod(data.shape[2:])
        split = split_at(data.shape, op.axis)
        return lambda x, lengths, out: sequence.mask(
            x, lengths, out, split, share, op.value
        )
    if op.name == "SequenceReverse":
        return sequence.reverse
    function = sequence.last if op.name == "SequenceLast" else sequence.unlast
    return lambda x, lengths, out: function(x, lengths, op.axis, out)


@implements("CTCLoss", types=real_first)
def read_out(op: Any, *specs: Spec) -> Kernel | None:
    """A block of threads for each sample."""
    return lambda *arrays: ctc.losses(*_read(op, arrays[:-1]), out=arrays[-1])


@implements("_backward_ctc_loss", types=real_first)
def read_out_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """The same, there and back."""

    def run(*arrays: Any) -> None:
        *given, dout, out = arrays
        ctc.gradient(*_read(op.forward, given), dout=dout, out=out)

    return run


def _read(op: Any, arrays: Sequence[Any]) -> tuple[Any, Any, Any, Any, bool]:
    """Data and label, the lengths that there are, and whether the blank is first."""
    data, label, *lengths = arrays
    letters = lengths[-1] if op.use_label_lengths else None
    times = lengths[0] if op.use_data_lengths else None
    return data, label, letters, times, op.blank_label == "first"
