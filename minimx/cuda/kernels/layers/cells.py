"""The kernels of one step of a recurrent layer on CUDA; `rnn` walks through the steps.

A thread owns unit k of sample n. Arrays are flat and those of one time t:

    gates (N, G·H)      what the inputs contribute on entry, the open gates on exit
    own (N, G·H)        what the state contributes
    before, after       states, or cells, on both sides of the step
    y (N, width)        the outputs, of which this direction fills H columns from `at`
    lengths (N,)        where `limited`: a sample counts while t is below; later steps
                        leave the state alone and give 0
"""

from __future__ import annotations

from typing import Any

from minimx.cuda.kernels import launching
from minimx.cuda.kernels.launching import cuda
from minimx.cuda.kernels.mathematics import exp, tanh


@launching.inner
def _counts(lengths: Any, n: int, t: int, limited: bool) -> Any:
    """Whether a sample still counts at a time."""
    return not limited or t < int(lengths[n])


@launching.inner
def _sigmoid(x: Any, one: Any) -> Any:
    return one / (one + exp(-x))


# -- what all kinds share --------------------------------------------------------------


@launching.kernel
def summed(x: Any, y: Any, n: int) -> None:
    """X = x + y."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x[i] += y[i]


@launching.kernel
def masked(x: Any, mask: Any, n: int) -> None:
    """X = x * mask."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x[i] *= mask[i]


@launching.kernel
def dropped(y: Any, mask: Any, n: int, drop: Any, scale: Any, zero: Any) -> None:
    """Numbers from 0 to 1 become a mask, and y is multiplied by it."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        mask[i] = scale if mask[i] >= drop else zero
        y[i] *= mask[i]


@launching.kernel
def biased(gates: Any, bx: Any, bh: Any, n: int, wide: int, both: bool) -> None:
    """Gates of all times, with one bias or the sum of both."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        k = i % wide
        gates[i] += bx[k] + bh[k] if both else bx[k]


