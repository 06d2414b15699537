"""What was chosen for each knob, and by whom: the program, or an open `with` block.

Blocks of several threads overlap as they like, so they cannot simply put back what they
found. Each keeps what it asked for as a layer over those that were open before it. In
force is what the newest open layer says that knows the knob; beneath all lies the base,
what `set` chose outside. Whichever order layers are closed in, the base comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from minimx.core.knobs.knob import Value

# What a layer says of each knob that it knows; None: it stands at its default.
Layer = dict[str, Value | None]


class Layers:
    """The base and the open layers. Not thread-safe: the registry holds its lock."""

    __slots__ = ("_base", "_open")

    def __init__(self) -> None:
        self._base: Layer = {}
        self._open: list[Layer] = []

    def _ruling(self, name: str) -> Layer:
        """The layer that decides on a knob."""
        return next((one for one in reversed(self._open) if name in one), self._base)

    def in_force(self, names: Iterable[str]) -> Layer:
        """What each of the knobs is now."""
        return {name: self._ruling(name).get(name) for name in names}

    def put(self, values: Mapping[str, Value | None]) -> None:
        """Change what is in force; a layer that rules a knob forgets what it said."""
        for name, value in values.items():
            self._ruling(name)[name] = value

    def open(self, values: Mapping[str, Value | None]) -> Layer:
        """Lay a new layer over all others."""
        layer = dict(values)
        self._open.append(layer)
        return layer

    def close(self, layer: Layer) -> Layer:
        """Take a layer away, wherever it lies; what its knobs are without it."""
        self._open = [one for one in self._open if one is not layer]
        return self.in_force(layer)
