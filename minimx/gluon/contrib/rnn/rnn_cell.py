"""Cells with a projection or a lasting dropout, and loops over cells."""

from __future__ import annotations

from typing import Any

import minimx.nd as nd
from minimx import symbol
from minimx.aliases import resolve_missing as _resolve_missing
from minimx.core.errors import ArgumentError
from minimx.gluon.parameter.dictionary import ParameterDict
from minimx.gluon.rnn.modifiers import BidirectionalCell, ModifierCell
from minimx.gluon.rnn.rnn_cell import LSTMCell
from minimx.symbol import Symbol

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]


class LSTMPCell(LSTMCell):
    """An LSTM whose state is projected to fewer numbers: r' = W·h'.

    inputs (batch, features); states: [r (batch, projection_size), c (batch,
    hidden_size)]
    """

    _label = "lstmp"

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        h2r_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        self._projection_size = projection_size
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
        shape = (projection_size, hidden_size)
        self.h2r_weight = self._parameter("h2r_weight", shape, h2r_weight_initializer)

    def _parameter(self, name: str, shape: tuple[int, ...], init: Any) -> Any:
        if name == "h2h_weight":  # the state that comes back is the projected one
            shape = (shape[0], self._projection_size)
        return super()._parameter(name, shape, init)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The projected state and the cell."""
        state, cell = super().state_info(batch_size)
        return [{**state, "shape": (batch_size, self._projection_size)}, cell]

    def hybrid_forward(  # type: ignore[override]
        self, F: Any, x: Any, *args: Any, **params: Any
    ) -> Any:
        """(r', [r', c'])."""
        h2r_weight = params.pop("h2r_weight")
        state, (_, cell) = super().hybrid_forward(F, x, *args, **params)
        projected = F.FullyConnected(
            state,
            h2r_weight,
            num_hidden=self._projection_size,
            no_bias=True,
            name=f"t{self._counter}_out",
        )
        return projected, [projected, cell]


class VariationalDropoutCell(ModifierCell):
    """Dropout that drops the same elements at every step of a sequence.

    drop_inputs, drop_states (the first state only), drop_outputs: how likely. `unroll`
    and `reset` begin a new sequence, with new elements.
    """

    def __init__(
        self,
        base_cell: Any,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise ArgumentError(
                "VariationalDropoutCell: a BidirectionalCell makes no single steps. "
                "Put the VariationalDropoutCell around the cells inside it."
            )
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs
        self._masks: dict[str, Any] = {}

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        """Draw new elements at the next step."""
        super().reset()
        self._masks = {}

    def _dropped(self, F: Any, place: str, value: Any, share: float) -> Any:
        """The value without what is dropped at this place all through the sequence."""
        if not share:
            return value
        if place not in self._masks:
            self._masks[place] = F.Dropout(F.ones_like(value), p=share)
        return F.elemwise_mul(value, self._masks[place])

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """The cell's own output and states."""
        states = list(states)
        states[0] = self._dropped(F, "states", states[0], self.drop_states)
        inputs = self._dropped(F, "inputs", inputs, self.drop_inputs)
        output, after = self.base_cell(inputs, states)
        return self._dropped(F, "outputs", output, self.drop_outputs), after

    def __repr__(self) -> str:
        shares = f"p_out = {self.drop_outputs}, p_state = {self.drop_states}"
        return f"{type(self).__name__}({shares}, {self.base_cell})"


def dynamic_unroll(
    cell: Any,
    inputs: Any,
    begin_state: Any,
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Any = None,
) -> tuple[Any, list[Any]]:
    """Run a cell over a sequence of any length, with one `foreach` in a graph.

    inputs: an array or symbol with the axes of `layout`, TNC or NTC.
    drop_inputs, drop_outputs: shares that are dropped, the same at every step.
    valid_length (batch,): the steps that count; outputs after them are 0, and the
        states returned are those of the last valid step.
    Returns the outputs in the same layout and the last states.
    """
    F: Any = symbol if isinstance(inputs, Symbol) else nd
    along = layout.find("T")
    if along not in (0, 1):
        raise ArgumentError(f"dynamic_unroll: layout={layout!r}; choose TNC or NTC.")
    steps = inputs if along == 0 else F.swapaxes(inputs, 0, 1)
    if drop_inputs:
        steps = F.Dropout(steps, p=drop_inputs, axes=(0,))

    def step(x: Any, states: Any) -> Any:
        output, after = cell(x, states)
        return [output, *(after if valid_length is not None else [])], after

    (outputs, *history), states = F.contrib.foreach(step, steps, begin_state)
    if valid_length is not None:
        until = {"sequence_length": valid_length, "use_sequence_length": True}
        outputs = F.SequenceMask(outputs, **until)
        states = [F.SequenceLast(one, **until) for one in history]
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(0,))
    return outputs if along == 0 else F.swapaxes(outputs, 0, 1), list(states)


_resolve_missing(__name__, __all__)
