"""One direction of one recurrent layer, through all its steps.

The samples of a batch do not meet, so threads share out the samples: each takes its
samples through all steps, and no thread waits for another between two steps.

    hs (T + 1, N, P)   the states. The first one is there on entry, at the end where the
    cs (T + 1, N, H)   walk begins; the state after the step at time t stands at t + 1,
                       or at t when the walk goes backwards
    wh (G·H, P)        the weights of the states; (P, G·H) if `turned`
    gates (T, N, G·H)  on entry what the inputs contribute, biases included; on exit the
                       gates, opened
    lengths (N,)       steps that count; later ones leave the state alone and give 0
    y (T, N, D·P)      the outputs, of which this direction fills P columns from `at`

Backward, dh (N, P) and dc (N, H) are the gradients of the last state on entry, of the
first one on exit, and dgates those of what the gates were opened with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minimx.core.kernels import threads
from minimx.core.kernels.cpu.blas import gemm
from minimx.core.kernels.mathematics import exp, tanh
from minimx.core.kernels.parts import copy, dealt, ends

# With fewer samples BLAS would spend its time on preparing the weights, at every step:
# halves of a batch still pay, more pieces do not. More than MOST pieces never help.
FEWEST, MOST = 16, 8


@threads.jit(inner=True)
def _count(batch: int) -> int:
    """How many pieces there are; it depends on the batch alone."""
    return max(min(2, 2 * batch // FEWEST), min(MOST, batch // FEWEST), 1)


@threads.jit(inner=True)
def _share(batch: int, piece: int) -> tuple[int, int, int]:
    """The first sample of a piece, the first behind it, and how many there are."""
    low, high = ends(batch, (piece, _count(batch)))
    return low, high, high - low


@threads.jit(inner=True)
def _at(step: int, steps: int, back: bool) -> tuple[int, int, int]:
    """The time t of a step, and where the states before and after it stand in hs."""
    t = steps - 1 - step if back else step
    return t, t + back, t + (not back)


# Rows are counted through all axes but the last.


@threads.jit(inner=True)
def _project(
    x: Any, row: int, w: Any, turned: bool, out: Any, at: int, rows: int, add: Any
) -> None:
    """out[at : at + rows] = x[row : row + rows] · wᵀ + add · what was there.

    turned: w is stored as wᵀ, which BLAS reads faster.
    """
    wide, size = out.shape[-1], x.shape[-1]
    gemm(
        False, not turned, rows, wide, size, x, row * size, size,
        w, 0, wide if turned else size, add, out, at * wide, wide,
    )  # fmt: skip


@threads.jit(inner=True)
def _project_back(
    dy: Any, row: int, w: Any, dx: Any, at: int, rows: int, add: Any
) -> None:
    """dx[at : at + rows] = dy[row : row + rows] · w + add · what was there."""
    wide, size = w.shape
    gemm(
        False, False, rows, size, wide,
        dy, row * wide, wide, w, 0, size, add, dx, at * size, size,
    )  # fmt: skip


@threads.jit(inner=True)
def _add(more: Any, total: Any) -> None:
    """Add a row to another; `+=` compiles for 2 s, as `copy` says."""
    for k in range(total.size):
        total[k] += more[k]


@threads.jit(inner=True)
def _hand_on(counts: bool, before: Any, after: Any, y: Any) -> None:
    """One sample: the state is the output, or stays as it was and gives 0."""
    if counts:
        copy(after, y)
    else:
        copy(before, after)
        y[:] = 0


# -- LSTM ------------------------------------------------------------------------------


# These loops start at 0, on a slice: LLVM does not vectorize one that starts elsewhere.


@threads.jit(inner=True)
def _sigmoids(g: Any) -> None:
    one = g.dtype.type(1)
    for k in range(g.size):
        g[k] = one / (one + exp(-g[k]))


@threads.jit(inner=True)
def _tanhs(g: Any) -> None:
    for k in range(g.size):
        g[k] = tanh(g[k])


@threads.jit(inner=True)
def _lstm_cells(g: Any, before: Any, after: Any, h: Any, clip: Any, mode: int) -> None:
    """One sample: open its gates, fill the next cell and the state.

    g (4·H): input, forget, candidate, output. clip: bounds of the cell, followed if
    `mode` is 1; if it is 2 the lower one also replaces NaN.
    """
    size = before.size
    _sigmoids(g[: 2 * size])
    _tanhs(g[2 * size : 3 * size])
    _sigmoids(g[3 * size :])
    for k in range(size):
        after[k] = g[size + k] * before[k] + g[k] * g[2 * size + k]
    if mode:
        for k in range(size):
            if mode == 2 and np.isnan(after[k]):
                after[k] = clip[0]
            elif after[k] < clip[0] or after[k] > clip[1]:
                after[k] = clip[0] if after[k] < clip[0] else clip[1]
    for k in range(size):
        h[k] = g[3 * size + k] * tanh(after[k])


@threads.jit(parallel=True)
def lstm_forward(
    part: Any, gates: Any, wh: Any, turned: bool, whr: Any, hs: Any, cs: Any, y: Any,
    at: int, back: bool, lengths: Any, clip: Any, mode: int,
) -> None:  # fmt: skip
    """Walk an LSTM; whr (P, H) projects the state, and is (0, 0) where nothing does."""
    steps, batch, _ = gates.shape
    size, out = cs.shape[2], hs.shape[2]
    for piece in dealt(_count(batch), part):
        low, high, rows = _share(batch, piece)
        full = np.empty((rows, size), gates.dtype)
        for step in range(steps):
            t, now, then = _at(step, steps, back)
            row = t * batch + low
            _project(hs, now * batch + low, wh, turned, gates, row, rows, 1.0)
            for n in range(low, high):
                _lstm_cells(
                    gates[t, n], cs[now, n], cs[then, n], full[n - low], clip, mode
                )
            if whr.size:
                _project(full, 0, whr, False, hs, then * batch + low, rows, 0.0)
            else:
                copy(full.reshape(-1), hs[then, low:high].reshape(-1))
            for n in range(low, high):
                counts = t < lengths[n]
                _hand_on(counts, hs[now, n], hs[then, n], y[t, n, at : at + out])
                if not counts:
                    copy(cs[now, n], cs[then, n])


@threads.jit(inner=True)
def _lstm_cells_gradient(
    g: Any, before: Any, after: Any, dh: Any, dc: Any, dg: Any, clip: Any, mode: int
) -> None:
    """One sample: dg from dh and dc; dc becomes the gradient of the cell before."""
    size = before.size
    one = g.dtype.type(1)
    for k in range(size):
        i, f, n, o = g[k], g[size + k], g[2 * size + k], g[3 * size + k]
        bent = tanh(after[k])
        through = dc[k] + dh[k] * o * (one - bent * bent)
        if mode:
            c = f * before[k] + i * n
            if not (c >= clip[0] and c <= clip[1]):  # a clipped cell does not move
                through *= 0
        dg[k] = through * n * i * (one - i)
        dg[size + k] = through * before[k] * f * (one - f)
        dg[2 * size + k] = through * i * (one - n * n)
        dg[3 * size + k] = dh[k] * bent * o * (one - o)
        dc[k] = through * f


@threads.jit(parallel=True)
def lstm_backward(
    part: Any, gates: Any, wh: Any, whr: Any, cs: Any, dy: Any, at: int, back: bool,
    lengths: Any, clip: Any, mode: int, dh: Any, dc: Any, dgates: Any, dproject: Any,
) -> None:  # fmt: skip
    """Walk an LSTM from its end; dproject (T, N, P): gradients of projected states."""
    steps, batch, _ = gates.shape
    size, out = cs.shape[2], dh.shape[1]
    for piece in dealt(_count(batch), part):
        low, high, rows = _share(batch, piece)
        full = np.empty((rows, size), gates.dtype)
        for step in range(steps):
            t, now, then = _at(steps - 1 - step, steps, back)
            for n in range(low, high):
                if t < lengths[n]:
                    _add(dy[t, n, at : at + out], dh[n])
            if whr.size:
                copy(dh[low:high].reshape(-1), dproject[t, low:high].reshape(-1))
                _project_back(dh, low, whr, full, 0, rows, 0.0)
            else:
                copy(dh[low:high].reshape(-1), full.reshape(-1))
            for n in range(low, high):
                if t < lengths[n]:
                    _lstm_cells_gradient(
                        gates[t, n], cs[now, n], cs[then, n], full[n - low], dc[n],
                        dgates[t, n], clip, mode,
                    )  # fmt: skip
                    dh[n] = 0
                else:  # what arrives at the state passes by
                    dgates[t, n] = 0
                    if whr.size:
                        dproject[t, n] = 0
            _project_back(dgates, t * batch + low, wh, dh, low, rows, 1.0)


@threads.jit(parallel=True)
def lstm_states(part: Any, gates: Any, cs: Any, back: bool, out: Any) -> None:
    """The states before they were projected, from the gates and cells: o · tanh(c)."""
    steps, batch, size = out.shape
    first = 0 if back else 1
    for t in dealt(steps, part):
        for n in range(batch):
            for k in range(size):
                out[t, n, k] = gates[t, n, 3 * size + k] * tanh(cs[t + first, n, k])


# -- GRU -------------------------------------------------------------------------------


@threads.jit(inner=True)
def _gru_cells(g: Any, own: Any, before: Any, after: Any, inner: Any) -> None:
    """One sample: open its gates, fill the next state.

    g (3·H): reset, update, candidate. own (3·H): what the state contributes to them,
    of which the candidate's part is kept in `inner` for the gradient.
    """
    size = before.size
    one = g.dtype.type(1)
    for k in range(2 * size):
        g[k] = one / (one + exp(-(g[k] + own[k])))
    for k in range(size):
        inner[k] = own[2 * size + k]
        g[2 * size + k] = tanh(g[2 * size + k] + g[k] * inner[k])
    for k in range(size):
        z = g[size + k]
        after[k] = (one - z) * g[2 * size + k] + z * before[k]


@threads.jit(parallel=True)
def gru_forward(
    part: Any, gates: Any, wh: Any, turned: bool, bh: Any, hs: Any, inner: Any, y: Any,
    at: int, back: bool, lengths: Any,
) -> None:  # fmt: skip
    """Walk a GRU; inner (T, N, H): the state's part of the candidate, before reset."""
    steps, batch, wide = gates.shape
    size = hs.shape[2]
    for piece in dealt(_count(batch), part):
        low, high, rows = _share(batch, piece)
        own = np.empty((rows, wide), gates.dtype)
        for step in range(steps):
            t, now, then = _at(step, steps, back)
            for n in range(rows):
                copy(bh, own[n])
            _project(hs, now * batch + low, wh, turned, own, 0, rows, 1.0)
            for n in range(low, high):
                _gru_cells(
                    gates[t, n], own[n - low], hs[now, n], hs[then, n], inner[t, n]
                )
                counts = t < lengths[n]
                _hand_on(counts, hs[now, n], hs[then, n], y[t, n, at : at + size])


