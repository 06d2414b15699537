"""All layers and steps as one operator, `mx.sym.RNN`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from minimx import symbol
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import array
from minimx.core.errors import ArgumentError
from minimx.initializer import FusedRNN
from minimx.rnn.cell import Arrays, BaseRNNCell, RNNParams, Unrolling, sequence
from minimx.rnn.simple import GRUCell, LSTMCell, RNNCell
from minimx.rnn.stacks import BidirectionalCell, DropoutCell, SequentialRNNCell
from minimx.symbol import Symbol

_GATES = {
    "rnn_relu": ("",),
    "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"),
    "gru": ("_r", "_z", "_o"),
}


class FusedRNNCell(BaseRNNCell):
    """Several layers, unrolled at once by the fused operator.

    mode: rnn_relu, rnn_tanh, lstm or gru. get_next_state: give the last states as well.
    `unfuse()` gives the same network as a stack of simple cells.
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        if mode not in _GATES:
            raise ArgumentError(f"FusedRNNCell: mode={mode!r}; choose {list(_GATES)}.")
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout = bidirectional, dropout
        self._get_next_state = get_next_state
        self._directions = ("l", "r") if bidirectional else ("l",)
        start = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self._params.get("parameters", init=start)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """(layers · directions, N, num_hidden), twice for an LSTM."""
        layers = self._num_layers * len(self._directions)
        shape = (layers, 0, self._num_hidden)
        count = 2 if self._mode == "lstm" else 1
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(count)]

    @property
    def _gate_names(self) -> tuple[str, ...]:
        return _GATES[self._mode]

    # -- weights ----------------------------------------------------------------------

    def _parts(self, inputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Names and shapes of what lies one after another in `parameters`."""
        h, both = self._num_hidden, len(self._directions)
        sides = [
            (k, side) for k in range(self._num_layers) for side in self._directions
        ]
        for layer, side in sides:
            width = {"i2h": inputs if layer == 0 else both * h, "h2h": h}
            for group, columns in width.items():
                for gate in self._gate_names:
                    name = f"{self._prefix}{side}{layer}_{group}{gate}_weight"
                    yield name, (h, columns)
        for layer, side in sides:
            for group in ("i2h", "h2h"):
                for gate in self._gate_names:
                    yield f"{self._prefix}{side}{layer}_{group}{gate}_bias", (h,)

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Arrays by name with those of each gate in the place of `parameters`."""
        args = dict(args)
        whole = args.pop(self._parameter.name or "")
        values = whole.asnumpy()
        start = 0
        for name, shape in self._parts(self._inputs_of(whole.size)):
            size = int(np.prod(shape))
            part = values[start : start + size].reshape(shape)
            args[name] = array(part, dtype=whole.dtype)
            start += size
        return args

    def _inputs_of(self, size: int) -> int:
        """How many numbers go in at each step, from how many parameters there are."""
        h, both = self._num_hidden, len(self._directions)
        above = (self._num_layers - 1) * (h + both * h + 2)
        return size // both // h // len(self._gate_names) - above - h - 2

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """The opposite of `unpack_weights`."""
        args = dict(args)
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        parts = [args.pop(name) for name, _ in self._parts(first.shape[1])]
        flat = np.concatenate([part.asnumpy().reshape(-1) for part in parts])
        args[self._parameter.name or ""] = array(flat, dtype=first.dtype)
        return args

    # -- steps ------------------------------------------------------------------------

    def _unroll(self, asked: Unrolling) -> tuple[Any, list[Any]]:
        """All steps as one node."""
        length, inputs, begin_state, layout, merge_outputs = asked
        data, axis = sequence(length, inputs, layout, True)
        if axis == 1:
            data = symbol.swapaxes(data, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        names = ("state", "state_cell")[: len(self.state_info)]
        made = symbol.RNN(
            data=data,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            **dict(zip(names, states, strict=True)),
        )
        parts = list(made) if self._get_next_state else [made]
        output = parts[0]
        if axis == 1:
            output = symbol.swapaxes(output, dim1=0, dim2=1)
        merged, _ = sequence(length, output, layout, merge_outputs)
        return merged, parts[1:]

    def unfuse(self) -> SequentialRNNCell:
        """The same network as a stack of simple cells; weights are unpacked for it."""
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            cells = [
                self._simple(f"{self._prefix}{side}{layer}_")
                for side in self._directions
            ]
            if self._bidirectional:
                word = f"{self._prefix}bi_l{layer}_"
                left, right = cells
                stack.add(BidirectionalCell(left, right, output_prefix=word))
            else:
                stack.add(cells[0])
            if self._dropout > 0 and layer != self._num_layers - 1:
                word = f"{self._prefix}_dropout{layer}_"
                stack.add(DropoutCell(self._dropout, prefix=word))
        return stack

    def _simple(self, prefix: str) -> BaseRNNCell:
        makers: dict[str, Callable[[], BaseRNNCell]] = {
            "rnn_relu": lambda: RNNCell(self._num_hidden, "relu", prefix),
            "rnn_tanh": lambda: RNNCell(self._num_hidden, "tanh", prefix),
            "lstm": lambda: LSTMCell(self._num_hidden, prefix),
            "gru": lambda: GRUCell(self._num_hidden, prefix),
        }
        return makers[self._mode]()

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """Refused: a step alone is what simple cells do."""
        raise NotImplementedError(
            "FusedRNNCell runs all steps at once. Call unroll(), or unfuse() for cells."
        )
