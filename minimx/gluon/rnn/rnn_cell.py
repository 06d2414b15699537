"""Recurrent cells: one step at a time, `output, states = cell(input, states)`.

`unroll` takes a cell through a whole sequence. A cell says with `state_info` what its
states look like, and `begin_state` makes the first ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minimx.nd as nd
from minimx import symbol
from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core import np_semantics
from minimx.core.errors import ArgumentError
from minimx.gluon.block import Block, HybridBlock
from minimx.gluon.parameter.dictionary import ParameterDict
from minimx.gluon.rnn.sequences import (
    Unrolling,
    as_steps,
    batch_size_of,
    formed,
    is_merged,
    last_valid,
    masked,
)
from minimx.symbol import Symbol

States = list[Any]

#: Where functions are defined that make arrays, rather than symbols.
_OPERATORS = ("minimx.nd", "minimx.np", "minimx.core.arrays")


def make_states(
    prefix: str,
    infos: list[dict[str, Any]],
    func: Callable[..., Any],
    first: int,
    word: str = "begin_state",
    **kwargs: Any,
) -> States:
    """A state for each info; `func` gets its shape and what else is known of it."""
    states = []
    for number, info in enumerate(infos, start=first):
        described = {**info, **kwargs}
        if str(getattr(func, "__module__", "")).startswith(_OPERATORS):
            described.pop("__layout__", None)  # arrays have neither names nor layouts
            state = func(**described)
            states.append(
                state.as_np_ndarray() if np_semantics.is_np_array() else state
            )
        else:
            states.append(func(name=f"{prefix}{word}_{number}", **described))
    return states


class RecurrentCell(Block):
    """A cell: subclass it, and write `state_info` and `forward(inputs, states)`."""

    def __init__(
        self, prefix: str | None = None, params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Forget the steps taken, before a new sequence."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """For each state: its `shape` and `__layout__`."""
        raise NotImplementedError(
            f"{type(self).__name__} has no state_info(self, batch_size=0). Write one: "
            "a list with {'shape': (batch_size, …), '__layout__': 'NC'} per state."
        )

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> States:
        """The states before the first step.

        func: what makes a state from a shape: `nd.zeros`, `nd.ones`, … kwargs: more for
        `func`, such as ctx or dtype.
        """
        self._refuse_if_modified()
        infos = self.state_info(batch_size)
        first = self._init_counter + 1
        self._init_counter += len(infos)
        return make_states(self._prefix, infos, func, first, **kwargs)

    def _refuse_if_modified(self) -> None:
        if self._modified:
            raise ArgumentError(
                f"{self.name} is inside another cell, such as a ZoneoutCell. Call that "
                "one instead."
            )

    def _first_states(self, begin_state: Any, inputs: Any, layout: str) -> Any:
        """The given states, or zeros beside the inputs."""
        if begin_state is not None:
            return begin_state
        first = inputs if is_merged(inputs) else inputs[0]
        if isinstance(first, Symbol):
            return self.begin_state(func=symbol.zeros)
        with first.context:
            return self.begin_state(batch_size=batch_size_of(inputs, layout))

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, States]:
        """Run the cell over a sequence.

        inputs: one array with the axes of `layout`, or a list of (batch, …) per step.
        merge_outputs: one array (True), a list (False), or what is at hand (None).
        valid_length (batch,): the steps that count; outputs after them are 0, and the
            states returned are those of the last valid step.
        Returns the outputs and the last states.
        """
        self.reset()
        asked = length, inputs, begin_state, layout, merge_outputs, valid_length
        return self._unroll(Unrolling(*asked))

    def _unroll(self, asked: Unrolling) -> tuple[Any, States]:
        """Step after step; cells that know a shorter way override this."""
        length, inputs, begin_state, layout, merge_outputs, valid_length = asked
        steps = as_steps(length, inputs, layout)
        states = self._first_states(begin_state, steps, layout)
        outputs: Any = []
        all_states = []
        for step in steps[:length]:
            output, states = self(step, states)
            outputs.append(output)
            all_states.append(states)
        if valid_length is not None:
            states = [
                last_valid(list(of_one), valid_length)
                for of_one in zip(*all_states, strict=True)
            ]
            outputs = masked(outputs, valid_length, layout)
        return formed(length, outputs, layout, merge_outputs), states

    def _get_activation(
        self, F: Any, inputs: Any, activation: Any, **kwargs: Any
    ) -> Any:
        """Apply an activation: the name of one, a layer or a function."""
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs)

    def __call__(self, inputs: Any, states: Any = (), *args: Any) -> Any:
        """One step: (output, the next states)."""
        self._counter += 1
        return super().__call__(inputs, states, *args)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A cell that is a HybridBlock: write `hybrid_forward(F, inputs, states, …)`."""


