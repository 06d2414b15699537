"""Winograd's five transforms along one axis, many tiles or windows side by side.

For tiles of two outputs (F(2, 3), four inputs) and of four (F(4, 3), six inputs):

    input_lines    Bᵀ: inputs to points          spread_lines   A: outputs to points
    output_lines   Aᵀ: points to outputs         gather_lines   Gᵀ: points to windows
    weigh_lines    G: windows to points

A line is what the k-th inputs (points, outputs) of all tiles are. Lines of a source
begin `lead` elements apart, those of a target `to`. Neighbours in a line are adjacent,
or `step` apart where a function takes one.
"""

from __future__ import annotations

from typing import Any

from minimx.core.kernels import threads
from minimx.core.kernels.native import load, pointer, store


@threads.jit(inner=True)
def input_lines(
    source: Any, lead: int, step: int, target: Any, to: int, count: int, tile: Any
) -> None:
    """Bᵀ d: from 4 or 6 lines of inputs to as many of points."""
    real = source.dtype.type
    two, four, five = real(2), real(4), real(5)
    s, t = pointer(source), pointer(target)
    for x in range(count):
        i = x * step
        a, b, c = load(s, i), load(s, i + lead), load(s, i + 2 * lead)
        d = load(s, i + 3 * lead)
        if tile.size == 2:
            store(t, x, a - c)
            store(t, x + to, b + c)
            store(t, x + 2 * to, c - b)
            store(t, x + 3 * to, b - d)
        else:
            e, f = load(s, i + 4 * lead), load(s, i + 5 * lead)
            store(t, x, four * a - five * c + e)
            even, odd = e - four * c, d - four * b
            store(t, x + to, even + odd)
            store(t, x + 2 * to, even - odd)
            even, odd = e - c, two * (d - b)
            store(t, x + 3 * to, even + odd)
            store(t, x + 4 * to, even - odd)
            store(t, x + 5 * to, four * b - five * d + f)


@threads.jit(inner=True)
def output_lines(
    source: Any, lead: int, target: Any, to: int, count: int, tile: Any
) -> None:
    """Aᵀ m: from 4 or 6 lines of points to 2 or 4 of outputs."""
    real = source.dtype.type
    two, four, eight = real(2), real(4), real(8)
    s, t = pointer(source), pointer(target)
    for x in range(count):
        a, b, c = load(s, x), load(s, x + lead), load(s, x + 2 * lead)
        d = load(s, x + 3 * lead)
        if tile.size == 2:
            store(t, x, a + b + c)
            store(t, x + to, b - c - d)
        else:
            e, f = load(s, x + 4 * lead), load(s, x + 5 * lead)
            even, odd, evens, odds = b + c, b - c, d + e, d - e
            store(t, x, a + even + evens)
            store(t, x + to, odd + two * odds)
            store(t, x + 2 * to, even + four * evens)
            store(t, x + 3 * to, odd + eight * odds + f)


@threads.jit(inner=True)
def spread_lines(
    source: Any, lead: int, step: int, target: Any, to: int, count: int, tile: Any
) -> None:
    """A dy: from 2 or 4 lines of outputs' gradients to 4 or 6 of points."""
    real = source.dtype.type
    two, four, eight = real(2), real(4), real(8)
    s, t = pointer(source), pointer(target)
    for x in range(count):
        i = x * step
        a, b = load(s, i), load(s, i + lead)
        store(t, x, a)
        if tile.size == 2:
            store(t, x + to, a + b)
            store(t, x + 2 * to, a - b)
            store(t, x + 3 * to, -b)
        else:
            c, d = load(s, i + 2 * lead), load(s, i + 3 * lead)
            store(t, x + to, (a + c) + (b + d))
            store(t, x + 2 * to, (a + c) - (b + d))
            store(t, x + 3 * to, (a + four * c) + (two * b + eight * d))
            store(t, x + 4 * to, (a + four * c) - (two * b + eight * d))
            store(t, x + 5 * to, d)


@threads.jit(inner=True)
def weigh_lines(
    source: Any, lead: int, step: int, target: Any, to: int, count: int, tile: Any
) -> None:
    """G g: from three lines of weights to 4 or 6 of points. `lead` may be negative."""
    real = source.dtype.type
    two, four, six, many = real(2), real(4), real(6), real(24)
    s, t = pointer(source), pointer(target)
    for x in range(count):
        i = x * step
        a, b, c = load(s, i), load(s, i + lead), load(s, i + 2 * lead)
        if tile.size == 2:
            store(t, x, a)
            store(t, x + to, (a + b + c) / two)
            store(t, x + 2 * to, (a - b + c) / two)
            store(t, x + 3 * to, c)
        else:
            store(t, x, a / four)
            store(t, x + to, -(a + b + c) / six)
            store(t, x + 2 * to, -(a - b + c) / six)
            store(t, x + 3 * to, (a + two * b + four * c) / many)
            store(t, x + 4 * to, (a - two * b + four * c) / many)
            store(t, x + 5 * to, c)


@threads.jit(inner=True)
def gather_lines(
    source: Any, lead: int, target: Any, to: int, step: int, count: int, tile: Any
) -> None:
    """Gᵀ s: from 4 or 6 lines of points to three of gradients, `step` apart."""
    real = source.dtype.type
    two, four, six, twelve = real(2), real(4), real(6), real(12)
    s, t = pointer(source), pointer(target)
    for x in range(count):
        i = x * step
        a, b, c = load(s, x), load(s, x + lead), load(s, x + 2 * lead)
        d = load(s, x + 3 * lead)
        if tile.size == 2:
            store(t, i, a + (b + c) / two)
            store(t, i + to, (b - c) / two)
            store(t, i + 2 * to, (b + c) / two + d)
        else:
            e, f = load(s, x + 4 * lead), load(s, x + 5 * lead)
            near = (b + c) / six
            store(t, i, a / four - near + (d + e) / (two * twelve))
            store(t, i + to, (c - b) / six + (d - e) / twelve)
            store(t, i + 2 * to, (d + e) / six - near + f)
