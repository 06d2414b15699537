"""Recurrent networks of several layers: what the layers hand on, and what they keep.

    Net(...)                    a network's sizes, and where its numbers lie
    forward(net, ...)           outputs and last states; fills the notes
    backward(net, ...)          gradients, from the notes

Everything that a gradient will ask for is written into one flat array, the notes. A
network that is only asked for its outputs lets its layers share one place there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from minimx.core.kernels.cpu.blas import one_thread
from minimx.core.kernels.cpu.matmul import product
from minimx.core.shapes import Shape
from minimx.operators.kernels.layers import recurrent

#: From so many steps on it pays to transpose the weights once, for several samples.
LONG = 4
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


@dataclass(frozen=True)
class Net:
    """The sizes of a recurrent network and of its batch."""

    mode: str
    layers: int
    directions: int
    steps: int
    batch: int
    features: int  # of the inputs
    size: int  # H, of the cells
    projected: int  # P, of the states, or 0: the states are as large as the cells
    drop: float
    keep: bool  # whether notes are kept for a gradient
    clip: tuple[float, float] | None = None
    clip_nan: bool = False

    @property
    def state(self) -> int:
        """The size of a state."""
        return self.projected or self.size

    @property
    def wide(self) -> int:
        """The gates of one cell, all together."""
        return GATES[self.mode] * self.size

    def inputs(self, layer: int) -> int:
        """How many features a layer is given."""
        return self.directions * self.state if layer else self.features

    def weights(self) -> Iterator[tuple[str, int, Shape]]:
        """(name, which of the layers · directions, shape), in the order of packing."""
        both = range(self.layers * self.directions)
        for k in both:
            yield "wx", k, (self.wide, self.inputs(k // self.directions))
            yield "wh", k, (self.wide, self.state)
            if self.projected:
                yield "whr", k, (self.projected, self.size)
        for k in both:
            yield "bx", k, (self.wide,)
            yield "bh", k, (self.wide,)

    def parameters(self) -> int:
        """The number of all weights and biases."""
        return sum(prod(shape) for _, _, shape in self.weights())

    def notes(self) -> Iterator[tuple[str, int, Shape]]:
        """(name, which, shape) of what is noted while the network runs."""
        t, n, h = self.steps, self.batch, self.size
        for k in range(self.layers * self.directions if self.keep else 1):
            yield "gates", k, (t, n, self.wide)
            yield "hs", k, (t + 1, n, self.state)
            if self.mode == "lstm":
                yield "cs", k, (t + 1, n, h)
            if self.mode == "gru":
                yield "inner", k, (t, n, h)
        between = self.layers - 1
        for k in range(between if self.keep else min(between, 2)):
            yield "x", k, (t, n, self.inputs(1))
            if self.drop:
                yield "mask", k, (t, n, self.inputs(1))

    def noted(self) -> int:
        """The number of elements that the notes take."""
        return sum(prod(shape) for _, _, shape in self.notes())

    def limits(self, dtype: Any) -> tuple[Any, int]:
        """The bounds of the cells, and how they are followed; see `recurrent`."""
        bounds = np.array(self.clip or (0, 0), dtype)
        return bounds, 0 if self.clip is None else 1 + self.clip_nan


class Carved:
    """A flat array, cut into named pieces."""

    def __init__(self, flat: Any, pieces: Iterator[tuple[str, int, Shape]]) -> None:
        self._found: dict[tuple[str, int], Any] = {}
        at = 0
        for name, which, shape in pieces:
            end = at + prod(shape)
            self._found[name, which] = flat[at:end].reshape(shape)
            at = end

    def __call__(self, name: str, which: int) -> Any:
        """A piece; (0, 0) elements where there is none."""
        return self._found[name, which]

    def get(self, name: str, which: int, dtype: Any) -> Any:
        """A piece, or an array without elements."""
        return self._found.get((name, which), np.empty((0, 0), dtype))


def forward(
    net: Net, x: Any, flat: Any, states: tuple[Any, ...], lengths: Any,
    out: Any, lasts: tuple[Any, ...], notes: Any, rng: Any = None,
) -> None:  # fmt: skip
    """Fill out (T, N, D·P), the last states and the notes.

    x (T, N, I); flat: the packed parameters; states: (h,) or (h, c), each
    (layers · directions, N, …); lasts: as states, or nothing; lengths (N,)
    """
    weights, noted = Carved(flat, net.weights()), Carved(notes, net.notes())
    for layer in range(net.layers):
        last = layer == net.layers - 1
        slot = layer if net.keep else layer % 2
        y = out if last else noted("x", slot)
        for direction in range(net.directions):
            k = layer * net.directions + direction
            own = _Part(net, weights, noted, k)
            start, end = (net.steps, 0) if own.back else (0, net.steps)
            for state, name in zip(states, ("hs", "cs"), strict=False):
                own.noted(name, own.note)[start] = state[k]
            with one_thread:
                own.forward(x, y, lengths)
            for place, name in zip(lasts, ("hs", "cs"), strict=False):
                place[k] = own.noted(name, own.note)[end]
        if not last and net.drop and rng is not None:
            mask = noted("mask", slot)
            kept = rng.random(mask.shape, np.float32) >= net.drop
            np.multiply(kept, mask.dtype.type(1 / (1 - net.drop)), out=mask)
            y *= mask
        x = y


class _Part:
    """One direction of one layer, with its weights and notes."""

    def __init__(self, net: Net, weights: Carved, noted: Carved, k: int) -> None:
        self.net, self.noted = net, noted
        self.note = k if net.keep else 0
        self.back = k % net.directions == 1
        self.at = net.state if self.back else 0
        self.wx, self.wh = weights("wx", k), weights("wh", k)
        self.bx, self.bh = weights("bx", k), weights("bh", k)
        self.whr = weights.get("whr", k, self.wx.dtype)
        self.gates = noted("gates", self.note)

    def forward(self, x: Any, y: Any, lengths: Any) -> None:
        """Contributions of the inputs at once, then step by step."""
        net, gates, note = self.net, self.gates, self.note
        rows = net.steps * net.batch
        product(x.reshape(rows, -1), self.wx, gates.reshape(rows, -1), tb=True)
        gru = net.mode == "gru"
        gates += self.bx if gru else self.bx + self.bh
        hs, place = self.noted("hs", note), (y, self.at, self.back, lengths)
        turned = net.batch > 1 and net.steps >= LONG
        wh = np.ascontiguousarray(self.wh.T) if turned else self.wh
        if gru:
            inner = self.noted("inner", note)
            recurrent.gru_forward(gates, wh, turned, self.bh, hs, inner, *place)
        elif net.mode == "lstm":
            cs = self.noted("cs", note)
            limited = (*place, *net.limits(gates.dtype))
            recurrent.lstm_forward(gates, wh, turned, self.whr, hs, cs, *limited)
        else:
            relu = net.mode == "rnn_relu"
            recurrent.plain_forward(gates, wh, turned, hs, *place, relu)

    def backward(self, dy: Any, lengths: Any, dh: Any, dc: Any, into: Carved) -> Any:
        """Gradients of the weights but wx, of the states (in place), of the gates."""
        net, note, k = self.net, self.note, self.note
        hs, gates = self.noted("hs", note), self.gates
        dgates = np.empty_like(gates)
        downs = dgates
        place = (dy, self.at, self.back, lengths)
        if net.mode == "gru":
            downs, inner = np.empty_like(gates), self.noted("inner", note)
            recurrent.gru_backward(gates, self.wh, hs, inner, *place, dh, dgates, downs)
        elif net.mode == "lstm":
            projects = np.empty((*gates.shape[:2], net.projected), gates.dtype)
            bounds = net.limits(gates.dtype)
            recurrent.lstm_backward(
                gates, self.wh, self.whr, self.noted("cs", note), *place, *bounds,
                dh, dc, dgates, projects,
            )  # fmt: skip
            if net.projected:
                self._projection(projects, into("whr", k))
        else:
            relu = net.mode == "rnn_relu"
            recurrent.plain_backward(gates, self.wh, *place, relu, dh, dgates)
        before = hs[1:] if self.back else hs[:-1]
        wide = (net.steps * net.batch, net.wide)
        before = before.reshape(wide[0], -1)
        product(downs.reshape(wide), before, into("wh", k), ta=True)
        dgates.reshape(wide).sum(0, out=into("bx", k))
        downs.reshape(wide).sum(0, out=into("bh", k))
        return dgates.reshape(wide)

    def _projection(self, projects: Any, dwhr: Any) -> None:
        net = self.net
        full = np.empty((net.steps, net.batch, net.size), projects.dtype)
        recurrent.lstm_states(self.gates, self.noted("cs", self.note), self.back, full)
        rows = net.steps * net.batch
        product(projects.reshape(rows, -1), full.reshape(rows, -1), dwhr, ta=True)


def backward(
    net: Net, x: Any, flat: Any, lengths: Any, notes: Any, dout: Any,
    dlasts: tuple[Any, ...], dx: Any, dflat: Any, dstates: tuple[Any, ...],
) -> None:  # fmt: skip
    """Fill the gradients of x, of the parameters and of the first states.

    dout: the gradient of the outputs; dlasts: those of the last states, or nothing
    """
    weights, noted = Carved(flat, net.weights()), Carved(notes, net.notes())
    into = Carved(dflat, net.weights())
    for place, given in zip(dstates, dlasts, strict=False):
        np.copyto(place, given)
    for place in dstates[len(dlasts) :]:
        place[...] = 0
    dy = dout
    for layer in reversed(range(net.layers)):
        given = noted("x", layer - 1) if layer else x
        rows = given.reshape(net.steps * net.batch, -1)
        dgiven = (np.empty_like(given) if layer else dx).reshape(rows.shape)
        for direction in range(net.directions):
            k = layer * net.directions + direction
            own = _Part(net, weights, noted, k)
            dc = dstates[1][k] if len(dstates) > 1 else dstates[0][k]
            with one_thread:
                dgates = own.backward(dy, lengths, dstates[0][k], dc, into)
            product(dgates, rows, into("wx", k), ta=True)
            if direction:
                second = np.empty_like(dgiven)
                product(dgates, own.wx, second)
                dgiven += second
            else:
                product(dgates, own.wx, dgiven)
        if layer and net.drop:
            dgiven *= noted("mask", layer - 1).reshape(rows.shape)
        dy = dgiven.reshape(net.steps, net.batch, -1)