@launching.kernel
def handed(
    new: Any, before: Any, after: Any, y: Any, n: int, size: int, width: int, at: int,
    lengths: Any, t: int, limited: bool,
) -> None:  # fmt: skip
    """The state is the output, or stays as it was and gives 0."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        counts = _counts(lengths, i // size, t, limited)
        after[i] = new[i] if counts else before[i]
        y[i // size * width + at + i % size] = new[i] if counts else 0


@launching.kernel
def arrived(
    dh: Any, dy: Any, n: int, size: int, width: int, at: int, lengths: Any, t: int,
    limited: bool,
) -> None:  # fmt: skip
    """The gradient of an output joins that of the state."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if _counts(lengths, i // size, t, limited):
            dh[i] += dy[i // size * width + at + i % size]


@launching.kernel
def kept(
    dh: Any, projects: Any, n: int, size: int, lengths: Any, t: int, limited: bool
) -> None:
    """The gradient of a projected state, for that of the projection."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        projects[i] = dh[i] if _counts(lengths, i // size, t, limited) else 0


@launching.kernel
def passed(
    dh: Any, through: Any, n: int, size: int, stays: bool, lengths: Any, t: int,
    limited: bool,
) -> None:  # fmt: skip
    """The gradient of the state before: through the gates, and what passes them by."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if stays or not _counts(lengths, i // size, t, limited):
            dh[i] += through[i]
        else:
            dh[i] = through[i]


# -- LSTM ------------------------------------------------------------------------------


@launching.kernel
def lstm(
    gates: Any, own: Any, old: Any, new: Any, y: Any, before: Any, after: Any,
    full: Any, n: int, size: int, width: int, at: int, lengths: Any, t: int,
    limited: bool, projected: bool, low: Any, high: Any, mode: int, one: Any,
) -> None:  # fmt: skip
    """Open four gates, fill the next cell; the state, or `full`, to be projected."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row, k = i // size, i % size
        g = row * 4 * size + k
        enter = _sigmoid(gates[g] + own[g], one)
        forget = _sigmoid(gates[g + size] + own[g + size], one)
        candidate = tanh(gates[g + 2 * size] + own[g + 2 * size])
        leave = _sigmoid(gates[g + 3 * size] + own[g + 3 * size], one)
        gates[g], gates[g + size] = enter, forget
        gates[g + 2 * size], gates[g + 3 * size] = candidate, leave
        cell = forget * before[i] + enter * candidate
        if mode == 2 and cell != cell:
            cell = low
        if mode > 0 and (cell < low or cell > high):
            cell = low if cell < low else high
        counts = _counts(lengths, row, t, limited)
        after[i] = cell if counts else before[i]
        state = leave * tanh(cell)
        if projected:
            full[i] = state
        else:
            new[i] = state if counts else old[i]
            y[row * width + at + k] = state if counts else 0


@launching.kernel
def lstm_gradient(
    gates: Any, dh: Any, dgates: Any, before: Any, after: Any, dc: Any, n: int,
    size: int, lengths: Any, t: int, limited: bool, one: Any, low: Any, high: Any,
    mode: int,
) -> None:  # fmt: skip
    """From dh and dc those of the gates; dc becomes the gradient of the cell before."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row, k = i // size, i % size
        g = row * 4 * size + k
        if not _counts(lengths, row, t, limited):
            for part in range(4):
                dgates[g + part * size] = 0
            continue
        enter, forget = gates[g], gates[g + size]
        candidate, leave = gates[g + 2 * size], gates[g + 3 * size]
        bent = tanh(after[i])
        through = dc[i] + dh[i] * leave * (one - bent * bent)
        if mode > 0:
            cell = forget * before[i] + enter * candidate
            if not (cell >= low and cell <= high):  # a clipped cell does not move
                through *= 0
        dgates[g] = through * candidate * enter * (one - enter)
        dgates[g + size] = through * before[i] * forget * (one - forget)
        dgates[g + 2 * size] = through * enter * (one - candidate * candidate)
        dgates[g + 3 * size] = dh[i] * bent * leave * (one - leave)
        dc[i] = through * forget


@launching.kernel
def shown(gates: Any, cells: Any, out: Any, n: int, size: int) -> None:
    """Of all times, the states before they were projected."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        leave = gates[i // size * 4 * size + 3 * size + i % size]
        out[i] = leave * tanh(cells[i])


# -- GRU -------------------------------------------------------------------------------


@launching.kernel
def gru(
    gates: Any, own: Any, before: Any, after: Any, y: Any, inner: Any, bh: Any, n: int,
    size: int, width: int, at: int, lengths: Any, t: int, limited: bool, one: Any,
) -> None:  # fmt: skip
    """Open three gates, fill the next state; `inner`: for the gradient."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row, k = i // size, i % size
        g = row * 3 * size + k
        reset = _sigmoid(gates[g] + (own[g] + bh[k]), one)
        update = _sigmoid(gates[g + size] + (own[g + size] + bh[k + size]), one)
        mine = own[g + 2 * size] + bh[k + 2 * size]
        candidate = tanh(gates[g + 2 * size] + reset * mine)
        gates[g], gates[g + size], gates[g + 2 * size] = reset, update, candidate
        inner[i] = mine
        state = (one - update) * candidate + update * before[i]
        counts = _counts(lengths, row, t, limited)
        after[i] = state if counts else before[i]
        y[row * width + at + k] = state if counts else 0


@launching.kernel
def gru_gradient(
    gates: Any, dh: Any, dgates: Any, downs: Any, inner: Any, before: Any, n: int,
    size: int, lengths: Any, t: int, limited: bool, one: Any,
) -> None:  # fmt: skip
    """Those of the gates and, of what the state contributed, downs; dh skips a step."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row, k = i // size, i % size
        g = row * 3 * size + k
        if not _counts(lengths, row, t, limited):
            for part in range(3):
                dgates[g + part * size] = 0
                downs[g + part * size] = 0
            continue
        reset, update = gates[g], gates[g + size]
        candidate = gates[g + 2 * size]
        head = dh[i] * (one - update) * (one - candidate * candidate)
        to_reset = head * inner[i] * reset * (one - reset)
        to_update = dh[i] * (before[i] - candidate) * update * (one - update)
        dgates[g], downs[g] = to_reset, to_reset
        dgates[g + size], downs[g + size] = to_update, to_update
        dgates[g + 2 * size], downs[g + 2 * size] = head, head * reset
        dh[i] *= update


# -- a single gate ---------------------------------------------------------------------


@launching.kernel
def plain(
    gates: Any, own: Any, before: Any, after: Any, y: Any, n: int, size: int,
    width: int, at: int, lengths: Any, t: int, limited: bool, relu: bool, one: Any,
) -> None:  # fmt: skip
    """A state that is relu or tanh of a sum."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        row = i // size
        value = gates[i] + own[i]
        state = max(value, one - one) if relu else tanh(value)
        gates[i] = state
        counts = _counts(lengths, row, t, limited)
        after[i] = state if counts else before[i]
        y[row * width + at + i % size] = state if counts else 0


@launching.kernel
def plain_gradient(
    gates: Any, dh: Any, dgates: Any, n: int, size: int, lengths: Any, t: int,
    limited: bool, one: Any, relu: bool,
) -> None:  # fmt: skip
    """The gradient of that sum."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = dh[i]
        if relu:
            value = value if gates[i] > 0 else one - one
        else:
            value = value * (one - gates[i] * gates[i])
        dgates[i] = value if _counts(lengths, i // size, t, limited) else 0