class GatedCell(HybridRecurrentCell):
    """What the three common cells share: two products, of the input and the state."""

    gates = 1
    _label = ""
    _layout = "NC"
    _gate_axis = 1

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        self._state_shape: tuple[int, ...] = (hidden_size,)
        wide = self.gates * hidden_size
        get = self._parameter
        self.i2h_weight = get("i2h_weight", (wide, input_size), i2h_weight_initializer)
        self.h2h_weight = get("h2h_weight", (wide, hidden_size), h2h_weight_initializer)
        self.i2h_bias = get("i2h_bias", (wide,), i2h_bias_initializer)
        self.h2h_bias = get("h2h_bias", (wide,), h2h_bias_initializer)

    def _parameter(self, name: str, shape: tuple[int, ...], init: Any) -> Any:
        return self.params.get(name, shape=shape, init=init, allow_deferred_init=True)

    def _alias(self) -> str:
        return self._label

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """One state (batch, hidden_size)."""
        shape = batch_size, *self._state_shape
        return [{"shape": shape, "__layout__": self._layout}]

    def hybrid_forward(
        self,
        F: Any,
        inputs: Any,
        states: Any,
        i2h_weight: Any,
        h2h_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> Any:
        """(the output of this step, the states for the next)."""
        parameters = i2h_weight, h2h_weight, i2h_bias, h2h_bias
        i2h, h2h = self._products(F, inputs, states[0], parameters)
        return self._next(F, i2h, h2h, states)

    def _next(self, F: Any, i2h: Any, h2h: Any, states: Any) -> Any:
        """Output and states, from what input and state contribute to the gates."""
        raise NotImplementedError(f"{type(self).__name__} has no _next")

    def _products(self, F: Any, inputs: Any, state: Any, parameters: Any) -> Any:
        """What the input and the state contribute to the gates: (batch, wide) each."""
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = parameters
        wide, step = self.gates * self._hidden_size, f"t{self._counter}_"
        linear = F.FullyConnected
        i2h = linear(inputs, i2h_weight, i2h_bias, num_hidden=wide, name=step + "i2h")
        h2h = linear(state, h2h_weight, h2h_bias, num_hidden=wide, name=step + "h2h")
        return i2h, h2h

    def _sliced(self, F: Any, total: Any, name: str) -> Any:
        """The gates, apart."""
        axis = {} if self._gate_axis == 1 else {"axis": self._gate_axis}
        return F.SliceChannel(total, num_outputs=self.gates, name=name, **axis)

    def __repr__(self) -> str:
        wide, features = self.i2h_weight.shape
        return f"{type(self).__name__}({features or None} -> {wide})"


class RNNCell(GatedCell):
    """h' = activation(Wx·x + bx + Wh·h + bh).

    inputs (batch, features); states: [h (batch, hidden_size)]
    """

    _label = "rnn"

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            hidden_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            input_size,
            prefix,
            params,
        )
        self._activation = activation

    def _next(self, F: Any, i2h: Any, h2h: Any, states: Any) -> Any:
        """(output, [h'])."""
        step = f"t{self._counter}_"
        total = F.elemwise_add(i2h, h2h, name=step + "plus0")
        output = self._get_activation(F, total, self._activation, name=step + "out")
        return output, [output]

    def __repr__(self) -> str:
        return super().__repr__()[:-1] + f", {self._activation})"


class LSTMCell(GatedCell):
    """A cell that keeps what its gates let it keep: c' = f·c + i·g, h' = o·tanh(c').

    The input gate i, forget gate f, candidate g and output gate o stand in this order
    in the parameters. inputs (batch, features); states: [h, c], (batch, hidden_size)
    """

    gates = 4
    _label = "lstm"

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:
        super().__init__(
            hidden_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            input_size,
            prefix,
            params,
        )
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The state and the cell."""
        return super().state_info(batch_size) + super().state_info(batch_size)

    def _next(self, F: Any, i2h: Any, h2h: Any, states: Any) -> Any:
        """(h', [h', c'])."""
        step, act = f"t{self._counter}_", self._get_activation
        total = F.elemwise_add(i2h, h2h, name=step + "plus0")
        i, f, g, o = self._sliced(F, total, step + "slice")
        gate, curve = self._recurrent_activation, self._activation
        i, f = act(F, i, gate, name=step + "i"), act(F, f, gate, name=step + "f")
        g, o = act(F, g, curve, name=step + "c"), act(F, o, gate, name=step + "o")
        kept = F.elemwise_mul(f, states[1], name=step + "mul0")
        new = F.elemwise_mul(i, g, name=step + "mul1")
        cell = F.elemwise_add(kept, new, name=step + "state")
        seen = act(F, cell, curve, name=step + "activation0")
        state = F.elemwise_mul(o, seen, name=step + "out")
        return state, [state, cell]


class GRUCell(GatedCell):
    """A cell that mixes old and new: h' = (1 - z)·n + z·h.

    n = tanh(Wx·x + bx + r·(Wh·h + bh)). The reset gate r, update gate z and candidate
    n stand in this order in the parameters. states: [h (batch, hidden_size)]
    """

    gates = 3
    _label = "gru"

    def _curve(self, F: Any, x: Any, name: str) -> Any:
        return F.tanh(x, name=name)

    def _next(self, F: Any, i2h: Any, h2h: Any, states: Any) -> Any:
        """(h', [h'])."""
        step, add, mul = f"t{self._counter}_", F.elemwise_add, F.elemwise_mul
        ir, iz, own = self._sliced(F, i2h, step + "i2h_slice")
        hr, hz, old = self._sliced(F, h2h, step + "h2h_slice")
        reset = F.sigmoid(add(ir, hr, name=step + "plus0"), name=step + "r_act")
        update = F.sigmoid(add(iz, hz, name=step + "plus1"), name=step + "z_act")
        allowed = mul(reset, old, name=step + "mul0")
        new = self._curve(F, add(own, allowed, name=step + "plus2"), step + "h_act")
        change = mul(1 - update, new, name=step + "mul1")
        state = add(
            change, mul(update, states[0], name=step + "mul20"), name=step + "out"
        )
        return state, [state]


_resolve_missing(__name__, globals())
