"""Checkpoints: a graph as `prefix-symbol.json`, its arrays as `prefix-0001.params`."""

from __future__ import annotations

from minimx import nd, symbol
from minimx.aliases import resolve_missing as _resolve_missing
from minimx.callback import BatchEndParam, save_checkpoint
from minimx.core.arrays.array import NDArray
from minimx.core.errors import DataError
from minimx.symbol import Symbol

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]

Arrays = dict[str, NDArray]


def load_params(prefix: str, epoch: int) -> tuple[Arrays, Arrays]:
    """The arguments and the auxiliary states of an epoch, by name."""
    return _split(nd.load(f"{prefix}-{epoch:04d}.params"))


def _split(stored: object) -> tuple[Arrays, Arrays]:
    """Arguments and states, from arrays called `arg:name` and `aux:name`."""
    found: dict[str, Arrays] = {"arg": {}, "aux": {}}
    for name, array in stored.items() if isinstance(stored, dict) else ():
        kind, _, rest = name.partition(":")
        if kind not in found or not rest:
            raise DataError(
                f"an array is called {name!r}: in files of a module all are called "
                "arg:… or aux:…. nd.load reads others."
            )
        found[kind][rest] = array
    return found["arg"], found["aux"]


def load_checkpoint(prefix: str, epoch: int) -> tuple[Symbol, Arrays, Arrays]:
    """What `save_checkpoint` wrote: the graph, the arguments and the states."""
    return symbol.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch)


_resolve_missing(__name__, __all__)
