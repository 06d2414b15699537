"""What a program measures itself: tasks, frames, events, counters and markers.

They are marks in the profile while it runs, and nothing while it does not.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from numbers import Number
from types import TracebackType
from typing import Self

from minimx.core import events
from minimx.core.errors import ProfilerError
from minimx.profiler.session import ProfilerWarning, profiler

_numbers = count(1)


def mark(
    event: str, kind: str, domain: str, name: str, number: int = 0, value: float = 0
) -> None:
    """Take down a mark, if the profiler listens."""
    profile = profiler.profile
    if profile is not None and profile.record.running:
        profile.record.mark(event, kind, domain, name, number, value)


class Domain:
    """A name under which things that belong together are shown.

    Examples
    --------
    >>> import minimx as mx
    >>> camera = mx.profiler.Domain("camera")
    >>> print(camera.new_task("focus"))
    focus
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Domain({self.name!r})"

    def new_task(self, name: str) -> Task:
        """A `Task` of this domain; it starts with `start()` or `with`."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A `Frame` of this domain; it starts with `start()` or `with`."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """A `Counter` of this domain. value: where it starts; 0, unrecorded, without.

        Raises `ProfilerError` for a value that is no number.
        """
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A `Marker` of this domain; each call of `mark()` records a moment."""
        return Marker(self, name)


class _Stretch:
    """Something that starts and stops; `with` does both."""

    _kind = ""

    def __init__(self, domain: str, name: str) -> None:
        self.name = name
        self._domain = domain
        self._number = next(_numbers)
        self._begun = False

    def start(self) -> None:
        """Record that it begins now; nothing while the profiler does not run.

        Raises `ProfilerError` if it has begun and not ended.
        """
        if self._begun:
            raise ProfilerError(
                f"{self!r}.start: it has started and not stopped. Stop it first, or "
                "make another one: two at a time need two of them."
            )
        self._begun = True
        mark("start", self._kind, self._domain, self.name, self._number)

    def stop(self) -> None:
        """Record that it ends now; nothing while the profiler does not run.

        Raises `ProfilerError` if it has not begun.
        """
        if not self._begun:
            raise ProfilerError(f"{self!r}.stop: it has not started. Start it first.")
        self._begun = False
        mark("stop", self._kind, self._domain, self.name, self._number)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Task(_Stretch):
    """A piece of work, on one thread or several; tasks may overlap."""

    _kind = "task"

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(domain.name, name)


class Frame(_Stretch):
    """One round of something that goes round, such as an image of a film."""

    _kind = "frame"

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(domain.name, name)


class Event(_Stretch):
    """A stretch of one thread's time; it belongs to no domain."""

    _kind = "event"

    def __init__(self, name: str) -> None:
        super().__init__("", name)


class Counter:
    """A number that goes up and down, shown as a curve.

    Examples
    --------
    >>> import minimx as mx
    >>> queue = mx.profiler.Domain("loader").new_counter("queue", 3)
    >>> queue += 1
    >>> queue.value
    4
    """

    def __init__(self, domain: Domain, name: str, value: float | None = None) -> None:
        self.name = name
        self._domain = domain.name
        self.value: float = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: float) -> None:
        """Set and record the value. Raises `ProfilerError` for what is no number."""
        if not isinstance(value, Number):
            raise ProfilerError(
                f"Counter({self.name!r}).set_value({value!r}): give a number."
            )
        self.value = value
        mark("value", "counter", self._domain, self.name, value=value)

    def increment(self, delta: float = 1) -> None:
        """Add `delta` and record the sum; `counter += delta` does the same.

        Raises `ProfilerError` if the sum is no number.
        """
        self.set_value(self.value + delta)

    def decrement(self, delta: float = 1) -> None:
        """Subtract `delta` and record the rest; `counter -= delta` does the same.

        Raises `ProfilerError` if the rest is no number.
        """
        self.set_value(self.value - delta)

    def __iadd__(self, delta: float) -> Self:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Self:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Counter({self.name!r}, {self.value:g})"


class Marker:
    """A moment of a program, as a vertical mark in the trace."""

    def __init__(self, domain: Domain, name: str) -> None:
        self.name = name
        self._domain = domain.name

    def mark(self, scope: str = "process") -> None:
        """It is now. scope: whom it concerns, `global`, `process` or `thread`.

        Raises `ProfilerError` for another word.
        """
        if scope not in ("global", "process", "thread"):
            raise ProfilerError(
                f"Marker.mark({scope!r}): there are global, process and thread."
            )
        mark("mark", scope, self._domain, self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Marker({self.name!r})"


@contextmanager
def scope(name: str = "<unk>:", append_mode: bool = True) -> Iterator[None]:
    """Memory that is asked for inside the block is listed under this name.

    Scopes nest: `forward:` inside `model:` is `model:forward:`, unless `append_mode` is
    off. Layers go on naming themselves, behind the scope.

    Examples
    --------
    >>> import minimx as mx
    >>> with mx.profiler.scope("model:"):
    ...     x = mx.nd.ones((2, 3))
    >>> x.chunk.owner.layer
    'model'
    """
    at = events.attribution
    word = name.rstrip(":").replace(":", "/")
    layer = f"{at.layer}/{word}" if at.layer and append_mode else word
    entered = _Entered(layer, at.layer)
    _scopes.open.append(entered)
    events.attribute(layer, at.phase, at.category)
    try:
        yield
    finally:
        _leave(entered)


class _Entered:
    """A scope that is open, and the layer that was before it."""

    def __init__(self, layer: str, before: str) -> None:
        self.layer = layer
        self.before = before


class _Scopes(threading.local):
    """The scopes that are open in this thread, the innermost last."""

    def __init__(self) -> None:
        self.open: list[_Entered] = []


_scopes = _Scopes()


def _leave(entered: _Entered) -> None:
    """End a scope; one that ends before those inside of it leaves them as they are."""
    known, at = _scopes.open, events.attribution
    if entered not in known:
        raise ProfilerError(
            f"profiler.scope {entered.layer!r} ends in another thread than it "
            "began in. Use it in one thread, with `with`."
        )
    place = known.index(entered)
    del known[place]
    if place == len(known):
        events.attribute(entered.before, at.phase, at.category)
        return
    inner = known[place]
    inner.before = entered.before
    warnings.warn(
        f"profiler.scope {entered.layer!r} ends before {inner.layer!r}, which began "
        "inside of it and goes on. End the inner one first, or use `with`.",
        ProfilerWarning,
        stacklevel=4,
    )
