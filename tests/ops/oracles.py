"""Slow and obvious NumPy versions of the operators that NumPy does not have."""

from __future__ import annotations

from typing import Any

import numpy as np

Pair = tuple[int, int]


def _taps(
    shape: tuple[int, ...],
    kernel: Pair,
    out: Pair,
    stride: Pair,
    pad: Pair,
    dilate: Pair,
) -> Any:
    """Every (tap, stop) that lies inside an image: kh, kw, oh, ow, h, w."""
    for kh, kw in np.ndindex(*kernel):
        for oh, ow in np.ndindex(*out):
            h = oh * stride[0] + kh * dilate[0] - pad[0]
            w = ow * stride[1] + kw * dilate[1] - pad[1]
            if 0 <= h < shape[-2] and 0 <= w < shape[-1]:
                yield kh, kw, oh, ow, h, w


class Convolution:
    """out, ddata, dweight and dbias of a convolution, one product at a time."""

    def __init__(
        self,
        stride: Pair = (1, 1),
        pad: Pair = (0, 0),
        dilate: Pair = (1, 1),
        groups: int = 1,
    ) -> None:
        self.steps = stride, pad, dilate
        self.groups = groups

    def stops(self, image: tuple[int, ...], kernel: tuple[int, ...]) -> Pair:
        spans = [d * (k - 1) + 1 for d, k in zip(self.steps[2], kernel, strict=True)]
        rooms = [
            n + 2 * p - s for n, p, s in zip(image, self.steps[1], spans, strict=True)
        ]
        first, second = (r // s + 1 for r, s in zip(rooms, self.steps[0], strict=True))
        return first, second

    def _pairs(self, channels: int, filters: int) -> Any:
        """(filter, its slice of channels) for every filter."""
        width = channels // self.groups
        for f in range(filters):
            g = f // (filters // self.groups)
            yield f, slice(g * width, (g + 1) * width)

    def forward(self, x: Any, weight: Any, bias: Any = None) -> Any:
        kernel = weight.shape[2:]
        out = np.zeros((len(x), len(weight), *self.stops(x.shape[2:], kernel)))
        for kh, kw, oh, ow, h, w in _taps(x.shape, kernel, out.shape[2:], *self.steps):
            for f, c in self._pairs(x.shape[1], len(weight)):
                out[:, f, oh, ow] += x[:, c, h, w] @ weight[f, :, kh, kw]
        return out if bias is None else out + bias[:, None, None]

    def data(self, dout: Any, weight: Any, shape: tuple[int, ...]) -> Any:
        ddata = np.zeros(shape)
        taps = _taps(shape, weight.shape[2:], dout.shape[2:], *self.steps)
        for kh, kw, oh, ow, h, w in taps:
            for f, c in self._pairs(shape[1], len(weight)):
                ddata[:, c, h, w] += dout[:, f, oh, ow, None] * weight[f, :, kh, kw]
        return ddata

    def weight(self, dout: Any, x: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
        dweight = np.zeros(shape)
        taps = _taps(x.shape, shape[2:], dout.shape[2:], *self.steps)  # type: ignore[arg-type]
        for kh, kw, oh, ow, h, w in taps:
            for f, c in self._pairs(x.shape[1], shape[0]):
                dweight[f, :, kh, kw] += dout[:, f, oh, ow] @ x[:, c, h, w]
        return dweight, dout.sum((0, 2, 3))


class Pooling:
    """out and ddata of a pooling, one window at a time."""

    def __init__(
        self,
        kind: str,
        kernel: Pair,
        out: Pair,
        stride: Pair = (1, 1),
        pad: Pair = (0, 0),
        count_pad: bool = True,
    ) -> None:
        self.kind, self.kernel, self.out = kind, kernel, out
        self.stride, self.pad, self.count_pad = stride, pad, count_pad

    def _windows(self, image: tuple[int, ...]) -> Any:
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
        for (h, w), inside, count in self._windows(x.shape[2:]):
            part = x[:, :, *inside]
            if self.kind == "max":
                out[:, :, h, w] = part.max((2, 3))
            else:
                divisor = count if self.kind == "avg" else 1
                out[:, :, h, w] = part.sum((2, 3)) / divisor
        return out

    def spread(self, dout: Any, shape: tuple[int, ...]) -> Any:
        ddata = np.zeros(shape)
        for (h, w), inside, count in self._windows(shape[2:]):
            share = dout[:, :, h, w] / (count if self.kind == "avg" else 1)
            ddata[:, :, *inside] += share[:, :, None, None]
        return ddata


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalized(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    variance = x.var(axes, keepdims=True)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(variance + eps)
