"""Cells made of cells: stacked, in two directions, or changed on their way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import minimx.nd as nd
from minimx.core.errors import ArgumentError
from minimx.gluon.parameter.dictionary import ParameterDict
from minimx.gluon.rnn.rnn_cell import HybridRecurrentCell, RecurrentCell, States
from minimx.gluon.rnn.sequences import (
    Unrolling,
    as_one,
    as_steps,
    formed,
    is_merged,
    masked,
    operators_of,
    reversed_steps,
)
from minimx.gluon.utils import indent

__all__ = [
    "BidirectionalCell", "DropoutCell", "HybridSequentialRNNCell", "ModifierCell",
    "ResidualCell", "SequentialRNNCell", "ZoneoutCell",
]  # fmt: skip


class _ManyCells(RecurrentCell):
    """Cells inside of one, whose states are theirs, one cell after the other."""

    @property
    def _cells(self) -> list[Any]:
        return list(self._children.values())

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The states of all cells."""
        return [info for cell in self._cells for info in cell.state_info(batch_size)]

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> States:
        """The first states of all cells."""
        self._refuse_if_modified()
        return [
            state
            for cell in self._cells
            for state in cell.begin_state(batch_size=batch_size, func=func, **kwargs)
        ]


class SequentialRNNCell(_ManyCells):
    """Cells on top of each other: the output of one is the input of the next."""

    def add(self, cell: RecurrentCell) -> None:
        """Put a cell on top."""
        self.register_child(cell)

    def forward(self, inputs: Any, states: Any) -> Any:
        """(the top cell's output, all states)."""
        found: States = []
        for cell, own in self._shared_out(states):
            inputs, after = cell(inputs, own)
            found += after
        return inputs, found

    def _shared_out(self, states: Any) -> list[tuple[Any, Any]]:
        """Every cell with its own states."""
        pairs, at = [], 0
        for cell in self._cells:
            count = len(cell.state_info())
            pairs.append((cell, states[at : at + count]))
            at += count
        return pairs

    def _unroll(self, asked: Unrolling) -> tuple[Any, States]:
        """Run cell after cell over the whole sequence."""
        inputs = asked.inputs
        states = self._first_states(asked.begin_state, inputs, asked.layout)
        found: States = []
        pairs = self._shared_out(states)
        for number, (cell, own) in enumerate(pairs, start=1):
            merge = asked.merge_outputs if number == len(pairs) else None
            inner = asked._replace(inputs=inputs, begin_state=own, merge_outputs=merge)
            inputs, after = cell.unroll(*inner)
            found += after
        return inputs, found

    def __getitem__(self, i: int) -> Any:
        return self._children[str(i)]

    def __len__(self) -> int:
        return len(self._children)

    def __repr__(self) -> str:
        parts = "\n".join(
            f"({name}): {indent(repr(cell))}" for name, cell in self._children.items()
        )
        return f"{type(self).__name__}(\n{parts}\n)"


class HybridSequentialRNNCell(SequentialRNNCell, HybridRecurrentCell):
    """`SequentialRNNCell` of hybrid cells, itself a HybridBlock."""


