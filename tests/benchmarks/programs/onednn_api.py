"""What oneDNN alone makes of ResNet-50's convolutions, in layouts that it chooses.

All else of the network is left out, copies between layouts too: a bound for a program
that computes its convolutions with this library. The weights lie in the library's
layout before the clock starts, as a program may keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minimx.core.kernels.threads import count
from minimx.fast.onednn.library import (
    DST,
    SCRATCHPAD,
    SRC,
    WEIGHTS,
    Library,
    Owner,
    aligned,
    loaded,
    numbers,
)

Run = Callable[[int], None]
_INFERENCE, _DIRECT = 96, 1
#: Where a description tells the layout of an argument.
_LAYOUTS = {SRC: 129, WEIGHTS: 131, DST: 133}


def convolutions() -> Iterator[tuple[int, int, int, int, int]]:
    """(channels, filters, edge of the image, kernel, stride) in the network's order.

    >>> len([*convolutions()])
    53
    """
    yield 3, 64, 224, 7, 2
    before, edge = 64, 56
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(blocks):
            stride = 2 if number == 0 and width > 64 else 1
            if number == 0:
                yield before, 4 * width, edge, 1, stride
            yield before, width, edge, 1, stride
            edge //= stride
            yield width, width, edge, 3, 1
            yield width, 4 * width, edge, 1, 1
            before = 4 * width


class Convolution(Owner):
    """One of them, with arrays of its own."""

    def __init__(self, dnnl: Library, batch: int, *sizes: int) -> None:
        super().__init__(dnnl, count())
        channels, filters, edge, kernel, stride = sizes
        pad, out = kernel // 2, edge // stride
        shapes = {
            SRC: (batch, channels, edge, edge),
            WEIGHTS: (filters, channels, kernel, kernel),
            DST: (batch, filters, out, out),
        }
        free = {name: self.any_layout(dims, "float32") for name, dims in shapes.items()}
        behind = (out - 1) * stride + kernel - edge - pad
        steps = [(stride, stride), (0, 0), (pad, pad), (behind, behind)]
        settings = dnnl.engine, _INFERENCE, _DIRECT
        ends = free[SRC], free[WEIGHTS], None, free[DST]
        of = "convolution_forward"
        pd = self.description(
            of, *settings, *ends, *map(numbers, steps), self.attributes()
        )
        layouts = {name: dnnl.layout(pd, where) for name, where in _LAYOUTS.items()}
        layouts[SCRATCHPAD] = self.scratch(pd)
        self._arrays = {name: aligned(dnnl.size(at)) for name, at in layouts.items()}
        self._memories = {
            name: self.memory(name, at, self._arrays[name].ctypes.data)
            for name, at in layouts.items()
        }
        for array in self._arrays.values():
            array[...] = 0  # its pages exist before the clock starts
        self._code = self.primitive(pd)

    def start(self) -> None:
        """Begin to compute; `wait` ends it."""
        self.execute(self._code, self._memories)


class Program:
    """The cases for oneDNN; its library is found by minimx."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def scoring(self, batch: int) -> Run:
        """All convolutions of ResNet-50, one after the other."""
        dnnl = loaded()
        if dnnl is None:
            raise RuntimeError("oneDNN is not installed: pip install 'minimx[onednn]'")
        layers = [Convolution(dnnl, batch, *sizes) for sizes in convolutions()]

        def run(number: int) -> None:
            for _ in range(number):
                for layer in layers:
                    layer.start()
                layers[-1].wait()

        return run

    def resnet_score_1(self) -> Run:
        """On a single image."""
        return self.scoring(1)

    def resnet_score_16(self) -> Run:
        """On a batch."""
        return self.scoring(16)
