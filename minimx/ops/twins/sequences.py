"""Twins on sequences of different lengths; without lengths they only move (`parts`)."""

from __future__ import annotations

from math import prod
from typing import Any

from minimx.kernels.cuda import sequence
from minimx.ops.registry import Kernel
from minimx.ops.softmax import _grouped
from minimx.ops.spec import Spec
from minimx.ops.twins import twin
from minimx.ops.twins.layers import known, real
from minimx.ops.twins.parts import moved


@twin("_hide_beyond")
def hide(op: Any, *specs: Spec) -> Kernel | None:
    """A choice for each element."""
    data, length = specs
    if not real(data) or not known(length):
        return None
    split = _grouped(data.shape, op.axis % data.ndim)
    return sequence.mask(split, 1, op.value, whole=False)


@twin("SequenceMask", "SequenceLast", "SequenceReverse", "_backward_SequenceLast")
def of_sequences(op: Any, *specs: Spec) -> Kernel | None:
    """By the lengths, where there are any."""
    data, *lengths = specs
    if not lengths:
        return moved(op, data)
    if not known(*specs):
        return None
    if op.name == "SequenceMask":
        share = prod(data.shape[2:])
        return sequence.mask(_grouped(data.shape, op.axis), share, op.value, whole=True)
    if op.name == "SequenceLast":
        return sequence.last(op.axis, data.shape)
    if op.name == "SequenceReverse":
        return sequence.reverse(data.shape)
    return sequence.unlast(op.axis, op.shape)