@threads.jit(inner=True)
def _gru_cells_gradient(
    g: Any, inner: Any, before: Any, dh: Any, dg: Any, down: Any
) -> None:
    """One sample: dg and, for what the state contributed, down; dh skips the step."""
    size = before.size
    one = g.dtype.type(1)
    for k in range(size):
        r, z, n = g[k], g[size + k], g[2 * size + k]
        candidate = dh[k] * (one - z) * (one - n * n)
        dg[k] = candidate * inner[k] * r * (one - r)
        dg[size + k] = dh[k] * (before[k] - n) * z * (one - z)
        dg[2 * size + k] = candidate
        down[k] = dg[k]
        down[size + k] = dg[size + k]
        down[2 * size + k] = candidate * r
        dh[k] *= z


@threads.jit(parallel=True)
def gru_backward(
    part: Any, gates: Any, wh: Any, hs: Any, inner: Any, dy: Any, at: int, back: bool,
    lengths: Any, dh: Any, dgates: Any, downs: Any,
) -> None:  # fmt: skip
    """Walk a GRU from its end; downs: gradients of what the states contributed."""
    steps, batch, _ = gates.shape
    size = hs.shape[2]
    for piece in dealt(_count(batch), part):
        low, high, rows = _share(batch, piece)
        for step in range(steps):
            t, now, _ = _at(steps - 1 - step, steps, back)
            for n in range(low, high):
                if t < lengths[n]:
                    _add(dy[t, n, at : at + size], dh[n])
                    _gru_cells_gradient(
                        gates[t, n], inner[t, n], hs[now, n], dh[n],
                        dgates[t, n], downs[t, n],
                    )  # fmt: skip
                else:
                    dgates[t, n] = 0
                    downs[t, n] = 0
            _project_back(downs, t * batch + low, wh, dh, low, rows, 1.0)


