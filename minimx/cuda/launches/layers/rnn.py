"""Launches of recurrent networks and of the loss that reads labels out of sequences."""

from __future__ import annotations

from typing import Any

from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.cuda.kernels import scratch
from minimx.cuda.kernels.layers import rnn
from minimx.cuda.launches import implements
from minimx.cuda.launches.core.nn import known


@implements("RNN")
def network(op: Any, *specs: Spec) -> Kernel | None:
    """Products and a kernel for every step; without training, notes are scratch."""
    if not known(*specs):
        return None
    net = op.net(specs[0].shape, keep=op.training)
    count, visible, lengthy = 1 + op.lstm, op.visible, op.use_sequence_length

    def run(x: Any, flat: Any, *rest: Any) -> None:
        states, left = rest[:count], rest[count:]
        lengths = left[0] if lengthy else None
        out, *lasts = left[lengthy : lengthy + visible]
        given = net, x, flat, states, lengths, out, tuple(lasts)
        if op.training:
            rnn.forward(*given, *left[lengthy + visible :])
            return
        with scratch.allocated((net.noted(), specs[0].dtype)) as (notes,):
            rnn.forward(*given, notes)

    return run


@implements("_backward_RNN")
def network_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """From the notes, which are made again where none were kept."""
    if not known(*specs):
        return None
    forward, names, dtype = op.forward, op.inputs, specs[0].dtype
    net = forward.net(specs[0].shape, keep=True)
    steps, batch, _ = specs[0].shape
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
