"""Arrays in lists in lists: taken apart into one flat list, and put together again."""

from __future__ import annotations

from typing import Any

from minimx.core.errors import ArgumentError

#: How the values of a flat list are nested: None for one value, else a list of forms.
Form = Any


def flatten(values: Any, kind: type[Any], what: str) -> tuple[list[Any], Form]:
    """The values of a nested list, from left to right, and its form.

    kind: the class of a value. what: what errors call it, such as "foreach: data".

    >>> flatten([1, [2, 3]], int, "numbers")
    ([1, 2, 3], [None, [None, None]])
    """
    if isinstance(values, kind):
        return [values], None
    if not isinstance(values, (list, tuple)):
        raise ArgumentError(
            f"{what} must be {kind.__name__}s, in nested lists if there are several, "
            f"not a {type(values).__name__}."
        )
    flat: list[Any] = []
    forms = []
    for value in values:
        inner, form = flatten(value, kind, what)
        flat += inner
        forms.append(form)
    return flat, forms


def regroup(flat: list[Any], form: Form) -> Any:
    """Values in a form again; the opposite of `flatten`.

    >>> regroup([1, 2, 3], [None, [None, None]])
    [1, [2, 3]]
    """
    values = iter(flat)

    def build(form: Form) -> Any:
        if form is None:
            return next(values)
        return [build(inner) for inner in form]

    return build(form)