# -- a single gate ---------------------------------------------------------------------


@threads.jit(parallel=True)
def plain_forward(
    part: Any, gates: Any, wh: Any, turned: bool, hs: Any, y: Any, at: int, back: bool,
    lengths: Any, relu: bool,
) -> None:  # fmt: skip
    """Walk a network whose state is relu or tanh of a sum."""
    steps, batch, size = gates.shape
    zero = gates.dtype.type(0)
    for piece in dealt(_count(batch), part):
        low, high, rows = _share(batch, piece)
        for step in range(steps):
            t, now, then = _at(step, steps, back)
            row = t * batch + low
            _project(hs, now * batch + low, wh, turned, gates, row, rows, 1.0)
            for n in range(low, high):
                g = gates[t, n]
                for k in range(size):
                    g[k] = max(g[k], zero) if relu else tanh(g[k])
                copy(g, hs[then, n])
                counts = t < lengths[n]
                _hand_on(counts, hs[now, n], hs[then, n], y[t, n, at : at + size])


@threads.jit(parallel=True)
def plain_backward(
    part: Any, gates: Any, wh: Any, dy: Any, at: int, back: bool, lengths: Any,
    relu: bool, dh: Any, dgates: Any,
) -> None:  # fmt: skip
    """Walk such a network from its end."""
    steps, batch, size = gates.shape
    one, zero = gates.dtype.type(1), gates.dtype.type(0)
    for piece in dealt(_count(batch), part):
        low, high, rows = _share(batch, piece)
        for step in range(steps):
            t, _, _ = _at(steps - 1 - step, steps, back)
            for n in range(low, high):
                if t >= lengths[n]:
                    dgates[t, n] = 0
                    continue
                for k in range(size):
                    g = gates[t, n, k]
                    d = dh[n, k] + dy[t, n, at + k]
                    slope = (one if g > 0 else zero) if relu else one - g * g
                    dgates[t, n, k] = d * slope
                    dh[n, k] = zero
            _project_back(dgates, t * batch + low, wh, dh, low, rows, 1.0)
