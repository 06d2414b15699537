"""Cells over images: convolutions in the place of linear maps."""

from __future__ import annotations

from functools import partial
from typing import Any

from minimx import symbol
from minimx.core.errors import ArgumentError
from minimx.rnn.cell import RNNParams
from minimx.rnn.simple import GRUCell, LSTMCell, RNNCell, _Cell
from minimx.symbol import Symbol

Pair = tuple[int, int]
_LEAKY = partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(_Cell):
    """What the three have in common.

    input_shape: of a batch of inputs, in `conv_layout`. num_hidden: channels of the
    output. i2h_…, h2h_…: the convolutions of input and state; that of the state keeps
    its size, so that `h2h_kernel` must be odd. ..._initializer: of weights and biases.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        num_hidden: int,
        h2h_kernel: Pair = (3, 3),
        h2h_dilate: Pair = (1, 1),
        i2h_kernel: Pair = (3, 3),
        i2h_stride: Pair = (1, 1),
        i2h_pad: Pair = (1, 1),
        i2h_dilate: Pair = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Any = _LEAKY,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        if any(length % 2 == 0 for length in h2h_kernel):
            raise ArgumentError(
                f"h2h_kernel={h2h_kernel}: only odd lengths keep the size of the state."
            )
        self._initializers = {
            "i2h_weight": i2h_weight_initializer, "h2h_weight": h2h_weight_initializer,
            "i2h_bias": i2h_bias_initializer, "h2h_bias": h2h_bias_initializer,
        }  # fmt: skip
        self._input_shape, self._conv_layout = input_shape, conv_layout
        self._channels = conv_layout.find("C")
        pairs = zip(h2h_kernel, h2h_dilate, strict=True)
        self._i2h: dict[str, Any] = {
            "kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad,
            "dilate": i2h_dilate, "layout": conv_layout,
        }  # fmt: skip
        self._h2h: dict[str, Any] = {
            "kernel": h2h_kernel, "dilate": h2h_dilate, "stride": (1, 1),
            "pad": tuple(d * (k - 1) // 2 for k, d in pairs), "layout": conv_layout,
        }  # fmt: skip
        _Cell.__init__(self, num_hidden, prefix, params)
        self._activation = activation

    def _variable_settings(self, name: str) -> dict[str, Any]:
        init = self._initializers[name]
        return {} if init is None else {"init": init}

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Images of the size that the convolution of the input leaves."""
        data = symbol.Convolution(
            symbol.var("data"), num_filter=self._num_hidden, **self._i2h
        )
        shapes = data.infer_shape(data=self._input_shape)[1]
        assert shapes is not None  # as that of the data is whole
        shape = shapes[0]
        state = {"shape": (0, *shape[1:]), "__layout__": self._conv_layout}
        return [dict(state) for _ in range(self._states)]

    def _both(self, name: str, inputs: Symbol, state: Symbol) -> tuple[Symbol, Symbol]:
        halves = []
        for group, data, how in (("i2h", inputs, self._i2h), ("h2h", state, self._h2h)):
            made = symbol.Convolution(
                data,
                self._params.get(f"{group}_weight"),
                self._params.get(f"{group}_bias"),
                num_filter=self._num_hidden * len(self._gate_names),
                name=f"{name}{group}",
                **how,
            )
            halves.append(made)
        return halves[0], halves[1]


class ConvRNNCell(BaseConvRNNCell, RNNCell):
    """`RNNCell` over images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("prefix", "ConvRNN_")
        BaseConvRNNCell.__init__(self, *args, **kwargs)


class ConvLSTMCell(BaseConvRNNCell, LSTMCell):
    """`LSTMCell` over images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("prefix", "ConvLSTM_")
        BaseConvRNNCell.__init__(self, *args, **kwargs)


class ConvGRUCell(BaseConvRNNCell, GRUCell):
    """`GRUCell` over images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("prefix", "ConvGRU_")
        BaseConvRNNCell.__init__(self, *args, **kwargs)
