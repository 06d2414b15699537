"""The cases that make sense for NumPy: the floor under everybody's dispatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]
Run = Callable[[int], None]


class Program:
    """The cases for NumPy."""

    def __init__(self, library: Any) -> None:
        self.np = library
        self.random = library.random.RandomState(0)

    def array(self, *shape: int) -> Any:
        """Random numbers."""
        return self.random.standard_normal(size=shape).astype(self.np.float32)

    def repeat(self, step: Step) -> Run:
        """Run a step many times."""

        def run(count: int) -> None:
            for _ in range(count):
                step()

        return run

    def add_small(self) -> Run:
        """Dispatch of a binary operator."""
        a, b = self.array(4), self.array(4)
        return self.repeat(lambda: a + b)

    def relu_small(self) -> Run:
        """The nearest that NumPy has."""
        a, maximum = self.array(4), self.np.maximum
        return self.repeat(lambda: maximum(a, 0))

    def slice_small(self) -> Run:
        """A view of some rows."""
        a = self.array(8, 8)
        return self.repeat(lambda: a[2:5])

    def add_large(self) -> Run:
        """Memory bandwidth."""
        a, b = self.array(1000, 1000), self.array(1000, 1000)
        return self.repeat(lambda: a + b)

    def sum_large(self) -> Run:
        """A reduction to one number."""
        a = self.array(1000, 1000)
        return self.repeat(lambda: a.sum())
