"""CUDA on sequences of different lengths; without lengths they only move (`parts`)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minimx.core.ops.registry import Kernel
from minimx.core.ops.spec import Spec
from minimx.core.shapes import split_at
from minimx.cuda.kernels.layers import ctc, hawkes, sequence
from minimx.cuda.launches import implements
from minimx.cuda.launches.arrays.join import moved
from minimx.cuda.launches.core.nn import known, real


@implements("_hide_beyond")
def hide(op: Any, *specs: Spec) -> Kernel | None:
    """A choice for each element."""
    data, length = specs
    if not real(data) or not known(length):
        return None
    split = split_at(data.shape, op.axis % data.ndim)
    return sequence.mask(split, 1, op.value, whole=False)


@implements("SequenceMask", "SequenceLast", "SequenceReverse", "_backward_SequenceLast")
def of_sequences(op: Any, *specs: Spec) -> Kernel | None:
    """By the lengths, where there are any."""
    data, *lengths = specs
    if not lengths:
        return moved(op, data)
    if not known(*specs):
        return None
    if op.name == "SequenceMask":
        share = prod(data.shape[2:])
        return sequence.mask(split_at(data.shape, op.axis), share, op.value, whole=True)
    if op.name == "SequenceLast":
        return sequence.last(op.axis, data.shape)
    if op.name == "SequenceReverse":
        return sequence.reverse(data.shape)
    return sequence.unlast(op.axis, op.shape)


@implements("CTCLoss")
def read_out(op: Any, *specs: Spec) -> Kernel | None:
    """A block of threads for each sample."""
    if not real(specs[0]) or not known(*specs):
        return None
    return lambda *arrays: ctc.losses(*_read(op, arrays[:-1]), out=arrays[-1])


@implements("_backward_ctc_loss")
def read_out_gradient(op: Any, *specs: Spec) -> Kernel | None:
    """The same, there and back."""
    if not real(specs[0]) or not known(*specs):
        return None
    forward = op.forward

    def run(*arrays: Any) -> None:
        *given, dout, out = arrays
        ctc.gradient(*_read(forward, given), dout=dout, out=out)

    return run


def _read(op: Any, arrays: Sequence[Any]) -> tuple[Any, Any, Any, Any, bool]:
    """Data and label, the lengths that there are, and where the blank stands."""
    data, label, *lengths = arrays
    letters = lengths[-1] if op.use_label_lengths else None
    times = lengths[0] if op.use_data_lengths else None
    return data, label, letters, times, op.blank_label == "first"


@implements("_contrib_hawkesll", "_contrib_backward_hawkesll")
def excited(op: Any, *specs: Spec) -> Kernel | None:
    """A thread follows the events of a sample."""
    if not known(*specs) or not real(specs[0]):
        return None
    backward = op.name == "_contrib_backward_hawkesll"
    launch: Kernel = hawkes.gradient if backward else hawkes.likelihood
    return launch
