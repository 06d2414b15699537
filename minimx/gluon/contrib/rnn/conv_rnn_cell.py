"""Cells whose two products are convolutions: sequences of signals, images, volumes.

The gates are those of RNNCell, LSTMCell and GRUCell; what differs is how the input and
the state reach them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minimx.core.errors import ArgumentError
from minimx.gluon.nn.conv import Sizes, check_layout, sizes
from minimx.gluon.parameter.dictionary import ParameterDict
from minimx.gluon.rnn.rnn_cell import (
    GatedCell,
    GRUCell,
    HybridRecurrentCell,
    LSTMCell,
    RNNCell,
)

__all__ = [
    "Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell",
    "Conv2DLSTMCell", "Conv2DRNNCell", "Conv3DGRUCell", "Conv3DLSTMCell",
    "Conv3DRNNCell",
]  # fmt: skip


class _ConvCell(GatedCell):
    """What the convolutional cells share.

    input_shape: of one step of one sample, with the axes of `conv_layout` after N; 0
        for channels that are to be learnt from the data.
    i2h_kernel, i2h_pad, i2h_dilate: of the convolution of the input.
    h2h_kernel (odd), h2h_dilate: of the state's, which is padded to keep its size.
    activation: a name, a layer or a function.
    """

    dims = 0

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Sizes,
        h2h_kernel: Sizes,
        i2h_pad: Sizes = 0,
        i2h_dilate: Sizes = 1,
        h2h_dilate: Sizes = 1,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str | None = None,
        activation: Any = "tanh",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        HybridRecurrentCell.__init__(self, prefix=prefix, params=params)
        name = type(self).__name__
        self._layout = check_layout(name, conv_layout, self.dims)
        if len(input_shape) != self.dims + 1:
            raise ArgumentError(
                f"{name}: input_shape={tuple(input_shape)} must have the "
                f"{self.dims + 1} axes of {self._layout} without N."
            )
        self._gate_axis = self._layout.index("C")
        self._hidden_channels = hidden_channels
        self._activation = activation
        self._recurrent_activation = "sigmoid"
        get: dict[str, Any] = {"name": name, "count": self.dims}
        self._i2h = _window(i2h_kernel, i2h_pad, i2h_dilate, **get)
        self._h2h = _state_window(h2h_kernel, h2h_dilate, **get)
        channels, *lengths = input_shape
        if self._gate_axis != 1:
            *lengths, channels = input_shape
        wide = self.gates * hidden_channels
        self._state_shape = self._formed(hidden_channels, _out(lengths, self._i2h))
        i2h = wide, *self._formed(channels, self._i2h["kernel"])
        h2h = wide, *self._formed(hidden_channels, self._h2h["kernel"])
        new = self._parameter
        self.i2h_weight = new("i2h_weight", i2h, i2h_weight_initializer)
        self.h2h_weight = new("h2h_weight", h2h, h2h_weight_initializer)
        self.i2h_bias = new("i2h_bias", (wide,), i2h_bias_initializer)
        self.h2h_bias = new("h2h_bias", (wide,), h2h_bias_initializer)

    def _formed(self, channels: int, lengths: Sequence[int]) -> tuple[int, ...]:
        """Channels and lengths in the order of the layout."""
        before = self._gate_axis == 1
        return (channels, *lengths) if before else (*lengths, channels)

    def _products(self, F: Any, inputs: Any, state: Any, parameters: Any) -> Any:
        """What the input and the state contribute to the gates."""
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = parameters
        step = f"t{self._counter}_"
        shared = {
            "num_filter": self.gates * self._hidden_channels,
            "layout": self._layout,
        }
        return (
            F.Convolution(
                inputs, i2h_weight, i2h_bias, **self._i2h, **shared, name=step + "i2h"
            ),
            F.Convolution(
                state, h2h_weight, h2h_bias, **self._h2h, **shared, name=step + "h2h"
            ),
        )

    def __repr__(self) -> str:
        wide, channels = (
            self.i2h_weight.shape[0],
            self.i2h_weight.shape[self._gate_axis],
        )
        mapping = f"{channels or None} -> {wide}, {self._activation}, {self._layout}"
        return f"{type(self).__name__}({mapping})"


def _window(
    kernel: Sizes, pad: Sizes, dilate: Sizes, name: str, count: int
) -> dict[str, Any]:
    return {
        "kernel": sizes(name, "kernel", kernel, count),
        "pad": sizes(name, "pad", pad, count),
        "dilate": sizes(name, "dilate", dilate, count),
        "stride": (1,) * count,
    }


def _state_window(
    kernel: Sizes, dilate: Sizes, name: str, count: int
) -> dict[str, Any]:
    """The window of a convolution that keeps the size of what it sees."""
    window = _window(kernel, 0, dilate, name, count)
    if not all(length % 2 for length in window["kernel"]):
        raise ArgumentError(
            f"{name}: h2h_kernel={kernel} must be odd, so that the state keeps its "
            "size."
        )
    pairs = zip(window["kernel"], window["dilate"], strict=True)
    return {**window, "pad": tuple(step * (size - 1) // 2 for size, step in pairs)}


def _out(lengths: Sequence[int], window: dict[str, Any]) -> tuple[int, ...]:
    """What a convolution leaves of each length; 0 of one that is not known."""
    taps = zip(window["kernel"], window["pad"], window["dilate"], strict=True)
    spare = [2 * pad - step * (size - 1) for size, pad, step in taps]
    return tuple(n and n + more for n, more in zip(lengths, spare, strict=True))


class _ConvRNNCell(_ConvCell, RNNCell):
    _label = "conv_rnn"


class _ConvLSTMCell(_ConvCell, LSTMCell):
    _label = "conv_lstm"


class _ConvGRUCell(_ConvCell, GRUCell):
    _label = "conv_gru"

    def _curve(self, F: Any, x: Any, name: str) -> Any:
        return self._get_activation(F, x, self._activation, name=name)


class Conv1DRNNCell(_ConvRNNCell):
    """RNNCell with convolutions along one axis; see `_ConvCell` for the arguments."""

    dims = 1


class Conv2DRNNCell(_ConvRNNCell):
    """RNNCell with convolutions over images."""

    dims = 2


class Conv3DRNNCell(_ConvRNNCell):
    """RNNCell with convolutions over volumes."""

    dims = 3


class Conv1DLSTMCell(_ConvLSTMCell):
    """LSTMCell with convolutions along one axis (Shi and others, 2015)."""

    dims = 1


class Conv2DLSTMCell(_ConvLSTMCell):
    """LSTMCell with convolutions over images."""

    dims = 2


class Conv3DLSTMCell(_ConvLSTMCell):
    """LSTMCell with convolutions over volumes."""

    dims = 3


class Conv1DGRUCell(_ConvGRUCell):
    """GRUCell with convolutions along one axis."""

    dims = 1


class Conv2DGRUCell(_ConvGRUCell):
    """GRUCell with convolutions over images."""

    dims = 2


class Conv3DGRUCell(_ConvGRUCell):
    """GRUCell with convolutions over volumes."""

    dims = 3
