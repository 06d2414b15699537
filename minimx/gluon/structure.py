"""What blocks take and give, taken apart: arrays in nested lists, and their form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from minimx.core.arrays.array import NDArray
from minimx.core.errors import ArgumentError, MissingArgument
from minimx.symbol import Symbol

#: The form of an array, and of a None; lists and tuples have tuples of forms.
ARRAY, NOTHING = "array", "nothing"
Form = Any


class Fixed(NamedTuple):
    """The form of what is no array: the thing itself, a part of the program."""

    value: Any


def take_apart(values: Any) -> tuple[list[Any], Form]:
    """The arrays and symbols in nested lists from left to right, and their form.

    >>> take_apart([None, [3]])
    ([], ('nothing', (Fixed(value=3),)))
    """
    leaves: list[Any] = []
    return leaves, _form(values, leaves)


def of_arguments(args: tuple[Any, ...]) -> tuple[list[Any], tuple[Form, ...]]:
    """The same for a call; Nones at its end count as left away."""
    leaves: list[Any] = []
    forms = [_form(value, leaves) for value in args]
    while forms and forms[-1] == NOTHING:
        forms.pop()
    return leaves, tuple(forms)


def _form(value: Any, leaves: list[Any]) -> Form:
    if isinstance(value, NDArray):
        leaves.append(value)
        return ARRAY
    if isinstance(value, Symbol):
        if len(value) == 1:
            leaves.append(value)
            return ARRAY
        leaves.extend(value)
        return (ARRAY,) * len(value)
    if isinstance(value, (list, tuple)):
        return tuple([_form(item, leaves) for item in value])
    return NOTHING if value is None else Fixed(value)


def put_together(form: Form, leaves: Iterator[Any]) -> Any:
    """Leaves in a form again; what was a tuple is a list, as in MXNet."""
    if form == ARRAY:
        return next(leaves)
    if form == NOTHING:
        return None
    if isinstance(form, Fixed):
        return form.value
    return [put_together(part, leaves) for part in form]


class Formats:
    """How the latest call of a hybrid block was nested, in MXNet's words.

    0 stands for an array, -1 for None, and a list for a list. Libraries store both
    beside an exported graph, and give them to the `SymbolBlock` that reads it.
    """

    _graphs: dict[Any, Any]
    _latest: Any

    @property
    def _in_format(self) -> Any:
        form, *_ = next(reversed(self._graphs), [None])
        return None if form is None else _format(form)

    @_in_format.setter
    def _in_format(self, given: Any) -> None:
        """Nothing depends on it: arguments are taken apart as they come."""

    @property
    def _out_format(self) -> Any:
        return None if self._latest is None else _format(self._latest.form)

    @_out_format.setter
    def _out_format(self, given: Any) -> None:
        if given is not None:
            self._set_form(_of_format(given))

    def _set_form(self, form: Form) -> None:
        raise AttributeError(f"{type(self).__name__}._out_format follows from a call.")


def _format(form: Form) -> Any:
    if isinstance(form, tuple) and not isinstance(form, Fixed):
        return [_format(part) for part in form]
    return 0 if form == ARRAY else -1


def _of_format(given: Any) -> Form:
    """The form; an integer above 1 is that of a symbol with so many outputs."""
    if isinstance(given, int):
        return NOTHING if given < 0 else (ARRAY,) * given if given > 1 else ARRAY
    return tuple([_of_format(part) for part in given])


def fixed(form: Form) -> Iterator[Any]:
    """Everything in a form that is no array."""
    if isinstance(form, Fixed):
        yield form.value
    elif isinstance(form, tuple):
        for part in form:
            yield from fixed(part)


def without_arrays(name: str) -> MissingArgument:
    """The error for a hybrid block that was given nothing to compute with."""
    return MissingArgument(
        f"{name} was called without any array. A hybrid block needs one at least."
    )


def refuse_mixture(name: str, leaves: list[Any]) -> None:
    """Raise ArgumentError unless the leaves are arrays on one device, or symbols."""
    symbols = sum(isinstance(leaf, Symbol) for leaf in leaves)
    if not leaves:
        raise without_arrays(name)
    if 0 < symbols < len(leaves):
        raise ArgumentError(
            f"{name} was called with arrays and symbols together. Give either arrays, "
            "to compute, or symbols, to write down what would be computed."
        )
    devices = {leaf.context: None for leaf in leaves if isinstance(leaf, NDArray)}
    if len(devices) > 1:
        raise ArgumentError(
            f"{name} is hybridized and was called with arrays on several devices "
            f"({', '.join(map(str, devices))}). Move them to one with as_in_context()."
        )
