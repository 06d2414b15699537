"""The `mx.nd` functions and the array methods, written from the registry.

    nd.Convolution(data, weight, bias, kernel=(5, 5), num_filter=20)

Arrays come first, by place or by name, then settings, by place or by name; `out=` names
arrays to write to. Settings named in `INTERNAL` are not the caller's: they say what
holds at the call, such as `training` what `autograd.is_training()` says.
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import minimx.core.arrays.masks
import minimx.operators  # noqa: F401  (both fill the registry)
from minimx.core import autograd, flavour
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.creation import shape_to_fill
from minimx.core.arrays.launch import invoke, place_for
from minimx.core.device import as_device, current_device
from minimx.core.errors import OperatorError
from minimx.core.ops import help, users
from minimx.core.ops.registry import ALIASES, REGISTRY, Op

# Words that MXNet's functions accept besides inputs and settings; they name or place
# the result: nothing here depends on them.
_NAMING = ("name", "attr")
_PLACING = ("ctx", "device")

#: Settings that the moment of a call decides, and whom to ask.
INTERNAL: dict[str, Callable[[], Any]] = {
    "training": autograd.is_training,
    "np_shape": flavour.is_np_shape,
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


def _signature(sheet: type[Op], fields: dict[str, Any]) -> inspect.Signature:
    kinds = inspect.Parameter
    parameters = []
    kind: Any = kinds.POSITIONAL_OR_KEYWORD
    if sheet.variadic:
        parameters.append(kinds("data", kinds.VAR_POSITIONAL))
        kind = kinds.KEYWORD_ONLY
    else:
        parameters += [kinds(name, kind, default=None) for name in _input_names(sheet)]
    for name, field in fields.items():
        default = None if field.default is dataclasses.MISSING else field.default
        parameters.append(kinds(name, kind, default=default))
    parameters.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


def _input_names(sheet: type[Op]) -> tuple[str, ...]:
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
        self.fields = {
            field.name: field
            for field in dataclasses.fields(sheet)  # type: ignore[arg-type]
            if field.name not in INTERNAL
        }
        self.internal = {
            field.name: INTERNAL[field.name]
            for field in dataclasses.fields(sheet)  # type: ignore[arg-type]
            if field.name in INTERNAL
        }
        self.inputs = () if sheet.variadic else _input_names(sheet)
        self.order = tuple(self.fields)

    def sort(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operator with its settings, and its values in order."""
        op, given = self.take_apart(args, kwargs)
        if self.sheet.variadic:
            return op, given
        return op, [self.required(op, name, given.get(name)) for name in op.inputs]

    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operator with its settings, and the values: a list, or by input's name.

        Values may be missing or of a wrong type; `required` tells.
        """
        split = self._variadic if self.sheet.variadic else self._fixed
        given, settings = split(args, kwargs)
        for name, ask in self.internal.items():
            settings[name] = ask()
        op = self.sheet.of(**settings)
        if isinstance(given, dict):
            given = self._closed_up(op, given, len(args))
        return op, given

    def _closed_up(self, op: Op, given: dict[str, Any], by_place: int) -> Any:
        """Values given by place where settings leave out an input before them.

        The third array of `CTCLoss(data, label, lengths, use_label_lengths=True)` is
        label_lengths, since there are no data_lengths then.
        """
        taken = op.inputs
        there = [name for name in self.inputs if given.get(name) is not None]
        surplus = [name for name in there if name not in taken]
        placed = set(surplus) <= set(self.inputs[:by_place])
        if not surplus or not placed or len(there) != len(taken):
            return given
        return dict(zip(taken, [given[name] for name in there], strict=True))

    def required(self, op: Op, name: str, value: Any) -> Any:
        """A value that is there and of the right type."""
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
        # Only arrays fill input places; the first other thing begins the settings.
        places = len(self.inputs)
        count = 0
        while count < min(places, len(args)) and (
            isinstance(args[count], self.value_type) or args[count] is None
        ):
            values[self.inputs[count]] = args[count]
            count += 1
        if count == 0 and args and places:
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


#: Arrays that can be written to and hold every element; `mx.np` adds its own.
changeable_classes: set[type] = {NDArray}


def _same(arrays: Sequence[Any], args: tuple[Any, ...]) -> bool:
    """Whether the arrays of a call are just what was given by place."""
    return len(arrays) == len(args) and all(map(operator.is_, arrays, args))


def changeable(array: NDArray) -> bool:
    """Whether `x[:] = …` may still change an array.

    If so, `flatten` and its like copy, as in MXNet: what is written to one must not
    show in the other. What is on the tape is never written to, so it can be shared.
    """
    on_tape = autograd.is_recording() and array._entry is not None
    return type(array) in changeable_classes and not on_tape


def _with_elements(public: str, op: Op) -> Op:
    """The operator, if what it makes from nothing is not empty, nor without axes."""
    if "shape" in op.settings:
        shape_to_fill(public, op.settings["shape"])
    return op


def make(
    sheet: type[Op], public: str, array_class: type[NDArray] = NDArray
) -> Callable[..., Any]:
    """The `mx.nd` function of an operator.

    array_class: what it makes from nothing; other classes have arrays without axes.
    """
    call = Call(sheet)
    if array_class is not NDArray and "np_shape" in call.internal:
        call.internal["np_shape"] = lambda: True
    elif sheet.keeps_an_axis:
        call.internal["np_shape"] = lambda: False
    takes_arrays = sheet.variadic or bool(call.inputs)
    asked = tuple(call.internal.values())
    # Calls of arrays by place and settings by name, as they were met: most calls are
    # like one before, and need not be taken apart again.
    met: dict[Any, Op] = {}

    def function(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        key: Any = (len(args), *kwargs.items(), *[ask() for ask in asked])
        try:
            known = met.get(key)
        except TypeError:  # a list among the settings
            known = key = None
        if known is not None:
            for arg in args:
                if not isinstance(arg, NDArray):
                    break
            else:
                return invoke(known, args, out)
        device = None
        for word in _NAMING:
            if word not in call.fields:
                kwargs.pop(word, None)
        for word in _PLACING:
            if word not in call.fields:
                device = kwargs.pop(word, None) or device
        inplace = sheet.is_view and kwargs.pop("inplace", False)
        op, arrays = call.sort(args, kwargs)
        if arrays:
            if key and not sheet.is_view and _same(arrays, args):
                if len(met) >= 256:  # settings that change with every call
                    met.clear()
                met[key] = op
            if sheet.is_view and out is None and not inplace and changeable(arrays[0]):
                out = place_for(op, arrays)
            return invoke(op, arrays, out)
        if takes_arrays:
            raise OperatorError(f"{op.name} needs at least one array.")
        where = out.context if out is not None else device or current_device()
        settled = _with_elements(public, op) if array_class is NDArray else op
        return invoke(settled, (), out, as_device(where), array_class)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = help.text(sheet, call.fields)
    function.__module__ = "minimx.nd"
    function.__signature__ = _signature(sheet, call.fields)  # type: ignore[attr-defined]
    function.sheet = sheet  # type: ignore[attr-defined]
    return function


class Functions(Mapping[str, Callable[..., Any]]):
    """The functions of operators by any of their names; each is made at first use.

    Making all of them, with their documentation and signatures, would take a fifth of
    the time of `import minimx`.
    """

    def __init__(self) -> None:
        aliases = {alias: REGISTRY[name] for alias, name in ALIASES.items()}
        self._sheets: dict[str, type[Op]] = {**REGISTRY, **aliases}
        self.made: dict[str, Callable[..., Any]] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        made = self.made.get(name)
        if made is None:
            own = ALIASES.get(name, name)
            made = make(self._sheets[name], own) if own == name else self[own]
            self.made[name] = made
        return made

    def __contains__(self, name: object) -> bool:
        return name in self._sheets

    def __iter__(self) -> Iterator[str]:
        return iter(self._sheets)

    def __len__(self) -> int:
        return len(self._sheets)

    def enter(self, sheet: type[Op]) -> None:
        """Offer a new operator, or another one of the same name."""
        aliases = [alias for alias, name in ALIASES.items() if name == sheet.name]
        for name in (sheet.name, *aliases):
            self._sheets[name] = sheet
            self.made.pop(name, None)

    def leave(self, sheet: type[Op]) -> None:
        """Offer an operator no longer, under whatever name."""
        for name in [n for n, known in self._sheets.items() if known is sheet]:
            del self._sheets[name]


FUNCTIONS = Functions()
#: The modules that keep functions once they were asked for.
keepers: list[dict[str, Any]] = [FUNCTIONS.made]


def _heed(sheet: type[Op], comes: bool) -> None:
    """A user's sheet comes or goes, and its functions with it."""
    if comes:
        FUNCTIONS.enter(sheet)
        return
    FUNCTIONS.leave(sheet)
    for place in keepers:
        kept = [n for n, f in place.items() if getattr(f, "sheet", None) is sheet]
        for name in kept:
            del place[name]


