"""Mixed precision for one thread and one block of code: `with amp.autocast("float16")`.

`amp.init` converts the calls of the whole process until `shutdown`. `autocast` (ours;
PyTorch has one of this name) converts only what its own thread calls inside the `with`
block, and has the last word there: several trainings of one process may differ, and a
cell of a notebook is not converted because a training beside it is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cache
from types import TracebackType
from typing import Any

from minimx.amp.casting import Conditions, Mixer, SymbolMixer, rules
from minimx.core.arrays import launch
from minimx.core.ops.registry import Op
from minimx.symbol import symbol as nodes

#: The type in which nothing is converted.
SINGLE = "float32"

#: For arrays and for symbols; None where nothing is converted.
Mixers = tuple[Mixer | None, SymbolMixer | None]


class _Process:
    """What holds outside of any `autocast`, and how many of those are open."""

    mixers: Mixers = (None, None)
    open_scopes = 0
    lock = threading.Lock()


class _Thread(threading.local):
    """The `autocast` blocks that this thread is in, the innermost last."""

    def __init__(self) -> None:
        self.entered: list[Mixers] = []


_process, _thread = _Process(), _Thread()


def of_thread() -> Mixers:
    """What converts the calls of this thread now."""
    return _thread.entered[-1] if _thread.entered else _process.mixers


class _ForArrays:
    """Asks the thread that calls; only there while some thread is in a scope."""

    def __call__(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        mixer = of_thread()[0]
        return inputs if mixer is None else mixer(op, inputs)

    def in_force(self) -> object | None:
        return of_thread()[0]


def _for_symbols(op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
    mixer = of_thread()[1]
    return inputs if mixer is None else mixer(op, inputs)


def set_process(mixers: Mixers) -> None:
    """Convert by these in all threads that are in no `autocast`."""
    with _process.lock:
        _process.mixers = mixers
        _install()


def _install() -> None:
    """Let calls find what converts them; straight, as long as no scope is open."""
    if _process.open_scopes:
        launch.mixing, nodes.mixing = _ForArrays(), _for_symbols
    else:
        launch.mixing, nodes.mixing = _process.mixers


@cache
def _usual(target_dtype: str) -> Mixers:
    """The mixers for MXNet's own lists, which graphs are kept for."""
    wanted = rules(target_dtype)
    return Mixer(wanted), SymbolMixer(wanted)


class autocast:  # a function for its users, as in PyTorch
    """Inside the `with` block, this thread computes in mixed precision (ours).

    target_dtype: "float16" or "bfloat16"; "float32" converts nothing, also where
    `amp.init` or an `autocast` around it does. target_precision_ops,
    conditional_fp32_ops, fp32_ops: as for `amp.init`. Weights and optimizer states stay
    as they are; only what operators read is converted, so that the type may change from
    one step of a training to the next. A hybridized block keeps a graph for each type.

    An object may be entered again and again, and by several threads; making it once
    keeps the graphs where operators are listed. Raises `ArgumentError` for another
    type, and for unknown operators.

    Examples
    --------
    >>> import minimx as mx
    >>> layer = mx.gluon.nn.Dense(2)
    >>> layer.initialize()
    >>> with mx.amp.autocast("float16"):
    ...     print(layer(mx.nd.ones((1, 3))).dtype.__name__)
    float16
    >>> print(layer(mx.nd.ones((1, 3))).dtype.__name__, layer.weight.dtype)
    float32 float32
    """

    def __init__(
        self,
        target_dtype: Any = "float16",
        target_precision_ops: Iterable[str] | None = None,
        conditional_fp32_ops: Conditions | None = None,
        fp32_ops: Iterable[str] | None = None,
    ) -> None:
        name = getattr(target_dtype, "__name__", None) or str(target_dtype)
        given = (target_precision_ops, fp32_ops, conditional_fp32_ops)
        self.target_dtype = name
        self._mixers: Mixers
        if name == SINGLE:
            self._mixers = (None, None)
        elif any(value is not None for value in given):
            wanted = rules(name, *given)
            self._mixers = (Mixer(wanted), SymbolMixer(wanted))
        else:
            rules(name)  # which refuses another type
            self._mixers = _usual(name)

    def __enter__(self) -> autocast:
        with _process.lock:
            _process.open_scopes += 1
            _thread.entered.append(self._mixers)
            _install()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with _process.lock:
            _thread.entered.pop()
            _process.open_scopes -= 1
            _install()

    def __repr__(self) -> str:
        return f"autocast({self.target_dtype!r})"
