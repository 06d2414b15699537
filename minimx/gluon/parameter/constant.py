"""Constant: an array that a network carries and does not learn."""

from __future__ import annotations

import warnings
from typing import Any

import minimx.nd as nd
from minimx import initializer
from minimx.core.arrays.array import NDArray
from minimx.gluon.np_arrays import as_np_if_set
from minimx.gluon.parameter.parameter import Parameter


class Constant(Parameter):
    """An array that belongs to a network but is not learnt."""

    def __init__(self, name: str, value: Any) -> None:
        if not isinstance(value, NDArray):
            value = nd.array(value)
        self.value = value = as_np_if_set(value)
        super().__init__(
            name,
            grad_req="null",
            shape=value.shape,
            dtype=value.dtype,
            init=initializer.Constant(value),
        )

    @property
    def grad_req(self) -> str:
        """A constant has no gradient."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warnings.warn(
                f"{self.name} is a Constant and keeps grad_req='null'; {req!r} was "
                "ignored.",
                stacklevel=2,
            )