users.listeners.append(_heed)


def bound(signature: inspect.Signature) -> inspect.Signature:
    """A function's signature as that of a method: `self` is the first array."""
    kinds = inspect.Parameter
    first, *others = signature.parameters.values()
    if first.kind is kinds.VAR_POSITIONAL:
        others.insert(0, first)
    own = kinds("self", kinds.POSITIONAL_OR_KEYWORD)
    return signature.replace(parameters=[own, *others])


def _method(name: str) -> Callable[..., Any]:
    function = FUNCTIONS[name]

    def method(self: NDArray, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = function.__doc__
    method.__signature__ = bound(inspect.signature(function))  # type: ignore[attr-defined]
    method.from_registry = True  # type: ignore[attr-defined]
    return method


def _transpose(self: NDArray, *axes: Any, **kwargs: Any) -> Any:
    """The array with its axes in another order: `transpose(1, 0)`."""
    if len(axes) == 1 and isinstance(axes[0], (tuple, list)):
        axes = tuple(axes[0])
    return FUNCTIONS["transpose"](self, axes=axes or kwargs.get("axes") or ())


def install_methods() -> None:
    """Give NDArray a method for each operator in METHODS that is registered."""
    for name in METHODS:
        if name in FUNCTIONS and not hasattr(NDArray, name):
            setattr(NDArray, name, _method(name))
    setattr(NDArray, "transpose", _transpose)  # noqa: B010 (not declared in the class)


install_methods()
