"""Rows of a row_sparse parameter: a network reads those that its batch names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import minimx.nd as nd
from minimx.errors import ParameterError
from minimx.nd.array import NDArray

if TYPE_CHECKING:
    from minimx.gluon.parameter.parameter import Parameter


def of_one(parameter: Parameter, row_id: NDArray) -> NDArray:
    """The rows named by row_id, on its device."""
    _check(parameter)
    for array in parameter._arrays():
        if array.context is row_id.context:
            return _picked(array, row_id)
    raise ParameterError(
        f"{parameter.name} has no values on {row_id.context}, only on "
        f"{parameter.list_ctx()}. Move row_id there, or call reset_ctx."
    )


def of_all(parameter: Parameter, row_id: NDArray) -> list[NDArray]:
    """The rows named by row_id, on every device of the parameter."""
    _check(parameter)
    return [
        _picked(array, row_id.as_in_context(array.context))
        for array in parameter._arrays()
    ]


def _picked(array: NDArray, row_id: NDArray) -> NDArray:
    """The named rows, each once and in order; gradients reach the array."""
    numbers = np.unique(row_id.asnumpy().astype(np.int64))
    wanted = nd.array(numbers, ctx=array.context, dtype=np.int64)
    return nd.sparse.retain(array, wanted)


def _check(parameter: Parameter) -> None:
    if parameter._stype != "row_sparse":
        raise ParameterError(
            f"{parameter.name} is stored as {parameter._stype}; use data() instead."
        )
    if parameter._trainer is None:
        raise ParameterError(
            f"{parameter.name}: rows of a row_sparse parameter are handed out once a "
            "Trainer updates it. Make one: gluon.Trainer(net.collect_params(), …)."
        )
