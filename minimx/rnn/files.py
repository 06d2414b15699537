"""Checkpoints of modules with cells: weights are stored gate by gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minimx.core.arrays.array import NDArray
from minimx.model import load_checkpoint, save_checkpoint
from minimx.rnn.cell import Arrays, BaseRNNCell
from minimx.symbol import Symbol

__all__ = [
    "do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint",
]  # fmt: skip


def _listed(cells: BaseRNNCell | Sequence[BaseRNNCell]) -> Sequence[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Any = None,
    begin_state: Any = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, list[Any]]:
    """The old way to say `cell.unroll(...)`."""
    return cell.unroll(length, inputs, begin_state, layout)


def save_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell],
    prefix: str,
    epoch: int,
    symbol: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
) -> None:
    """Write symbol and values; the weights of the cells are unpacked first."""
    args = dict(arg_params)
    for cell in _listed(cells):
        args = cell.unpack_weights(args)
    save_checkpoint(prefix, epoch, symbol, args, dict(aux_params))


def load_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: str, epoch: int
) -> tuple[Symbol, Arrays, Arrays]:
    """The symbol, its arguments and its states; the weights of the cells are packed."""
    graph, args, states = load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        args = cell.pack_weights(args)
    return graph, args, states


def do_rnn_checkpoint(
    cells: BaseRNNCell | Sequence[BaseRNNCell], prefix: str, period: int = 1
) -> Callable[..., None]:
    """A callback for the end of an epoch that writes a checkpoint every `period`."""
    period = max(1, int(period))

    def callback(
        iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None
    ) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return callback
