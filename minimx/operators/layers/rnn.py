"""Data sheets of recurrent networks that are one operator, however many layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minimx.core.errors import OperatorError, ShapeError, did_you_mean
from minimx.core.extensions import provided
from minimx.core.kernels import find
from minimx.core.kernels.half import computing
from minimx.core.operators.join import Concat
from minimx.core.ops import GradContext, Kernel, Op, Value, bind, register
from minimx.core.ops.casting import TARGET_IN_FLOAT16, USUAL
from minimx.core.ops.checks import expect, same_reals
from minimx.core.ops.devices import Multiplies
from minimx.core.ops.spec import Cost, Spec
from minimx.core.shapes import Deduced, Opens, Shape
from minimx.operators.rules import Gradients, with_half

if TYPE_CHECKING:
    from minimx.operators.kernels.layers.rnn import Net

MODES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


@register("RNN")
class RNN(Multiplies, Op):
    """A recurrent network of several layers, run over whole sequences.

    data (T, N, features): T steps of N samples
    parameters: one vector of all weights and biases, see below
    state (L·D, N, H): the first states, L = num_layers, H = state_size, D = 2 if
    bidirectional, else 1; state_cell (L·D, N, H), for lstm: the first cells
    sequence_length (N,), with use_sequence_length=True: steps beyond it give 0 and
    leave the state alone
    out (T, N, D·H); with state_outputs also the last states (L·D, N, H), and for lstm
    the last cells

    mode: 'rnn_relu' or 'rnn_tanh' (h = f(Wx·x + bx + Wh·h + bh)), 'lstm' (gates in the
    order input, forget, candidate, output), 'gru' (reset, update, candidate).
    p: in training, each output of a layer but the last is dropped with this
    probability. projection_size P, for lstm: the state is W·h with W (P, H), packed
    after Wh; H becomes P in all shapes but the cell's.
    lstm_state_clip_min, lstm_state_clip_max: bounds of the cell, both or none;
    lstm_state_clip_nan: a NaN there becomes the lower one.

    parameters, packed as in MXNet: for every layer and direction Wx (G·H, inputs), then
    Wh (G·H, H); after all of them, in the same order, bx (G·H,), bh (G·H,). G is 1, 4
    for lstm, 3 for gru.

    Raises OperatorError for settings that no mode has, ShapeError for shapes that do
    not fit.
    """

    state_size: int
    num_layers: int
    bidirectional: bool = False
    mode: str = ""
    p: float = 0.0
    state_outputs: bool = False
    projection_size: int | None = None
    lstm_state_clip_min: float | None = None
    lstm_state_clip_max: float | None = None
    lstm_state_clip_nan: bool = False
    use_sequence_length: bool = False
    training: bool = False

    casting = TARGET_IN_FLOAT16
    all_inputs = ("data", "parameters", "state", "state_cell", "sequence_length")
    output_names = ("output", "state_output", "statecell_output")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check()
        object.__setattr__(self, "needs_rng", self.training and self.p > 0)

    def _check(self) -> None:
        if self.mode not in MODES:
            raise OperatorError(
                f"RNN: mode={self.mode!r}: choose one of {', '.join(MODES)}."
                f"{did_you_mean(self.mode, MODES)}"
            )
        if self.state_size < 1 or self.num_layers < 1 or not 0 <= self.p < 1:
            raise OperatorError(
                f"RNN: state_size={self.state_size} and num_layers={self.num_layers} "
                f"must be positive, and p={self.p} at least 0 and below 1."
            )
        low, high = self.lstm_state_clip_min, self.lstm_state_clip_max
        if (low is None) != (high is None):
            raise OperatorError(
                "RNN: give lstm_state_clip_min and lstm_state_clip_max both, or none."
            )
        if low is not None and high is not None and low > high:
            raise OperatorError(f"RNN: the cell cannot lie between {low} and {high}.")
        if self.mode != "lstm" and (self.projection_size or low is not None):
            raise OperatorError(
                f"RNN: only an lstm projects its state or bounds its cell; mode is "
                f"{self.mode!r}. Leave projection_size and lstm_state_clip_* away."
            )

    @property
    def lstm(self) -> bool:
        """Whether there is a cell beside the state."""
        return self.mode == "lstm"

    @property
    def inputs(self) -> tuple[str, ...]:
        """A cell for lstm, lengths where they are asked for."""
        cell = ("state_cell",) if self.lstm else ()
        lengths = ("sequence_length",) if self.use_sequence_length else ()
        return ("data", "parameters", "state", *cell, *lengths)

    @property
    def visible(self) -> int:  # type: ignore[override]
        """The outputs, and the states if they are asked for."""
        return 1 + (1 + self.lstm) * self.state_outputs

    @property
    def saves(self) -> tuple[str, ...]:
        """In training the notes; without them the gradient runs the network again."""
        lengths = ("sequence_length",) if self.use_sequence_length else ()
        if self.training:
            return ("data", "parameters", *lengths, f"out{self.visible}")
        return self.inputs

    def net(self, data: Shape, keep: bool) -> Net:
        """The sizes for data of a shape."""
        low, high = self.lstm_state_clip_min, self.lstm_state_clip_max
        return find("rnn.Net")(  # type: ignore[no-any-return]
            self.mode,
            self.num_layers,
            1 + self.bidirectional,
            *data,
            self.state_size,
            self.projection_size or 0,
            self.p if self.training else 0.0,
            keep,
            None if low is None or high is None else (low, high),
            self.lstm_state_clip_nan,
        )

    def state_shapes(self, data: Shape) -> tuple[Shape, ...]:
        """The shapes of the state and of the cell."""
        count = self.num_layers * (1 + self.bidirectional)
        state = (count, data[1], self.projection_size or self.state_size)
        return (state, (count, data[1], self.state_size))[: 1 + self.lstm]

    def parameter_count(self, features: int) -> int:
        """How long the vector of parameters is."""
        both, gates = 1 + self.bidirectional, MODES[self.mode] * self.state_size
        state = self.projection_size or self.state_size
        project = (self.projection_size or 0) * self.state_size
        first = gates * (features + state + 2) + project
        later = gates * (both * state + state + 2) + project
        return both * (first + (self.num_layers - 1) * later)

    def complete(self, data: Spec) -> dict[str, Shape]:
        """Everything but the data follows from the data and the settings."""
        _sequences(data)
        shapes = (
            (self.parameter_count(data.shape[2]),),
            *self.state_shapes(data.shape),
        )
        if self.use_sequence_length:
            shapes = (*shapes, (data.shape[1],))
        return dict(zip(self.inputs[1:], shapes, strict=True))

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """Outputs, states, and in training the notes for the gradient."""
        data = specs[0]
        reals = specs[: 3 + self.lstm]
        same_reals(self.name, self.inputs, *reals)
        wanted = self.complete(data)
        for name, spec in zip(self.inputs[1:], specs[1:], strict=True):
            why = f"data {data.shape} with mode={self.mode!r} and these settings"
            expect(self.name, name, spec, wanted[name], why)
        steps, batch, _ = data.shape
        shapes = self.state_shapes(data.shape)
        width = (1 + self.bidirectional) * shapes[0][2]
        outs = [data.with_shape((steps, batch, width))]
        if self.state_outputs:
            outs += [data.with_shape(shape) for shape in shapes]
        if self.training:
            noted = self.net(data.shape, keep=True).noted()
            outs.append(Spec.of((noted,), computing(data.dtype)))
        return tuple(outs)

    def workspace(self, *specs: Spec) -> int:
        """In prediction the layers share the place of their notes."""
        if self.training:
            return 0
        noted = self.net(specs[0].shape, keep=False).noted()
        return noted * computing(specs[0].dtype).itemsize

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.rnn`."""
        net = self.net(specs[0].shape, keep=self.training)
        count, visible, lengthy = 1 + self.lstm, self.visible, self.use_sequence_length
        library = provided("oneDNN networks")
        better = None
        if self.kind == "cpu":
            better = library.better(net, specs[0].dtype, lengthy)
        forward = better or find("rnn.forward")

        def run(x: Any, flat: Any, *rest: Any, **kept: Any) -> None:
            states, left = rest[:count], rest[count:]
            lengths = _lengths(net, left[0]) if lengthy else _all(net)
            out, *lasts = left[lengthy : lengthy + visible]
            notes, *rng = left[lengthy + visible :]
            if notes.dtype == np.uint8:
                notes = notes.view(x.dtype)
            lasting = tuple(lasts), notes, *rng
            forward(net, x, flat, states, lengths, out, *lasting, **kept)

        return library.keeping(run) if better else with_half(run, specs)

    def grad(self, at: GradContext, dout: Any, *saved: Value) -> Gradients:
        """One operator for all."""
        if not any(at.wants):
            return (None,) * len(at.ins)
        douts = dout if isinstance(dout, tuple) else (dout,)
        found = bind(RNNGradient.of(forward=self), *saved, *douts)
        return (*found, None) if self.use_sequence_length else tuple(found)

    def cost(self, *specs: Spec) -> Cost:
        """Two operations for each weight, each step and each sample."""
        steps, batch, _ = specs[0].shape
        moved = sum(spec.nbytes for spec in specs) + 2 * specs[0].nbytes
        return Cost(2 * steps * batch * specs[1].size, moved)


