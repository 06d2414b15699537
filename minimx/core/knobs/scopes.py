"""What was chosen for each knob, and by whom: the program, or an open `with` block.

    knobs.set(N=1)                  base: N=1
    with knobs(N=2):                base: N=1   layer a: N=2             in force: 2
        with knobs(N=3):            base: N=1   layer a: N=2   b: N=3    in force: 3

Blocks of several threads overlap as they like (a may be closed before b), so a block
cannot simply put back what it found. Each keeps what it asked for as a layer over those
that were open before it. In force is the newest open layer that has the knob, else the
base: what `set` chose outside of all blocks. In whatever order layers are closed, the
base comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from minimx.core.knobs.knob import Value

# Knob -> its value in a layer; None: its default.
Layer = dict[str, Value | None]


class Layers:
    """The base and the open layers. Not thread-safe: the registry holds its lock."""

    __slots__ = ("_base", "_open")

    def __init__(self) -> None:
        self._base: Layer = {}
        self._open: list[Layer] = []

    def _deciding(self, name: str) -> Layer:
        """The layer that decides on a knob."""
        return next((one for one in reversed(self._open) if name in one), self._base)

    def in_force(self, names: Iterable[str]) -> Layer:
        """What each of the knobs is now."""
        return {name: self._deciding(name).get(name) for name in names}

    def put(self, values: Mapping[str, Value | None]) -> None:
        """Change what is in force, each value in the layer that decides on the knob."""
        for name, value in values.items():
            self._deciding(name)[name] = value

    def open(self, values: Mapping[str, Value | None]) -> Layer:
        """Lay a new layer over all others."""
        layer = dict(values)
        self._open.append(layer)
        return layer

    def close(self, layer: Layer) -> Layer:
        """Take a layer away, wherever it lies; what its knobs are without it."""
        self._open = [one for one in self._open if one is not layer]
        return self.in_force(layer)
