"""Sequences in two forms: one array with a time axis, or a list with a step in each.

`layout` says where the axes of the array are: NTC (batch, time, channels) or TNC.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import minimx.nd as nd
from minimx import symbol
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.symbol import Symbol


class Unrolling(NamedTuple):
    """What `unroll` of a cell is asked for; see `RecurrentCell.unroll`."""

    length: int
    inputs: Any
    begin_state: Any
    layout: str
    merge_outputs: bool | None
    valid_length: Any


def operators_of(sequence: Any) -> Any:
    """The namespace whose operators a sequence understands."""
    return symbol if isinstance(sequence, Symbol) else nd


def is_merged(sequence: Any) -> bool:
    """Whether a sequence is one array rather than a list of steps."""
    return not isinstance(sequence, (list, tuple))


def axes_of(layout: str) -> tuple[int, int]:
    """The axes of time and of the batch."""
    if "T" not in layout or "N" not in layout:
        raise ArgumentError(
            f"layout={layout!r}: name the axes of a sequence, such as 'NTC' or 'TNC'."
        )
    return layout.find("T"), layout.find("N")


def batch_size_of(sequence: Any, layout: str) -> int:
    """How many samples there are; 0 where that is not known yet."""
    if not is_merged(sequence):
        first = sequence[0]
        return int(first.shape[0]) if isinstance(first, NDArray) else 0
    if isinstance(sequence, NDArray):
        return int(sequence.shape[axes_of(layout)[1]])
    return 0


def as_steps(length: int | None, sequence: Any, layout: str) -> list[Any]:
    """A list with one array (batch, channels) for each step."""
    time = axes_of(layout)[0]
    if is_merged(sequence):
        if isinstance(sequence, NDArray):
            _check_length(length, sequence.shape[time])
            length = sequence.shape[time]
        split = operators_of(sequence).split
        parts = split(sequence, axis=time, num_outputs=length, squeeze_axis=True)
        return [parts] if isinstance(parts, NDArray) else list(parts)
    _check_length(length, len(sequence))
    return list(sequence)


def as_one(sequence: Any, layout: str) -> Any:
    """One array with the axes of `layout`."""
    if is_merged(sequence):
        return sequence
    return operators_of(sequence[0]).stack(*sequence, axis=axes_of(layout)[0])


def formed(length: int | None, sequence: Any, layout: str, merge: bool | None) -> Any:
    """The form that is asked for; None: as it is."""
    if merge is None:
        return sequence
    return as_one(sequence, layout) if merge else as_steps(length, sequence, layout)


def _check_length(asked: int | None, found: int) -> None:
    if asked is not None and asked != found:
        raise ArgumentError(
            f"unroll: length={asked}, but the inputs have {found} steps. Give their "
            "number, or cut the inputs."
        )


def masked(sequence: Any, valid_length: Any, layout: str) -> Any:
    """One array in which steps beyond the length of their sample are 0."""
    merged = as_one(sequence, layout)
    return operators_of(merged).SequenceMask(
        merged,
        sequence_length=valid_length,
        use_sequence_length=True,
        axis=axes_of(layout)[0],
    )


def reversed_steps(steps: Sequence[Any], valid_length: Any = None) -> list[Any]:
    """The steps from the last valid one to the first; padding stays at the end."""
    if valid_length is None:
        return list(reversed(steps))
    stacked = operators_of(steps[0]).SequenceReverse(
        as_one(steps, "TNC"), sequence_length=valid_length, use_sequence_length=True
    )
    return as_steps(len(steps), stacked, "TNC")


def last_valid(steps: Sequence[Any], valid_length: Any) -> Any:
    """For every sample its last valid step: (batch, channels)."""
    return operators_of(steps[0]).SequenceLast(
        as_one(steps, "TNC"),
        sequence_length=valid_length,
        use_sequence_length=True,
        axis=0,
    )
