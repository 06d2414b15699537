"""What `help(mx.np.sum)` says: the function's docstring, and an example at its end.

The examples are in `examples.txt`, one for each function; a test runs them. Modules
and the class have theirs under longer names: `linalg.norm`, `ndarray.reshape`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from minimx.nd.functions import bound
from minimx.nd.help import examples, with_example

EXAMPLES = Path(__file__).with_name("examples.txt")


def explain(
    functions: Mapping[str, Any], prefix: str = "", file: Path = EXAMPLES
) -> None:
    """Give functions their examples, those of `file` under prefix + name.

    A function of several names has one example, under any of them. What another module
    defines, such as `gpu`, brings its own.
    """
    known = examples(file)
    for name, function in functions.items():
        example = known.get(prefix + name)
        ours = getattr(function, "__module__", "").startswith("minimx.np")
        if example and ours and inspect.isfunction(function):
            function.__doc__ = with_example(function.__doc__ or "", example)


def public(module: Any) -> dict[str, Any]:
    """What a module offers, by name."""
    return {name: getattr(module, name) for name in module.__all__}


def explain_class(cls: type[Any]) -> None:
    """Give the members of a class their examples, `ndarray.…` in the file.

    What a base class defines is left as it is there: the class gets copies.
    """
    for name, example in examples(EXAMPLES).items():
        place, _, member = name.partition(".")
        if place == cls.__name__:
            found = inspect.getattr_static(cls, member)
            setattr(cls, member, _explained(found, example))


def _explained(member: Any, example: str) -> Any:
    doc = with_example(member.__doc__ or "", example)
    if isinstance(member, property):
        return property(member.fget, member.fset, member.fdel, doc)
    copy = _copy_of(member)
    copy.__doc__ = doc
    return copy


def _copy_of(function: Any) -> Any:
    """A copy of a function, to be given another docstring."""
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__
    copy.__annotations__ = function.__annotations__
    copy.__dict__.update(function.__dict__)
    return copy


def as_method(method: Any, function: Callable[..., Any], name: str) -> None:
    """Let a method say what the function says of which it is one, and take the same."""
    doc, _, example = inspect.cleandoc(function.__doc__ or "").partition("\nExamples\n")
    more = f"As a method: `np.{name}` with this array as its first argument."
    method.__doc__ = f"{doc.rstrip()}\n\n{more}\n\nExamples\n{example}\n"
    method.__signature__ = bound(inspect.signature(function))