def _sequences(data: Spec) -> None:
    if data.ndim != 3:
        raise ShapeError(
            f"RNN: data {data.shape} must have the shape (steps, samples, features). "
            "Add an axis of length 1 for the one that is missing."
        )


def _all(net: Net) -> Any:
    """Every step of every sample counts."""
    return np.full(net.batch, net.steps, np.int64)


def _lengths(net: Net, given: Any) -> Any:
    """The number of steps of each sample."""
    return np.minimum(given, net.steps).astype(np.int64)


@register("_backward_RNN")
class RNNGradient(Multiplies, Op):
    """The gradients of a recurrent network: of data, parameters, state and cell.

    inputs: what RNN saves, then the gradients of its outputs. outs: as its inputs
    """

    forward: Any

    differentiable = False
    all_inputs = (*RNN.all_inputs, "notes", "dout", "dstate", "dstate_cell")

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the network saved, and a gradient for each of its outputs."""
        op = self.forward
        names = [n if n in RNN.all_inputs else "notes" for n in op.saves]
        return (*names, *self.all_inputs[-3:][: op.visible])

    @property
    def visible(self) -> int:  # type: ignore[override]
        """One for each input of real numbers."""
        return 3 + int(self.forward.lstm)

    def infer(self, *specs: Spec) -> tuple[Spec, ...]:
        """The shapes of data, parameters, state and cell."""
        data, parameters = specs[:2]
        states = self.forward.state_shapes(data.shape)
        return (data, parameters, *(data.with_shape(shape) for shape in states))

    def workspace(self, *specs: Spec) -> int:
        """Notes, where none were kept."""
        return 0 if self.forward.training else self._noted(specs[0]).nbytes

    def _noted(self, data: Spec) -> Spec:
        noted = self.forward.net(data.shape, keep=True).noted()
        return Spec.of((noted,), computing(data.dtype))

    def kernel(self, *specs: Spec) -> Kernel:
        """See `minimx.operators.kernels.layers.rnn`."""
        op = self.forward
        net = op.net(specs[0].shape, keep=True)
        backward, again = find("rnn.backward"), find("rnn.forward")
        width = op.infer(*_specs_of(op, specs[0]))[0].shape

        def run(*arrays: Any) -> None:
            given = dict(zip(self.inputs, arrays, strict=False))
            outs = arrays[len(self.inputs) :]
            x, flat = given["data"], given["parameters"]
            given_lengths = given.get("sequence_length")
            lengths = (
                _all(net) if given_lengths is None else _lengths(net, given_lengths)
            )
            notes = given.get("notes")
            if notes is None:
                notes = outs[-1].view(x.dtype)
                states = [
                    given[name] for name in ("state", "state_cell")[: 1 + op.lstm]
                ]
                out = np.empty(width, x.dtype)
                again(net, x, flat, tuple(states), lengths, out, (), notes)
            lasts = [given[n] for n in ("dstate", "dstate_cell") if n in given]
            dx, dflat, *dstates = outs[: 3 + op.lstm]
            arguments = (net, x, flat, lengths, notes, given["dout"], tuple(lasts))
            backward(*arguments, dx, dflat, tuple(dstates))

        return with_half(run, specs)

    def cost(self, *specs: Spec) -> Cost:
        """Twice the work of the network itself."""
        steps, batch, _ = specs[0].shape
        moved = sum(spec.nbytes for spec in specs) + specs[1].nbytes
        return Cost(4 * steps * batch * specs[1].size, moved)


def _specs_of(op: RNN, data: Spec) -> list[Spec]:
    """The inputs of a network, from its data."""
    return [data, *(data.with_shape(shape) for shape in op.complete(data).values())]


@register("_rnn_param_concat")
class ParameterConcat(Concat):
    """Join the flattened parameters of the layers of a recurrent network.

    data (a,), (b,), …; out (a + b + …,)
    """

    dim: int = 1

    casting = USUAL

    def deduce(self, ins: Opens, outs: Opens) -> Deduced:
        """Inputs whose lengths are open share what is left of the whole.

        They are the input weights of a layer, one for each direction.
        """
        (whole,) = outs
        lengths = [None if shape is None else shape[0] for shape in ins]
        missing = lengths.count(None)
        if whole is None or whole[0] is None or not missing:
            return ins, outs
        left = whole[0] - sum(n for n in lengths if n is not None)
        if left % missing:
            return ins, outs
        return [(left // missing,) if n is None else (n,) for n in lengths], outs
