"""Slow and obvious NumPy versions of the operators that NumPy does not have."""

from __future__ import annotations

from typing import Any

import numpy as np

Sizes = tuple[int, ...]


def _taps(
    image: Sizes, kernel: Sizes, out: Sizes, stride: Sizes, pad: Sizes, dilate: Sizes
) -> Any:
    """Every (tap, stop, place) of which the place lies inside an image."""
    for tap in np.ndindex(*kernel):
        for stop in np.ndindex(*out):
            steps = zip(stop, stride, tap, dilate, pad, strict=True)
            place = tuple(o * s + k * d - p for o, s, k, d, p in steps)
            if all(0 <= x < n for x, n in zip(place, image, strict=True)):
                yield tap, stop, place


class Convolution:
    """out, ddata, dweight and dbias of a convolution, one product at a time.

    Steps that are not given are those of an image.
    """

    def __init__(
        self,
        stride: Sizes = (1, 1),
        pad: Sizes = (0, 0),
        dilate: Sizes = (1, 1),
        groups: int = 1,
    ) -> None:
        self.steps = stride, pad, dilate
        self.groups = groups

    def stops(self, image: Sizes, kernel: Sizes) -> Sizes:
        spans = [d * (k - 1) + 1 for d, k in zip(self.steps[2], kernel, strict=True)]
        rooms = [
            n + 2 * p - s for n, p, s in zip(image, self.steps[1], spans, strict=True)
        ]
        return tuple(r // s + 1 for r, s in zip(rooms, self.steps[0], strict=True))

    def _pairs(self, channels: int, filters: int) -> Any:
        """(filter, its slice of channels) for every filter."""
        width = channels // self.groups
        for f in range(filters):
            g = f // (filters // self.groups)
            yield f, slice(g * width, (g + 1) * width)

    def forward(self, x: Any, weight: Any, bias: Any = None) -> Any:
        image, kernel = x.shape[2:], weight.shape[2:]
        out = np.zeros((len(x), len(weight), *self.stops(image, kernel)))
        for tap, stop, place in _taps(image, kernel, out.shape[2:], *self.steps):
            for f, c in self._pairs(x.shape[1], len(weight)):
                out[:, f, *stop] += x[:, c, *place] @ weight[f, :, *tap]
        return out if bias is None else out + bias.reshape(-1, *(1,) * len(image))

    def data(self, dout: Any, weight: Any, shape: Sizes) -> Any:
        ddata = np.zeros(shape)
        taps = _taps(shape[2:], weight.shape[2:], dout.shape[2:], *self.steps)
        for tap, stop, place in taps:
            for f, c in self._pairs(shape[1], len(weight)):
                ddata[:, c, *place] += dout[:, f, *stop, None] * weight[f, :, *tap]
        return ddata

    def weight(self, dout: Any, x: Any, shape: Sizes) -> tuple[Any, Any]:
        dweight = np.zeros(shape)
        taps = _taps(x.shape[2:], shape[2:], dout.shape[2:], *self.steps)
        for tap, stop, place in taps:
            for f, c in self._pairs(x.shape[1], shape[0]):
                dweight[f, :, *tap] += dout[:, f, *stop] @ x[:, c, *place]
        return dweight, dout.sum((0, *range(2, dout.ndim)))


class Pooling:
    """out and ddata of a pooling, one window at a time; powers for the kind 'lp'."""

    def __init__(
        self,
        kind: str,
        kernel: Sizes,
        out: Sizes,
        stride: Sizes = (1, 1),
        pad: Sizes = (0, 0),
        count_pad: bool = True,
        power: int = 1,
    ) -> None:
        self.kind, self.kernel, self.out = kind, kernel, out
        self.stride, self.pad, self.count_pad = stride, pad, count_pad
        self.power = power

    def _windows(self, image: Sizes) -> Any:
        """For every stop: its place, the part of the window inside, and its count."""
        for stop in np.ndindex(*self.out):
            axes = zip(stop, self.stride, self.pad, self.kernel, image, strict=True)
            inside, count = [], 1
            for o, s, p, k, n in axes:
                first, last = o * s - p, min(o * s - p + k, n + p)
                inside.append(slice(max(first, 0), min(last, n)))
                count *= last - first
            if not self.count_pad:
                count = int(np.prod([max(s.stop - s.start, 0) for s in inside]))
            yield stop, tuple(inside), max(count, 1)

    def forward(self, x: Any) -> Any:
        out = np.zeros((*x.shape[:2], *self.out))
        for stop, inside, count in self._windows(x.shape[2:]):
            part = x[:, :, *inside].reshape(*x.shape[:2], -1)
            if self.kind == "max":
                out[:, :, *stop] = part.max(2)
            else:
                divisor = count if self.kind == "avg" else 1
                out[:, :, *stop] = (part**self.power).sum(2) / divisor
        return out if self.kind != "lp" else out ** (1 / self.power)

    def spread(self, dout: Any, shape: Sizes) -> Any:
        ddata = np.zeros(shape)
        for stop, inside, count in self._windows(shape[2:]):
            share = dout[:, :, *stop] / (count if self.kind == "avg" else 1)
            share = share.reshape(*share.shape, *(1,) * len(stop))
            ddata[:, :, *inside] += share
        return ddata


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalized(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    variance = x.var(axes, keepdims=True)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(variance + eps)
