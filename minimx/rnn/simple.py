"""One step of a plain recurrent network, of an LSTM, of a GRU."""

from __future__ import annotations

from typing import Any

from minimx import symbol
from minimx.initializer import LSTMBias
from minimx.rnn.cell import BaseRNNCell, RNNParams
from minimx.symbol import Symbol


class _Cell(BaseRNNCell):
    """A cell of one linear map of its input, and one of its state."""

    _states = 1
    _channels = 1  # the axis of the gates
    _activation: Any = "tanh"

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None) -> None:
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        for group in ("i2h", "h2h"):
            for kind in ("weight", "bias"):
                name = f"{group}_{kind}"
                self._params.get(name, **self._variable_settings(name))

    def _variable_settings(self, name: str) -> dict[str, Any]:
        """The keyword arguments of `symbol.var` for a parameter, such as `init`."""
        return {}

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """(N, num_hidden); of an LSTM the last output, and what is kept."""
        state = {"shape": (0, self._num_hidden), "__layout__": "NC"}
        return [dict(state) for _ in range(self._states)]

    def _both(self, name: str, inputs: Symbol, state: Symbol) -> tuple[Symbol, Symbol]:
        units = self._num_hidden * len(self._gate_names)
        return (
            self._fully(name, "i2h", inputs, units),
            self._fully(name, "h2h", state, units),
        )


class RNNCell(_Cell):
    """tanh(W x + b + R h + c), or another activation of that."""

    def __init__(
        self,
        num_hidden: int,
        activation: Any = "tanh",
        prefix: str = "rnn_",
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    @property
    def _gate_names(self) -> tuple[str, ...]:
        return ("",)

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        name = self._name_of_step()
        i2h, h2h = self._both(name, inputs, states[0])
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_Cell):
    """Long short-term memory: input, forget and output gates around a kept state.

    forget_bias: what the bias of the forget gate begins with.
    """

    _states = 2

    def __init__(
        self,
        num_hidden: int,
        prefix: str = "lstm_",
        params: RNNParams | None = None,
        forget_bias: float = 1.0,
    ) -> None:
        self._forget_bias = forget_bias
        super().__init__(num_hidden, prefix, params)

    def _variable_settings(self, name: str) -> dict[str, Any]:
        start = LSTMBias(forget_bias=self._forget_bias)
        return {"init": start} if name == "i2h_bias" else {}

    @property
    def _gate_names(self) -> tuple[str, ...]:
        return ("_i", "_f", "_c", "_o")

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        name = self._name_of_step()
        i2h, h2h = self._both(name, inputs, states[0])
        parts = symbol.SliceChannel(
            i2h + h2h, num_outputs=4, axis=self._channels, name=f"{name}slice"
        )
        kinds = ("sigmoid", "sigmoid", self._activation, "sigmoid")
        gate = {
            letter: self._get_activation(part, kind, name=name + letter)
            for letter, part, kind in zip("ifco", parts, kinds, strict=True)
        }
        kept = symbol.elemwise_add(
            gate["f"] * states[1], gate["i"] * gate["c"], name=f"{name}state"
        )
        shown = self._get_activation(kept, self._activation)
        output = symbol.elemwise_mul(gate["o"], shown, name=f"{name}out")
        return output, [output, kept]


class GRUCell(_Cell):
    """Gated recurrent unit: a reset and an update gate.

    The reset gate comes after the linear map of the state, as in cuDNN.
    """

    def __init__(
        self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self) -> tuple[str, ...]:
        return ("_r", "_z", "_o")

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        name = self._name_of_step()
        before = states[0]
        i2h, h2h = (
            self._thirds(half, f"{name}_{word}_slice")
            for word, half in zip(
                ("i2h", "h2h"), self._both(name, inputs, before), strict=True
            )
        )
        reset, update = (
            symbol.Activation(
                i2h[k] + h2h[k], act_type="sigmoid", name=f"{name}_{letter}_act"
            )
            for k, letter in enumerate("rz")
        )
        proposed = self._get_activation(
            i2h[2] + reset * h2h[2], self._activation, name=f"{name}_h_act"
        )
        output = symbol.elemwise_add(
            (1.0 - update) * proposed, update * before, name=f"{name}out"
        )
        return output, [output]

    def _thirds(self, half: Symbol, name: str) -> list[Symbol]:
        axis = self._channels
        return list(symbol.SliceChannel(half, num_outputs=3, axis=axis, name=name))
