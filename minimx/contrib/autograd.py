"""`mx.contrib.autograd`: gradients as programs asked for them before `mx.autograd`.

    with autograd.train_section():
        y = x * x
    autograd.backward([y])

It is `mx.autograd` under the old names; the sections record, and what is computed in
them is training or is not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import zeros
from minimx.core.autograd import mark_variables
from minimx.core.autograd.modes import _Mode
from minimx.core.errors import ArgumentError

__all__ = [
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]


def set_is_training(is_train: bool) -> bool:
    """Record and train from now on, or neither; returns what held before."""
    before = autograd.set_training(is_train)
    autograd.set_recording(is_train)
    return before


class TrainingStateScope(_Mode):
    """A `with` scope that records and trains, or does neither."""

    def __init__(self, enter_state: bool) -> None:
        super().__init__(enter_state, enter_state)


def train_section() -> TrainingStateScope:
    """A `with` scope in which everything is recorded, and layers train."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A `with` scope in which nothing is recorded, and layers predict."""
    return TrainingStateScope(False)


def backward(outputs: Any, out_grads: Any = None, retain_graph: bool = False) -> None:
    """Fill the gradients of the marked variables that outputs were computed from.

    out_grads: for each output its gradient; ones by default
    """
    if not isinstance(outputs, (list, tuple)):
        raise ArgumentError("contrib.autograd.backward: outputs is a list of arrays.")
    autograd.backward(list(outputs), out_grads, retain_graph)


def compute_gradient(outputs: Any) -> None:
    """The old name of `backward`."""
    backward(outputs)


def grad_and_loss(
    func: Callable[..., Any], argnum: int | list[int] | None = None
) -> Callable[..., tuple[list[NDArray], Any]]:
    """A function that gives the gradients of `func`'s arguments, and its result.

    argnum: which arguments, by place; all without it

    >>> import minimx as mx
    >>> both = mx.contrib.autograd.grad_and_loss(lambda x: x * x)
    >>> gradients, loss = both(mx.nd.array([3.0]))
    >>> float(gradients[0].asscalar()), float(loss.asscalar())
    (6.0, 9.0)
    """

    @functools.wraps(func)
    def wrapped(*args: Any) -> tuple[list[NDArray], Any]:
        chosen = list(args)
        if argnum is not None:
            positions = argnum if isinstance(argnum, list) else [argnum]
            chosen = [args[place] for place in positions]
        for value in chosen:
            if not isinstance(value, NDArray):
                raise ArgumentError(
                    "contrib.autograd: gradients are for arrays, not for a "
                    f"{type(value).__name__}. Say with argnum= which arguments count."
                )
        gradients = [zeros(x.shape, x.context, x.dtype) for x in chosen]
        mark_variables(chosen, gradients)
        with train_section():
            outputs = func(*args)
        backward([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(
    func: Callable[..., Any], argnum: int | list[int] | None = None
) -> Callable[..., list[NDArray]]:
    """A function that gives the gradients of `func`'s arguments."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(both)
    def wrapped(*args: Any) -> list[NDArray]:
        return both(*args)[0]

    return wrapped
