"""Recurrent networks on CUDA: the CPU's notes and sizes, walked step by step.

    forward(net, ...)           outputs and last states; fills the notes
    backward(net, ...)          gradients, from the notes

What the inputs contribute to the gates of all steps is one product. A step is then a
product with the state, and a kernel in which a thread owns one unit of one sample: it
opens that unit's gates and hands its state on. `cells` has those kernels.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from minimx.cuda.kernels import scratch
from minimx.cuda.kernels.core import random, reduce
from minimx.cuda.kernels.core.matmul import product
from minimx.cuda.kernels.launching import duplicate, over
from minimx.cuda.kernels.layers import cells
from minimx.cuda.kernels.pointwise import filler
from minimx.operators.kernels.layers.rnn import Carved, Net


def forward(
    net: Net, x: Any, flat: Any, states: tuple[Any, ...], lengths: Any,
    out: Any, lasts: tuple[Any, ...], notes: Any, rng: Any = None,
) -> None:  # fmt: skip
    """Fill out (T, N, D·P), the last states and the notes.

    x (T, N, I); flat: the packed parameters; states: (h,) or (h, c), each
    (layers · directions, N, …); lasts: as states, or nothing; lengths (N,) or None
    """
    weights, noted = Carved(flat, net.weights()), Carved(notes, net.notes())
    for layer in range(net.layers):
        last = layer == net.layers - 1
        slot = layer if net.keep else layer % 2
        y = out if last else noted("x", slot)
        for direction in range(net.directions):
            k = layer * net.directions + direction
            own = _Part(net, weights, noted, k, lengths)
            first, end = (net.steps, 0) if own.back else (0, net.steps)
            for state, buffer in zip(states, own.states, strict=False):
                duplicate(state[k], buffer[first])
            own.forward(x, y)
            for place, buffer in zip(lasts, own.states, strict=False):
                duplicate(buffer[end], place[k])
        if not last and net.drop and rng is not None:
            _drop(net, y, noted("mask", slot), rng)
        x = y


def _drop(net: Net, y: Any, mask: Any, rng: Any) -> None:
    random.uniform(0.0, 1.0)(mask, rng)
    real = mask.dtype.type
    numbers = real(net.drop), real(1 / (1 - net.drop)), real(0)
    over(cells.dropped, mask.size, (y, mask), *numbers)


class _Part:
    """One direction of one layer, with its weights and notes."""

    def __init__(
        self, net: Net, weights: Carved, noted: Carved, k: int, lengths: Any
    ) -> None:
        self.net, self.lengths = net, lengths
        self.note = note = k if net.keep else 0
        self.back = k % net.directions == 1
        self.at = net.state if self.back else 0
        self.wx, self.wh = weights("wx", k), weights("wh", k)
        self.bx, self.bh = weights("bx", k), weights("bh", k)
        self.whr = weights("whr", k) if net.projected else None
        self.gates, self.hs = noted("gates", note), noted("hs", note)
        self.inner = noted("inner", note) if net.mode == "gru" else None
        self.states = (self.hs,)
        if net.mode == "lstm":
            self.states = self.hs, noted("cs", note)  # type: ignore[assignment]
        self.one = self.gates.dtype.type(1)

    def steps(self, backward: bool) -> Any:
        """(t, where the states before and after it are), in the order of the steps."""
        for step in range(self.net.steps):
            if self.back == backward:
                yield step, step + self.back, step + (not self.back)
            else:
                t = self.net.steps - 1 - step
                yield t, t + self.back, t + (not self.back)

    def counted(self, t: int) -> tuple[Any, ...]:
        """What tells a kernel whether a sample still counts at a time."""
        limited = self.lengths is not None
        return (self.lengths if limited else self.gates.reshape(-1)), t, limited

    def limits(self) -> tuple[Any, ...]:
        """The bounds of the cells, and how they are followed."""
        bounds, mode = self.net.limits(self.gates.dtype)
        return bounds[0], bounds[1], mode

    def forward(self, x: Any, y: Any) -> None:
        """Contributions of the inputs at once, then step by step."""
        net, gates, real = self.net, self.gates, self.gates.dtype
        rows, n = net.steps * net.batch, gates.size
        product(x.reshape(rows, -1), self.wx, gates.reshape(rows, -1), tb=True)
        gru = net.mode == "gru"
        over(cells.biased, n, (gates, self.bx, self.bh), net.wide, not gru)
        widths = net.wide, net.size, net.state
        buffers = [((net.batch, width), real) for width in widths]
        with scratch.allocated(*buffers) as spare:
            for t, now, then in self.steps(backward=False):
                product(self.hs[now], self.wh, spare[0], tb=True)
                self._forward_step(t, now, then, y, spare)

    def _forward_step(self, t: int, now: int, then: int, y: Any, spare: Any) -> None:
        net, hs, (own, full, projected) = self.net, self.hs, spare
        arrays = [self.gates[t], own, hs[now], hs[then], y[t]]
        n = net.batch * net.size
        settings = y.shape[2], self.at, *self.counted(t)
        if net.mode == "gru":
            inner: Any = self.inner
            arrays += [inner[t], self.bh]
            over(cells.gru, n, arrays, net.size, *settings, self.one)
        elif net.mode == "lstm":
            cs: Any = self.states[-1]
            rest = net.projected > 0, *self.limits(), self.one
            more = [*arrays, cs[now], cs[then], full]
            over(cells.lstm, n, more, net.size, *settings, *rest)
            if self.whr is not None:
                product(full, self.whr, projected, tb=True)
                arrays, n = [projected, *arrays[2:]], net.batch * net.projected
                over(cells.handed, n, arrays, net.projected, *settings)
        else:
            relu = net.mode == "rnn_relu"
            over(cells.plain, n, arrays, net.size, *settings, relu, self.one)

    def backward(self, dy: Any, dh: Any, dc: Any, into: Carved, buffers: Any) -> None:
        """Gradients of the weights but wx, of the states (in place), of the gates.

        buffers: dgates, downs (T, N, wide), and small ones for a step
        """
        net, k = self.net, self.note
        dgates, downs, projects, full, through = buffers
        downs = downs if net.mode == "gru" else dgates
        for t, now, then in self.steps(backward=True):
            counted, n = self.counted(t), net.batch * net.state
            settings = net.state, dy.shape[2], self.at, *counted
            over(cells.arrived, n, (dh, dy[t]), *settings)
            seen = dh
            if self.whr is not None:
                over(cells.kept, n, (dh, projects[t]), net.state, *counted)
                product(dh, self.whr, full)
                seen = full
            self._backward_step(t, now, then, seen, dc, (dgates[t], downs[t]))
            product(downs[t], self.wh, through)
            stays = net.mode == "gru"
            over(cells.passed, n, (dh, through), net.state, stays, *counted)
        before = self.hs[1:] if self.back else self.hs[:-1]
        rows, wide = net.steps * net.batch, net.wide
        product(
            downs.reshape(rows, wide), before.reshape(rows, -1), into("wh", k), True
        )
        total = reduce.reduction("sum", (rows, wide), (0,), self.gates.dtype)
        total(dgates.reshape(rows, wide), into("bx", k))  # type: ignore[misc]
        total(downs.reshape(rows, wide), into("bh", k))  # type: ignore[misc]
        if self.whr is not None:
            self._projection(projects, into("whr", k))

    def _backward_step(
        self, t: int, now: int, then: int, dh: Any, dc: Any, heads: Any
    ) -> None:
        net, n = self.net, self.net.batch * self.net.size
        arrays = self.gates[t], dh, heads[0]
        rest = net.size, *self.counted(t), self.one
        if net.mode == "gru":
            inner: Any = self.inner
            more = heads[1], inner[t], self.hs[now]
            over(cells.gru_gradient, n, (*arrays, *more), *rest)
        elif net.mode == "lstm":
            cs: Any = self.states[-1]
            more = cs[now], cs[then], dc
            over(cells.lstm_gradient, n, (*arrays, *more), *rest, *self.limits())
        else:
            relu = net.mode == "rnn_relu"
            over(cells.plain_gradient, n, arrays, *rest, relu)

    def _projection(self, projects: Any, dwhr: Any) -> None:
        net, cs = self.net, self.states[-1]
        rows, n = net.steps * net.batch, net.steps * net.batch * net.size
        after = cs[: net.steps] if self.back else cs[1:]
        with scratch.allocated(((rows, net.size), self.gates.dtype)) as (states,):
            over(cells.shown, n, (self.gates, after, states), net.size)
            product(projects.reshape(rows, -1), states, dwhr, True)


def backward(
    net: Net, x: Any, flat: Any, lengths: Any, notes: Any, dout: Any,
    dlasts: tuple[Any, ...], dx: Any, dflat: Any, dstates: tuple[Any, ...],
) -> None:  # fmt: skip
    """Fill the gradients of x, of the parameters and of the first states.

    dout: the gradient of the outputs; dlasts: those of the last states, or nothing
    """
    weights, noted = Carved(flat, net.weights()), Carved(notes, net.notes())
    into, real = Carved(dflat, net.weights()), notes.dtype
    for place, given in zip(dstates, dlasts, strict=False):
        duplicate(given, place)
    for place in dstates[len(dlasts) :]:
        filler(real.type(0))(place)
    rows, between = net.steps * net.batch, (net.steps, net.batch, net.inputs(1))
    with ExitStack() as stack:
        many, wide = ((net.steps, net.batch, net.wide), real), net.inputs(1)
        sizes = (net.steps, net.batch, net.state), (net.batch, net.size)
        small = [(shape, real) for shape in (*sizes, (net.batch, net.state))]
        buffers = stack.enter_context(scratch.allocated(many, many, *small))
        layers = stack.enter_context(
            scratch.allocated((between, real), (between, real))
        )
        widest = max(wide, net.features)
        (second,) = stack.enter_context(scratch.allocated((rows * widest, real)))
        dy = dout
        for layer in reversed(range(net.layers)):
            given = (noted("x", layer - 1) if layer else x).reshape(rows, -1)
            dgiven = (layers[layer % 2] if layer else dx).reshape(rows, -1)
            for direction in range(net.directions):
                k = layer * net.directions + direction
                own = _Part(net, weights, noted, k, lengths)
                dc = dstates[-1][k]
                own.backward(dy, dstates[0][k], dc, into, buffers)
                dgates = buffers[0].reshape(rows, -1)
                product(dgates, given, into("wx", k), True)
                n = dgiven.size
                found = second[:n].reshape(*dgiven.shape) if direction else dgiven
                product(dgates, own.wx, found)
                if direction:
                    over(cells.summed, n, (dgiven, found))
            if layer and net.drop:
                masks = noted("mask", layer - 1)
                over(cells.masked, dgiven.size, (dgiven, masks))
            dy = dgiven.reshape(net.steps, net.batch, -1)
