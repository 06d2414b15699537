"""Recurrent layers: whole sequences through several layers, in one operator."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import minimx.nd as nd
from minimx import symbol
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, ShapeError
from minimx.gluon.block import HybridBlock
from minimx.gluon.parameter.parameter import Parameter
from minimx.gluon.rnn.modifiers import (
    BidirectionalCell,
    DropoutCell,
    HybridSequentialRNNCell,
)
from minimx.gluon.rnn.rnn_cell import GRUCell, LSTMCell, RNNCell, States, make_states
from minimx.operators.layers.rnn import MODES
from minimx.symbol import Symbol

_NAME = re.compile(r"([lr])(\d+)_(i2h|h2h|h2r)_(weight|bias)\Z")


class _RNNLayer(HybridBlock):
    """What RNN, LSTM and GRU share."""

    def __init__(
        self,
        mode: str,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        dtype: Any,
        *,
        h2r_weight_initializer: Any = None,
        projection_size: int | None = None,
        clip: tuple[float | None, float | None, bool] = (None, None, False),
        use_sequence_length: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise ArgumentError(
                f"{type(self).__name__}: layout={layout!r}: choose 'TNC' (steps first) "
                "or 'NTC' (samples first)."
            )
        self._mode = mode
        self._hidden_size = hidden_size
        self._num_layers = num_layers
        self._layout = layout
        self._dropout = dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = input_size
        self._initializers = {
            "i2h_weight": i2h_weight_initializer,
            "h2h_weight": h2h_weight_initializer,
            "i2h_bias": i2h_bias_initializer,
            "h2h_bias": h2h_bias_initializer,
            "h2r_weight": h2r_weight_initializer,
        }
        self._dtype = dtype
        self._projection_size = projection_size or None
        self._clip = clip
        self._use_sequence_length = use_sequence_length
        self._gates = MODES[mode]
        for name, shape in self._shapes(input_size).items():
            kind = name.split("_", 1)[1]
            parameter = self.params.get(
                name,
                shape=shape,
                init=self._initializers[kind],
                dtype=dtype,
                allow_deferred_init=True,
            )
            setattr(self, name, parameter)

    def _shapes(self, features: int) -> dict[str, tuple[int, ...]]:
        """The shape of every parameter, given the features of the inputs."""
        wide, state = self._gates * self._hidden_size, self._hidden_size
        project = self._projection_size
        found: dict[str, tuple[int, ...]] = {}
        for layer in range(self._num_layers):
            for side in "lr"[: self._dir]:
                of = f"{side}{layer}_"
                found[of + "i2h_weight"] = (wide, features)
                found[of + "h2h_weight"] = (wide, project or state)
                found[of + "i2h_bias"] = found[of + "h2h_bias"] = (wide,)
                if project:
                    found[of + "h2r_weight"] = (project, state)
            features = (project or state) * self._dir
        return found

    def infer_shape(self, inputs: Any, *args: Any) -> None:
        """The features of the inputs complete the first layer."""
        for name, shape in self._shapes(inputs.shape[2]).items():
            getattr(self, name).shape = shape

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The state, (layers · directions, batch, size)."""
        size = self._projection_size or self._hidden_size
        shape = (self._num_layers * self._dir, batch_size, size)
        return [{"shape": shape, "__layout__": "LNC", "dtype": self._dtype}]

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> States:
        """The states before the first step; see `RecurrentCell.begin_state`."""
        infos = self.state_info(batch_size)
        return make_states(self.prefix, infos, func, 0, "h0", **kwargs)

    def cast(self, dtype: Any) -> None:
        """Convert the parameters, and the states that `begin_state` makes."""
        super().cast(dtype)
        self._dtype = dtype

    # -- running ----------------------------------------------------------------------

    def __call__(
        self, inputs: Any, states: Any = None, sequence_length: Any = None
    ) -> Any:
        """Outputs; with `states`, also the last states."""
        return super().__call__(inputs, states, sequence_length)

    def forward(self, x: Any, states: Any = None, sequence_length: Any = None) -> Any:
        """Start from zeros if no states are given, and then return none."""
        given = states is not None
        if not given and isinstance(x, Symbol):
            states = self.begin_state(func=symbol.zeros)
        elif not given:
            batch = x.shape[self._layout.find("N")]
            states = self.begin_state(batch, ctx=x.context, dtype=x.dtype)
        elif not isinstance(states, (list, tuple)):
            states = [states]
        outputs, after = super().forward(x, list(states), sequence_length)
        return (outputs, after) if given else outputs

    def hybrid_forward(
        self, F: Any, x: Any, states: Any, lengths: Any = None, **params: Any
    ) -> Any:
        """(outputs with the axes of the layout, the last states)."""
        self._check(x, states)
        if self._layout == "NTC":
            x = F.swapaxes(x, dim1=0, dim2=1)
        names = ["state", "state_cell"][: len(states)]
        more = dict(zip(names, states, strict=True))
        if self._use_sequence_length:
            more["sequence_length"] = lengths
        low, high, nan = self._clip
        outputs, *after = F.RNN(
            x,
            self._packed(F, params),
            **more,
            state_size=self._hidden_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            mode=self._mode,
            p=self._dropout,
            state_outputs=True,
            projection_size=self._projection_size,
            lstm_state_clip_min=low,
            lstm_state_clip_max=high,
            lstm_state_clip_nan=nan,
            use_sequence_length=self._use_sequence_length,
        )
        if self._layout == "NTC":
            outputs = F.swapaxes(outputs, dim1=0, dim2=1)
        return outputs, after

    def _packed(self, F: Any, params: dict[str, Any]) -> Any:
        """All parameters in one vector: first the weights, then the biases."""
        kinds = {"weight": ["i2h", "h2h"], "bias": ["i2h", "h2h"]}
        if self._projection_size:
            kinds["weight"].append("h2r")
        flat = [
            F.reshape(params[f"{side}{layer}_{part}_{kind}"], shape=(-1,))
            for kind, parts in kinds.items()
            for layer in range(self._num_layers)
            for side in "lr"[: self._dir]
            for part in parts
        ]
        return F._rnn_param_concat(*flat, dim=0)

    def _check(self, inputs: Any, states: Any) -> None:
        """Refuse states of another shape than the inputs ask for."""
        if not isinstance(inputs, NDArray):
            return
        infos = self.state_info(inputs.shape[self._layout.find("N")])
        if len(infos) != len(states):
            raise ArgumentError(
                f"{self.name}: {len(states)} states were given, but a "
                f"{type(self).__name__} has {len(infos)}. See begin_state()."
            )
        for state, info in zip(states, infos, strict=True):
            if state.shape != info["shape"]:
                raise ShapeError(
                    f"{self.name}: a state is {state.shape}, but inputs {inputs.shape} "
                    f"in the layout {self._layout} ask for {info['shape']}. "
                    "begin_state(batch_size) makes states of the right shape."
                )

    # -- as a stack of cells ----------------------------------------------------------

    def _unfuse(self) -> HybridSequentialRNNCell:
        """The same network as a stack of cells that share the parameters."""
        if self._projection_size or self._clip[0] is not None:
            raise ArgumentError(
                f"{self.name}: cells neither project their state nor clip it, so a "
                "layer that does cannot be taken apart."
            )
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        features = self._input_size
        with stack.name_scope():
            for layer in range(self._num_layers):
                sides = [
                    self._cell(f"{s}{layer}_", features) for s in "lr"[: self._dir]
                ]
                stack.add(BidirectionalCell(*sides) if self._dir == 2 else sides[0])
                if self._dropout > 0 and layer != self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                features = self._hidden_size * self._dir
        return stack

    def _cell(self, prefix: str, features: int) -> Any:
        given: dict[str, Any] = {
            f"{kind}_initializer": init
            for kind, init in self._initializers.items()
            if not kind.startswith("h2r")
        }
        given |= {"input_size": features, "prefix": prefix}
        if self._mode in ("lstm", "gru"):
            cell = LSTMCell if self._mode == "lstm" else GRUCell
            return cell(self._hidden_size, **given)
        activation = self._mode.removeprefix("rnn_")
        return RNNCell(self._hidden_size, activation=activation, **given)

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """The names that MXNet's files have: those of the stack of cells."""
        dot = prefix + "." if prefix else ""
        found = {}
        for name, parameter in self._reg_params.items():
            match = _NAME.match(name)
            assert match is not None, name
            side, layer, part, kind = match.groups()
            cell = f"{side}_cell." if self._dir == 2 else ""
            found[f"{dot}_unfused.{layer}.{cell}{part}_{kind}"] = parameter
        return found

    def __repr__(self) -> str:
        features = self._reg_params["l0_i2h_weight"].shape[1]
        parts = [f"{features or None} -> {self._hidden_size}", self._layout]
        if self._num_layers != 1:
            parts.append(f"num_layers={self._num_layers}")
        if self._dropout:
            parts.append(f"dropout={self._dropout}")
        if self._dir == 2:
            parts.append("bidirectional")
        return f"{type(self).__name__}({', '.join(parts)})"


