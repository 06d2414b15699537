"""Deferred initialization: operators tell what the parameters they are given look like.

`Dense(10)` does not know how many features will come in. When the first batch passes,
its `hybrid_forward` runs as always, but with a `Placeholder` for each parameter whose
shape is open, and with `Completing` as `F`. The first operator that is given a
placeholder says what shape belongs there (its data sheet's `complete`); the parameter
is filled, and the placeholder *becomes* its array. So the rule is written once, in the
data sheet, and serves the layers of users as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minimx.nd as nd
import minimx.npx as npx
from minimx.core.arrays import launch
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.calls import Call
from minimx.core.dtypes import resolve
from minimx.core.errors import DeferredInitializationError
from minimx.core.np_semantics import is_np_array
from minimx.core.ops.registry import Op, lookup
from minimx.core.ops.spec import Spec
from minimx.core.shapes import Shape
from minimx.gluon.parameter import Parameter
from minimx.nd import functions
from minimx.np.multiarray import ndarray


class Placeholder(NDArray):
    """Stands for the array of a parameter until an operator completes its shape."""

    __slots__ = ("_parameter",)

    def __new__(cls, *args: Any) -> Any:
        """A placeholder for a parameter; what operators make of it is a plain array."""
        return super().__new__(cls) if len(args) == 1 else NDArray(*args)

    def __init__(self, parameter: Parameter) -> None:
        # Nothing of an array is set yet: an access gives the error below.
        self._parameter = parameter

    def __getattr__(self, name: str) -> Any:
        # Python comes here for what is not set. After `become` that is an honest typo.
        parameter = self._parameter
        if parameter._deferred_init is None:
            raise AttributeError(f"NDArray has no attribute {name!r}")
        raise DeferredInitializationError(
            f"{parameter.name} has the open shape {parameter.shape}, and was used "
            "before an operator could tell the rest (FullyConnected, Convolution, "
            "BatchNorm, … can). Override infer_shape(self, x, ...) in the layer and "
            "set parameter.shape there, or give a complete shape when making it."
        )

    def become(self, array: NDArray) -> None:
        """Be an array from now on: its memory, and its place on the tape."""
        self.chunk, self.spec, self.offset = array.chunk, array.spec, array.offset
        self._view, self._entry = array._view, array._entry
        self._grad, self._fresh = array._grad, array._fresh


class NumpyPlaceholder(Placeholder, ndarray):
    """The same where arrays are those of `mx.np`."""

    __slots__ = ()

    def __new__(cls, *args: Any) -> Any:
        """A placeholder for a parameter; what operators make of it is a plain array."""
        return NDArray.__new__(cls) if len(args) == 1 else ndarray(*args)

    def _settle(self, axis: int, length: int, device: Any) -> None:
        """Take the length that a product wants, and become the parameter's array."""
        parameter = self._parameter
        if parameter._deferred_init is not None and parameter.shape is not None:
            shape = list(parameter.shape)
            shape[axis] = length
            parameter.shape = shape
            parameter._finish_deferred()
            self.become(parameter.data(device))


def placeholder(parameter: Parameter) -> Placeholder:
    """A placeholder of the kind of array that is set."""
    return NumpyPlaceholder(parameter) if is_np_array() else Placeholder(parameter)


class Completing:
    """The operators of `mx.nd`, which complete placeholders on their way.

    namespace: where they are looked up, such as `nd.contrib` or `npx`.
    """

    def __init__(self, namespace: Any = nd) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        if name in ("contrib", "npx") and self._namespace is nd:
            return Completing(nd.contrib if name == "contrib" else npx)
        found = getattr(self._namespace, name)
        if self._namespace is npx:
            sheet = npx.operators.operator_of(name)
        else:
            sheet = "_contrib_" + name if self._namespace is nd.contrib else name
        if sheet is None or sheet not in functions.FUNCTIONS:
            return found
        return self._completing(sheet, found)

    @staticmethod
    def _completing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        sorter = Call(lookup(name))

        def complete_then_call(*args: Any, **kwargs: Any) -> Any:
            if any(is_open(value) for value in (*args, *kwargs.values())):
                known = set(sorter.inputs) | set(sorter.fields)
                op, arrays = sorter.sort(
                    args, {k: v for k, v in kwargs.items() if k in known}
                )
                complete(op, arrays)
            return function(*args, **kwargs)

        return complete_then_call


def is_open(value: Any) -> bool:
    """Whether a value is a placeholder that waits to be completed."""
    return (
        isinstance(value, Placeholder) and value._parameter._deferred_init is not None
    )


def complete(op: Op, arrays: list[NDArray]) -> None:
    """Fill the parameters whose placeholders an operator was given.

    Nothing is filled unless the operator is content with all the shapes.
    """
    waiting = {n: x for n, x in zip(op.inputs, arrays, strict=True) if is_open(x)}
    shapes: dict[str, Shape] = {}
    if op.inputs[0] not in waiting and hasattr(op, "complete"):
        shapes = op.complete(arrays[0].spec)
    specs = []
    for name, array in zip(op.inputs, arrays, strict=True):
        if name in waiting and name in shapes:
            dtype = resolve(waiting[name]._parameter.dtype)
            specs.append(Spec.of(shapes[name], dtype))
        else:
            specs.append(array.spec)  # a placeholder without a rule explains itself
    if launch.mixing is not None:  # which will convert what is of another type
        specs = [Spec.of(spec.shape, specs[0].dtype) for spec in specs]
    op.infer(*specs)
    for name, placeholder in waiting.items():
        parameter = placeholder._parameter
        parameter.shape = shapes[name]
        parameter._finish_deferred()
        placeholder.become(parameter.data(arrays[0].context))
