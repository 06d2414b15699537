"""Rows of a row_sparse parameter: a network reads those that its batch names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.errors import ParameterError
from minimx.kvstore.local import picked

if TYPE_CHECKING:
    from minimx.gluon.parameter.parameter import Parameter


class UnknownStorage(ParameterError, AssertionError):
    """A way to store a parameter that there is not; an AssertionError in MXNet."""


def of_one(parameter: Parameter, row_id: NDArray) -> NDArray:
    """The rows named by row_id, on its device."""
    _check(parameter, row_id)
    for array in parameter._arrays():
        if array.context is row_id.context:
            return _picked(parameter, array, row_id)
    raise ParameterError(
        f"{parameter.name} has no values on {row_id.context}, only on "
        f"{parameter.list_ctx()}. Move row_id there, or call reset_ctx."
    )


def of_all(parameter: Parameter, row_id: NDArray) -> list[NDArray]:
    """The rows named by row_id, on every device of the parameter."""
    _check(parameter, row_id)
    return [
        _picked(parameter, array, row_id.as_in_context(array.context))
        for array in parameter._arrays()
    ]


def check_trainer(parameter: Parameter, trainer: Any) -> None:
    """Refuse a second Trainer: the rows live in the store of the first one."""
    known = parameter._trainer
    if None in (known, trainer) or known is trainer or parameter._stype == "default":
        return
    raise ParameterError(
        f"{parameter.name} is stored as {parameter._stype}, and such a parameter "
        "belongs to one Trainer. Go on with the Trainer that it has."
    )


def _picked(parameter: Parameter, array: NDArray, row_id: NDArray) -> NDArray:
    """The named rows, fetched from the store; gradients reach the array.

    While the tape runs they are taken from the array once more, so that a second
    request, for other rows, leaves the first answer as it is.
    """
    parameter._trainer._row_sparse_pull(parameter, array, row_id)
    return picked(array, row_id) if autograd.is_recording() else array


def _check(parameter: Parameter, row_id: Any) -> None:
    if parameter._stype != "row_sparse":
        raise ParameterError(
            f"{parameter.name} is stored as {parameter._stype}; use data() instead."
        )
    if parameter._trainer is None:
        raise ParameterError(
            f"{parameter.name}: rows of a row_sparse parameter are handed out once a "
            "Trainer updates it. Make one: gluon.Trainer(net.collect_params(), …)."
        )
    if not isinstance(row_id, NDArray):
        raise TypeError(
            f"{parameter.name}: row_id is an array with the numbers of the rows, not "
            f"{type(row_id).__name__}. Write mx.nd.array([3, 1], dtype='int64')."
        )
