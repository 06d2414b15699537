"""Cells made of cells: stacks, both directions, dropout, zoneout, shortcuts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minimx import symbol
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError
from minimx.rnn.cell import Arrays, BaseRNNCell, RNNParams, Unrolling, sequence
from minimx.symbol import Symbol

__all__ = [
    "BidirectionalCell", "DropoutCell", "ModifierCell", "ResidualCell",
    "SequentialRNNCell", "ZoneoutCell",
]  # fmt: skip


class _Several(BaseRNNCell):
    """A cell of cells, whose states are theirs, one after another."""

    def __init__(self, params: RNNParams | None) -> None:
        self._cells: list[BaseRNNCell] = []
        super().__init__("", params)
        self._override = params is not None

    def _take_in(self, cell: BaseRNNCell) -> None:
        if self._override:
            if not cell._own_params:
                raise ArgumentError(
                    "params are given either to the whole or to its cells, not to both."
                )
            cell.params._params.update(self.params._params)
        self._cells.append(cell)
        self.params._params.update(cell.params._params)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """The states of all cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, func: Any = symbol.zeros, **kwargs: Any) -> list[Symbol]:
        """The first states of all cells."""
        self._refuse_modified()
        found = [cell.begin_state(func=func, **kwargs) for cell in self._cells]
        return [state for states in found for state in states]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Those of all cells."""
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return dict(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Those of all cells."""
        for cell in self._cells:
            args = cell.pack_weights(args)
        return dict(args)

    def _shares(self, states: Any) -> list[tuple[BaseRNNCell, Any]]:
        """Each cell with its part of the states."""
        found, start = [], 0
        for cell in self._cells:
            end = start + len(cell.state_info)
            found.append((cell, states[start:end]))
            start = end
        return found


class SequentialRNNCell(_Several):
    """Cells on top of each other: the output of one is the input of the next."""

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Put a cell on top."""
        self._take_in(cell)

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """One step through all cells."""
        self._counter += 1
        after: list[Symbol] = []
        for cell, own in self._shares(states):
            inputs, new = cell(inputs, own)
            after += new
        return inputs, after

    def _unroll(self, asked: Unrolling) -> tuple[Any, list[Any]]:
        """All steps of one cell, then those of the next."""
        length, inputs, begin_state, layout, merge_outputs = asked
        states = self.begin_state() if begin_state is None else begin_state
        after: list[Any] = []
        for cell, own in self._shares(states):
            last = cell is self._cells[-1]
            merge = merge_outputs if last else None
            inputs, new = cell.unroll(length, inputs, own, layout, merge)
            after += new
        return inputs, after


class BidirectionalCell(_Several):
    """One cell from the first step to the last, another from the last to the first."""

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._take_in(l_cell)
        self._take_in(r_cell)

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """Refused: the second cell begins at the last step."""
        raise NotImplementedError(
            "BidirectionalCell cannot be stepped: it needs all inputs. Call unroll()."
        )

    def _unroll(self, asked: Unrolling) -> tuple[Any, list[Any]]:
        """Both cells over all steps; their outputs side by side."""
        length, inputs, begin_state, layout, merge_outputs = asked
        steps, axis = sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        (left, l_begin), (right, r_begin) = self._shares(states)
        l_out, l_last = left.unroll(length, steps, l_begin, layout, merge_outputs)
        turned = list(reversed(steps))
        r_out, r_last = right.unroll(length, turned, r_begin, layout, merge_outputs)
        if merge_outputs is None:
            merge_outputs = isinstance(l_out, Symbol) and isinstance(r_out, Symbol)
            l_out, _ = sequence(length, l_out, layout, merge_outputs)
            r_out, _ = sequence(length, r_out, layout, merge_outputs)
        if merge_outputs:
            r_out = symbol.reverse(r_out, axis=axis)
            name = f"{self._output_prefix}out"
            return symbol.Concat(l_out, r_out, dim=2, name=name), [l_last, r_last]
        pairs = zip(l_out, reversed(list(r_out)), strict=True)
        outputs = [
            symbol.Concat(a, b, dim=1, name=f"{self._output_prefix}t{k}")
            for k, (a, b) in enumerate(pairs)
        ]
        return outputs, [l_last, r_last]


class DropoutCell(BaseRNNCell):
    """Dropout between cells; it has no state."""

    def __init__(
        self,
        dropout: float,
        prefix: str = "dropout_",
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(prefix, params)
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """None."""
        return []

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """The inputs, some of them 0."""
        if self.dropout > 0:
            inputs = symbol.Dropout(inputs, p=self.dropout)
        return inputs, states

    def _unroll(self, asked: Unrolling) -> tuple[Any, list[Any]]:
        """All steps at once, where they are one symbol."""
        length, inputs, _, layout, merge_outputs = asked
        data, _ = sequence(length, inputs, layout, merge_outputs)
        if isinstance(data, Symbol):
            return self(data, [])
        return super()._unroll(asked._replace(inputs=data))


class ModifierCell(BaseRNNCell):
    """A cell around another one; its variables are those of the inner one."""

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        """Those of the inner cell."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Those of the inner cell."""
        return self.base_cell.state_info

    def begin_state(self, func: Any = symbol.zeros, **kwargs: Any) -> list[Symbol]:
        """Those of the inner cell."""
        self._refuse_modified()
        self.base_cell._modified = False
        states = self.base_cell.begin_state(func=func, **kwargs)
        self.base_cell._modified = True
        return states

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Those of the inner cell."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Those of the inner cell."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Some numbers stay what they were in the step before, chosen at random."""

    def __init__(
        self,
        base_cell: BaseRNNCell,
        zoneout_outputs: float = 0.0,
        zoneout_states: float = 0.0,
    ) -> None:
        if isinstance(base_cell, (BidirectionalCell, SequentialRNNCell)):
            raise ArgumentError(
                "ZoneoutCell goes around simple cells. Put it around each of the parts."
            )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self.prev_output: Symbol | None = None

    def reset(self) -> None:
        """Forget the output of the last step."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        output, after = self.base_cell(inputs, states)
        if self.zoneout_outputs:
            before = self.prev_output
            if before is None:
                before = symbol.zeros_like(output)
            output = _kept(self.zoneout_outputs, output, before)
        if self.zoneout_states:
            pairs = zip(after, states, strict=True)
            after = [_kept(self.zoneout_states, new, old) for new, old in pairs]
        self.prev_output = output
        return output, after


def _kept(rate: float, new: Symbol, old: Symbol) -> Symbol:
    """New numbers, of which a share stays old in training."""
    mask = symbol.Dropout(symbol.ones_like(new), p=rate)
    made: Symbol = symbol.where(mask, new, old)
    return made


class ResidualCell(ModifierCell):
    """The output of a cell plus its input."""

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """One step."""
        output, after = self.base_cell(inputs, states)
        return _sum(output, inputs), after

    def _unroll(self, asked: Unrolling) -> tuple[Any, list[Any]]:
        """All steps of the inner cell, then the sums."""
        length, inputs, _, layout, merge_outputs = asked
        self.base_cell._modified = False
        outputs, states = self.base_cell.unroll(*asked)
        self.base_cell._modified = True
        merge = isinstance(outputs, Symbol) if merge_outputs is None else merge_outputs
        data, _ = sequence(length, inputs, layout, merge)
        if merge:
            return _sum(outputs, data), states
        return [_sum(a, b) for a, b in zip(outputs, data, strict=True)], states


def _sum(output: Symbol, inputs: Symbol) -> Symbol:
    name = f"{output.name}_plus_residual"
    made: Symbol = symbol.elemwise_add(output, inputs, name=name)
    return made
