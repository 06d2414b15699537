"""Calls of operators by their names: which arguments are values, which are settings.

    op, values = Call(lookup("Convolution")).sort((data, weight), {"kernel": (5, 5)})

Values come first, by position or by name, then settings, by position or by name.
Settings named in `INTERNAL` are not the caller's: they are modes of the moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minimx.core import autograd, np_semantics
from minimx.core.arrays.array import NDArray
from minimx.core.errors import OperatorError
from minimx.core.ops.registry import Op
from minimx.core.ops.settings import fields_of

#: {setting: function}: settings with the value that the function has at the call.
INTERNAL: dict[str, Callable[[], Any]] = {
    "training": autograd.is_training,
    "np_shape": np_semantics.is_np_shape,
}

# Methods of NDArray, which are operators with the array as their first input.
# fmt: off
METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax",
    "argmax_channel", "argmin", "argsort", "broadcast_axes", "broadcast_axis",
    "broadcast_like", "broadcast_to", "cbrt", "ceil", "clip", "cos", "cosh", "degrees",
    "depth_to_space", "diag", "dot", "erf", "exp", "expand_dims", "expm1", "fix",
    "flatten", "flip", "floor", "gamma", "gammaln", "log", "log10", "log1p", "log2",
    "log_softmax", "max", "mean", "min", "nanprod", "nansum", "norm", "one_hot",
    "ones_like", "pad", "pick", "prod", "radians", "rcbrt", "reciprocal", "relu",
    "repeat", "reshape_like", "rint", "round", "rsqrt", "shape_array", "sigmoid",
    "sign", "sin", "sinh", "size_array", "slice", "slice_axis", "slice_like", "softmax",
    "softmin", "sort", "space_to_depth", "split", "sqrt", "square", "squeeze", "sum",
    "swapaxes", "take", "tan", "tanh", "tile", "topk", "transpose", "trunc",
    "zeros_like",
)
# fmt: on


def input_names(sheet: type[Op]) -> tuple[str, ...]:
    """All inputs an operator may have, whatever its settings."""
    declared = getattr(sheet, "all_inputs", None) or sheet.inputs
    if isinstance(declared, property):
        raise OperatorError(
            f"{sheet.name}: `inputs` depends on settings; declare `all_inputs` as well."
        )
    return tuple(declared)


class Call:
    """Sorts the arguments of one call into values and settings.

    value_type: what may be an input: NDArray, or what other worlds compute with.
    """

    def __init__(self, sheet: type[Op], value_type: type[Any] = NDArray) -> None:
        self.sheet = sheet
        self.value_type = value_type
        name = value_type.__name__
        self.noun = f"{'an' if name[0] in 'Nn' else 'a'} {name}"
        fields = {field.name: field for field in fields_of(sheet)}
        self.fields = {name: fields[name] for name in fields if name not in INTERNAL}
        self.internal = {name: INTERNAL[name] for name in fields if name in INTERNAL}
        self.inputs = () if sheet.variadic else input_names(sheet)
        self.order = tuple(self.fields)

    def sort(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operator with its settings, and its values in the order of its inputs.

        args, kwargs: of the call `mx.nd.name(*args, **kwargs)`, arrays and settings by
        position or name. Raises OperatorError for an input that is missing or no array.
        """
        op, given = self.take_apart(args, kwargs)
        if self.sheet.variadic:
            return op, given
        return op, [self.required(op, name, given.get(name)) for name in op.inputs]

    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operator with its settings, and the values: a list, or by input's name.

        Values may be missing or of a wrong type; `required` raises for them.
        """
        split = self._variadic if self.sheet.variadic else self._fixed
        given, settings = split(args, kwargs)
        for name, ask in self.internal.items():
            settings[name] = ask()
        op = self.sheet.of(**settings)
        if isinstance(given, dict):
            given = self._closed_up(op, given, len(args))
        return op, given

    def _closed_up(self, op: Op, given: dict[str, Any], positional: int) -> Any:
        """Values given by position where settings leave out an input before them.

        The third array of `CTCLoss(data, label, lengths, use_label_lengths=True)` is
        label_lengths, since there are no data_lengths then.
        """
        taken = op.inputs
        there = [name for name in self.inputs if given.get(name) is not None]
        surplus = [name for name in there if name not in taken]
        placed = set(surplus) <= set(self.inputs[:positional])
        if not surplus or not placed or len(there) != len(taken):
            return given
        return dict(zip(taken, [given[name] for name in there], strict=True))

    def required(self, op: Op, name: str, value: Any) -> Any:
        """The value, if it is one; raises OperatorError if it is missing or no array.

        op: the operator, and name: that of the input, for the error.
        """
        if isinstance(value, self.value_type):
            return value
        what = "is missing" if value is None else f"is a {type(value).__name__}"
        raise OperatorError(
            f"{op.name}: the input {name} {what}. It takes "
            f"{', '.join(op.inputs)}, each {self.noun}."
        )

    def _variadic(self, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        values = list(args)
        given = kwargs.pop("data", None)
        if given is not None:
            values += list(given) if isinstance(given, (list, tuple)) else [given]
        kwargs.pop("num_args", None)
        count = len(values)
        while count and not isinstance(values[count - 1], self.value_type):
            count -= 1
        for name, value in zip(self.order, values[count:], strict=False):
            kwargs.setdefault(name, value)
        if "num_args" in self.fields:
            kwargs["num_args"] = count
        return values[:count], kwargs

    def _fixed(self, args: Any, kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        values = {}
        # Only arrays are inputs; the first other thing begins the settings.
        most = len(self.inputs)
        count = 0
        while count < min(most, len(args)) and (
            isinstance(args[count], self.value_type) or args[count] is None
        ):
            values[self.inputs[count]] = args[count]
            count += 1
        if count == 0 and args and most:
            raise OperatorError(
                f"{self.sheet.name}: {self.inputs[0]} must be {self.noun}, not "
                f"{type(args[0]).__name__}. {_REMEDY.get(self.noun, '')}"
            )
        if len(args) - count > len(self.order):
            raise OperatorError(
                f"{self.sheet.name} was given {len(args)} arguments by place; it takes "
                f"at most {count + len(self.order)}: {self._in_words(count)}."
            )
        for name, value in zip(self.order, args[count:], strict=False):
            kwargs.setdefault(name, value)
        for name in self.inputs:
            if name in kwargs and name not in values:
                values[name] = kwargs.pop(name)
        return values, kwargs

    def _in_words(self, count: int) -> str:
        return ", ".join((*self.inputs[:count], *self.order))


_REMEDY = {
    "an NDArray": "Make one with mx.nd.array(...).",
    "a Symbol": "Make one with mx.sym.Variable(...).",
}
