"""The `mx.nd` functions and the array methods, written from the registry.

    nd.Convolution(data, weight, bias, kernel=(5, 5), num_filter=20)

`core/arrays/calls.py` tells which arguments are arrays and which are settings; `out=`
names arrays to write to.
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import minimx.core.arrays.masks
import minimx.operators  # noqa: F401  (both fill the registry)
from minimx.core import autograd
from minimx.core.arrays.array import NDArray
from minimx.core.arrays.calls import METHODS, Call, input_names
from minimx.core.arrays.creation import shape_to_fill
from minimx.core.arrays.launch import empty_output, invoke
from minimx.core.device import as_device, current_device
from minimx.core.errors import OperatorError
from minimx.core.ops.registry import ALIASES, REGISTRY, Op
from minimx.nd import help
from minimx.operators import users

# Words that MXNet's functions accept besides inputs and settings; they name or place
# the result: nothing here depends on them.
_NAMING = ("name", "attr")
_PLACING = ("ctx", "device")


def _signature(sheet: type[Op], fields: dict[str, Any]) -> inspect.Signature:
    kinds = inspect.Parameter
    parameters = []
    kind: Any = kinds.POSITIONAL_OR_KEYWORD
    if sheet.variadic:
        parameters.append(kinds("data", kinds.VAR_POSITIONAL))
        kind = kinds.KEYWORD_ONLY
    else:
        parameters += [kinds(name, kind, default=None) for name in input_names(sheet)]
    for name, field in fields.items():
        default = None if field.default is dataclasses.MISSING else field.default
        parameters.append(kinds(name, kind, default=default))
    parameters.append(kinds("out", kinds.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


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


def _copied(op: Op, arrays: Sequence[NDArray], out: Any) -> Any:
    """What an operator that looks at the same memory gives, as a copy if need be."""
    if out is None and changeable(arrays[0]):
        out = empty_output(op, arrays)
    return invoke(op, arrays, out)


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
    internal = tuple(call.internal.values())
    # By number of arrays and settings: most calls are like one before.
    known_calls: dict[Any, Op] = {}
    run = _copied if sheet.is_view else invoke

    def function(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        key: Any = len(args)
        if kwargs or internal:
            key = (key, *kwargs.items(), *[value() for value in internal])
        try:
            known = known_calls.get(key)
        except TypeError:  # a list among the settings
            known = key = None
        if known is not None:
            for arg in args:
                if not isinstance(arg, NDArray):
                    break
            else:
                return run(known, args, out)
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
            if key and not inplace and _same(arrays, args):
                if len(known_calls) >= 256:  # settings that change with every call
                    known_calls.clear()
                known_calls[key] = op
            return (invoke if inplace else run)(op, arrays, out)
        if sheet.variadic or call.inputs:
            raise OperatorError(f"{op.name} needs at least one array.")
        where = out.context if out is not None else device or current_device()
        resolved = _with_elements(public, op) if array_class is NDArray else op
        return invoke(resolved, (), out, as_device(where), array_class)

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
function_caches: list[dict[str, Any]] = [FUNCTIONS.made]


def _on_registration(sheet: type[Op], comes: bool) -> None:
    """A user's sheet comes or goes, and its functions with it."""
    if comes:
        FUNCTIONS.enter(sheet)
        return
    FUNCTIONS.leave(sheet)
    for place in function_caches:
        kept = [n for n, f in place.items() if getattr(f, "sheet", None) is sheet]
        for name in kept:
            del place[name]


users.listeners.append(_on_registration)


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
