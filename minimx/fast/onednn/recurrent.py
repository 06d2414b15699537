"""LSTM layers by oneDNN, in prediction.

    forward = better(net, dtype)      in the place of `rnn.forward`, or None

A layer and direction is one primitive, which takes all its steps. It wants the weights
in a layout of its own: they are copied at each call. A graph that predicts may keep the
copies instead (MXNET_RNN_USE_WEIGHT_CACHE), as long as the graph itself, and without a
look at the weights: those that change go unnoticed.

Training is left to the readable kernels, and so are sequences of several lengths,
projections, bounds of cells and what is too small to win (`FEWEST`, `WORTH`). So is the
GRU: for some lengths version 3.2 of the library divides by zero, which ends the
process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from minimx.core.errors import MXNetError
from minimx.core.kernels.threads import count
from minimx.core.knobs import knobs
from minimx.fast.onednn.library import (
    BIAS,
    DST,
    SCRATCHPAD,
    SRC,
    WEIGHTS,
    Library,
    Owner,
    aligned,
    loaded,
    primitives,
)

if TYPE_CHECKING:
    from minimx.operators.kernels.layers.rnn import Carved, Net

USE, CACHE = "MXNET_USE_ONEDNN_RNN", "MXNET_RNN_USE_WEIGHT_CACHE"
#: With fewer samples, or fewer multiplications, the readable kernels win.
FEWEST, WORTH = 4, 1 << 21
_INFERENCE, _ONWARD, _BACK = 96, 1, 2
#: Arguments: states and cells, before and after; where a description tells a layout.
_STATE, _CELL, _STATE_AFTER, _CELL_AFTER, _WEIGHTS_STATE = 2, 3, 18, 19, 34
_BY_ARGUMENT = 255
_FROM, _TO = 1, 17

Copies = dict[tuple[int, int], Any]


def better(net: Net, dtype: Any, lengthy: bool) -> Any:
    """`rnn.forward` by oneDNN, for such networks as it is good at; else None.

    lengthy: samples have lengths of their own.
    """
    wanted = knobs.get("MXNET_ONEDNN_ENABLED") and knobs.get(USE)
    fits = net.mode == "lstm" and not (net.keep or net.projected or net.clip or lengthy)
    fits = fits and net.batch >= FEWEST and net.steps > 1
    products = net.steps * net.batch * net.wide * (net.features + net.size)
    fits = fits and products >= WORTH
    if not (wanted and fits) or np.dtype(dtype) != np.float32 or loaded() is None:
        return None
    try:
        for layer in range(min(net.layers, 2)):
            for back in range(net.directions):
                _cell(net, layer, back, count())
    except MXNetError:  # it does not know these lengths
        return None
    return forward


def _cell(net: Net, layer: int, back: int, threads: int) -> Cell:
    """The primitive of a layer and direction."""
    dnnl = loaded()
    assert dnnl is not None
    at = net.steps, net.batch, net.inputs(layer), net.size, back
    make = partial(Cell, dnnl, *at, threads)
    found: Cell = primitives.take(("lstm", *at, threads), make)
    return found


def forward(
    net: Net, x: Any, flat: Any, states: tuple[Any, ...], lengths: Any,
    out: Any, lasts: tuple[Any, ...], notes: Any, rng: Any = None,
    copies: Copies | None = None,
) -> None:  # fmt: skip
    """As `rnn.forward`; copies: packed weights to be used and, if missing, added."""
    from minimx.operators.kernels.layers.rnn import Carved

    weights = Carved(flat, net.weights())
    size, threads = net.size, count()
    lasts = lasts or tuple(np.empty_like(state) for state in states)
    for layer in range(net.layers):
        top = layer == net.layers - 1
        y = out if top else np.empty(out.shape, out.dtype)
        for back in range(net.directions):
            k = layer * net.directions + back
            cell = _cell(net, layer, back, threads)
            one = y if net.directions == 1 else np.empty((*y.shape[:2], size), y.dtype)
            packed = None if copies is None else copies.get((k, threads))
            if packed is None:
                packed = cell.packed(weights, k)
            if copies is not None:
                copies[k, threads] = packed
            ends = x, *[s[k] for s in states], one, *[s[k] for s in lasts]
            cell.run(packed, ends)
            if one is not y:
                y[..., back * size : (back + 1) * size] = one
        x = y


class Cell(Owner):
    """All steps of one direction of one layer."""

    def __init__(
        self, dnnl: Library, steps: int, batch: int, features: int, size: int,
        back: int, threads: int,
    ) -> None:  # fmt: skip
        super().__init__(dnnl, threads)
        lengths = {WEIGHTS: features, _WEIGHTS_STATE: size}
        free = [
            self.any_layout((1, 1, n, 4, size), "float32") for n in lengths.values()
        ]
        state = self.ours((1, 1, batch, size), "float32")
        ends = [
            (self.ours((steps, batch, n), "float32"), state, state)
            for n in (features, size)
        ]
        bias = self.ours((1, 1, 4, size), "float32")
        settings = dnnl.engine, _INFERENCE, _BACK if back else _ONWARD
        pd = self.description(
            "lstm_forward", *settings, *ends[0], *free, None, None, bias, *ends[1],
            0, self.attributes(),
        )  # fmt: skip
        names = SRC, _STATE, _CELL, DST, _STATE_AFTER, _CELL_AFTER
        self._ends = dict(zip(names, (*ends[0], *ends[1]), strict=True))
        self._bias, self._scratch = bias, self.scratch(pd)
        self._main = self.primitive(pd)
        # By argument: as we have a weight, (4·H, n), as it is wanted, and the copy.
        self._weights = {}
        for arg, n in lengths.items():
            strides = 4 * size * n, 4 * size * n, 1, size * n, n
            plain = self.ours((1, 1, n, 4, size), "float32", strides)
            wanted = dnnl.layout(pd, _BY_ARGUMENT, arg)
            engines = plain, dnnl.engine, wanted, dnnl.engine
            copy = self.description("reorder", *engines, self.attributes())
            self._weights[arg] = plain, wanted, self.primitive(copy)

    def packed(self, weights: Carved, k: int) -> dict[int, Any]:
        """Copies of the weights in the library's layouts, and the sum of the biases."""
        made = {BIAS: np.add(weights("bx", k), weights("bh", k))}
        named = zip(self._weights.items(), ("wx", "wh"), strict=True)
        for (arg, (plain, wanted, copy)), name in named:
            made[arg] = buffer = aligned(self._dnnl.size(wanted))
            source, target = weights(name, k).ctypes.data, buffer.ctypes.data
            ends = {
                _FROM: self.memory(("plain", arg), plain, source),
                _TO: self.memory(("copy", arg), wanted, target),
            }
            self.execute(copy, ends)
        self.wait()
        return made

    def run(self, packed: dict[int, Any], ends: tuple[Any, ...]) -> None:
        """ends: x, state, cell, then y and the last state and cell; contiguous."""
        layouts = {
            **self._ends,
            **{arg: wanted for arg, (_, wanted, _) in self._weights.items()},
            BIAS: self._bias,
            SCRATCHPAD: self._scratch,
        }
        places = {**dict(zip(self._ends, ends, strict=True)), **packed}
        places[SCRATCHPAD] = aligned(self._dnnl.size(self._scratch))
        memories = {
            arg: self.memory(arg, layout, places[arg].ctypes.data)
            for arg, layout in layouts.items()
        }
        self.execute(self._main, memories)
        self.wait()


#: By step of a graph: the copies that it keeps.
_kept: WeakKeyDictionary[Any, Copies] = WeakKeyDictionary()


def keeping(run: Callable[..., None]) -> Callable[..., None]:
    """The kernel of a network, for graphs: it keeps copies if the knob says so."""

    def for_arrays(arrays: Mapping[int, Any], step: Any) -> Callable[..., None]:
        if not knobs.get(CACHE):
            return run
        return partial(run, copies=_kept.setdefault(step, {}))

    run.for_arrays = for_arrays  # type: ignore[attr-defined]
    return run


knobs.watch(CACHE, lambda name, new, old: _kept.clear())
