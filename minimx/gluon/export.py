"""The two files of an exported block: `net-symbol.json` and `net-0000.params`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import minimx.nd as nd
from minimx.core.errors import ArgumentError
from minimx.graphs.portable import portable
from minimx.symbol import Symbol

if TYPE_CHECKING:
    from minimx.core.arrays.array import NDArray
    from minimx.gluon.hybrid import HybridBlock
    from minimx.gluon.tracing.trace import Written


def write_files(
    block: HybridBlock,
    written: Written | None,
    path: Any,
    epoch: int,
    remove_amp_cast: bool,
) -> tuple[str, str]:
    """Write the graph and the values of a block; returns the names of the files.

    Nothing is written unless all values are there, and MXNet has all operators.
    """
    if written is None:
        raise ArgumentError(
            f"export: {type(block).__name__} was not made into a graph yet. Call "
            "hybridize(), and then the block with a batch, first."
        )
    symbol = as_symbol(written)
    values = named_values(written)
    graph_file, values_file = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
    symbol.save(graph_file, remove_amp_cast)
    nd.save(values_file, values)
    return graph_file, values_file


def as_symbol(written: Written) -> Symbol:
    """The graph of a block, in operators that MXNet has."""
    return Symbol(portable(written.graph, written.lines).outputs)


def named_values(written: Written) -> dict[str, NDArray]:
    """The values of a graph's parameters, `arg:` or `aux:` (states) before the name."""
    states = set(written.graph.states)
    return {
        f"{'aux' if node in states else 'arg'}:{node.name}": parameter._reduce()
        for node, parameter in written.parameters.items()
    }