class RNN(_RNNLayer):
    """Layers of h' = activation(Wx·x + bx + Wh·h + bh), activation relu or tanh.

    inputs (T, N, C), or (N, T, C) for layout NTC; states: [h (layers · directions, N,
    hidden_size)]; outputs as the inputs, with hidden_size · directions channels.
    dropout: on what each layer but the last hands on, in training.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        if activation not in ("relu", "tanh"):
            raise ArgumentError(
                f"RNN: activation={activation!r}: choose relu or tanh. An RNNCell "
                "takes any activation."
            )
        super().__init__(
            f"rnn_{activation}", hidden_size, num_layers, layout, dropout,
            bidirectional, input_size, i2h_weight_initializer, h2h_weight_initializer,
            i2h_bias_initializer, h2h_bias_initializer, dtype, **kwargs,
        )  # fmt: skip


class LSTM(_RNNLayer):
    """Layers of long short-term memory; gates as in `LSTMCell`.

    inputs (T, N, C), or (N, T, C) for layout NTC; states: [h, c], (layers · directions,
    N, hidden_size) each; outputs as the inputs, with hidden_size · directions channels.
    dropout: on what each layer but the last hands on, in training.
    projection_size: the states are projected to so many numbers. state_clip_min,
    state_clip_max: bounds of the cells; state_clip_nan: a NaN becomes the lower one.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Any = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            "lstm", hidden_size, num_layers, layout, dropout, bidirectional, input_size,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
            h2h_bias_initializer, dtype, projection_size=projection_size,
            h2r_weight_initializer=h2r_weight_initializer,
            clip=(state_clip_min, state_clip_max, state_clip_nan), **kwargs,
        )  # fmt: skip

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The state and the cell."""
        (info,) = super().state_info(batch_size)
        cell = (self._num_layers * self._dir, batch_size, self._hidden_size)
        return [info, {**info, "shape": cell}]


class GRU(_RNNLayer):
    """Layers of gated recurrent units; gates as in `GRUCell`.

    inputs (T, N, C), or (N, T, C) for layout NTC; states: [h (layers · directions, N,
    hidden_size)]; outputs as the inputs, with hidden_size · directions channels.
    dropout: on what each layer but the last hands on, in training.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        dtype: Any = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            "gru", hidden_size, num_layers, layout, dropout, bidirectional, input_size,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
            h2h_bias_initializer, dtype, **kwargs,
        )  # fmt: skip
