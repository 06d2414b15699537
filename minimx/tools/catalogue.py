"""Classes that are found by name: `mx.init.create("xavier")` and its like.

Optimizers, initializers and metrics each keep one catalogue. A class is entered under
its own name in lower case, and under the nicknames that MXNet gives it.

>>> class Shape: pass
>>> shapes = Catalogue(Shape, "shape")
>>> @shapes.register("disc")
... class Circle(Shape):
...     def __init__(self, radius=1): self.radius = radius
>>> shapes.create("disc", radius=3).radius
3
>>> shapes.create('["circle", {"radius": 2}]').radius
2
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from minimx.core.errors import ArgumentError, did_you_mean

BaseT = TypeVar("BaseT")
ClassT = TypeVar("ClassT", bound=type)


class Catalogue(Generic[BaseT]):
    """The classes of one family, by lower-case name."""

    def __init__(self, base: type[BaseT], kind: str) -> None:
        self.base = base
        self.kind = kind
        self._classes: dict[str, type[BaseT]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._classes

    def __getitem__(self, name: str) -> type[BaseT]:
        """The class called `name`, in whatever case."""
        found = self._classes.get(name.lower())
        if found is None:
            hint = did_you_mean(name, self._classes)
            known = ", ".join(sorted(self._classes))
            raise ArgumentError(
                f"there is no {self.kind} called {name!r}; there are: {known}.{hint}"
            )
        return found

    def register(self, *names: Any) -> Any:
        """A class decorator: enter the class under its name and under `names`.

        Works bare (`@register`) and with nicknames (`@register("acc")`). A later class
        of the same name replaces the earlier one, so that a notebook cell runs twice.
        """
        if len(names) == 1 and isinstance(names[0], type):
            return self._enter(names[0])
        return cast(
            Callable[[ClassT], ClassT], lambda klass: self._enter(klass, *names)
        )

    def _enter(self, klass: Any, *nicknames: str) -> Any:
        if not (isinstance(klass, type) and issubclass(klass, self.base)):
            raise ArgumentError(
                f"{klass!r} cannot be registered as a {self.kind}: it is no subclass "
                f"of {self.base.__name__}."
            )
        for name in (klass.__name__, *nicknames):
            self._classes[name.lower()] = klass
        return klass

    def create(self, what: Any, *args: Any, **settings: Any) -> BaseT:
        """One of the family.

        what: a name; settings in which `kind` names the class; either of these as JSON,
            `["name", {settings}]` or `{settings}`; or a finished instance, which is
            handed through.
        """
        if isinstance(what, str) and what.startswith("{"):
            what = self._parse_settings(what)
        if isinstance(what, dict) and self.kind in what:
            return self.create(what[self.kind], **_without(what, self.kind))
        if isinstance(what, self.base):
            if args or settings:
                raise ArgumentError(
                    f"{self.kind} {what!r} exists already; settings can only be given "
                    "together with a name."
                )
            return what
        if not isinstance(what, str):
            raise ArgumentError(
                f"a {self.kind} is given as a name or an instance of "
                f"{self.base.__name__}, not as {type(what).__name__}."
            )
        if what.startswith("["):
            name, stored = self._parse(what)
            return self[name](**stored)
        return self[what](*args, **settings)

    def _parse(self, text: str) -> tuple[str, dict[str, Any]]:
        try:
            name, settings = json.loads(text)
            return str(name), dict(settings)
        except (ValueError, TypeError):
            raise ArgumentError(
                f"{self.kind} {text!r}: expected JSON of the form "
                '["name", {"setting": value}].'
            ) from None

    def _parse_settings(self, text: str) -> dict[str, Any]:
        try:
            settings = json.loads(text)
        except ValueError:
            settings = {}
        if self.kind not in settings:
            raise ArgumentError(
                f"{self.kind} {text!r}: expected JSON of the form "
                f'{{"{self.kind}": "name", "setting": value}}.'
            )
        return dict(settings)


def _without(settings: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != name}