class DropoutCell(HybridRecurrentCell):
    """In training, set elements of the input to 0 with probability `rate`."""

    def __init__(
        self,
        rate: float,
        axes: tuple[int, ...] = (),
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        if isinstance(rate, bool) or not isinstance(rate, (int, float)):
            raise ArgumentError(f"DropoutCell: rate={rate!r} must be a number.")
        self._rate = rate
        self._axes = axes

    def _alias(self) -> str:
        return "dropout"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """None."""
        return []

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """(inputs, some of them 0; the states)."""
        if self._rate > 0:
            name = f"t{self._counter}_fwd"
            inputs = F.Dropout(inputs, p=self._rate, axes=self._axes, name=name)
        return inputs, states

    def _unroll(self, asked: Unrolling) -> tuple[Any, States]:
        """One call, if the sequence is one array."""
        length, inputs, begin_state, layout, merge_outputs, _ = asked
        inputs = formed(length, inputs, layout, merge_outputs)
        if is_merged(inputs):
            found: tuple[Any, States] = self(inputs, begin_state or [])
            return found
        return super()._unroll(asked._replace(inputs=inputs, valid_length=None))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"


class ModifierCell(HybridRecurrentCell):
    """A cell around another one, whose parameters and states it uses."""

    def __init__(self, base_cell: Any) -> None:
        if base_cell._modified:
            raise ArgumentError(
                f"{base_cell.name} is inside another cell already. A cell can be "
                "changed once; wrap the outer one."
            )
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> ParameterDict:
        """Those of the cell inside."""
        found: ParameterDict = self.base_cell.params
        return found

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """That of the cell inside."""
        found: list[dict[str, Any]] = self.base_cell.state_info(batch_size)
        return found

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] = nd.zeros, **kwargs: Any
    ) -> States:
        """Those of the cell inside."""
        self._refuse_if_modified()
        with self._base() as cell:
            found: States = cell.begin_state(batch_size=batch_size, func=func, **kwargs)
        return found

    @contextmanager
    def _base(self) -> Iterator[Any]:
        """The cell inside, for calls that it refuses while it is inside another."""
        self.base_cell._modified = False
        try:
            yield self.base_cell
        finally:
            self.base_cell._modified = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """In training, keep elements of the last output or state with some probability."""

    def __init__(
        self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        parts = getattr(base_cell, "_children", {}).values()
        if any(isinstance(cell, BidirectionalCell) for cell in (base_cell, *parts)):
            raise ArgumentError(
                "ZoneoutCell: a BidirectionalCell makes no single steps. Put the "
                "ZoneoutCell around the cells inside it."
            )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output: Any = None

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        """Forget the last output as well."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """(output, states), some elements of which are those of the step before."""
        new, new_states = self.base_cell(inputs, states)
        last = self._prev_output
        if last is None:
            last = F.zeros_like(new)
        output = _mixed(F, new, last, self.zoneout_outputs)
        kept = [
            _mixed(F, after, before, self.zoneout_states)
            for after, before in zip(new_states, states, strict=True)
        ]
        self._prev_output = output
        return output, kept

    def __repr__(self) -> str:
        shares = f"p_out={self.zoneout_outputs}, p_state={self.zoneout_states}"
        return f"{type(self).__name__}({shares}, {self.base_cell})"


def _mixed(F: Any, new: Any, old: Any, share: float) -> Any:
    """New elements, in training some of them old."""
    if share == 0:
        return new
    return F.where(F.Dropout(F.ones_like(new), p=share), new, old)


class ResidualCell(ModifierCell):
    """A cell whose input is added to its output; both have one shape."""

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """(output + inputs, states)."""
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def _unroll(self, asked: Unrolling) -> tuple[Any, States]:
        """Run the cell inside, then add the inputs."""
        length, inputs, _, layout, merge_outputs, valid_length = asked
        with self._base() as cell:
            outputs, states = cell.unroll(*asked)
        merge = is_merged(outputs) if merge_outputs is None else merge_outputs
        if valid_length is not None:  # padding adds nothing
            inputs = masked(inputs, valid_length, layout)
        inputs = formed(length, inputs, layout, merge)
        if merge:
            return operators_of(outputs).elemwise_add(outputs, inputs), states
        add = operators_of(inputs[0]).elemwise_add
        return [add(a, b) for a, b in zip(outputs, inputs, strict=True)], states


class BidirectionalCell(_ManyCells, HybridRecurrentCell):
    """Two cells, one from the first step and one from the last; outputs are joined."""

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: Any = (), *args: Any) -> Any:
        """Refused: the second cell begins at the end."""
        raise NotImplementedError(
            "a BidirectionalCell cannot make a single step, as its second cell begins "
            "at the end of the sequence. Use unroll."
        )

    def _unroll(self, asked: Unrolling) -> tuple[Any, States]:
        """Run both cells."""
        length, inputs, begin_state, layout, merge_outputs, valid_length = asked
        steps = as_steps(length, inputs, layout)
        turned = reversed_steps(steps, valid_length)
        states = self._first_states(begin_state, steps, layout)
        left, right = self._cells
        count = len(left.state_info())
        ahead, left_states = left.unroll(
            length, steps, states[:count], layout, merge_outputs, valid_length
        )
        back, right_states = right.unroll(
            length, turned, states[count:], layout, False, valid_length
        )
        back = reversed_steps(back, valid_length)
        merge = is_merged(ahead) if merge_outputs is None else merge_outputs
        outputs = self._joined(formed(length, ahead, layout, merge), back, layout)
        if valid_length is not None:
            outputs = masked(outputs, valid_length, layout)
            outputs = formed(length, outputs, layout, merge)
        return outputs, left_states + right_states

    def _joined(self, ahead: Any, back: Any, layout: str) -> Any:
        """Both outputs, side by side."""
        name = self._output_prefix
        if is_merged(ahead):
            concat = operators_of(ahead).concat
            return concat(ahead, as_one(back, layout), dim=2, name=f"{name}out")
        concat = operators_of(back[0]).concat
        return [
            concat(a, b, dim=1, name=f"{name}t{t}")
            for t, (a, b) in enumerate(zip(ahead, back, strict=True))
        ]

    def __repr__(self) -> str:
        left, right = self._cells
        return f"{type(self).__name__}(forward={left}, backward={right})"
